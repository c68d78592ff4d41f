#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "deviceplugin.grpc.pb.h"
#include "sim/kubelet/options.h"
#include "sim/kubelet/plugin_channel.h"
#include "sim/kubelet/resource_view.h"

namespace patchbay {

/// The calls of the kubelet to one device plugin (plugin/v1beta1/client.go of the device manager),
/// on a PluginChannel of its own.
///
/// Thread-safe. Calls block, without a deadline unless one is given. Close ends all calls within
/// 100 ms.
class PluginClient {
 public:
  using OnList = std::function<void(const std::vector<SimDevice>& list)>;

  /// `path` is the socket of the plugin. Does not connect before Dial.
  PluginClient(const std::string& path, KubeletAuthority authority,
               FlowCredit credit = FlowCredit::kUsual);

  /// PluginChannel::Dial.
  Status Dial(std::chrono::milliseconds timeout) { return channel_.Dial(timeout); }

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
  bool WaitToRead();

  PluginChannel channel_;
  const std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  bool watch_cancelled_ = false;
  bool reading_ = true;
};

}  // namespace patchbay
