// The shell around the state machine of registration.h: it performs the actions that the machine
// returns, and reports their results to it as events. All of it runs on the loop. What blocks, such
// as a call of the kubelet, runs on other threads, which post the result to the loop.

#include "kubelet/resource_plugin.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "kubelet/plugin_sockets.h"
#include "kubelet/proto_convert.h"

namespace patchbay {
namespace {

constexpr std::chrono::seconds kListInterval{1};
/// Above this number of units, a warning is logged.
constexpr std::size_t kManyUnits = 10'000;
constexpr std::chrono::seconds kDrainTimeout{2};
constexpr std::size_t kMaxFailuresLogged = 4;
/// Consecutive failures that are not reported: a restart of the kubelet can cause them.
constexpr int kUnreportedFailures = 2;

/// Returns whether the two device lists are the same for the kubelet.
bool SameList(const Snapshot& a, const Snapshot& b) {
  return a.topology == b.topology && a.spec->replicas == b.spec->replicas &&
         std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
                    [topology = a.topology](const ListedDevice& x, const ListedDevice& y) {
                      if (x.health != y.health || x.device == y.device) {
                        return x.health == y.health;
                      }
                      return x.device->id == y.device->id &&
                             (x.device->numa_node == y.device->numa_node || !topology);
                    });
}

bool SameOptions(const v1beta1::DevicePluginOptions& a, const v1beta1::DevicePluginOptions& b) {
  return a.pre_start_required() == b.pre_start_required() &&
         a.get_preferred_allocation_available() == b.get_preferred_allocation_available();
}

}  // namespace

ResourcePlugin::ResourcePlugin(const Dependencies& deps, std::string resource,
                               std::shared_ptr<ResourceObserver> observer,
                               std::shared_ptr<HookRunner> hooks,
                               std::shared_ptr<const DeviceUsage> usage, Events events)
    : deps_(deps),
      resource_(std::move(resource)),
      observer_(std::move(observer)),
      hooks_(std::move(hooks)),
      usage_(std::move(usage)),
      events_(std::move(events)),
      rate_limiter_(kListInterval),
      lookups_(std::make_shared<HostLookups>(deps_.allocation)) {}

ResourcePlugin::~ResourcePlugin() {
  if (server_) DropServer([] {});
}

void ResourcePlugin::Publish(std::shared_ptr<const Snapshot> snapshot) {
  const bool first = cell_->Get() == nullptr;
  cell_->Set(snapshot);
  observer_->OnSnapshot(snapshot);
  if (first) observer_->OnRegistrationStatus(CurrentStatus());
  ScheduleAnnouncement();
  if (options_ && !SameOptions(*options_, PluginOptions(*snapshot->spec))) {
    options_.reset();
    Step(OptionsChanged{});
  }
}

void ResourcePlugin::ScheduleAnnouncement() {
  const auto newest = cell_->Get();
  if (announcement_ || newest == nullptr) return;
  if (announced_ && SameList(*announced_, *newest)) return;
  const auto now = deps_.loop.Now();
  const auto when = rate_limiter_.NextAllowed(now);
  if (when <= now) return Announce();
  announcement_ = deps_.loop.After(when - now, [this] { Announce(); });
}

void ResourcePlugin::Announce() {
  announcement_ = Subscription();
  announced_ = cell_->Get();
  rate_limiter_.RecordSend(deps_.loop.Now());
  const std::size_t units =
      announced_->devices.size() * static_cast<std::size_t>(announced_->spec->replicas);
  const std::size_t left_out = units - UnitsThatFit(*announced_);
  if (left_out > 0 && left_out != left_out_) {
    deps_.log.Error(
        "the device list is too long for the kubelet and was truncated; split the resource or "
        "lower replicas",
        {{"resource", resource_}, {"units", units - left_out}, {"left_out", left_out}});
  }
  left_out_ = left_out;
  if (const bool many = units > kManyUnits; many != std::exchange(many_units_, many) && many) {
    deps_.log.Warning(
        "the device list is long, and the kubelet writes all of it to disk at every change; check "
        "that the match is not too broad, or lower replicas",
        {{"resource", resource_}, {"units", units - left_out}});
  }
  if (server_) server_->Announce(announced_);
}

void ResourcePlugin::CheckSocket(const PluginSockets& sockets, Loop::Time check_start) {
  if (!sockets.complete) return;
  Step(OthersServe{sockets.others.contains(StableHash(resource_))});
  if (!server_ || check_start < serves_since_) return;
  const std::string& socket = server_->socket();
  if (!sockets.own.contains(socket.substr(socket.rfind('/') + 1))) Step(OwnSocketLost{});
}

void ResourcePlugin::End(std::function<void()> done) {
  on_ended_ = std::move(done);
  FinishDrain();
}

