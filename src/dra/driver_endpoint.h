#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "dra/driver_handlers.h"
#include "dra/driver_sockets.h"
#include "os/loop.h"
#include "os/thread_pool.h"
#include "rpc/unix_server.h"

namespace patchbay {

/// The kubelet regards a device as unknown if it was not in a list for 30 seconds, so the list is
/// sent again after this time.
inline constexpr std::chrono::seconds kHealthResendInterval{10};

/// Serves one driver to the kubelet: creates its sockets, and keeps the health of its devices
/// known. The kubelet finds the sockets by itself, also after it restarts. Every ten seconds,
/// sockets that were deleted, or could not be created, are created again.
///
/// Belongs to the loop thread. Servers start and stop in the pool.
class DriverEndpoint {
 public:
  /// All references must outlive the endpoint.
  struct Dependencies {
    Loop& loop;
    ThreadPool& pool;  ///< starts and stops servers, and looks up sockets
    Log& log;
    std::shared_ptr<RpcServer> rpc;  ///< serves the sockets
  };

  /// Called on the loop.
  struct Events {
    /// The kubelet registered the driver, and may have deleted its slices before, or why not.
    std::function<void(const Status& status)> on_registration = [](const Status&) {};
    /// New sockets were created, with which the kubelet has not registered the driver yet; or why
    /// there are none.
    std::function<void(const Status& status)> on_sockets = [](const Status&) {};
    /// The directories of the sockets do not respond, or "" when they do again.
    std::function<void(const std::string& reason)> on_hang = [](const std::string&) {};
    std::function<void(int open)> on_health_streams = [](int) {};
  };

  DriverEndpoint(const Dependencies& deps, DriverSockets sockets, DriverBackend backend,
                 Events events);
  /// Stops running servers in the pool. To know when they have stopped, call End first.
  ~DriverEndpoint();
  DriverEndpoint(const DriverEndpoint&) = delete;
  DriverEndpoint& operator=(const DriverEndpoint&) = delete;

  /// Creates the sockets, and from then on keeps them until End.
  void Start();

  /// Sets the health of all devices, and sends it to the kubelet if it changed.
  void PublishHealth(HealthList health);

  /// Stops the servers and removes both sockets, then calls `done` once. In pods of a rolling
  /// update, the sockets of the other instance remain.
  void End(std::function<void()> done);

  const DriverSockets& sockets() const { return sockets_; }

 private:
  struct Servers;
  struct Started;

  template <class Function>
  auto OnLoop(Function function);
  void BeginJob();
  bool EndJob();
  void StartServers();
  void OnStarted(Started& started);
  void CheckSockets();
  void OnChecked(const std::string& lost);
  void ScheduleResend();
  void OnRegistration(const Status& status);
  void StopServers(std::function<void()> then);

  const Dependencies deps_;
  const DriverSockets sockets_;
  const DriverBackend backend_;
  const Events events_;
  std::unique_ptr<Servers> servers_;  ///< null unless both run
  bool is_busy_ = false;        ///< a job that starts servers or checks sockets is in the pool
  bool is_hanging_ = false;     ///< that job exceeded its limit
  std::string last_failure_;    ///< of a start, since the last one that succeeded
  std::string last_rejection_;  ///< of the registration, since the last one that succeeded
  std::shared_ptr<const HealthList> health_;  ///< as published last
  std::size_t left_out_ = 0;                  ///< devices without room in that list
  std::function<void()> on_ended_;            ///< set while ending
  bool has_ended_ = false;
  Subscription hang_limit_;
  Subscription check_;
  Subscription resend_;
  Lifetime lifetime_;
};

}  // namespace patchbay
