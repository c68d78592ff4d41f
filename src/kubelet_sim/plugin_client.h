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

/// The flow-control window of a connection.
enum class FlowCredit {
  kUsual,
  kLeast,  ///< for a slow reader: the windows of HTTP/2 never grow
};

/// A connection to one plugin with the options of the kubelet (plugin/v1beta1/client.go of the
/// device manager): insecure, at most 4 MiB per received message, without keepalive, not shared.
///
/// Thread-safe. Calls block, without a deadline unless one is given. Close ends all calls within
/// 100 ms.
class PluginClient {
 public:
  using OnList = std::function<void(const std::vector<SimDevice>& list)>;

  /// `path` is the socket of the plugin. Does not connect before Dial.
  PluginClient(const std::string& path, KubeletAuthority authority,
               FlowCredit credit = FlowCredit::kUsual);

  /// Waits until the connection has exchanged HTTP/2 settings. Retries while the socket is missing
  /// or rejects the connection. Fails with kUnavailable.
  Status Dial(std::chrono::milliseconds timeout);

  /// These fail with kUnavailable and "rpc error: code = ... desc = ...", the format of Go.
  Result<SimPluginOptions> GetOptions();
  Result<v1beta1::PreferredAllocationResponse> GetPreferred(
      const v1beta1::PreferredAllocationRequest& request);
  Result<v1beta1::AllocateResponse> Allocate(const v1beta1::AllocateRequest& request);
  Result<v1beta1::PreStartContainerResponse> PreStart(
      const v1beta1::PreStartContainerRequest& request, std::chrono::milliseconds deadline);

  /// Opens ListAndWatch and reads it to its end, and calls `on_list` on this thread. Returns its
  /// status: "CODE: text". Call it once.
  std::string Watch(const OnList& on_list);

  void CancelWatch();
  /// Makes Watch stop reading after the current message, or continue.
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
