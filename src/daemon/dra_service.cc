// The state of a resource comes from three places: its snapshot, the features of the API server and
// the claims that hold its devices. Whenever one changes, the pool is computed again, and the
// publisher writes what differs. The files of claims are the only record of claims, also for the
// other process of a rolling update, so they are read again after each call and each change.

#include "daemon/dra_service.h"

#include <sys/prctl.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "daemon/dra_status_of.h"
#include "dra/claim_json.h"
#include "dra/device_name.h"
#include "dra/health_list.h"

namespace patchbay {
namespace {

constexpr ThreadPool::Options kDraFileThreads{.max_running = 2, .max_overdue = 8};

constexpr std::chrono::milliseconds kStatePause{50};
/// The kubelet opens a stream again after 5 s.
constexpr std::chrono::seconds kStreamLimit{10};
/// Longer than most scans.
constexpr std::chrono::seconds kStartLimit{20};

}  // namespace

std::unique_ptr<DraService> DraService::Create(const Dependencies& deps, Options options,
                                               std::function<void()> on_status) {
  const DriverSockets sockets = SocketsOf(options.instance);
  prctl(PR_SET_DUMPABLE, 0);  // a core dump would have the token for the API server
  std::unique_ptr<DraService> service(
      new DraService(deps, std::move(options), sockets.data, std::move(on_status)));
  DraService* const self = service.get();
  self->endpoint_ = std::make_unique<DriverEndpoint>(
      DriverEndpoint::Dependencies{deps.loop, self->endpoint_pool_, deps.log, deps.rpc}, sockets,
      DriverBackend{.driver = self->options_.instance.driver,
                    .claims = self->preparer_,
                    .observer = deps.observer,
                    .pending = deps.pending},
      DriverEndpoint::Events{
          .on_registration = [self](const Status& status) { self->OnRegistration(status); },
          .on_sockets =
              [self](const Status& status) {
                // Otherwise the kubelet registers the driver.
                if (!status) self->SetRegistered(status);
              },
          .on_hang =
              [self](const std::string& reason) {
                self->hang_error_ = reason;
                self->OnState();
              },
          .on_health_streams = [self](int open) { self->OnHealthStreams(open); }});
  self->start_limit_ = deps.loop.After(kStartLimit, [self] { self->Start(); });
  self->WatchClaims();
  return service;
}

DraService::DraService(const Dependencies& deps, Options options, std::string directory,
                       std::function<void()> on_status)
    : deps_(deps),
      options_(std::move(options)),
      on_status_(std::move(on_status)),
      file_pool_(deps_.loop, kDraFileThreads),
      endpoint_pool_(deps_.loop, kDraFileThreads),
      client_(options_.cluster, deps_.loop, deps_.loop.context(), file_pool_),
      publisher_({client_, deps_.loop, deps_.log},
                 {options_.instance.driver, options_.node_name, options_.seed},
                 {.on_features = [this] { ComputeAllPools(); },
                  .wanted = [this](const std::string& pool) { return PoolOf(pool); },
                  .on_state = [this] { OnState(); }}),
      preparer_(std::make_shared<ClaimPreparer>(
          ClaimPreparer::Dependencies{
              .driver = options_.instance.driver,
              .directory = std::move(directory),
              .cdi_dir = options_.cdi_dir,
              .get_claim = [this](const ClaimKey& claim,
                                  auto done) { return RequestClaim(claim, std::move(done)); },
              .is_api_server_up = [this] { return client_.stats().up; },
              .resources = [this] { return Resources(); },
              .on_claim_end = [this](const auto& end) { OnClaimEnd(end); },
              .on_ended = [this](ClaimPreparer::Action action) { OnRunEnded(action); },
              .writes_metadata = options_.device_metadata},
          deps_.loop, deps_.log)) {}

DraService::~DraService() { preparer_->Close(); }

Subscription DraService::RequestClaim(const ClaimKey& claim,
                                      std::function<void(Result<std::string>)> done) {
  return client_.Send(RequestForClaim(claim), [done = std::move(done)](const ApiResult& result) {
    done(ClaimTextOf(result));
  });
}

ServedResources DraService::Resources() const {
  ServedResources served;
  for (const std::string& name : names_) {
    served.emplace(PoolName(options_.node_name, name), ServedResource());
  }
  for (const auto& [name, resource] : resources_) {
    // Claims that are being prepared can have it longer than the resource is served.
    const auto on_stale_list = lifetime_.Guard([this, name = name] {
      const auto found = resources_.find(name);
      if (found != resources_.end()) found->second.parts.resource->OnStaleList();
    });
    served.insert_or_assign(
        PoolName(options_.node_name, name),
        ServedResource{resource.devices, resource.parts.hooks, resource.parts.lookups,
                       resource.parts.resource->HasReleaseHook(), on_stale_list});
  }
  return served;
}

/// The kubelet finds the driver when all resources have been scanned, because claims of the others
/// would fail. A scan that hangs does not keep the others from being served.
void DraService::Start() {
  if (std::exchange(is_started_, true)) return;
  start_limit_ = Subscription();
  endpoint_->Start();
}

void DraService::StartIfScanned() {
  const bool is_scanned = std::ranges::all_of(names_, [this](const std::string& name) {
    const auto found = resources_.find(name);
    return found != resources_.end() && found->second.devices != nullptr;
  });
  if (is_scanned) Start();
}

void DraService::SetNames(std::set<std::string> resources) {
  std::set<std::string> pools;
  for (const std::string& name : resources) pools.insert(PoolName(options_.node_name, name));
  names_ = std::move(resources);
  publisher_.SetNames(pools);
  StartIfScanned();
}

void DraService::Add(const std::string& name, Parts parts) {
  resources_.insert_or_assign(name,
                              Served{std::move(parts), nullptr, nullptr, HeldDevices()[name]});
  deps_.loop.Post(lifetime_.Guard([this, name] {
    const auto found = resources_.find(name);
    if (found != resources_.end()) ReportHeld(found->second);
  }));
  ReadClaims();
}

void DraService::Publish(const std::string& name, std::shared_ptr<const Snapshot> snapshot) {
  const auto found = resources_.find(name);
  if (found == resources_.end()) return;
  Served& served = found->second;
  const auto before =
      std::exchange(served.devices, std::make_shared<const NamedDevices>(std::move(snapshot)));
  RefreshMoved(name, before.get(), *served.devices);
  Show(name, served);
  StartIfScanned();
  OnState();
}

void DraService::Remove(const std::string& name) {
  const auto removed = resources_.extract(name);
  if (removed.empty()) return;
  removed.mapped().parts.observer->OnRegistrationStatus({RegistrationState::kRetiring});
  PublishHealthSoon();
  OnState();
}

Subscription DraService::AwaitUnused(const std::string& name, std::function<void()> done) {
  return preparer_->AwaitUnused(PoolName(options_.node_name, name), std::move(done));
}

/// Returns nothing before everything is known on which the pool depends.
std::optional<WantedPool> DraService::PoolOf(const std::string& pool) const {
  if (!publisher_.features() || !records_) return std::nullopt;
  for (const auto& [name, served] : resources_) {
    if (served.devices == nullptr || PoolName(options_.node_name, name) != pool) continue;
    return ComputePool({.devices = *served.shown,
                        .node_name = options_.node_name,
                        .allocated = served.held,
                        .features = *publisher_.features()});
  }
  return std::nullopt;
}

void DraService::ComputePoolOf(const std::string& name, Served& served) {
  const auto pool = PoolOf(PoolName(options_.node_name, name));
  if (!pool) return;
  DraPoolStatus wanted = StatusOfPool(*pool, *served.shown);
  if (wanted.not_served != served.wanted.not_served && !wanted.not_served.empty()) {
    deps_.log.Warning("resource is not served",
                      {{"resource", name}, {"reason", wanted.not_served}});
  }
  if (wanted.problems != served.wanted.problems && !wanted.problems.empty()) {
    deps_.log.Warning("devices, attributes or capacities are not published",
                      {{"resource", name}, {"reason", wanted.problems.front()}});
  }
  served.wanted = std::move(wanted);
  publisher_.Changed(pool->name);
}

void DraService::ComputeAllPools() {
  for (auto& [name, served] : resources_) ComputePoolOf(name, served);
  OnState();
}

/// Once for all changes of this turn of the loop, because the list has the devices of all
/// resources.
void DraService::PublishHealthSoon() {
  if (std::exchange(is_health_due_, true)) return;
  deps_.loop.Post(lifetime_.Guard([this] {
    is_health_due_ = false;
    HealthList all;
    for (const auto& [name, served] : resources_) {
      if (served.shown) all.push_back(HealthOfPool(*served.shown, options_.node_name));
    }
    endpoint_->PublishHealth(std::move(all));
  }));
}

/// The kubelet registers the driver for all resources.
void DraService::OnRegistration(const Status& status) {
  if (status) publisher_.OnKubeletRegistered();
  for (const auto& [name, served] : resources_) {
    served.parts.observer->OnRegistration(status.has_value());
  }
  is_stream_lost_ = false;
  SetRegistered(status);
}

void DraService::SetRegistered(const Status& status) {
  is_registered_ = status.has_value();
  registration_error_ = status ? "" : status.error().message;
  OnState();
}

void DraService::OnKubeletLost() {
  stream_limit_ = Subscription();
  is_stream_lost_ = false;
  if (!is_registered_) return;
  SetRegistered(Fail(ErrorKind::kUnavailable,
                     "the socket of the kubelet disappeared; waiting for the kubelet to register "
                     "the driver again"));
}

/// A kubelet that dies reports nothing, but its streams end. One that lives opens them again.
void DraService::OnHealthStreams(int open) {
  if (open > 0) {
    stream_limit_ = Subscription();
    if (std::exchange(is_stream_lost_, false)) SetRegistered({});
  } else if (is_registered_) {
    stream_limit_ = deps_.loop.After(kStreamLimit, [this] {
      if (!is_registered_) return;
      is_stream_lost_ = true;
      SetRegistered(Fail(ErrorKind::kUnavailable,
                         "the kubelet has ended its connection; check that it runs"));
    });
  }
}

/// The names of resources are those of their pools on this node.
void DraService::OnClaimEnd(const ClaimPreparer::ClaimEnd& end) {
  const auto report = [&](const std::string& resource) {
    if (end.action == ClaimPreparer::Action::kPrepare) {
      deps_.observer->OnClaimPrepare(resource, end.success, end.duration);
    } else {
      deps_.observer->OnClaimUnprepare(resource, end.success);
    }
  };
  bool is_reported = false;
  for (const auto& [name, served] : resources_) {
    if (!end.pools.contains(PoolName(options_.node_name, name))) continue;
    report(name);
    is_reported = true;
  }
  if (!is_reported) report("");
}

DraService::State DraService::StateOf(const std::string& name) const {
  const auto found = resources_.find(name);
  if (found == resources_.end() || found->second.devices == nullptr) {
    return {false, "the first scan of the host has not completed"};
  }
  if (!hang_error_.empty()) return {false, hang_error_};
  const std::string& error = publisher_.last_error();
  if (!is_registered_) {
    std::string why = registration_error_.empty()
                          ? "the kubelet has not registered the driver; check that the kubelet "
                            "runs, and that plugins_registry next to kubelet_dir is its directory"
                          : registration_error_;
    if (!error.empty()) why += "; the API server: " + error;
    return {false, std::move(why)};
  }
  if (const std::string& why = found->second.wanted.not_served; !why.empty()) {
    return {false, why};
  }
  if (!records_ && !read_error_.empty()) return {false, read_error_};
  const auto pool = publisher_.StateOf(PoolName(options_.node_name, name));
  if (pool.slices > 0 && (pool.is_current || pool.last_error.empty())) return {true, ""};
  if (!pool.last_error.empty()) return {false, pool.last_error};
  return {false, error.empty() ? "its ResourceSlices are not published yet" : error};
}

DraStatus DraService::status() const {
  DraStatus status{.driver = options_.instance.driver,
                   .registered = is_registered_,
                   .registration_error = registration_error_,
                   .api_server = UrlOf(options_.cluster),
                   .api_server_up = client_.stats().up,
                   .api_server_error = publisher_.last_error()};
  if (const auto& features = publisher_.features()) {
    if (!features->taints) status.dropped_fields.emplace_back("taints");
    if (!features->shared_devices) {
      status.dropped_fields.emplace_back("allowMultipleAllocations");
    }
  }
  for (const auto& [key, count] : client_.stats().requests) {
    const std::string_view verb = kApiVerbNames[static_cast<std::size_t>(key.first)];
    status.requests.emplace(std::pair(std::string(verb), key.second), count);
  }
  for (const auto& [name, served] : resources_) {
    DraPoolStatus pool = served.wanted;
    pool.pool = PoolName(options_.node_name, name);
    pool.device_class = DeviceClassName(name);
    const auto state = publisher_.StateOf(pool.pool);
    pool.slices = state.slices;
    pool.generation = state.generation;
    pool.is_current = state.is_current;
    pool.writes = state.writes;
    pool.failures = state.failures;
    pool.error = state.last_error;
    status.resources.emplace(name, std::move(pool));
  }
  const ClaimRecords none;
  for (const auto& [uid, claim] : records_ ? records_->claims : none.claims) {
    status.claims.push_back(StatusOfClaim(*claim));
  }
  std::ranges::sort(status.claims, {}, [](const DraClaimStatus& claim) {
    return std::tie(claim.namespace_name, claim.name, claim.uid);
  });
  return status;
}

/// Once for all changes within kStatePause, because it visits all resources.
void DraService::OnState() {
  if (state_timer_) return;
  state_timer_ = deps_.loop.After(kStatePause, [this] {
    state_timer_ = Subscription();
    ReportStates();
  });
}

/// Notifies each resource whose state has changed, and then the daemon.
void DraService::ReportStates() {
  for (auto& [name, served] : resources_) {
    State state = StateOf(name);
    if (state == served.reported) continue;
    served.reported = std::move(state);
    const auto registration =
        served.reported.ready ? RegistrationState::kRegistered : RegistrationState::kWaiting;
    served.parts.observer->OnRegistrationStatus({registration, served.reported.waits_for});
    served.parts.resource->OnReady(served.reported.ready);
  }
  on_status_();
}

void DraService::End(std::function<void()> done) {
  start_limit_ = Subscription();
  is_started_ = true;  // so that a later scan does not start it
  preparer_->BeginEnd();
  endpoint_->End(std::move(done));
}

}  // namespace patchbay
