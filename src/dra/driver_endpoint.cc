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
#include "dra/registration_service.h"
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

/// Returns the directory that was removed under a mount, or nothing.
std::optional<std::string> RemovedMountOf(const DriverSockets& sockets) {
  for (const std::string& directory : {sockets.registry, sockets.data, DirectoryOf(sockets.data)}) {
    if (IsRemovedMount(directory)) return directory;
  }
  return std::nullopt;
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

}  // namespace

/// The input of the job that starts servers. It owns all that it uses.
struct DriverEndpoint::StartRequest {
  std::shared_ptr<RpcServer> rpc;
  DriverInstance instance;
  DriverSockets sockets;
  DriverServer::Backend backend;
  std::shared_ptr<const HealthList> health;
  OnDriverRegistration on_status;
  std::shared_ptr<Servers> old;  ///< to stop first

  Status Run(Servers& servers, std::vector<std::string>& swept) const {
    old->registration.reset();
    old->driver.reset();
    TRY(CheckRegistry(sockets.registry));
    TRY(CreateDataDir(sockets.data));
    swept = SweepStaleSockets(instance, sockets);
    TRY(CheckReplaceable(sockets.dra));
    servers.driver = TRY(DriverServer::Start(rpc, sockets.dra, backend, health));
    TRY(CheckReplaceable(sockets.registration));
    servers.registration = TRY(UnixServer::Start(
        rpc, sockets.registration,
        RegistrationHandlers(instance.driver, sockets.dra, backend.observer, on_status)));
    servers.ids = IdsOf(sockets);
    return {};
  }
};

/// The result of that job.
struct DriverEndpoint::Started {
  Servers servers;
  std::vector<std::string> swept;
  std::shared_ptr<const HealthList> health;  ///< the list that the servers began with
  Status status;
  std::optional<std::string> removed_mount;  ///< the reason of the failure, if it is one
};

Result<std::unique_ptr<DriverEndpoint>> DriverEndpoint::Create(const Dependencies& deps,
                                                               const DriverInstance& instance,
                                                               DriverServer::Backend backend,
                                                               Events events) {
  DriverSockets sockets = TRY(SocketsOf(instance));
  backend.driver = instance.driver;
  return std::unique_ptr<DriverEndpoint>(new DriverEndpoint(deps, instance, std::move(sockets),
                                                            std::move(backend), std::move(events)));
}

DriverEndpoint::DriverEndpoint(const Dependencies& deps, DriverInstance instance,
                               DriverSockets sockets, DriverServer::Backend backend, Events events)
    : deps_(deps),
      instance_(std::move(instance)),
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

DriverEndpoint::SocketIds DriverEndpoint::IdsOf(const DriverSockets& sockets) {
  return {SocketIdentity(sockets.dra), SocketIdentity(sockets.registration)};
}

void DriverEndpoint::BeginJob() {
  is_busy_ = true;
  check_ = Subscription();
  hang_limit_ = deps_.loop.After(kHangLimit, [this] {
    is_hanging_ = true;
    const std::string reason = Format("{} or {} is not responding; check the file systems there",
                                      sockets_.data, sockets_.registry);
    deps_.log.Warning("driver sockets cannot be accessed",
                      {{"driver", instance_.driver}, {"reason", reason}});
    backend_.observer->OnSockets(Fail(ErrorKind::kUnavailable, reason));
  });
}

/// Returns false if the endpoint was to end meanwhile, which it then does.
bool DriverEndpoint::EndJob() {
  is_busy_ = false;
  hang_limit_ = Subscription();
  if (!on_ended_) return true;
  End(std::exchange(on_ended_, nullptr));
  return false;
}