void ResourcePlugin::Drain(std::function<void()> done) {
  if (streams_ == 0 || server_ == nullptr) return End(std::move(done));
  on_ended_ = std::move(done);
  is_draining_ = true;
  announcement_ = Subscription();
  const auto newest = cell_->Get();
  const auto last = std::make_shared<const Snapshot>(
      Snapshot{newest->spec, newest->generation + 1, {}, {}, newest->topology});
  cell_->Set(last);
  observer_->OnRegistrationStatus(CurrentStatus());  // first: its devices do not fail
  observer_->OnSnapshot(last);
  server_->BeginDrain(last);
  drain_timeout_ = deps_.loop.After(kDrainTimeout, [this] { FinishDrain(); });
}

/// The kubelet received the last list, or the time is over.
void ResourcePlugin::FinishDrain() {
  is_draining_ = false;
  drain_timeout_ = Subscription();
  Step(EndRequested{});
}

void ResourcePlugin::Step(const RegistrationEvent& event) {
  if (is_draining_) return;  // only FinishDrain matters
  const RegistrationPhase before = registration_.phase();
  const auto actions = registration_.Step(event, deps_.loop.Now());
  if (registration_.phase() != before) OnPhase(before, event);
  timer_ = Subscription();
  if (const auto when = registration_.timer()) {
    const auto delay = std::max(*when - deps_.loop.Now(), Loop::Duration::zero());
    timer_ = deps_.loop.After(delay, [this] { Step(TimerFired{}); });
  }
  for (const RegistrationAction action : actions) Act(action);
  if (registration_.phase() == RegistrationPhase::kEnded && on_ended_) {
    std::exchange(on_ended_, nullptr)();
  }
}

void ResourcePlugin::OnPhase(RegistrationPhase before, const RegistrationEvent& event) {
  LogPhase(before, event);
  observer_->OnRegistrationStatus(CurrentStatus());
  if (registered() != (before == RegistrationPhase::kRegistered)) {
    events_.on_registered();
  }
}

RegistrationStatus ResourcePlugin::CurrentStatus() const {
  if (on_ended_) return {RegistrationState::kRetiring};
  switch (registration_.phase()) {
    case RegistrationPhase::kIdle:
      return {RegistrationState::kWaiting, "the kubelet's socket does not exist"};
    case RegistrationPhase::kWaiting:
      if (last_failure_.empty()) return {RegistrationState::kRegistering};  // after a short pause
      return {RegistrationState::kRetrying, last_failure_};
    case RegistrationPhase::kRegistered: return {RegistrationState::kRegistered};
    case RegistrationPhase::kEnded: return {RegistrationState::kRetiring};
    default: return {RegistrationState::kRegistering, last_failure_};
  }
}

/// Logs a change of the phase.
void ResourcePlugin::LogPhase(RegistrationPhase before, const RegistrationEvent& event) {
  deps_.log.Debug("registration",
                  {{"resource", resource_}, {"phase", Name(registration_.phase())}});
  const bool was_registered = before == RegistrationPhase::kRegistered;
  if (registered()) {
    last_failure_.clear();
    logged_failures_.clear();
    deps_.log.Info("registered", {{"resource", resource_}});
  } else if (was_registered && !on_ended_) {
    if (std::holds_alternative<OptionsChanged>(event)) {
      return deps_.log.Info("options changed; registering again", {{"resource", resource_}});
    }
    const char* reason =
        std::holds_alternative<KubeletSeen>(event)     ? "the kubelet restarted"
        : std::holds_alternative<OwnSocketLost>(event) ? "the plugin socket was deleted"
        : std::holds_alternative<TimerFired>(event)    ? "another process that served it exited"
                                                       : "the ListAndWatch stream ended";
    deps_.log.Warning("no longer registered; registering again",
                      {{"resource", resource_}, {"reason", reason}});
  } else if (before == RegistrationPhase::kConfirming &&
             std::holds_alternative<TimerFired>(event)) {
    ReportFailure("registration failed",
                  "the kubelet accepted the registration but did not open the device list; check "
                  "the kubelet log");
  } else if (std::holds_alternative<OwnSocketLost>(event) &&
             registration_.failures() > kUnreportedFailures) {
    ReportFailure("registration failed", OwnSocketDeleted(deps_.kubelet_dir));
  }
}

void ResourcePlugin::Act(RegistrationAction action) {
  switch (action) {
    case RegistrationAction::kStartServer: return StartServer();
    case RegistrationAction::kRegister: return Register();
    case RegistrationAction::kCancelRegister: return call_.Cancel();
    case RegistrationAction::kStopServer: return StopServer();
  }
}

