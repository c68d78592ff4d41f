// Reload rejects what cannot be applied before it changes anything. Apply then keeps, changes or
// drains the controllers, as PlanReload says. A wanted resource without a controller waits: until a
// draining one with its name has ended, or the system can start it.

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string_view>

#include "base/format.h"
#include "base/path.h"
#include "daemon/config_source.h"
#include "daemon/daemon.h"
#include "daemon/descriptor_need.h"
#include "dra/claim_store.h"
#include "model/hidden_resources.h"
#include "os/descriptors.h"

namespace patchbay {
namespace {

/// Further resources are only counted.
constexpr std::size_t kMaxStepsLogged = 20;

/// The pause between two attempts to start resources whose name has become free.
constexpr std::chrono::seconds kStartRetry{1};
constexpr std::chrono::milliseconds kStartPause{50};
constexpr std::chrono::seconds kClaimsRetry{5};

void LogStep(Log& log, const ResourceStep& step) {
  switch (step.impact) {
    case ChangeImpact::kNothing: return;
    case ChangeImpact::kNew: return log.Info("resource added", {{"resource", step.resource}});
    case ChangeImpact::kRemoved: return log.Info("resource removed", {{"resource", step.resource}});
    default:
      log.Info("resource changed", {{"resource", step.resource},
                                    {"keys", Format("{}", fmt::join(step.keys, ", "))},
                                    {"impact", Name(step.impact)}});
  }
}

/// Logs the effects of a reload. Returns the keys that need a restart; `logged` are those logged
/// last.
std::string LogPlan(Log& log, const ReloadPlan& plan, const std::string& logged) {
  std::map<ChangeImpact, std::size_t> counts;
  std::size_t touched = 0;
  for (const ResourceStep& step : plan.resources) {
    ++counts[step.impact];
    if (step.impact != ChangeImpact::kNothing && ++touched <= kMaxStepsLogged) LogStep(log, step);
  }
  if (touched > kMaxStepsLogged)
    log.Info("further changed resources not listed", {{"more", touched - kMaxStepsLogged}});
  std::vector<std::string> now, later;
  for (const DaemonStep& step : plan.daemon) (step.is_live ? now : later).push_back(step.key);
  if (!now.empty())
    log.Info("[daemon] keys changed", {{"keys", Format("{}", fmt::join(now, ", "))}});
  log.Info("configuration reloaded",
           {{"resources", plan.resources.size() - counts[ChangeImpact::kRemoved]},
            {"changed", touched - counts[ChangeImpact::kNew] - counts[ChangeImpact::kRemoved]},
            {"new", counts[ChangeImpact::kNew]},
            {"removed", counts[ChangeImpact::kRemoved]}});
  std::string keys = Format("{}", fmt::join(later, ", "));
  if (keys.empty() || keys == logged) return keys;
  log.Warning("some [daemon] keys need a restart to take effect; restart patchbay",
              {{"keys", keys}});
  return keys;
}

/// Returns the API server to use. An editor of the configuration must not get the token of the pod
/// by naming another server.
Result<ClusterConfig> ClusterFor(const DaemonSpec& spec, const Result<ClusterConfig>& in_pod,
                                 bool allows_other) {
  if (!spec.kubernetes) return in_pod;
  ClusterConfig named = TRY(ClusterConfigFrom(*spec.kubernetes));
  const bool is_other = in_pod && HostAndPort(*in_pod) != HostAndPort(named);
  if (!is_other || allows_other) return named;
  return Fail(ErrorKind::kPrecondition,
              Format("server of [daemon.kubernetes] is {}, and the API server of this pod is {}; "
                     "remove [daemon.kubernetes], or start patchbay with --allow-other-server",
                     UrlOf(named), UrlOf(*in_pod)));
}

std::set<std::string> DraNames(const ResourceSpecs& resources) {
  std::set<std::string> names;
  for (const auto& spec : resources) {
    if (spec->api == Api::kDra) names.insert(spec->name);
  }
  return names;
}

}  // namespace

bool Daemon::Reload(Loaded loaded) {
  if (stopping_) return false;
  std::vector<Diagnostic> diagnostics = loaded.diagnostics.Sorted();
  LogDiagnostics(log_, diagnostics, logged_);
  logged_ = diagnostics;
  if (!loaded.model) return RefuseReload("the configuration has errors", std::move(diagnostics));
  if (const auto why = WhyRefused(wanted_, *loaded.model)) {
    return RefuseReload(std::string(*why), std::move(diagnostics));
  }
  const ResourceSpecs wanted = ResourcesFor(*loaded.model, options_.node_name);
  if (const Status fits = CheckDescriptors(wanted.size(), loaded.model->daemon, DescriptorLimit());
      !fits) {
    return RefuseReload(fits.error().message, std::move(diagnostics));
  }
  if (!dra_) {  // nothing uses them yet
    spec_.dra_driver = loaded.model->daemon.dra_driver;
    spec_.device_metadata = loaded.model->daemon.device_metadata;
  }
  const ReloadPlan plan = PlanReload(spec_, wanted_, loaded.model->daemon, wanted);
  Apply(wanted, plan);
  StartWaiting();
  ApplyLive(loaded.model->daemon);
  status_->SetHiddenResources(HiddenFrom(*loaded.model, wanted));
  status_->SetConfigReading({true, std::chrono::system_clock::now(), "", std::move(diagnostics)});
  logged_keys_ = LogPlan(log_, plan, logged_keys_);
  return true;
}

/// Returns false, the result of Reload.
bool Daemon::RefuseReload(const std::string& reason, std::vector<Diagnostic> diagnostics) {
  status_->SetConfigReading(
      {false, std::chrono::system_clock::now(), reason, std::move(diagnostics)});
  log_.Error("config reload failed; keeping the last valid configuration", {{"reason", reason}});
  return false;
}

/// Connects to nothing before a resource needs it, so that a node without such resources needs no
/// access to the API server. Without an API server, or paths of sockets that can be used, the
/// resources are reported as not served, and those of the device plugin API do not depend on it.
/// Stays, once started.
void Daemon::StartDra() {
  const Result<ClusterConfig> cluster =
      ClusterFor(spec_, options_.cluster, options_.allows_other_server);
  DraService::Options options{
      .instance = {.kubelet_root = DirectoryOf(spec_.kubelet_dir),
                   .driver = spec_.dra_driver,
                   .pod_uid = options_.pod_uid},
      .cluster = cluster ? *cluster : ClusterConfig{.unknown = cluster.error().message},
      .node_name = options_.node_name,
      .cdi_dir = spec_.cdi_dir,
      .device_metadata = spec_.device_metadata,
      .seed = std::random_device()()};
  dra_ = DraService::Create({loop_, log_, rpc_, pending_calls_, status_->AddDriver()},
                            std::move(options), [this] { OnDraStatus(); });
}

/// Claims that an earlier configuration prepared keep their pods from ending until the driver
/// releases them.
void Daemon::ServePreparedClaims() {
  scanner_.Run(
      [directory = Format("{}/plugins/{}", DirectoryOf(spec_.kubelet_dir), spec_.dra_driver),
       cdi_dir = spec_.cdi_dir,
       driver = spec_.dra_driver] { return ClaimStore(directory, cdi_dir, driver).Read(); },
      lifetime_.Guard([this](const Result<std::shared_ptr<const ClaimRecords>>& read) {
        if (dra_ || stopping_) return;
        if (!read) return OnClaimsUnreadable(read.error().message);
        const std::size_t claims = (*read)->claims.size() + (*read)->bad.size();
        if (claims == 0) return;
        log_.Warning(
            "claims are prepared, but no resource is served by Dynamic Resource Allocation; their "
            "release needs this process",
            {{"driver", spec_.dra_driver}, {"claims", claims}});
        StartDra();
        dra_->SetNames({});
      }));
}

void Daemon::OnClaimsUnreadable(const std::string& reason) {
  if (std::exchange(claims_error_, reason) != reason) {
    log_.Warning("cannot read the records of claims, which an earlier configuration may have left",
                 {{"reason", reason}});
  }
  claims_retry_ = loop_.After(kClaimsRetry, [this] { ServePreparedClaims(); });
}

void Daemon::OnDraStatus() {
  status_->SetDra(std::make_shared<const DraStatus>(dra_->status()));
  TrimSoon();  // a request has all devices of a slice as text
}

/// Runs once for all names that become free together, because it visits every resource.
void Daemon::StartWaitingSoon() {
  if (start_) return;
  start_ = loop_.After(kStartPause, [this] { StartWaiting(); });
}

/// Retries each second until it succeeds.
void Daemon::StartWaiting() {
  start_ = Subscription();
  const Status started = StartFree();
  ended_observers_.clear();  // a resource that has returned keeps its counters
  const std::string error = started ? "" : started.error().message;
  if (std::exchange(start_error_, error) != error && !started) {
    log_.Warning("resources cannot start yet; retrying every second", {{"reason", error}});
  }
  if (started) return;
  start_ = loop_.After(kStartRetry, [this] { StartWaiting(); });
  UpdateReadiness();  // with the reason
}

void Daemon::ApplyLive(const DaemonSpec& spec) {
  if (spec_.rescan != spec.rescan) {
    spec_.rescan = spec.rescan;
    kubelet_dir_->SetPoll(spec.rescan);
    ScheduleRescan();
  }
  if (spec_.max_probes != spec.max_probes) {
    spec_.max_probes = spec.max_probes;
    probes_.SetMostAtOnce(spec.max_probes);
  }
  if (spec_.log_level != spec.log_level) {
    spec_.log_level = spec.log_level;
    log_.SetLevel(spec.log_level);
  }
  spec_.api = spec.api;  // in effect through the resources
  spec_.device_metrics = spec.device_metrics;
  spec_.suggest_page = spec.suggest_page;
  status_->SetShown(spec.device_metrics, spec.suggest_page);
}

/// Changes and drains resources. New ones wait until StartFree.
void Daemon::Apply(const ResourceSpecs& wanted, const ReloadPlan& plan) {
  if (!dra_ && HasDra(wanted)) StartDra();
  std::map<std::string_view, ChangeImpact> impact;
  for (const ResourceStep& step : plan.resources) impact.emplace(step.resource, step.impact);
  for (auto& resource : std::exchange(resources_, {})) {
    const ChangeImpact own = impact.at(resource->name());
    // A resource that gets the other API is drained first, as if it had been removed.
    if (own == ChangeImpact::kRemoved || own == ChangeImpact::kApi) {
      Drain(std::move(resource));
    } else {
      resources_.push_back(std::move(resource));
    }
  }
  wanted_ = wanted;
  for (const auto& resource : resources_) {
    if (impact.at(resource->name()) == ChangeImpact::kNothing) continue;
    const auto spec = *std::ranges::find(wanted, resource->name(), &ResourceSpec::name);
    resource->Apply({spec, ExclusiveResourcesAbove(*spec, wanted)});
  }
  if (dra_) dra_->SetNames(DraNames(wanted));
}

/// Starts the resources that wait and whose name is free. Fails if one cannot start; the others
/// are started.
Status Daemon::StartFree() {
  Status status;
  Resources started;
  for (const auto& spec : Waiting()) {
    if (IsDraining(spec->name)) continue;
    auto cancellation = options_.make_cancellation();
    if (!cancellation) {
      status = tl::unexpected(cancellation.error());
      continue;
    }
    started.push_back(
        MakeResource({spec, ExclusiveResourcesAbove(*spec, wanted_)}, *std::move(cancellation)));
  }
  const std::size_t before = resources_.size();
  std::ranges::move(started, std::back_inserter(resources_));
  const bool watches_kernel = WatchKernel();  // before the first scan, so that no event is lost
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    ResourceController& resource = *resources_[i];
    if (i >= before) {
      resource.Scan();
      if (kubelet_) resource.OnKubelet(*kubelet_);
      ReportHolders(resource);
    } else if (watches_kernel && resource.DependsOnSysfs()) {
      resource.Scan();
    }
  }
  shared_devices_.Compare();
  UpdateReadiness();
  return status;
}

