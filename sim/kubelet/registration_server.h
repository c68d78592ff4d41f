#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "deviceplugin.grpc.pb.h"
#include "sim/kubelet/socket_listener.h"

namespace patchbay {

/// A Register call without a response yet. Thread-safe.
class PendingRegister {
 public:
  explicit PendingRegister(const v1beta1::RegisterRequest& request) : request_(request) {}

  const v1beta1::RegisterRequest& request() const { return request_; }
  /// Returns whether the client has disconnected or cancelled the call.
  bool Cancelled() const;
  /// Sends the response. Only the first call has an effect.
  void Answer(const grpc::Status& status);

 private:
  friend class RegisterReactor;

  const v1beta1::RegisterRequest request_;
  mutable std::mutex mutex_;
  grpc::ServerUnaryReactor* reactor_ = nullptr;  ///< null before the start and after the response
  bool cancelled_ = false;
};

/// Serves v1beta1.Registration on a socket, with the defaults of grpc-go for its server.
class RegisterServer {
 public:
  /// Called on a gRPC thread; must not block. The receiver must answer the call.
  using OnRegister = std::function<void(std::shared_ptr<PendingRegister> call)>;
  /// Called on a gRPC thread when a client has disconnected.
  using OnCancel = std::function<void()>;

  /// Starts to serve. Fails with kUnavailable.
  static Result<std::unique_ptr<RegisterServer>> Create(std::string path,
                                                        std::chrono::milliseconds accept_delay,
                                                        OnRegister on_register, OnCancel on_cancel);
  /// All calls must be answered before.
  ~RegisterServer();

  /// Closes all connections and accepts no more. The socket file remains.
  void Disconnect() { listener_.reset(); }

 private:
  class Service;

  RegisterServer();

  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<SocketListener> listener_;
};

}  // namespace patchbay
