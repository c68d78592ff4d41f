#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "deviceplugin.grpc.pb.h"
#include "kubelet_sim/options.h"
#include "kubelet_sim/resource_view.h"

namespace patchbay {

/// How much a connection lets a plugin send ahead of the reader.
enum class FlowCredit {
  kUsual,
  kLeast,  ///< for a slow reader: the windows of HTTP/2 never grow
};

/// A connection to one plugin, dialled as kubelets do: insecure, receiving at most 4 MiB a message,
/// without keepalive and sharing nothing with other connections (contract 1.5).
///
/// Thread-safe; calls block and have no deadline but for those given. Close ends them all within a
/// tenth of a second.
class PluginClient {
 public:
  using OnList = std::function<void(const std::vector<SimDevice>& list)>;

  /// `path` is the plugin's socket. Nothing is done before Dial.
  PluginClient(const std::string& path, KubeletAuthority authority,
               FlowCredit credit = FlowCredit::kUsual);

  /// Waits for a connection that has completed its HTTP/2 settings; a socket that is missing or
  /// refuses is tried again meanwhile. Fails with kUnavailable.
  Status Dial(std::chrono::milliseconds timeout);

  /// These fail with kUnavailable and "rpc error: code = ... desc = ...", as Go prints a status.
  Result<SimPluginOptions> GetOptions();
  Result<v1beta1::PreferredAllocationResponse> GetPreferred(
      const v1beta1::PreferredAllocationRequest& request);
  Result<v1beta1::AllocateResponse> Allocate(const v1beta1::AllocateRequest& request);
  Result<v1beta1::PreStartContainerResponse> PreStart(
      const v1beta1::PreStartContainerRequest& request, std::chrono::milliseconds deadline);

  /// Opens ListAndWatch and reads it to its end, calling `on_list` on this thread. Returns how it
  /// ended: "CODE: text". Call it once.
  std::string Watch(const OnList& on_list);

  void CancelWatch();
  /// Watch takes nothing more from the connection after the message under way, or goes on.
  void SetReading(bool reading);
  void Close();

 private:
  class Call;

  template <class Response, class Method>
  Result<Response> Unary(Method method);
  bool WaitToRead();

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  bool watch_cancelled_ = false;
  bool reading_ = true;
  std::set<grpc::ClientContext*> calls_;
  grpc::ClientContext* watch_ = nullptr;
};

}  // namespace patchbay