/// Returns the wanted resources that are not served, in their order.
ResourceSpecs Daemon::Waiting() const {
  ResourceSpecs waiting;
  for (const auto& spec : wanted_) {
    if (std::ranges::find(resources_, spec->name, &ResourceController::name) == resources_.end()) {
      waiting.push_back(spec);
    }
  }
  return waiting;
}

/// Returns whether the resource that had this name before is still ending.
bool Daemon::IsDraining(const std::string& name) const {
  return std::ranges::any_of(draining_,
                             [&](const Draining& other) { return other.resource->name() == name; });
}

std::unique_ptr<ResourceController> Daemon::MakeResource(ResourceController::Entry entry,
                                                         Cancellation cancellation) {
  const NetDirectory networks(NetDirectoryFor(spec_.kubelet_dir));
  const ResourceController::Dependencies deps{
      scanner_,
      commands_,
      host_,
      device_dirs_.get(),
      probes_,
      ResourcePlugin::Dependencies{loop_, servers_, rpc_, log_,
                                   AllocationHost{host_, options_.node_name, spec_.cdi_dir,
                                                  networks.HookFor(options_.node_addresses)},
                                   spec_.kubelet_dir, options_.run, servers_made_,
                                   kubelet_identity_, pending_calls_},
      pod_resources_,
      dra_.get(),
      scan_budget_,
      networks};
  auto observer = status_->AddResource(entry.spec->name);
  return std::make_unique<ResourceController>(
      deps, std::move(entry), std::make_shared<const Cancellation>(std::move(cancellation)),
      std::move(observer),
      ResourceController::Events{
          .on_scanned = [this](const DirWatch::Added& added,
                               bool directories_changed) { OnScanned(added, directories_changed); },
          .on_published =
              [this] {
                shared_devices_.Compare();
                TrimSoon();
              },
          .check_directory =
              [this] {
                if (kubelet_dir_) kubelet_dir_->CheckSoon();  // null while the daemon stops
              },
          .on_registered = [this] { UpdateReadiness(); },
          // The response may be older than the loss of the socket.
          .on_kubelet_answers =
              [this](bool answers) { status_->SetKubeletUp(answers && kubelet_); },
      });
}

/// Its name becomes free after a delay in which the kubelet detects the end of the stream.
void Daemon::Drain(std::unique_ptr<ResourceController> resource) {
  if (const std::size_t held = resource->held(); held > 0) {
    log_.Warning(
        "resource removed while pods still use its devices; they keep them and no release hook "
        "will run",
        {{"resource", resource->name()}, {"devices", held}});
  }
  const auto at = draining_.insert(draining_.end(), {std::move(resource)});
  at->resource->Drain([this, at] {
    at->settled = loop_.After(kSettle, [this, at] {
      ended_observers_.push_back(at->resource->observer());
      draining_.erase(at);
      if (draining_.empty()) RetainWatches();
      StartWaitingSoon();
    });
  });
}

}  // namespace patchbay
