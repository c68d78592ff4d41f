#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "deviceplugin.grpc.pb.h"
#include "kubelet_sim/socket_listener.h"

namespace patchbay {

/// A Register call that waits for its answer. Thread-safe.
class PendingRegister {
 public:
  explicit PendingRegister(const v1beta1::RegisterRequest& request) : request_(request) {}

  const v1beta1::RegisterRequest& request() const { return request_; }
  /// The caller is gone or has given up.
  bool Cancelled() const;
  /// Every call is answered once; a second answer does nothing.
  void Answer(const grpc::Status& status);

 private:
  friend class RegisterReactor;

  const v1beta1::RegisterRequest request_;
  mutable std::mutex mutex_;
  grpc::ServerUnaryReactor* reactor_ = nullptr;  ///< null before the start and after the answer
  bool cancelled_ = false;
};

/// Serves v1beta1.Registration on a socket, with the defaults of grpc-go for its server.
class RegistrationServer {
 public:
  /// Is called on a thread of gRPC and must not block; who takes the call answers it.
  using OnRegister = std::function<void(std::shared_ptr<PendingRegister> call)>;
  /// Is called on a thread of gRPC when a caller is gone.
  using OnCancel = std::function<void()>;

  /// Fails with kUnavailable.
  static Result<std::unique_ptr<RegistrationServer>> Create(std::string path,
                                                            std::chrono::milliseconds accept_delay,
                                                            OnRegister on_register,
                                                            OnCancel on_cancel);
  /// All calls must have been answered after Disconnect.
  ~RegistrationServer();

  /// Cuts all connections and takes no more. The socket file stays.
  void Disconnect() { listener_.reset(); }

 private:
  class Service;

  RegistrationServer();

  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<SocketListener> listener_;
};

}  // namespace patchbay
