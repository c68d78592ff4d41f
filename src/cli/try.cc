// `try` runs the real daemon against a simulated kubelet in a temporary directory.
//
// The main thread runs the loop of the daemon. A ConfigSource on that loop loads the configuration,
// so that Ctrl-C works while a file system hangs. A second thread waits until all resources have
// registered and prints the report, because calls to the simulated kubelet block until the daemon
// has answered. Until `reported` is set, only that thread writes to the output.
//
// After the daemon has started, every way to end calls `stop`, which runs once. The shutdown
// watchdog limits how long it takes, and removes the directory if the process cannot.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <thread>

#include "base/escape.h"
#include "base/format.h"
#include "base/log_writer.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/probe_once.h"
#include "cli/response_text.h"
#include "cli/run_scan.h"
#include "cli/shutdown_watchdog.h"
#include "cli/table.h"
#include "cli/version.h"
#include "daemon/config_source.h"
#include "daemon/daemon.h"
#include "daemon/descriptor_need.h"
#include "kubelet_sim/kubelet_sim.h"
#include "model/spec.h"
#include "os/descriptors.h"

namespace patchbay {
namespace {

constexpr LogLevel kLevelOfTry = LogLevel::kWarning;
constexpr std::chrono::seconds kRegistrationDeadline{10};
/// The time to flush the log before the process exits.
constexpr std::chrono::seconds kLogPatience{10};
/// More devices of one resource than this are counted, not listed.
constexpr std::size_t kMaxDevicesShown = 8;

/// A temporary directory for the built-in kubelet, removed by the destructor.
class PrivateDirectory {
 public:
  static Result<std::unique_ptr<PrivateDirectory>> Create() {
    constexpr std::string_view kName = "/patchbay-try-XXXXXX";
    std::error_code none;
    std::string pattern = std::filesystem::temp_directory_path(none).string().append(kName);
    // TMPDIR may be too long for the path of a socket.
    if (none || pattern.size() > kMaxKubeletDir) {
      pattern = "/tmp" + std::string(kName);
    }
    if (mkdtemp(pattern.data()) == nullptr) return FailErrno("cannot create " + pattern, errno);
    return std::unique_ptr<PrivateDirectory>(new PrivateDirectory(std::move(pattern)));
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

ContainerResponse FromMessage(const v1beta1::ContainerAllocateResponse& message) {
  ContainerResponse response;
  response.envs.insert(message.envs().begin(), message.envs().end());
  response.annotations.insert(message.annotations().begin(), message.annotations().end());
  for (const auto& m : message.mounts()) {
    response.mounts.push_back({m.container_path(), m.host_path(), m.read_only()});
  }
  for (const auto& d : message.devices()) {
    response.devices.push_back({d.container_path(), d.host_path(), d.permissions()});
  }
  for (const auto& c : message.cdi_devices()) response.cdi_devices.push_back(c.name());
  return response;
}

bool IsListed(const KubeletSim& kubelet, const std::string& resource) {
  const auto view = kubelet.View(resource);
  return view && view->connected && view->lists > 0;
}

std::vector<std::string> StatusRow(const std::string& resource,
                                   const std::optional<ResourceView>& view) {
  if (!view) return {resource, "no"};
  std::vector<std::string> ids;
  for (const SimDevice& device : view->devices) ids.push_back(device.id);
  std::sort(ids.begin(), ids.end(), IdLess);
  std::string devices;
  for (std::size_t i = 0; i < std::min(ids.size(), kMaxDevicesShown); ++i) {
    devices += (i == 0 ? "" : " ") + ids[i];
  }
  if (ids.size() > kMaxDevicesShown) {
    devices += format(" and {} more", ids.size() - kMaxDevicesShown);
  }
  return {resource, view->connected && view->lists > 0 ? "yes" : "no",
          std::to_string(view->capacity), std::to_string(view->allocatable),
          devices.empty() ? "(none)" : devices};
}

/// The configuration of a demonstration.
constexpr std::string_view kDemonstration = R"([[resource]]
name = "patchbay.dev/null"
description = "a demonstration: the null device, which every host has"
replicas = 3

  [[resource.match]]
  path = "/dev/null"

  [[resource.device_node]]
  container_path = "/dev/demonstration"

  [resource.env]
  DEMONSTRATION = "/dev/demonstration"
)";

constexpr std::string_view kDemonstrationNote =
    "patchbay: there is no configuration; this is a demonstration of /dev/null. To try your own "
    "devices, run `patchbay try --config FILE`.\n";

/// Returns whether there is no configuration: none is given, and the default does not exist.
bool IsDemonstration(const Arguments& arguments) {
  std::error_code none;
  return !arguments.is_config_given && std::filesystem::status(arguments.config, none).type() ==
                                           std::filesystem::file_type::not_found;
}

/// Loads --config or, without one, the demonstration.
Loaded LoadOrDemonstrate(const Arguments& arguments) {
  if (!IsDemonstration(arguments)) return LoadConfig(arguments);
  return WithFlags(LoadTexts({{"demonstration", std::string(kDemonstration)}}), arguments);
}

/// Loads --config and overrides what the built-in kubelet requires: its sockets and the log level.
/// Applied to each load, so that a reload does not change them.
Loaded LoadForTry(const Arguments& arguments, const KubeletSimOptions& kubelet) {
  Loaded loaded = LoadOrDemonstrate(arguments);
  if (!loaded.model) return loaded;
  DaemonSpec& daemon = loaded.model->daemon;
  daemon.kubelet_dir = kubelet.directory;
  daemon.pod_resources = kubelet.pod_resources;
  daemon.log_level = arguments.log_level.value_or(kLevelOfTry);
  if (!arguments.listen) daemon.listen = "127.0.0.1:0";
  if (!arguments.once) return loaded;
  // With --once, ReportProbes runs each probe exactly once; the daemon must not run them too.
  for (ResourceSpec& resource : loaded.model->resources) {
    if (!resource.health) continue;
    resource.health->initial_delay = std::chrono::hours(24);
    resource.health->before_first = Health::kHealthy;
  }
  return loaded;
}

/// Starts the container that was allocated devices, if a resource requires PreStartContainer.
/// Returns whether it started.
bool ReportStart(KubeletSim& kubelet, const std::vector<std::string>& resources,
                 std::ostream& out) {
  const bool hooks = std::any_of(resources.begin(), resources.end(), [&](const auto& resource) {
    const auto view = kubelet.View(resource);
    return view && view->options.pre_start_required;
  });
  if (!hooks) return true;
  const Status started = kubelet.StartContainer("try", "container");
  out << "\n" << (started ? "The container starts" : started.error().message) << "\n";
  return started.has_value();
}

/// Returns why no device of the resource can be allocated; empty if it has no devices.
std::string WhyNothing(const Model& model, const std::string& resource) {
  const auto inspections = RunScan(model, {.node_name = NodeName(), .resource = resource});
  const std::string why = inspections ? WhyUnhealthy(*inspections->front().snapshot) : "";
  return why.empty() ? "" : ": " + why;
}

/// Runs the probe of each device once. Returns whether all succeeded.
bool ReportProbes(const Model& model, const std::shared_ptr<const Cancellation>& cancellation,
                  Streams streams) {
  if (std::none_of(model.resources.begin(), model.resources.end(),
                   [](const ResourceSpec& resource) { return resource.health.has_value(); })) {
    return true;
  }
  auto inspections = RunScan(model, {.node_name = NodeName()});
  if (!inspections) return false;
  std::erase_if(*inspections,
                [](const Inspection& inspection) { return !inspection.snapshot->spec->health; });
  const ProbeOutcomes outcomes = ProbeAll(*inspections, model.daemon, NodeName(), cancellation);
  streams.out << "\n" << ProbeText(*inspections, outcomes, streams.colors_out) << std::flush;
  return AllWork(outcomes);
}

/// Prints the state of the kubelet, allocates one device of each resource, and starts the container
/// that has them. Returns whether all of it succeeded. A resource without devices is not a failure.
bool Report(KubeletSim& kubelet, const Model& model, const std::vector<std::string>& resources,
            Streams streams) {
  std::ostream& out = streams.out;
  std::vector<std::vector<std::string>> rows = {
      {"RESOURCE", "REGISTERED", "CAPACITY", "ALLOCATABLE", "DEVICES"}};
  for (const std::string& resource : resources) {
    rows.push_back(StatusRow(resource, kubelet.View(resource)));
  }
  const std::string left_out = LeftOutText(model, NodeName());
  out << RenderTable(rows, streams.colors_out) << (left_out.empty() ? "" : "\n") << left_out;

  bool well = true, has_devices = false;
  for (const std::string& resource : resources) {
    out << "\n";
    if (!IsListed(kubelet, resource)) {
      well = false;
      out << resource << " did not register\n";
      continue;
    }
    if (kubelet.View(resource)->allocatable == 0) {
      const std::string why = WhyNothing(model, resource);
      out << resource << " has no device to allocate on this host" << Printable(why) << "\n";
      well = well && why.empty();
      continue;
    }
    const auto admitted = kubelet.Admit("try", "container", resource, 1);
    if (!admitted) {
      out << resource << ": " << admitted.error().message << "\n";
      well = false;
      continue;
    }
    out << "A container that requests 1 " << resource << " gets " << admitted->device_ids.front()
        << ":\n"
        << RenderResponse(FromMessage(admitted->response));
    has_devices = true;
  }
  if (has_devices && !ReportStart(kubelet, resources, out)) well = false;
  out << std::flush;
  return well;
}

}  // namespace

int RunTry(const Arguments& arguments, Streams streams) {
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
  deadline.SetLastAct([path = (*directory)->path()] {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  });
  KubeletSimOptions kubelet_options;
  kubelet_options.directory = (*directory)->path();
  kubelet_options.pod_resources = (*directory)->path() + "/pod-resources/kubelet.sock";

  std::optional<Loaded> first;
  std::function<void(Loaded)> reload = [&](Loaded loaded) {
    first = std::move(loaded);
    loop.Stop();
  };
  stop = [&] { loop.Stop(); };
  refresh = [] {};
  ConfigSource source(
      loop, log, {arguments.config},
      [arguments, kubelet_options] { return LoadForTry(arguments, kubelet_options); },
      [&](Loaded loaded) { reload(std::move(loaded)); });
  source.Reload();
  loop.Run();
  if (!first) return arguments.once ? kFailed : kOk;  // stopped by a signal
  Loaded loaded = *std::move(first);
  log.Flush(LogWriter::kDrainTime);
  streams.err << BriefDiagnostics(loaded.diagnostics, arguments.config, streams.colors_err);
  if (loaded.model && IsDemonstration(arguments)) streams.err << kDemonstrationNote;
  if (!loaded.model) return kFailed;
  if (const Status is_there = CheckHostRoot(loaded.model->daemon); !is_there) {
    return ReportFailure(is_there.error(), streams);
  }
  const auto kubelet = KubeletSim::Create(kubelet_options);
  if (!kubelet) return fail(kubelet.error());
  if (const Status started = (*kubelet)->Start(); !started) return fail(started.error());

  auto made = Cancellation::Create();
  if (!made) return fail(made.error());
  const auto probing = std::make_shared<const Cancellation>(std::move(*made));
  const Model model = *loaded.model;
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
                                .diagnostics = loaded.diagnostics.Sorted()});
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
  std::vector<std::string> resources;
  for (const auto& resource : (*daemon)->resources()) resources.push_back(resource->name());
  std::thread report([&, address = (*daemon)->http_address()] {
    (*kubelet)->Await(
        [&] {
          return stopping ||
                 std::all_of(resources.begin(), resources.end(), [&](const std::string& resource) {
                   return IsListed(**kubelet, resource);
                 });
        },
        kRegistrationDeadline);
    if (stopping) return;
    bool well = Report(**kubelet, model, resources, streams);
    if (arguments.once && !ReportProbes(model, probing, streams)) well = false;
    loop.Post([&, well, address] {
      code = well ? kOk : kFailed;
      if (arguments.once || stopping) return stop();
      streams.out << format(
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
  report.join();
  log.Flush(kLogPatience);
  return code;
}

}  // namespace patchbay
