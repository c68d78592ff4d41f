// One job at a time runs in the pool: it starts servers, or compares the sockets with those that
// were created. Servers that must stop before others start are passed to the job that starts them.
//
// dra.sock exists before the registration socket, because the kubelet connects to it as soon as it
// finds the other; at the end the registration socket is removed first.

#include "dra/driver_endpoint.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/path.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

/// The time between comparisons, and between attempts.
constexpr std::chrono::seconds kCheckInterval{10};
/// The time after which the directories count as hanging.
constexpr std::chrono::seconds kHangLimit{10};
/// Only the kubelet and its administrators need the driver's directory.
constexpr mode_t kDataMode = 0750;

/// Fails with kNotFound if the directory that the kubelet watches does not exist.
Status CheckRegistry(const std::string& registry) {
  struct stat info;
  if (stat(registry.c_str(), &info) != 0) {
    return FailErrno(Format("cannot access the kubelet's plugin directory {}; check that this is a "
                            "Kubernetes node, that the directory is mounted at the same path, as "
                            "by the Kustomize component dra and by dra.enabled of the Helm chart, "
                            "and that this process runs as root",
                            registry),
                     errno);
  }
  if (S_ISDIR(info.st_mode)) return {};
  return Fail(ErrorKind::kPrecondition,
              Format("{} is not a directory; correct the kubelet's directory", registry));
}

/// The kubelet sees nothing in a directory that was removed under its mount. Device plugins
/// continue without it, so the process does not restart by itself.
Status CheckMounts(const DriverSockets& sockets) {
  for (const std::string& directory : {sockets.registry, sockets.data, DirectoryOf(sockets.data)}) {
    if (!IsRemovedMount(directory)) continue;
    return Fail(ErrorKind::kPrecondition,
                Format("{} was removed on the host while it was mounted here; restart the pod of "
                       "Patchbay, because a process cannot get a new mount",
                       directory));
  }
  return {};
}

/// Creates the directory of the driver. The kubelet has created its parent.
Status CreateDataDir(const std::string& data) {
  std::error_code error;
  std::filesystem::create_directories(DirectoryOf(data), error);
  if (!error && (mkdir(data.c_str(), kDataMode) == 0 || errno == EEXIST)) return {};
  return FailErrno(Format("cannot create the directory {}; mount it: in the volume driver of the "
                          "DaemonSet and its mount, by dra.driver of the Helm chart, or in the "
                          "drop-in of the systemd service; and check that this process runs as "
                          "root",
                          data),
                   error ? error.value() : errno);
}

/// A UnixServer replaces the socket of another process, whose calls would then fail. It does not
/// replace other files.
Status CheckReplaceable(const std::string& socket) {
  struct stat info;
  if (lstat(socket.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
    return Fail(ErrorKind::kPrecondition,
                Format("{} exists and is {}, not a socket; remove it, and check that no volume is "
                       "mounted there",
                       socket,
                       S_ISDIR(info.st_mode)   ? "a directory"
                       : S_ISLNK(info.st_mode) ? "a link"
                                               : "a file"));
  }
  if (!IsBound(socket)) return {};
  return Fail(ErrorKind::kPrecondition,
              Format("another process serves {}; stop it, or set POD_UID from the field "
                     "metadata.uid of the pod, so that each pod has sockets of its own",
                     socket));
}

/// Returns whether the socket does not exist or is another one than that with this identity.
bool IsLost(const std::string& socket, const std::optional<std::string>& id) {
  const auto now = SocketIdentity(socket);
  return !now || now != id;
}

}  // namespace

/// The running servers of an endpoint. The kubelet finds `registration`, which is started last and
/// stopped first.
struct DriverEndpoint::Servers {
  explicit Servers(HealthStreams::Events events) : streams(std::move(events)) {}
  /// Stops both and removes their sockets; blocks for some milliseconds.
  ~Servers() {
    registration.reset();
    streams.Close();
  }
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  /// Begins the grace period of pending calls.
  void BeginStop() {
    streams.Close();
    driver->BeginStop();
  }

