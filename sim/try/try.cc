// `try` runs the real daemon against a simulated kubelet in a temporary directory. If this node has
// resources with `api = "dra"`, a simulated API server and the DRA side of the kubelet run too.
//
// The main thread runs the loop of the daemon. A ConfigSource on that loop loads the configuration,
// so that Ctrl-C works while a file system hangs. A second thread waits until all resources have
// registered and prints the report, because calls to the simulated kubelet block until the daemon
// has answered. Until `reported` is set, only that thread writes to the output.
//
// After the daemon has started, every way to end calls `stop`, which runs once. The shutdown
// watchdog limits how long it takes, and removes the directory if the process cannot.

#include "sim/try/try.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <ostream>
#include <thread>

#include "base/format.h"
#include "cli/load.h"
#include "cli/run_scan.h"
#include "cli/shutdown_watchdog.h"
#include "cli/version.h"
#include "daemon/config_source.h"
#include "daemon/daemon.h"
#include "daemon/descriptor_need.h"
#include "model/spec.h"
#include "os/descriptors.h"
#include "sim/kubelet/kubelet_sim.h"
#include "sim/try/dra_report.h"
#include "sim/try/host_report.h"
#include "sim/try/plugin_report.h"
#include "sim/try/private_directory.h"
#include "sim/try/try_config.h"

