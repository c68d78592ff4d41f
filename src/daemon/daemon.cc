// Owns the graph of objects, and applies a reload to it. A reload is planned from the entries alone
// (reload_plan.h): unchanged controllers are kept, changed ones get the new entry, removed ones are
// drained. A resource waits until its predecessor of the same name has ended.

#include "daemon/daemon.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/format.h"
#include "daemon/descriptor_need.h"
#include "http/host_check.h"
#include "kubelet/plugin_sockets.h"
#include "metrics/metrics_text.h"
#include "model/hidden_resources.h"
#include "os/descriptors.h"
#include "os/malloc_tuning.h"
#include "rpc/grpc_init.h"

namespace patchbay {
namespace {

constexpr std::chrono::milliseconds kSettleTime{250};
/// Further resources are only counted.
constexpr std::size_t kMaxUnready = 20;
/// Trimming the heap takes milliseconds, during which other threads cannot allocate.
constexpr std::chrono::seconds kTrimPause{2};

/// Scans of many resources that finish within this time share one cleanup of unused watches.
constexpr std::chrono::milliseconds kRetainPause{200};

/// A scan that hangs occupies one of these threads for at most `patience`: sixty resources on a
/// file system that hangs delay the others by about four seconds. A scan that is only slow can also
/// become overdue, which costs one more thread.
constexpr ThreadPool::Options kScannerThreads{.max_running = 4,
                                              .patience = std::chrono::milliseconds(250)};
/// A command may take as long as its timeout.
constexpr ThreadPool::Options kCommandThreads{.max_running = 8};
constexpr ThreadPool::Options kServerThreads{.max_running = 4};
/// For the kubelet's directory: one check at a time.
constexpr ThreadPool::Options kDirectoryThreads{.max_running = 1, .max_overdue = 1};

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::Create(AsioLoop& loop, Log& log, Options options) {
  const std::size_t resources = ResourcesFor(options.model, options.node_name).size();
  TRY(CheckDescriptors(resources, options.model.daemon, DescriptorLimit()));
  std::unique_ptr<Daemon> daemon(new Daemon(loop, log, std::move(options)));
  InitGrpc();
  daemon->rpc_ = TRY(RpcServer::Create());
  TRY(daemon->ServeHttp());
  daemon->StartPodResources();  // first: resources request a poll after each Allocate
  TRY(daemon->StartResources());
  daemon->StartKubeletDir();
  daemon->ScheduleRescan();
  return daemon;
}

Daemon::Daemon(AsioLoop& loop, Log& log, Options options)
    : loop_(loop),
      log_(log),
      options_(std::move(options)),
      spec_(options_.model.daemon),
      host_(spec_.host_root),
      scanner_(loop, kScannerThreads),
      commands_(loop, kCommandThreads),
      servers_(loop, kServerThreads),
      directory_pool_(loop, kDirectoryThreads),
      status_(std::make_shared<StatusStore>(
          NodeStatus{.version = options_.version,
                     .revision = options_.revision,
                     .node_name = options_.node_name,
                     .device_metrics = spec_.device_metrics,
                     .suggest_page = spec_.suggest_page,
                     .config = {options_.config},
                     .kubelet = {.socket = spec_.kubelet_dir + "/kubelet.sock"}})),
      host_devices_(loop, scanner_, host_, [this] { return Served(); }),
      heartbeat_(loop, options_.max_loop_stall),
      probes_(loop, spec_.max_probes),
      shared_devices_(scanner_, log, [this] { return ParticipantsInSharing(); }) {
  status_->SetConfigReading({true, std::chrono::system_clock::now(), "", options_.diagnostics});
}

Daemon::~Daemon() = default;

Status Daemon::ServeHttp() {
  Routes routes;
  routes.metrics = [this] { return MetricsText(status_->Read(), log_.dropped()); };
  routes.alive = [this] { return Liveness(); };
  routes.ready = [this] { return Readiness(); };
  routes.status = [this] { return status_->Read(); };
  routes.suggestions = [this] { return host_devices_.Json(); };
  http_ = TRY(HttpServer::Create(
      spec_.listen, CheckHost(MakeRoutes(std::move(routes)), options_.node_name, spec_.hosts),
      log_));
  log_.Info("serving http", {{"address", http_->address()}});
  return {};
}

Status Daemon::StartResources() {
  scanner_.Run(
      [root = host_.Local("/")] {
        std::error_code none;
        return std::filesystem::is_directory(root, none);
      },
      lifetime_.Guard([this](bool is_there) {
        if (is_there) return;
        log_.Warning(
            "host_root is not a directory, so no device of the host is found; mount the host's "
            "root file system there, or correct host_root",
            {{"path", spec_.host_root}});
      }));
  auto watch = DirWatch::Create(loop_, [this](const std::string& directory, std::string_view) {
    OnDirectoryChanged(directory);
  });
  if (watch) {
    device_dirs_ = std::move(*watch);
  } else {
    log_.Warning("device directories cannot be watched; new devices are found only at each rescan",
                 {{"reason", watch.error().message}});
  }

  const ResourceSpecs specs = ResourcesFor(options_.model, options_.node_name);
  HiddenResources hidden = HiddenFrom(options_.model, specs);
  for (const HiddenResource& resource : hidden) {
    log_.Info("resource skipped: on_nodes does not include this node",
              {{"resource", resource.name}, {"node", options_.node_name}});
  }
  status_->SetHiddenResources(std::move(hidden));
  Apply(specs, PlanReload(spec_, {}, spec_, specs));
  TRY(StartFree());
  if (!dra_) ServePreparedClaims();
  return {};
}

void Daemon::StartKubeletDir() {
  kubelet_dir_ = std::make_unique<KubeletDir>(
      loop_, directory_pool_, log_,
      KubeletDir::Options{spec_.kubelet_dir, options_.run, spec_.rescan},
      KubeletDir::Events{.on_kubelet =
                             [this](std::uint64_t epoch, const std::string& identity) {
                               kubelet_ = epoch;
                               kubelet_identity_ = identity;
                               status_->SetKubeletUp(true);
                               if (epoch > 1) {
                                 status_->CountKubeletRestart();
                                 log_.Info("kubelet restarted");
                               }
                               for (const auto& resource : resources_) resource->OnKubelet(epoch);
                             },
                         .on_kubelet_lost =
                             [this] {
                               kubelet_.reset();
                               status_->SetKubeletUp(false);
                               log_.Warning("kubelet socket disappeared; waiting for it",
                                            {{"socket", kubelet_dir_->kubelet_socket()}});
                               for (const auto& resource : resources_) resource->OnKubeletLost();
                               if (dra_) dra_->OnKubeletLost();
                             },
                         .on_sockets =
                             [this](const PluginSockets& sockets, Loop::Time check_start) {
                               for (const auto& resource : resources_) {
                                 resource->CheckSocket(sockets, check_start);
                               }
                             },
                         .on_dead = options_.on_fatal});
  kubelet_dir_->Start();
}

void Daemon::StartPodResources() {
  const std::string& socket = spec_.pod_resources;
  if (socket.empty()) return;
  status_->EnablePodResources();
  pod_resources_ = std::make_shared<PodResources>(
      loop_, log_, socket,
      PodResources::Events{
          .on_holders = [this](const ReportedHolders& reported) { OnHolders(reported); },
          .on_up = [this](bool up) { status_->SetPodResourcesUp(up); }},
      options_.pod_resources_pace);
}

void Daemon::OnHolders(const ReportedHolders& reported) {
  holders_ = reported;
  for (const auto& resource : resources_) ReportHolders(*resource);
}

void Daemon::ReportHolders(ResourceController& resource) const {
  if (!holders_) return;
  if (resource.is_dra()) {
    const auto driver = holders_->claim_holders.find(spec_.dra_driver);
    DeviceHolders holders;
    if (driver != holders_->claim_holders.end()) {
      holders = dra_->HoldersOf(resource.name(), driver->second);
    }
    return resource.OnHolders({std::move(holders), holders_->complete, holders_->kubelet});
  }
  const auto found = holders_->holders.find(resource.name());
  resource.OnHolders({found == holders_->holders.end() ? DeviceHolders() : found->second,
                      holders_->complete, holders_->kubelet});
}

/// Trims the heap once after a pause, however many snapshots were published in the meantime.
void Daemon::TrimSoon() {
  if (trim_) return;
  trim_ = loop_.After(kTrimPause, [this] {
    trim_ = Subscription();
    scanner_.Run({TrimHeap});
  });
}

void Daemon::ScheduleRescan() {
  rescan_ = loop_.After(spec_.rescan, [this] {
    Refresh();
    // No event reports that many connections have ended, such as those of rejected streams.
    TrimSoon();
    ScheduleRescan();
  });
}

void Daemon::Refresh() {
  for (const auto& resource : resources_) resource->Refresh();
  if (dra_) dra_->RefreshClaims();
}

/// inotify does not see changes in sysfs, so kernel events replace it. Returns true if they are
/// received from now on and were not before.
bool Daemon::WatchKernel() {
  if (kernel_events_ ||
      std::none_of(resources_.begin(), resources_.end(),
                   [](const auto& resource) { return resource->DependsOnSysfs(); })) {
    return false;
  }
  auto events = KernelEvents::Create(loop_, [this](const KernelEvent&) { OnKernelEvent(); });
  if (events) {
    kernel_events_ = std::move(*events);
  } else {
    log_.Warning("kernel events are not available; devices in sysfs are found only at each rescan",
                 {{"reason", events.error().message}});
  }
  return kernel_events_ != nullptr;
}

void Daemon::OnKernelEvent() {
  ScanSysfs();
  // The kernel sends the event before it removes the device, and before udev has handled it.
  settle_ = loop_.After(kSettleTime, [this] {
    settle_ = Subscription();
    ScanSysfs();
  });
}

void Daemon::ScanSysfs() {
  for (const auto& resource : resources_) {
    if (resource->DependsOnSysfs()) resource->Scan();
  }
}

SharedDeviceMonitor::Participants Daemon::ParticipantsInSharing() const {
  SharedDeviceMonitor::Participants participants;
  for (const auto& resource : resources_) {
    participants.push_back({resource->name(), resource->snapshot(), resource->observer()});
  }
  return participants;
}

ServedNodes Daemon::Served() const {
  ServedNodes served;
  for (const auto& resource : resources_) {
    if (resource->snapshot() != nullptr) AddServed(*resource->snapshot(), served);
  }
  return served;
}

/// A directory with a new watch is scanned again, also by resources that are scanning now and may
/// have read it before.
void Daemon::OnScanned(const DirWatch::Added& added, bool directories_changed) {
  if (!device_dirs_ || stopping_) return;
  const auto outcome = device_dirs_->Merge(added);
  const std::size_t before = unwatched_.size();
  for (const auto& [directory, watch] : added) {
    if (watch) {
      unwatched_.erase(directory);
    } else {
      unwatched_.insert_or_assign(directory, watch.error());
    }
  }
  if (directories_changed) RetainWatchesSoon();
  if (!unwatched_.empty() && unwatched_.size() != before) {
    log_.Warning(
        "some directories cannot be watched; they are scanned only at each rescan",
        {{"directories", unwatched_.size()}, {"reason", unwatched_.begin()->second.message}});
  }
  for (const std::string& changed : outcome.changed) OnDirectoryChanged(changed);
}

/// Runs once for all scans that end together, because it visits every resource.
void Daemon::RetainWatchesSoon() {
  if (retain_) return;
  retain_ = loop_.After(kRetainPause, [this] {
    retain_ = Subscription();
    RetainWatches();
  });
}

/// Watches only what the last scan of some resource named.
void Daemon::RetainWatches() {
  if (!device_dirs_) return;
  std::set<std::string> wanted;
  for (const auto& resource : resources_) {
    wanted.insert(resource->directories().begin(), resource->directories().end());
  }
  device_dirs_->Retain(wanted);
  std::erase_if(unwatched_, [&](const auto& entry) { return !wanted.contains(entry.first); });
}

void Daemon::OnDirectoryChanged(const std::string& directory) {
  for (const auto& resource : resources_) resource->OnChanged(directory);
}

void Daemon::UpdateReadiness() {
  CheckResult result{true, ""};
  std::size_t unready = 0;
  const auto add = [&](const std::string& name, std::string_view why) {
    result.ok = false;
    if (++unready <= kMaxUnready) result.body += Format("{} {}\n", name, why);
  };
  for (const auto& resource : resources_) {
    if (!resource->registered()) add(resource->name(), resource->WhyNotRegistered());
  }
  for (const auto& spec : Waiting()) {
    add(spec->name, IsDraining(spec->name) || start_error_.empty()
                        ? "waits until the previous resource of this name has stopped"
                        : "cannot start: " + start_error_);
  }
  if (unready > kMaxUnready) result.body += Format("and {} more\n", unready - kMaxUnready);
  const std::lock_guard lock(readiness_mutex_);
  readiness_ = std::move(result);
}

CheckResult Daemon::Readiness() const {
  const std::lock_guard lock(readiness_mutex_);
  return readiness_;
}

/// Called on the HTTP thread, even while the loop is stalled.
CheckResult Daemon::Liveness() {
  const auto now = std::chrono::steady_clock::now();
  if (CheckResult loop = CheckLoop(heartbeat_); !loop.ok) return loop;
  return CheckProgress(
      {servers_.OldestAge(now), directory_pool_.OldestAge(now), pending_calls_->Oldest()},
      options_.progress_limits, now);
}

void Daemon::Stop(std::function<void()> done) {
  stopping_ = true;
  rescan_ = Subscription();
  settle_ = Subscription();
  start_ = Subscription();
  trim_ = Subscription();
  retain_ = Subscription();
  kernel_events_.reset();
  if (pod_resources_) {
    auto call = std::make_shared<PendingCall>(pod_resources_->TakeCall());
    servers_.Run([call = std::move(call)]() mutable { call.reset(); });
    pod_resources_.reset();
  }
  kubelet_dir_.reset();
  ending_ = resources_.size() + draining_.size() + (dra_ ? 1 : 0);
  if (ending_ == 0) return loop_.Post(std::move(done));
  const auto on_ended = [this, done] {
    if (--ending_ == 0) done();
  };
  if (dra_) dra_->End(on_ended);  // first: the resources are not reported as unhealthy
  for (const auto& resource : resources_) resource->End(on_ended);
  for (Draining& draining : draining_) {
    draining.settled = Subscription();
    draining.resource->End(on_ended);
  }
}

}  // namespace patchbay
