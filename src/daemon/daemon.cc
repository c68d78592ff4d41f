#include "daemon/daemon.h"

#include <algorithm>

#include "base/format.h"
#include "kubelet/plugin_server.h"

namespace patchbay {
namespace {

constexpr std::chrono::milliseconds kSettleTime{250};

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::Create(Loop& loop, Log& log, Options options) {
  Cancellation cancellation = TRY(Cancellation::Create());
  std::unique_ptr<Daemon> daemon(
      new Daemon(loop, log, std::move(options), std::move(cancellation)));
  TRY(daemon->ServeHttp());
  daemon->StartResources();
  daemon->StartKubeletDir();
  daemon->StartPodResources();
  daemon->ScheduleRescan();
  return daemon;
}

Daemon::Daemon(Loop& loop, Log& log, Options options, Cancellation cancellation)
    : loop_(loop),
      log_(log),
      options_(std::move(options)),
      host_(options_.model.daemon.host_root),
      cancellation_(std::make_shared<const Cancellation>(std::move(cancellation))),
      metrics_({.version = options_.version,
                .revision = options_.revision,
                .device_metrics = options_.model.daemon.device_metrics}),
      pulse_(loop),
      probes_(loop, options_.model.daemon.max_probes) {
  metrics_.ConfigLoaded(true, std::chrono::system_clock::now());
}

Daemon::~Daemon() = default;

Status Daemon::ServeHttp() {
  Routes routes;
  routes.metrics = [this] { return metrics_.Text(); };
  routes.alive = [this] {
    const bool alive = pulse_.Alive(Loop::Clock::now());
    return Verdict{alive, alive ? "" : "the loop does not turn\n"};
  };
  routes.ready = [this] { return Readiness(); };
  http_ =
      TRY(HttpServer::Create(options_.model.daemon.listen, MakeRoutes(std::move(routes)), log_));
  log_.Info("serving metrics", {{"address", http_->address()}});
  return {};
}

void Daemon::StartResources() {
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

  ResourceController::World world{
      scanner_,
      host_,
      {},
      cancellation_,
      device_dirs_.get(),
      probes_,
      ResourcePlugin::World{loop_, servers_, log_, AllocationOn(host_, options_.node_name),
                            options_.model.daemon.kubelet_dir, options_.run}};
  const ResourceSpecs specs = ResourcesFor(options_.model, options_.node_name);
  for (const ResourceSpec& spec : options_.model.resources) {
    const bool here = std::any_of(specs.begin(), specs.end(),
                                  [&](const auto& other) { return other->name == spec.name; });
    if (here) continue;
    log_.Info("resource is not for this node",
              {{"resource", spec.name}, {"node", options_.node_name}});
  }
  for (const auto& spec : specs) {
    world.owners = OwnersBefore(*spec, specs);
    resources_.push_back(std::make_unique<ResourceController>(
        world, spec, metrics_.AddResource(spec->name),
        ResourceController::Events{
            .on_scanned =
                [this](bool directories_changed) {
                  if (directories_changed || std::exchange(watches_lost_, false)) {
                    WatchDirectories();
                  }
                },
            .on_published = [this] { CompareResources(); },
            .on_registered = [this] { UpdateReadiness(); },
            .on_kubelet_answers = [this](bool answers) { metrics_.SetKubeletUp(answers); },
            .on_granted =
                [this] {
                  if (pod_resources_) pod_resources_->PollSoon();
                },
            .ask_holders =
                [this](PodResources::Asked asked) {
                  if (!pod_resources_) return asked(false);
                  pod_resources_->AskNow(std::move(asked));
                }}));
  }
  WatchKernel();  // before the first look, so that nothing comes between the two
  for (const auto& resource : resources_) resource->Scan();
  UpdateReadiness();
}

void Daemon::StartKubeletDir() {
  const DaemonSpec& spec = options_.model.daemon;
  kubelet_dir_ = std::make_unique<KubeletDir>(
      loop_, log_, spec.kubelet_dir, spec.rescan,
      KubeletDir::Events{.on_kubelet =
                             [this](std::uint64_t epoch) {
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
                               metrics_.SetKubeletUp(false);
                               log_.Warning("the kubelet's socket is gone; waiting for it",
                                            {{"socket", kubelet_dir_->kubelet_socket()}});
                               for (const auto& resource : resources_) resource->OnKubeletLost();
                             },
                         .on_sockets_changed =
                             [this] {
                               for (const auto& resource : resources_) resource->CheckSocket();
                             },
                         .on_dead = options_.on_fatal});
  SweepSockets();
  kubelet_dir_->Start();
  if (!kubelet_dir_->kubelet_present()) {
    log_.Warning("no kubelet yet; waiting for its socket",
                 {{"socket", kubelet_dir_->kubelet_socket()}});
  }
}

void Daemon::StartPodResources() {
  const std::string& socket = options_.model.daemon.pod_resources;
  if (socket.empty()) return;
  pod_resources_ = std::make_unique<PodResources>(
      loop_, log_, socket,
      PodResources::Events{
          .on_holders = [this](const ReportedHolders& reported) { OnHolders(reported); },
          .on_up = [this](bool up) { metrics_.SetPodResourcesUp(up); }},
      options_.pod_resources_pace);
}

void Daemon::OnHolders(const ReportedHolders& reported) {
  for (const auto& resource : resources_) {
    const auto found = reported.holders.find(resource->name());
    resource->OnHolders({found == reported.holders.end() ? DeviceHolders() : found->second,
                         reported.complete, reported.kubelet});
  }
}

void Daemon::SweepSockets() {
  for (const std::string& name : SweepLeftovers(options_.model.daemon.kubelet_dir)) {
    log_.Info("removed the socket of a run that was killed", {{"socket", name}});
  }
}

void Daemon::ScheduleRescan() {
  rescan_ = loop_.After(options_.model.daemon.rescan, [this] {
    WatchDirectories();
    Refresh();
    ScheduleRescan();
  });
}

void Daemon::Refresh() {
  for (const auto& resource : resources_) resource->Refresh();
}

/// Devices of sysfs come and go without a trace that inotify could see.
void Daemon::WatchKernel() {
  if (std::none_of(resources_.begin(), resources_.end(),
                   [](const auto& resource) { return resource->DependsOnSysfs(); })) {
    return;
  }
  auto events = KernelEvents::Create(loop_, [this](const KernelEvent&) { OnKernelEvent(); });
  if (events) {
    kernel_events_ = std::move(*events);
  } else {
    log_.Warning("devices of sysfs are looked for only at every rescan",
                 {{"reason", events.error().message}});
  }
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

void Daemon::CompareResources() {
  if (resources_.size() < 2) return;
  if (std::exchange(comparing_, true)) {
    compare_again_ = true;
    return;
  }
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (const auto& resource : resources_) snapshots.push_back(resource->snapshot());
  scanner_.Run(
      loop_, [snapshots = std::move(snapshots)] { return FindSharedNodes(snapshots); },
      lifetime_.Guard([this](const SharedNodes& shared) { OnCompared(shared); }));
}

void Daemon::OnCompared(const SharedNodes& shared) {
  for (std::size_t i = 0; i < shared.devices.size(); ++i) {
    resources_[i]->observer().OnShared(shared.devices[i]);
  }
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  for (const SharedNodes::Pair& pair : shared.pairs) {
    pairs.emplace(pair.first, pair.second);
    if (shared_.contains({pair.first, pair.second})) continue;
    log_.Warning(
        "two resources have the same node, which the kubelet may give out twice; exclude it from "
        "one, or make one exclusive",
        {{"resource", resources_[pair.first]->name()},
         {"other", resources_[pair.second]->name()},
         {"path", pair.path}});
  }
  shared_ = std::move(pairs);
  comparing_ = false;
  if (std::exchange(compare_again_, false)) CompareResources();
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
  cancellation_->Trigger();
  rescan_ = Subscription();
  settle_ = Subscription();
  kernel_events_.reset();
  pod_resources_.reset();
  kubelet_dir_.reset();
  ending_ = resources_.size();
  if (ending_ == 0) return loop_.Post(std::move(done));
  for (const auto& resource : resources_) {
    resource->End([this, done] {
      if (--ending_ == 0) done();
    });
  }
}

}  // namespace patchbay