  HealthStreams streams;
  std::unique_ptr<UnixServer> driver;
  std::unique_ptr<UnixServer> registration;
  /// The identities of their sockets when both were started, see SocketIdentity.
  std::optional<std::string> driver_id;
  std::optional<std::string> registration_id;
};

/// The result of the job that starts servers.
struct DriverEndpoint::Started {
  std::unique_ptr<Servers> servers;
  std::vector<std::string> swept;
  Status status;
};

DriverEndpoint::DriverEndpoint(const Dependencies& deps, DriverSockets sockets,
                               DriverBackend backend, Events events)
    : deps_(deps),
      sockets_(std::move(sockets)),
      backend_(std::move(backend)),
      events_(std::move(events)) {}

DriverEndpoint::~DriverEndpoint() {
  StopServers([] {});
}

void DriverEndpoint::Start() {
  ScheduleResend();
  StartServers();
}

void DriverEndpoint::BeginJob() {
  is_busy_ = true;
  check_ = Subscription();
  hang_limit_ = deps_.loop.After(kHangLimit, [this] {
    is_hanging_ = true;
    const std::string reason = Format("{} or {} is not responding; check the file systems there",
                                      sockets_.data, sockets_.registry);
    deps_.log.Warning("driver sockets cannot be accessed",
                      {{"driver", backend_.driver}, {"reason", reason}});
    events_.on_hang(reason);
  });
}

/// Returns false if the endpoint was to end meanwhile, which it then does.
bool DriverEndpoint::EndJob() {
  is_busy_ = false;
  hang_limit_ = Subscription();
  if (std::exchange(is_hanging_, false)) events_.on_hang("");
  if (!on_ended_) return true;
  End(std::exchange(on_ended_, nullptr));
  return false;
}

/// Returns a function for any thread that calls `function` on the loop, unless the endpoint was
/// destroyed.
template <class Function>
auto DriverEndpoint::OnLoop(Function function) {
  return [&loop = deps_.loop, guarded = lifetime_.Guard(std::move(function))](const auto& value) {
    loop.Post([guarded, value]() mutable { guarded(value); });
  };
}

/// Stops the servers that run, and starts both.
void DriverEndpoint::StartServers() {
  BeginJob();
  if (servers_) servers_->BeginStop();
  const auto on_registration = OnLoop([this](const Status& status) { OnRegistration(status); });
  const auto on_streams = OnLoop([this](int open) { events_.on_health_streams(open); });
  const auto start = [rpc = deps_.rpc, sockets = sockets_, backend = backend_, on_registration,
                      on_streams](Started& started) -> Status {
    TRY(sockets.usable);
    TRY(CheckMounts(sockets));
    TRY(CheckRegistry(sockets.registry));
    TRY(CreateDataDir(sockets.data));
    started.swept = SweepStaleSockets(backend.driver, sockets);
    auto servers = std::make_unique<Servers>(HealthStreamEvents(backend.observer, on_streams));
    TRY(CheckReplaceable(sockets.dra));
    servers->driver =
        TRY(UnixServer::Start(rpc, sockets.dra, DriverHandlers(backend, servers->streams)));
    TRY(CheckReplaceable(sockets.registration));
    servers->registration = TRY(UnixServer::Start(
        rpc, sockets.registration, RegistrationHandlers(backend, sockets.dra, on_registration)));
    servers->driver_id = SocketIdentity(sockets.dra);
    servers->registration_id = SocketIdentity(sockets.registration);
    started.servers = std::move(servers);
    return {};
  };
  deps_.pool.Run(
      [start, old = std::shared_ptr<Servers>(std::move(servers_))]() mutable {
        old.reset();
        auto started = std::make_shared<Started>();
        started->status = start(*started);
        return started;
      },
      lifetime_.Guard([this](const std::shared_ptr<Started>& started) { OnStarted(*started); }));
}

