#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "podresources.pb.h"
#include "sim/kubelet/options.h"

namespace grpc {
class Server;
}

namespace patchbay {

class SocketListener;

/// Serves List of the kubelet's PodResources API, v1 and v1alpha1, on a socket. Thread-safe.
class PodResourcesServer {
 public:
  /// Both are called on threads of gRPC and must not block.
  struct Backend {
    std::function<v1::ListPodResourcesResponse()> list;
    std::function<void()> on_call = [] {};  ///< called at the start of each call
  };

  /// Serves on `path`: creates its directory and replaces an existing file, except for kAbsent.
  /// Fails with kUnavailable.
  static Result<std::unique_ptr<PodResourcesServer>> Create(
      std::string path, Backend backend, PodResourcesFault fault = PodResourcesFault::kNone);
  /// Closes all connections. The socket file remains, like that of a killed kubelet.
  ~PodResourcesServer();

  /// Sets the fault from the next call on. kAbsent also closes connections and removes the socket;
  /// any other fault creates it again. Fails with kUnavailable.
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
