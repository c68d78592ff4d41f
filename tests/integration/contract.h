#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deviceplugin.grpc.pb.h"
#include "integration/entries.h"
#include "sim/kubelet/kubelet_sim.h"
#include "support/daemon_fixture.h"
#include "support/temp_tree.h"

namespace patchbay {

/// Returns the name of the profile in test names.
inline void PrintTo(KubeletProfile profile, std::ostream* out) {
  *out << (profile == KubeletProfile::kAsync  ? "async"
           : profile == KubeletProfile::kSync ? "sync"
                                              : "multi");
}

}  // namespace patchbay

namespace patchbay::test {

/// Returns the health of each device in the kubelet, by ID.
using HealthById = std::map<std::string, std::string>;
HealthById HealthOf(const ResourceView& view);

/// A client of a plugin, like any process on the node can be.
class PluginStub {
 public:
  explicit PluginStub(const std::string& socket, const std::string& authority = "localhost");

  using Containers = std::vector<std::vector<std::string>>;
  grpc::Status Allocate(const Containers& containers, v1beta1::AllocateResponse* response);
  grpc::Status Allocate(const Containers& containers) {
    v1beta1::AllocateResponse response;
    return Allocate(containers, &response);
  }
  grpc::Status Options(v1beta1::DevicePluginOptions* response);
  grpc::Status PreStart(const std::vector<std::string>& ids);
  grpc::Status Preferred(const v1beta1::PreferredAllocationRequest& request,
                         v1beta1::PreferredAllocationResponse* response);
  /// Returns the first list of a separate stream, which is then cancelled.
  bool FirstList(v1beta1::ListAndWatchResponse* list);

 private:
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
};

/// The daemon and the built-in kubelet in one tree, for tests that are named after the cases of the
/// kubelet's contract.
class Contract : public testing::TestWithParam<KubeletProfile> {
 protected:
  void SetUp() override;

  /// Creates and starts a kubelet with the profile of the test, in "kubelet" of the tree.
  KubeletSim& StartKubelet(KubeletSimOptions options = {});
  RunningDaemon& StartDaemon(std::string_view resources = kSerial,
                             RunningDaemon::Settings settings = {});

  /// Returns the view of the kubelet; empty if it has none.
  ResourceView View(const std::string& resource = kSerialName) const;
  bool AwaitView(const std::function<bool(const ResourceView&)>& condition,
                 const std::string& resource = kSerialName,
                 std::chrono::milliseconds timeout = kPatience) const;
  /// Waits until the latest Register call was answered and the resource is connected and listed on
  /// exactly one stream since then, at an endpoint other than `not_from`.
  bool AwaitServed(const std::string& resource = kSerialName,
                   const std::string& not_from = "") const;
  /// Waits until the kubelet has exactly these devices.
  bool AwaitHealth(const HealthById& health, const std::string& resource = kSerialName) const;
  bool AwaitCalls(std::size_t calls, std::chrono::milliseconds timeout = kPatience) const;
  /// Returns the Register calls for this resource.
  std::vector<RegisterCall> Calls(const std::string& resource = kSerialName) const;

  /// Returns the names of the sockets of Patchbay in the directory of the kubelet.
  std::vector<std::string> OwnSockets() const;
  /// Returns the endpoint of the resource that the kubelet dials.
  PluginStub Stub(const std::string& resource = kSerialName) const {
    return PluginStub(View(resource).endpoint);
  }

  TempTree tree_;
  std::unique_ptr<KubeletSim> kubelet_;
  std::unique_ptr<RunningDaemon> daemon_;
};

/// The same for behavior that differs between kubelets.
class SyncContract : public Contract {};   ///< kSync and kMulti
class AsyncContract : public Contract {};  ///< kAsync
class MultiContract : public Contract {};  ///< kMulti

std::string ProfileName(const testing::TestParamInfo<KubeletProfile>& info);

}  // namespace patchbay::test
