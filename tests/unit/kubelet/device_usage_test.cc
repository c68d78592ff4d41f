#include "kubelet/device_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sim/kubelet/pod_resources_server.h"
#include "support/fake_loop.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DeviceUsageTest : public testing::Test {
 protected:
  std::shared_ptr<PodResources> MakePodResources() {
    return std::make_shared<PodResources>(
        loop_, log_, tree_.path("pods.sock"),
        PodResources::Events{
            .on_holders = [this](const ReportedHolders&) { events_.emplace_back("holders"); },
            .on_up = [](bool) {}});
  }
  DeviceUsage Make(const std::shared_ptr<PodResources>& pod_resources) {
    return {loop_, pod_resources, [this](const std::set<std::string>& devices) {
              for (const std::string& device : devices) events_.push_back("unverified " + device);
            }};
  }
  std::function<void()> Started() {
    return [this] { events_.emplace_back("start"); };
  }
  bool Await(const std::string& event) {
    loop_.Advance(std::chrono::seconds(0));
    return loop_.RunUntil([&] { return !events_.empty() && events_.back() == event; });
  }

  test::TempTree tree_;
  test::FakeLoop loop_;
  std::ostringstream text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, text_};
  std::vector<std::string> events_;
};

TEST_F(DeviceUsageTest, StartsImmediatelyWithoutALoop) {
  const DeviceUsage usage;
  usage.OnAllocated();
  usage.QueueReleasesThen({"a"}, Started());
  EXPECT_THAT(events_, ElementsAre("start"));
}

TEST_F(DeviceUsageTest, StartIsUnverifiedWithoutPodResources) {
  const DeviceUsage usage = Make(nullptr);
  usage.OnAllocated();
  usage.QueueReleasesThen({"a", "b"}, Started());
  EXPECT_THAT(events_, IsEmpty()) << "called on the caller's thread";
  loop_.RunPosted();
  EXPECT_THAT(events_, ElementsAre("unverified a", "unverified b", "start"));
}

TEST_F(DeviceUsageTest, StartIsUnverifiedIfTheKubeletDoesNotRespond) {
  const auto pod_resources = MakePodResources();
  Make(pod_resources).QueueReleasesThen({"a"}, Started());
  ASSERT_TRUE(Await("start"));
  EXPECT_THAT(events_, ElementsAre("unverified a", "start"));
}

TEST_F(DeviceUsageTest, StartFollowsTheReportOfTheKubelet) {
  const auto server = PodResourcesServer::Create(
      tree_.path("pods.sock"), {.list = [] { return v1::ListPodResourcesResponse(); }});
  ASSERT_TRUE(server) << server.error().message;
  const auto pod_resources = MakePodResources();
  const DeviceUsage usage = Make(pod_resources);
  ASSERT_TRUE(Await("holders"));  // the first poll
  events_.clear();
  std::thread([&] { usage.QueueReleasesThen({"a"}, Started()); }).join();
  ASSERT_TRUE(Await("start"));
  EXPECT_THAT(events_, ElementsAre("holders", "start"));
}

TEST_F(DeviceUsageTest, CanOutliveItsSource) {
  auto pod_resources = MakePodResources();
  const DeviceUsage usage = Make(pod_resources);
  pod_resources.reset();
  usage.OnAllocated();
  usage.QueueReleasesThen({"a"}, Started());
  loop_.RunPosted();
  EXPECT_THAT(events_, ElementsAre("unverified a", "start"));
}

}  // namespace
}  // namespace patchbay