/// Stops the servers that run, and starts both.
void DriverEndpoint::StartServers() {
  BeginJob();
  is_serving_ = false;
  if (servers_.driver) servers_.driver->BeginStop();
  auto on_registration = lifetime_.Guard([this](const Status& status) { OnRegistration(status); });
  StartRequest request{
      deps_.rpc,
      instance_,
      sockets_,
      backend_,
      health_,
      [&loop = deps_.loop, on_registration](const Status& status) {
        loop.Post([on_registration, status]() mutable { on_registration(status); });
      },
      std::make_shared<Servers>(std::exchange(servers_, {}))};
  deps_.pool.Run(
      deps_.loop,
      [request = std::move(request)] {
        auto started = std::make_shared<Started>();
        started->health = request.health;
        started->status = request.Run(started->servers, started->swept);
        if (!started->status) {
          started->servers = {};
          started->removed_mount = RemovedMountOf(request.sockets);
        }
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
  is_hanging_ = false;
  if (started.removed_mount) {
    const std::string reason = RemovedMountReason(*started.removed_mount);
    backend_.observer->OnSockets(Fail(ErrorKind::kPrecondition, reason));
    return events_.on_dead(reason);
  }
  if (!started.status) return OnFailure(started.status.error());
  if (health_ != started.health) servers_.driver->OfferHealth(health_);
  is_serving_ = true;
  last_failure_.clear();
  deps_.log.Info("driver sockets created; the kubelet can register the driver",
                 {{"driver", instance_.driver}, {"socket", sockets_.registration}});
  backend_.observer->OnSockets({});
  ScheduleCheck();
}

void DriverEndpoint::OnFailure(const Error& error) {
  backend_.observer->OnSockets(Failure(error));
  if (last_failure_ != error.message) {
    last_failure_ = error.message;
    deps_.log.Warning("driver sockets cannot be created; retrying",
                      {{"driver", instance_.driver}, {"reason", error.message}});
  }
  check_ = deps_.loop.After(kCheckInterval, [this] { StartServers(); });
}

void DriverEndpoint::CheckSockets() {
  BeginJob();
  deps_.pool.Run(
      deps_.loop, [sockets = sockets_] { return IdsOf(sockets); },
      lifetime_.Guard([this](const SocketIds& found) { OnChecked(found); }));
}

void DriverEndpoint::OnChecked(const SocketIds& found) {
  if (!EndJob()) return;
  if (found.dra && found.registration && found == servers_.ids) {
    if (std::exchange(is_hanging_, false)) backend_.observer->OnSockets({});
    return ScheduleCheck();
  }
  const std::string& lost = found.dra == servers_.ids.dra ? sockets_.registration : sockets_.dra;
  deps_.log.Warning("driver socket was deleted; creating it again",
                    {{"driver", instance_.driver}, {"socket", lost}});
  backend_.observer->OnSockets(Fail(
      ErrorKind::kUnavailable, Format("{} was deleted; check what deletes sockets there", lost)));
  StartServers();
}

void DriverEndpoint::ScheduleCheck() {
  check_ = deps_.loop.After(kCheckInterval, [this] { CheckSockets(); });
}

void DriverEndpoint::ScheduleResend() {
  resend_ = deps_.loop.After(kHealthResendInterval, [this] {
    if (servers_.driver) servers_.driver->ResendHealth();
    ScheduleResend();
  });
}

void DriverEndpoint::OnRegistration(const Status& status) {
  if (on_ended_ || has_ended_) return;
  if (status) {
    last_rejection_.clear();
    deps_.log.Info("driver registered", {{"driver", instance_.driver}});
    return events_.on_registered();
  }
  if (std::exchange(last_rejection_, status.error().message) == status.error().message) return;
  deps_.log.Warning("the kubelet rejected the driver; it tries again by itself",
                    {{"driver", instance_.driver}, {"reason", status.error().message}});
}

void DriverEndpoint::PublishHealth(HealthList health) {
  HealthFit fit = FitHealth(std::move(health));
  if (fit.left_out > 0 && fit.left_out != left_out_) {
    deps_.log.Error(
        "the health of devices is too long for the kubelet and was truncated; split the resource",
        {{"driver", instance_.driver}, {"devices", fit.list.size()}, {"left_out", fit.left_out}});
  }
  left_out_ = fit.left_out;
  if (health_ && *health_ == fit.list) return;
  health_ = std::make_shared<const HealthList>(std::move(fit.list));
  if (servers_.driver) servers_.driver->OfferHealth(health_);
}

void DriverEndpoint::End(std::function<void()> done) {
  if (is_busy_) {
    on_ended_ = std::move(done);
    return;
  }
  has_ended_ = true;
  is_serving_ = false;
  check_ = Subscription();
  resend_ = Subscription();
  StopServers(lifetime_.Guard([done = std::move(done)] { done(); }));
}

/// Stops the servers that run in the pool, then calls `then` on the loop.
void DriverEndpoint::StopServers(std::function<void()> then) {
  if (servers_.driver) servers_.driver->BeginStop();
  auto stopping = std::make_shared<Servers>(std::exchange(servers_, {}));
  deps_.pool.Run(
      deps_.loop,
      [stopping = std::move(stopping)] {
        stopping->registration.reset();
        stopping->driver.reset();
        return true;
      },
      [then = std::move(then)](bool) { then(); });
}

}  // namespace patchbay
