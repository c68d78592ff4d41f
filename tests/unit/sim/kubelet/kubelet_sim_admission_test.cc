#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fake_plugin.h"
#include "sim/kubelet/kubelet_sim.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::FakePlugin;
using test::kR;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class SimAdmission : public testing::Test {
 protected:
  SimAdmission() {
    auto made = KubeletSim::Create({.directory = tree_.path()});
    sim_ = std::move(*made);
    EXPECT_TRUE(sim_->Start());
    plugin_ = std::make_unique<FakePlugin>(tree_.path("1.sock"));
    plugin_->SetDevices({{"a", "Healthy"}, {"b", "Healthy"}, {"c", "Healthy"}, {"d", "Unhealthy"}});
  }

  void Register() {
    EXPECT_TRUE(FakePlugin::Register(sim_->socket_path(), kR, "1.sock").ok());
    const auto listed = [&] {
      const auto view = sim_->View(kR);
      return view && view->lists == 1;
    };
    EXPECT_TRUE(sim_->Await(listed, std::chrono::seconds(10)));
  }
  std::string Refusal(const std::string& pod, int n) {
    const auto admitted = sim_->Admit(pod, "c", kR, n);
    return admitted ? "" : admitted.error().message;
  }

  test::TempTree tree_;
  std::unique_ptr<KubeletSim> sim_;
  std::unique_ptr<FakePlugin> plugin_;
};

TEST_F(SimAdmission, AllocatesOnceAndUsesTheFirstResponse) {
  plugin_->responses = 2;
  Register();
  const auto admitted = sim_->Admit("p", "c", kR, 2);
  ASSERT_TRUE(admitted);
  EXPECT_THAT(admitted->device_ids, SizeIs(2));
  EXPECT_EQ(admitted->response.envs().at("FIRST"), admitted->device_ids[0]);
  EXPECT_THAT(plugin_->preferred_calls(), IsEmpty());
  const auto calls = plugin_->allocate_calls();
  ASSERT_THAT(calls, SizeIs(1));
  ASSERT_EQ(calls[0].container_requests_size(), 1);
  EXPECT_THAT(calls[0].container_requests(0).devices_ids(), ElementsAreArray(admitted->device_ids));
}

TEST_F(SimAdmission, ReusesDevicesForTheSameContainerOnly) {
  Register();
  const auto first = sim_->Admit("p", "c", kR, 2);
  const auto again = sim_->Admit("p", "c", kR, 2);
  ASSERT_TRUE(first && again);
  EXPECT_TRUE(again->reused);
  EXPECT_EQ(again->device_ids, first->device_ids);
  EXPECT_THAT(plugin_->allocate_calls(), SizeIs(1));
  EXPECT_THAT(Refusal("q", 2), HasSubstr("Requested: 2, Available: 1"));
  EXPECT_THAT(Refusal("p", 1), HasSubstr("changed request for resource"));
  sim_->Release("p");
  EXPECT_TRUE(sim_->Admit("q", "c", kR, 3));
}

TEST_F(SimAdmission, RequestsThePreferredAllocation) {
  plugin_->prefers = true;
  plugin_->preferred = std::vector<std::string>{"c", "d", "zzz"};
  Register();
  const auto one = sim_->Admit("p", "c", kR, 1);
  ASSERT_TRUE(one);
  EXPECT_THAT(one->device_ids, ElementsAre("c"));
  const auto calls = plugin_->preferred_calls();
  ASSERT_THAT(calls, SizeIs(1));
  const auto& request = calls[0].container_requests(0);
  EXPECT_THAT(request.available_device_ids(), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(request.must_include_device_ids(), IsEmpty());
  EXPECT_EQ(request.allocation_size(), 1);
}

TEST_F(SimAdmission, RunsPodsOfAnUnknownResourceWithoutDevices) {
  const auto admitted = sim_->Admit("p", "c", "example.com/other", 1);
  ASSERT_TRUE(admitted);
  EXPECT_THAT(admitted->device_ids, IsEmpty());
}

TEST_F(SimAdmission, RollsBackARejectedAllocation) {
  Register();
  plugin_->allocate_status = grpc::Status(grpc::StatusCode::NOT_FOUND, "no such device");
  EXPECT_EQ(Refusal("p", 3),
            "UnexpectedAdmissionError: Allocate failed due to rpc error: code = NotFound desc = no "
            "such device, which is unexpected");
  plugin_->allocate_status = grpc::Status::OK;
  EXPECT_TRUE(sim_->Admit("q", "c", kR, 3));
}

TEST_F(SimAdmission, FailsOnAnEmptyResponse) {
  plugin_->responses = 0;
  Register();
  EXPECT_THAT(Refusal("p", 1), HasSubstr("no containers return in allocation response"));
}

TEST_F(SimAdmission, FailsWhenTheCheckpointCannotBeWritten) {
  Register();
  // In one step: the kubelet may be writing the checkpoint of the registration.
  const std::string elsewhere = tree_.path() + ".moved";
  std::filesystem::rename(tree_.path(), elsewhere);
  EXPECT_THAT(Refusal("p", 1), HasSubstr("cannot create a file"));
  EXPECT_THAT(plugin_->allocate_calls(), SizeIs(1));
  std::filesystem::rename(elsewhere, tree_.path());
}

TEST_F(SimAdmission, ALaterPodOfTheSameNameKeepsItsDevices) {
  Register();
  ASSERT_TRUE(sim_->Admit("p", "c", kR, 1));
  const std::string elsewhere = tree_.path() + ".moved";
  std::filesystem::rename(tree_.path(), elsewhere);
  sim_->Release("p");  // the checkpoint cannot be written
  std::filesystem::rename(elsewhere, tree_.path());
  const auto later = sim_->Admit("p", "c", kR, 1);
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->reused);
  sim_->Release("other");
  EXPECT_THAT(Refusal("q", 3), HasSubstr("Requested: 3, Available: 2"));
}

}  // namespace
}  // namespace patchbay