void ResourcePlugin::StartServer() {
  const std::uint64_t serial = serial_ = ++deps_.servers;
  Loop& loop = deps_.loop;
  PluginBackend backend{
      resource_,
      cell_,
      observer_,
      deps_.allocation,
      lookups_,
      [&loop, on_stale = lifetime_.Guard([this] { OnStaleList(); })] { loop.Post(on_stale); },
      usage_,
      hooks_,
      [&log = deps_.log, resource = resource_](const char* what, const std::string& reason) {
        log.Warning(what, {{"resource", resource}, {"reason", reason}});
      },
      deps_.pending};
  auto on_change = lifetime_.Guard([this, serial](int open, bool first_ended) {
    if (serial == serial_) OnStreams(open, first_ended);
  });
  auto on_streams = [&loop, on_change](int open, bool first_ended) {
    loop.Post([on_change, open, first_ended]() mutable { on_change(open, first_ended); });
  };
  const std::string socket = deps_.kubelet_dir + "/" + SocketName(resource_, deps_.run, serial);
  deps_.servers_pool.Run(
      [rpc = deps_.rpc, socket, backend = std::move(backend),
       on_streams = std::move(on_streams)]() mutable {
        return PluginServer::Start(rpc, socket, std::move(backend), std::move(on_streams));
      },
      lifetime_.Guard(
          [this](Result<std::unique_ptr<PluginServer>> server) { OnServer(std::move(server)); }));
}

void ResourcePlugin::OnStreams(int open, bool first_ended) {
  streams_ = open;
  observer_->OnStreams(open);
  if (is_draining_ && open == 0) return FinishDrain();
  // A new stream begins with a list, which the kubelet processes like any other.
  if (open > 0 && !first_ended) rate_limiter_.RecordSend(deps_.loop.Now());
  Step(StreamsChanged{open, first_ended});
}

void ResourcePlugin::OnServer(Result<std::unique_ptr<PluginServer>> server) {
  if (!server) {
    ReportFailure("plugin server failed to start", server.error().message);
    return Step(ServerStarted{false});
  }
  server_ = std::move(*server);
  serves_since_ = deps_.loop.Now();
  // A check that ended before, or is still running, does not cover this socket. Without another
  // check, a socket that was deleted before this moment would not be missed: the kubelet dials it
  // for ten seconds.
  events_.check_directory();
  Step(ServerStarted{true});
}

void ResourcePlugin::StopServer() {
  observer_->OnStreams(0);
  DropServer([this] { Step(ServerStopped{}); });
}

void ResourcePlugin::DropServer(std::function<void()> then) {
  struct Stopping {  // the call first, then the server
    std::unique_ptr<PluginServer> server;
    PendingCall call;
  };
  serial_ = 0;
  streams_ = 0;
  server_->BeginStop();
  auto stopping =
      std::make_shared<Stopping>(Stopping{std::exchange(server_, nullptr), std::move(call_)});
  deps_.servers_pool.Run(
      [stopping = std::move(stopping)]() mutable {
        stopping.reset();
        return true;
      },
      lifetime_.Guard([then = std::move(then)](bool) { then(); }));
}

void ResourcePlugin::Register() {
  const std::string& socket = server_->socket();
  const auto snapshot = cell_->Get();
  options_ = PluginOptions(*snapshot->spec);
  auto on_done = lifetime_.Guard([this, serial = serial_](const Status& status) {
    if (serial == serial_) OnRegistered(status);
  });
  call_ = CallRegister(deps_.kubelet_dir + "/kubelet.sock", deps_.kubelet,
                       socket.substr(socket.rfind('/') + 1), *snapshot->spec, kRegisterDeadline,
                       [&loop = deps_.loop, on_done](Status status) {
                         loop.Post([on_done, status]() mutable { on_done(status); });
                       });
}

/// Sends the device list again and requests a scan.
void ResourcePlugin::OnStaleList() {
  if (is_draining_) return;
  announced_.reset();
  ScheduleAnnouncement();
  events_.on_stale();
}

void ResourcePlugin::OnRegistered(const Status& status) {
  if (!status && status.error().kind == ErrorKind::kPrecondition) {
    // Normally the kubelet has just restarted. The check detects that.
    deps_.log.Debug("registration not attempted",
                    {{"resource", resource_}, {"reason", status.error().message}});
    if (registration_.failures() >= kUnreportedFailures) {
      ReportFailure("registration failed", status.error().message);
    }
    events_.check_directory();
    return Step(RegisterDone{});
  }
  observer_->OnRegistration(status.has_value());
  events_.on_kubelet_answers(status || status.error().kind != ErrorKind::kUnavailable);
  if (!status) {
    ReportFailure(status.error().kind == ErrorKind::kUnavailable
                      ? "the kubelet is not responding"
                      : "the kubelet rejected the registration",
                  status.error().message);
  }
  Step(RegisterDone{status.has_value(), server_->gave_options()});
}

/// Logs each distinct failure once until the next registration, up to a maximum.
void ResourcePlugin::ReportFailure(std::string_view what, const std::string& reason) {
  last_failure_ = Format("{}: {}", what, reason);
  if (logged_failures_.size() == kMaxFailuresLogged ||
      !logged_failures_.insert(last_failure_).second)
    return;
  deps_.log.Warning(what, {{"resource", resource_}, {"reason", reason}});
}

}  // namespace patchbay