void DriverEndpoint::OnStarted(Started& started) {
  for (const std::string& socket : started.swept) {
    deps_.log.Info("removed stale socket of an earlier run", {{"socket", socket}});
  }
  servers_ = std::move(started.servers);
  if (!EndJob()) return;
  if (!started.status) {
    const std::string& reason = started.status.error().message;
    if (std::exchange(last_failure_, reason) != reason) {
      deps_.log.Warning("driver sockets cannot be created; retrying",
                        {{"driver", backend_.driver}, {"reason", reason}});
    }
    check_ = deps_.loop.After(kCheckInterval, [this] { StartServers(); });
    return events_.on_sockets(started.status);
  }
  servers_->streams.Offer(health_);
  last_failure_.clear();
  deps_.log.Info("driver sockets created; the kubelet can register the driver",
                 {{"driver", backend_.driver}, {"socket", sockets_.registration}});
  check_ = deps_.loop.After(kCheckInterval, [this] { CheckSockets(); });
  events_.on_sockets({});
}

void DriverEndpoint::CheckSockets() {
  BeginJob();
  deps_.pool.Run(
      [sockets = sockets_, driver = servers_->driver_id, registration = servers_->registration_id] {
        if (IsLost(sockets.dra, driver)) return sockets.dra;
        return IsLost(sockets.registration, registration) ? sockets.registration : "";
      },
      lifetime_.Guard([this](const std::string& lost) { OnChecked(lost); }));
}

void DriverEndpoint::OnChecked(const std::string& lost) {
  if (!EndJob()) return;
  if (lost.empty()) {
    check_ = deps_.loop.After(kCheckInterval, [this] { CheckSockets(); });
    return;
  }
  deps_.log.Warning("driver socket was deleted; creating it again",
                    {{"driver", backend_.driver}, {"socket", lost}});
  events_.on_sockets(Fail(ErrorKind::kUnavailable,
                          Format("{} was deleted; check what deletes sockets there", lost)));
  StartServers();
}

void DriverEndpoint::ScheduleResend() {
  resend_ = deps_.loop.After(kHealthResendInterval, [this] {
    if (servers_) servers_->streams.Resend();
    ScheduleResend();
  });
}

void DriverEndpoint::OnRegistration(const Status& status) {
  if (on_ended_ || has_ended_) return;
  if (status) {
    last_rejection_.clear();
    deps_.log.Info("driver registered", {{"driver", backend_.driver}});
  } else if (std::exchange(last_rejection_, status.error().message) != status.error().message) {
    deps_.log.Warning("the kubelet rejected the driver; it tries again by itself",
                      {{"driver", backend_.driver}, {"reason", status.error().message}});
  }
  events_.on_registration(status);
}

void DriverEndpoint::PublishHealth(HealthList health) {
  const std::size_t left_out = FitHealth(health);
  if (left_out > 0 && left_out != left_out_) {
    std::size_t devices = 0;
    for (const PoolHealth& pool : health) devices += pool.devices.size();
    deps_.log.Error(
        "the health of devices is too long for the kubelet and was truncated; split the resource",
        {{"driver", backend_.driver}, {"devices", devices}, {"left_out", left_out}});
  }
  left_out_ = left_out;
  if (health_ && *health_ == health) return;
  health_ = std::make_shared<const HealthList>(std::move(health));
  if (servers_) servers_->streams.Offer(health_);
}

void DriverEndpoint::End(std::function<void()> done) {
  if (is_busy_) {
    on_ended_ = std::move(done);
    return;
  }
  has_ended_ = true;
  check_ = Subscription();
  resend_ = Subscription();
  StopServers(lifetime_.Guard([done = std::move(done)] { done(); }));
}

/// Stops the servers that run in the pool, then calls `then` on the loop.
void DriverEndpoint::StopServers(std::function<void()> then) {
  if (servers_) servers_->BeginStop();
  deps_.pool.Run(
      [stopping = std::shared_ptr<Servers>(std::move(servers_))]() mutable {
        stopping.reset();
        return true;
      },
      [then = std::move(then)](bool) { then(); });
}

}  // namespace patchbay
