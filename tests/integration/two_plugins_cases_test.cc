// Case 22 of the kubelet's contract: two processes that serve one resource, like during a rolling
// update that starts the new pod before it ends the old one.

#include "base/format.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using testing::SizeIs;

class TwoPlugins : public Contract {
 protected:
  /// Starts the daemon and, when it is registered, a second one, which registers later.
  void StartBoth() {
    tree_.CharDevice("dev/ttyUSB0");
    StartKubelet();
    StartDaemon();
    ASSERT_TRUE(AwaitServed());
    first_ = View().endpoint;
    second_ = std::make_unique<RunningDaemon>(tree_, kSerial);
    ASSERT_TRUE(AwaitView([&](const ResourceView& view) {
      return view.connected && view.endpoint != first_ && view.streams == 2;
    }));
    ASSERT_TRUE(second_->AwaitReady());
  }
  /// Waits until one plugin is registered and all calls succeed.
  void ExpectServed(HealthById devices = {{"ttyUSB0", "Healthy"}}) {
    ASSERT_TRUE(AwaitView([&](const ResourceView& view) {
      return view.connected && view.streams == 1 && view.allocatable == devices.size();
    }));
    EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 1));
    tree_.CharDevice("dev/ttyUSB2");
    devices["ttyUSB2"] = "Healthy";
    EXPECT_TRUE(AwaitHealth(devices));
    EXPECT_THAT(OwnSockets(), SizeIs(1));
  }

  std::string first_;  ///< the endpoint of the first one
  std::unique_ptr<RunningDaemon> second_;
};

TEST_P(TwoPlugins, Case22BothServeTheSameList) {
  ASSERT_NO_FATAL_FAILURE(StartBoth());
  EXPECT_THAT(OwnSockets(), SizeIs(2));
  EXPECT_THAT(Calls(), SizeIs(2));
  tree_.CharDevice("dev/ttyUSB1");
  const HealthById both{{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}};
  EXPECT_TRUE(AwaitView(
      [&](const ResourceView& view) { return view.lists == 4 && HealthOf(view) == both; }));
  for (const std::string& endpoint : {first_, View().endpoint}) {
    EXPECT_TRUE(PluginStub(endpoint).Allocate({{"ttyUSB0"}, {"ttyUSB1"}}).ok());
  }
  // Neither displaces the other.
  EXPECT_THAT(Calls(), SizeIs(2));
  for (RunningDaemon* daemon : {daemon_.get(), second_.get()}) {
    EXPECT_EQ(daemon->Get("/readyz").status, 200);
    EXPECT_EQ(daemon->fatal(), "");
  }
}

TEST_P(TwoPlugins, Case22OlderProcessExits) {
  ASSERT_NO_FATAL_FAILURE(StartBoth());
  EXPECT_TRUE(daemon_->Stop());
  ExpectServed();
  EXPECT_TRUE(second_->AwaitReady());
}

TEST_P(TwoPlugins, Case22NewerProcessExits) {
  ASSERT_NO_FATAL_FAILURE(StartBoth());
  // The older process checks for other sockets within 50 ms, and both send the next list after one
  // second.
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_TRUE(AwaitView([](const ResourceView& view) { return view.lists == 4; }));
  EXPECT_TRUE(second_->Stop());
  ExpectServed({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}});
  EXPECT_TRUE(daemon_->AwaitReady());
}

INSTANTIATE_TEST_SUITE_P(All, TwoPlugins,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
