#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "kubelet_sim/options.h"
#include "podresources.pb.h"

namespace grpc {
class Server;
}

namespace patchbay {

class SocketListener;

/// Serves List of the kubelet's PodResources API, v1 and v1alpha1, on a socket (contract 6).
/// Thread-safe.
class PodResourcesServer {
 public:
  /// Both are called on threads of gRPC and must not block.
  struct Backend {
    std::function<v1::ListPodResourcesResponse()> list;
    std::function<void()> on_call = [] {};  ///< a call came in, whatever becomes of it
  };

  /// Serves on `path`, whose directory it makes and where it removes what is there, but for
  /// kAbsent. Fails with kUnavailable.
  static Result<std::unique_ptr<PodResourcesServer>> Create(
      std::string path, Backend backend, PodResourcesFault fault = PodResourcesFault::kNone);
  /// Cuts all connections. The socket file stays, as that of a kubelet that was killed.
  ~PodResourcesServer();

  /// From the next call on; kAbsent also cuts connections and removes the socket, and what follows
  /// makes it anew. Fails with kUnavailable where that is refused.
  Status SetFault(PodResourcesFault fault);

 private:
  class Service;

  PodResourcesServer(std::string path, Backend backend);

  const std::string path_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::unique_ptr<SocketListener> listener_;  ///< null while absent
};

}  // namespace patchbay
