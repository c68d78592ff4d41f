#include "daemon/daemon.h"

#include <algorithm>
#include <filesystem>

#include "base/format.h"
#include "base/hash.h"
#include "kubelet/plugin_server.h"
#include "kubelet/sockets.h"

namespace patchbay {
namespace {

constexpr std::chrono::milliseconds kSettleTime{250};

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::Create(Loop& loop, Log& log, Options options) {
  std::unique_ptr<Daemon> daemon(new Daemon(loop, log, std::move(options)));
  TRY(daemon->ServeHttp());
  TRY(daemon->StartResources());
  daemon->StartKubeletDir();
  daemon->StartPodResources();
  daemon->ScheduleRescan();
  return daemon;
}

Daemon::Daemon(Loop& loop, Log& log, Options options)
    : loop_(loop),
      log_(log),
      options_(std::move(options)),
      spec_(options_.model.daemon),
      host_(spec_.host_root),
      metrics_({.version = options_.version,
                .revision = options_.revision,
                .node_name = options_.node_name,
                .config = options_.config,
                .device_metrics = spec_.device_metrics}),
      pulse_(loop, options_.longest_standstill),
      probes_(loop, spec_.max_probes),
      sharing_(loop, scanner_, log, [this] { return PartiesToSharing(); }) {
  metrics_.ConfigRead({true, std::chrono::system_clock::now(), "", options_.diagnostics});
}

Daemon::~Daemon() = default;

Status Daemon::ServeHttp() {
  Routes routes;
  routes.metrics = [this] { return metrics_.Text(); };
  routes.alive = AliveWith(pulse_);
  routes.ready = [this] { return Readiness(); };
  routes.status = [this] { return metrics_.Now(); };
  http_ = TRY(HttpServer::Create(spec_.listen, MakeRoutes(std::move(routes)), log_));
  log_.Info("serving http", {{"address", http_->address()}});
  return {};
}

Status Daemon::StartResources() {
  if (std::error_code none; !std::filesystem::is_directory(host_.Local("/"), none)) {
    log_.Warning(
        "there is no directory to see the host in, so none of its devices is found; mount "
        "the host's root there, or mend host_root",
        {{"path", spec_.host_root}});
  }
  KeepGrpc();
  auto watch = DirWatch::Create(loop_, [this](const std::string& directory, std::string_view name) {
    OnDirectoryChanged(directory, name.empty());
  });
  if (watch) {
    device_dirs_ = std::move(*watch);
  } else {
    log_.Warning("devices are looked for only at every rescan",
                 {{"reason", watch.error().message}});
  }

  const ResourceSpecs specs = ResourcesFor(options_.model, options_.node_name);
  for (const ResourceSpec& spec : options_.model.resources) {
    const bool here = std::any_of(specs.begin(), specs.end(),
                                  [&](const auto& other) { return other->name == spec.name; });
    if (here) continue;
    log_.Info("resource is not for this node",
              {{"resource", spec.name}, {"node", options_.node_name}});
  }
  return Bring(specs);
}

void Daemon::StartKubeletDir() {
  kubelet_dir_ = std::make_unique<KubeletDir>(
      loop_, log_, spec_.kubelet_dir, spec_.rescan,
      KubeletDir::Events{.on_kubelet =
                             [this](std::uint64_t epoch) {
                               kubelet_ = epoch;
                               metrics_.SetKubeletUp(true);
                               SweepSockets();
                               if (epoch > 1) {
                                 metrics_.KubeletRestarted();
                                 log_.Info("the kubelet was restarted");
                               }
                               for (const auto& resource : resources_) resource->OnKubelet(epoch);
                             },
                         .on_kubelet_lost =
                             [this] {
                               kubelet_.reset();
                               metrics_.SetKubeletUp(false);
                               log_.Warning("the kubelet's socket is gone; waiting for it",
                                            {{"socket", kubelet_dir_->kubelet_socket()}});
                               for (const auto& resource : resources_) resource->OnKubeletLost();
                             },
                         .on_sockets_changed = [this] { CheckSockets(); },
                         .on_dead = options_.on_fatal});
  SweepSockets();
  kubelet_dir_->Start();
  if (!kubelet_dir_->kubelet_present()) {
    log_.Warning(kubelet_dir_->WhyAbsent(), {{"socket", kubelet_dir_->kubelet_socket()}});
  }
}

void Daemon::StartPodResources() {
  const std::string& socket = spec_.pod_resources;
  if (socket.empty()) return;
  metrics_.ExpectPodResources();
  pod_resources_ = std::make_unique<PodResources>(
      loop_, log_, socket,
      PodResources::Events{
          .on_holders = [this](const ReportedHolders& reported) { OnHolders(reported); },
          .on_up = [this](bool up) { metrics_.SetPodResourcesUp(up); }},
      options_.pod_resources_pace);
}

void Daemon::OnHolders(const ReportedHolders& reported) {
  holders_ = reported;
  for (const auto& resource : resources_) TellHolders(*resource);
}

void Daemon::TellHolders(ResourceController& resource) const {
  if (!holders_) return;
  const auto found = holders_->holders.find(resource.name());
  resource.OnHolders({found == holders_->holders.end() ? DeviceHolders() : found->second,
                      holders_->complete, holders_->kubelet});
}

void Daemon::SweepSockets() {
  for (const std::string& name : SweepLeftovers(spec_.kubelet_dir)) {
    log_.Info("removed the socket of a run that was killed",
              {{"socket", spec_.kubelet_dir + "/" + name}});
  }
}

void Daemon::CheckSockets() {
  const auto others = ResourcesOfOthers(options_.run, spec_.kubelet_dir);
  for (const auto& resource : resources_) {
    resource->CheckSocket(others.contains(StableHash(resource->name())));
  }
}

void Daemon::ScheduleRescan() {
  rescan_ = loop_.After(spec_.rescan, [this] {
    WatchDirectories();
    Refresh();
    ScheduleRescan();
  });
}

void Daemon::Refresh() {
  for (const auto& resource : resources_) resource->Refresh();
}

/// Devices of sysfs come and go without a trace that inotify could see. Returns whether the kernel
/// is heard from now on, and was not before.
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
    log_.Warning("devices of sysfs are looked for only at every rescan",
                 {{"reason", events.error().message}});
  }
  return kernel_events_ != nullptr;
}