namespace patchbay {
namespace {

constexpr std::chrono::seconds kRegistrationDeadline{10};
/// The time to flush the log before the process exits.
constexpr std::chrono::seconds kLogPatience{10};

/// The resources of this node, by the API that serves them.
struct ServedNames {
  std::vector<std::string> plugins;
  std::vector<std::string> dra;
};

ServedNames NamesOf(const Model& model) {
  ServedNames names;
  for (const auto& spec : ResourcesFor(model, NodeName())) {
    (spec->api == Api::kDra ? names.dra : names.plugins).push_back(spec->name);
  }
  return names;
}

/// Starts the cluster for the resources of the model with `api = "dra"`; null if there are none.
Result<std::unique_ptr<ClusterSim>> StartCluster(const KubeletPaths& paths, const Model& model,
                                                 const std::vector<std::string>& resources) {
  if (resources.empty()) return nullptr;
  auto cluster = TRY(ClusterSim::Create(
      {.kubelet_root = paths.root, .node_name = NodeName(), .driver = model.daemon.dra_driver}));
  for (const std::string& resource : resources) TRY(cluster->CreateClass(resource));
  return cluster;
}

/// Returns the API server for the daemon; `dra` is null if no resource needed one at the start.
Result<ClusterConfig> ClusterOf(const ClusterSim* dra) {
  if (dra != nullptr) return dra->config();
  return Fail(ErrorKind::kPrecondition,
              "the built-in API server starts with `patchbay try`, and no resource had "
              "api = \"dra\" then; restart it");
}

/// Returns why the daemon does not serve a resource, to follow its name. Called on the loop.
std::string WhyNotRegistered(const Daemon& daemon, const std::string& resource) {
  for (const auto& served : daemon.resources()) {
    if (served->name() == resource && !served->registered()) return served->WhyNotRegistered();
  }
  return "is not served";
}

/// Returns the result of `question`, which runs on the loop, or "is not served" if the loop has no
/// time for it.
std::string RunOnLoop(AsioLoop& loop, std::function<std::string()> question) {
  const auto promise = std::make_shared<std::promise<std::string>>();
  std::future<std::string> answer = promise->get_future();
  loop.Post([promise, question = std::move(question)] { promise->set_value(question()); });
  const bool is_ready = answer.wait_for(kRegistrationDeadline) == std::future_status::ready;
  return is_ready ? answer.get() : "is not served";
}

/// Prints the report for both APIs, see ReportPlugins and ReportDra; `dra` may be null.
bool Report(KubeletSim& kubelet, ClusterSim* dra, const Model& model, const ServedNames& names,
            const std::function<std::string(const std::string&)>& why_not_served, Streams streams) {
  if (dra == nullptr) return ReportPlugins(kubelet, model, names.plugins, streams);
  bool well = true;
  if (!names.plugins.empty()) {
    well = ReportPlugins(kubelet, model, names.plugins, streams);
    streams.out << "\n";
  } else if (const std::string left_out = LeftOutText(model, NodeName()); !left_out.empty()) {
    streams.out << left_out << "\n";
  }
  return ReportDra(*dra, model, names.dra, why_not_served, streams) && well;
}

}  // namespace

int RunWithSimulators(const Arguments& arguments, Streams streams) {
  if (const Status enough = CheckDescriptors(0, DaemonSpec(), RaiseDescriptorLimit()); !enough) {
    return ReportFailure(enough.error(), streams);
  }
  Log log(arguments.log_level.value_or(kLevelOfTry), arguments.log_format);
  std::signal(SIGPIPE, SIG_IGN);
  const auto fail = [&](const Error& error) {
    log.Error("cannot start", {{"reason", error.message}});
    return kFailed;
  };

  AsioLoop loop;
  std::function<void()> stop, refresh;
  ShutdownWatchdog deadline({SIGTERM, SIGINT, SIGHUP}, loop, [&](int) { stop(); });
  const Subscription rescan = loop.OnSignals({SIGUSR1}, [&](int) { refresh(); });
  const auto directory = PrivateDirectory::Create();
  if (!directory) return fail(directory.error());
  deadline.SetLastAct([path = (*directory)->path()] { PrivateDirectory::Remove(path); });
  const KubeletPaths paths = (*directory)->Paths();

  std::optional<Loaded> first;
  std::function<void(Loaded)> reload = [&](Loaded loaded) {
    first = std::move(loaded);
    loop.Stop();
  };
  stop = [&] { loop.Stop(); };
  refresh = [] {};
  ConfigSource source(
      loop, log, {arguments.config}, [arguments, paths] { return LoadForTry(arguments, paths); },
      [&](Loaded loaded) { reload(std::move(loaded)); });
  source.Reload();
  loop.Run();
  if (!first) return arguments.once ? kFailed : kOk;  // stopped by a signal
  Loaded loaded = *std::move(first);
  log.Flush(Log::kDrainTime);
  streams.err << BriefDiagnostics(loaded.diagnostics, arguments.config, streams.colors_err);
  if (loaded.model && IsDemonstration(arguments)) streams.err << kDemonstrationNote;
  if (!loaded.model) return kFailed;
  if (const Status is_there = CheckHostRoot(loaded.model->daemon); !is_there) {
    return ReportFailure(is_there.error(), streams);
  }
  const Model model = *loaded.model;
  const ServedNames names = NamesOf(model);
  const auto cluster = StartCluster(paths, model, names.dra);
  if (!cluster) return fail(cluster.error());
  ClusterSim* const dra = cluster->get();
  KubeletSimOptions kubelet_options{.directory = paths.kubelet_dir,
                                    .pod_resources = paths.pod_resources};
  if (dra != nullptr) {
    kubelet_options.prepared_claims = [dra] { return dra->kubelet().Claims(); };
  }
  const auto kubelet = KubeletSim::Create(kubelet_options);
  if (!kubelet) return fail(kubelet.error());
  if (const Status started = (*kubelet)->Start(); !started) return fail(started.error());

  auto made = Cancellation::Create();
  if (!made) return fail(made.error());
  const auto probing = std::make_shared<const Cancellation>(std::move(*made));
  int code = arguments.once ? kFailed : kOk;  // if stopped before the report
  auto daemon = Daemon::Create(loop, log,
                               {.model = std::move(*loaded.model),
                                .node_name = NodeName(),
                                .run = NewRun(),
                                .version = kVersion,
                                .revision = kRevision,
                                .on_fatal =
                                    [&](const std::string& reason) {
                                      log.Error("fatal error", {{"reason", reason}});
                                      code = kFailed;
                                      loop.Post([&] { stop(); });
                                    },
                                .config = arguments.config,
                                .diagnostics = loaded.diagnostics.Sorted(),
                                .cluster = ClusterOf(dra)});
  if (!daemon) return fail(daemon.error());

  std::atomic<bool> stopping = false;
  bool reported = false;  // once set, this thread writes to the output
  stop = [&] {
    if (stopping.exchange(true)) return;
    probing->Trigger();
    deadline.Begin(code);
    (*daemon)->Stop([&] { loop.Stop(); });
  };
  refresh = [&] {
    log.Info("rescanning devices after SIGUSR1");
    if (!stopping) (*daemon)->Refresh();
  };
  reload = [&](Loaded changed) {
    if (stopping) return;
    if (!(*daemon)->Reload(std::move(changed)) || !reported) return;
    streams.out << "Configuration reloaded.\n" << std::flush;
  };
  std::thread report([&, address = (*daemon)->http_address()] {
    (*kubelet)->Await(
        [&] {
          return stopping || std::ranges::all_of(names.plugins, [&](const std::string& resource) {
                   return IsListed(**kubelet, resource);
                 });
        },
        kRegistrationDeadline);
    if (dra != nullptr) {
      AwaitPublished(
          *dra, names.dra, [&] { return stopping.load(); }, kRegistrationDeadline);
    }
    if (stopping) return;
    const auto why_not_served = [&](const std::string& resource) {
      return RunOnLoop(loop, [&, resource] { return WhyNotRegistered(**daemon, resource); });
    };
    bool well = Report(**kubelet, dra, model, names, why_not_served, streams);
    if (arguments.once && !ReportProbes(model, probing, streams)) well = false;
    loop.Post([&, well, address] {
      code = well ? kOk : kFailed;
      if (arguments.once || stopping) return stop();
      streams.out << Format(
                         "\nPage:    http://{0}/\nMetrics: http://{0}/metrics\n"
                         "Press Ctrl-C to end.\n",
                         address)
                  << std::flush;
      reported = true;
    });
  });
  loop.Run();
  stopping = true;
  (*kubelet)->Stop();  // wakes the report thread if it still waits
  if (dra != nullptr) dra->Stop();
  report.join();
  log.Flush(kLogPatience);
  return code;
}

}  // namespace patchbay
