#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "rpc/acceptor.h"

namespace patchbay {

/// The gRPC server of the process. It serves all Unix sockets with one completion queue, which one
/// thread polls, so neither threads nor the cost of a socket depend on the number of sockets.
///
/// The server has no listening port, because gRPC does not report on which port a call arrived.
/// Instead, it is given connections, and the peer of a call names the file descriptor ("fd:7"),
/// which gRPC closes only after the last call on it (gRPC 1.51).
///
/// A UnixServer adds its socket. Shared by them, because they can stop late.
class RpcServer {
 public:
  /// Fails with kUnavailable without threads or file descriptors.
  static Result<std::shared_ptr<RpcServer>> Create();
  /// Blocks; not on a thread of gRPC.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  Acceptor& acceptor() { return *acceptor_; }

 private:
  class Call;
  RpcServer() = default;
  void AwaitCall();
  void OnCallOver();
  void Run();

  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
  std::mutex mutex_;
  std::condition_variable no_calls_;
  std::size_t calls_ = 0;  ///< including the one that waits for its client
  std::thread thread_;
};

}  // namespace patchbay
