#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "dra/driver_observer.h"
#include "rpc/unix_server.h"

namespace patchbay {

/// The server on the registration socket of a driver. The kubelet finds the socket, requests
/// the name, the endpoint and the versions of the driver, connects to the endpoint, and reports the
/// result. It does so again after each of its restarts.
///
/// Start and the destructor block for some milliseconds and must not run on the loop.
class RegistrationServer {
 public:
  /// Called on the thread of the RpcServer whenever the kubelet reports that it registered the
  /// driver, or why not. Must not block.
  using OnStatus = std::function<void(const Status& status)>;

  /// Serves on `socket`. `endpoint`, an absolute path, must already be served. Fails with
  /// kUnavailable.
  static Result<std::unique_ptr<RegistrationServer>> Start(std::shared_ptr<RpcServer> rpc,
                                                           std::string socket, std::string driver,
                                                           std::string endpoint,
                                                           std::shared_ptr<DriverObserver> observer,
                                                           OnStatus on_status);

  /// Stops the server and removes the socket. `on_status` is not called afterwards.
  ~RegistrationServer();
  RegistrationServer(const RegistrationServer&) = delete;
  RegistrationServer& operator=(const RegistrationServer&) = delete;

  const std::string& socket() const { return server_->socket(); }

 private:
  class Service;
  RegistrationServer();

  std::unique_ptr<Service> service_;
  std::unique_ptr<UnixServer> server_;  ///< destroyed before the service
};

}  // namespace patchbay