void Daemon::OnKernelEvent() {
  ScanSysfs();
  // The kernel tells of a device before it takes it away, and before udev knows it.
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

Sharing::Parties Daemon::PartiesToSharing() const {
  Sharing::Parties parties;
  for (const auto& resource : resources_) {
    parties.push_back({resource->name(), resource->snapshot(), resource->observer()});
  }
  return parties;
}

void Daemon::WatchDirectories() {
  if (!device_dirs_) return;
  std::set<std::string> wanted;
  for (const auto& resource : resources_) {
    wanted.insert(resource->directories().begin(), resource->directories().end());
  }
  const auto outcome = device_dirs_->Watch(wanted);
  if (!outcome.failed.empty() && outcome.failed.size() != unwatched_) {
    log_.Warning(
        "some directories cannot be watched; they are looked at only at every rescan",
        {{"directories", outcome.failed.size()}, {"reason", outcome.failed.front().message}});
  }
  unwatched_ = outcome.failed.size();
  // One that is gone may come back before anybody has looked and seen that it was gone.
  watches_lost_ = std::any_of(outcome.failed.begin(), outcome.failed.end(), [](const Error& error) {
    return error.kind == ErrorKind::kNotFound;
  });
  // Also by those that are looking now, and may have looked there before.
  for (const std::string& changed : outcome.changed) {
    for (const auto& resource : resources_) resource->OnChanged(changed);
  }
}

void Daemon::OnDirectoryChanged(const std::string& directory, bool itself) {
  for (const auto& resource : resources_) resource->OnChanged(directory);
  // Its watch went with it. What is at that path after the next look has to be watched anew.
  watches_lost_ = watches_lost_ || itself;
}

void Daemon::UpdateReadiness() {
  Verdict verdict{true, ""};
  for (const auto& resource : resources_) {
    if (resource->registered()) continue;
    verdict.ok = false;
    verdict.body += resource->name() + " is not registered with the kubelet\n";
  }
  const std::lock_guard lock(readiness_mutex_);
  readiness_ = std::move(verdict);
}

Verdict Daemon::Readiness() const {
  const std::lock_guard lock(readiness_mutex_);
  return readiness_;
}

void Daemon::Stop(std::function<void()> done) {
  stopping_ = true;
  rescan_ = Subscription();
  settle_ = Subscription();
  kernel_events_.reset();
  pod_resources_.reset();
  kubelet_dir_.reset();
  ending_ = resources_.size() + retiring_.size();
  if (ending_ == 0) return loop_.Post(std::move(done));
  const auto on_ended = [this, done] {
    if (--ending_ == 0) done();
  };
  for (const auto& resource : resources_) resource->End(on_ended);
  for (Retiring& retiring : retiring_) {
    retiring.settled = Subscription();
    retiring.resource->End(on_ended);
  }
}

}  // namespace patchbay
