#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "fake_plugin.h"
#include "sim/kubelet/kubelet_sim.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakePlugin;
using test::kLong;
using test::kR;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

const std::string kWaits = "CreateContainerConfigError: ";
const std::string kCallFailed = kWaits + "device plugin PreStartContainer rpc failed with err: ";

class SimStart : public testing::Test {
 protected:
  void Start(
      KubeletProfile profile = KubeletProfile::kSync,
      const std::function<void(KubeletSimOptions&)>& change = [](KubeletSimOptions&) {}) {
    KubeletSimOptions options{.directory = tree_.path(), .profile = profile};
    change(options);
    sim_ = std::move(*KubeletSim::Create(options));
    ASSERT_TRUE(sim_->Start());
    NewPlugin("1.sock");
  }
  void NewPlugin(const std::string& socket) {
    socket_ = socket;
    plugin_ = std::make_unique<FakePlugin>(tree_.path(socket));
    plugin_->pre_start = true;
    plugin_->SetDevices({{"a", "Healthy"}, {"b", "Healthy"}});
  }
  /// The options that the plugin returns when dialed, and those that it registers with.
  void Register(bool dialled = true, bool registering = true) {
    plugin_->pre_start = dialled;
    ASSERT_TRUE(
        FakePlugin::Register(sim_->socket_path(), kR, socket_, kLong, "v1beta1", false, registering)
            .ok());
    ASSERT_TRUE(Await([&] { return View().allocatable == 2; }));
  }
  void Admit() {
    const auto admitted = sim_->Admit("p", "c", kR, 2);
    ASSERT_TRUE(admitted) << admitted.error().message;
    ids_ = admitted->device_ids;
  }
  /// Returns why the container does not start; "" if it does.
  std::string Waits() {
    const Status started = sim_->StartContainer("p", "c");
    return started ? "" : started.error().message;
  }
  ResourceView View() const { return sim_->View(kR).value_or(ResourceView()); }
  bool Await(const std::function<bool()>& predicate) const { return sim_->Await(predicate, kLong); }

  test::TempTree tree_;
  std::unique_ptr<KubeletSim> sim_;
  std::string socket_;
  std::unique_ptr<FakePlugin> plugin_;
  std::vector<std::string> ids_;
};

TEST_F(SimStart, CallsPreStartAtEveryStart) {
  Start();
  Register();
  Admit();
  EXPECT_THAT(plugin_->pre_start_calls(), IsEmpty());
  EXPECT_EQ(Waits(), "");
  EXPECT_EQ(Waits(), "");
  const auto calls = plugin_->pre_start_calls();
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(calls[0].devices_ids(), UnorderedElementsAreArray(ids_));
  EXPECT_THAT(calls[1].devices_ids(), UnorderedElementsAreArray(ids_));
}

/// Kubelets up to 1.24 use the options of the registration, later ones those of the dialed plugin.
TEST_F(SimStart, UsesTheOptionsThatTheProfileHonors) {
  struct Case {
    KubeletProfile profile;
    bool dialled;
    bool registering;
    std::size_t calls;
  };
  for (const Case& c :
       {Case{KubeletProfile::kAsync, false, true, 1}, Case{KubeletProfile::kAsync, true, false, 0},
        Case{KubeletProfile::kSync, true, false, 1}, Case{KubeletProfile::kSync, false, true, 0},
        Case{KubeletProfile::kMulti, true, false, 1},
        Case{KubeletProfile::kMulti, false, true, 0}}) {
    Start(c.profile);
    Register(c.dialled, c.registering);
    Admit();
    EXPECT_EQ(Waits(), "");
    EXPECT_THAT(plugin_->pre_start_calls(), SizeIs(c.calls)) << static_cast<int>(c.profile);
    sim_->Release("p");
    plugin_.reset();
  }
}

TEST_F(SimStart, SkipsPreStartWithoutDevices) {
  Start();
  Register();
  EXPECT_EQ(Waits(), "");
  EXPECT_THAT(plugin_->pre_start_calls(), IsEmpty());
}

TEST_F(SimStart, PluginErrorKeepsTheContainerWaiting) {
  Start();
  Register();
  Admit();
  plugin_->pre_start_status = grpc::Status(grpc::StatusCode::NOT_FOUND, "no such device");
  EXPECT_EQ(Waits(), kCallFailed + "rpc error: code = NotFound desc = no such device");
  plugin_->pre_start_status = grpc::Status::OK;
  EXPECT_EQ(Waits(), "");
}

TEST_F(SimStart, HangingPluginTimesOut) {
  Start(KubeletProfile::kSync,
        [](KubeletSimOptions& options) { options.pre_start_timeout = milliseconds(100); });
  Register();
  Admit();
  plugin_->HangPreStart();
  EXPECT_THAT(Waits(), HasSubstr(kCallFailed + "rpc error: code = DeadlineExceeded"));
}

TEST_F(SimStart, DoesNotWaitForAnAdmission) {
  Start();
  Register();
  ASSERT_TRUE(sim_->Admit("p", "c", kR, 1));
  plugin_->HangAllocate();
  auto admitted = std::async(std::launch::async, [&] { return sim_->Admit("q", "c", kR, 1); });
  ASSERT_TRUE(plugin_->AwaitCalls(2));
  EXPECT_EQ(Waits(), "");
  plugin_->Release();
  EXPECT_TRUE(admitted.get());
}

TEST_F(SimStart, KubeletCrashEndsAHangingCall) {
  Start();
  Register();
  Admit();
  plugin_->HangPreStart();
  auto waits = std::async(std::launch::async, [&] { return Waits(); });
  ASSERT_TRUE(plugin_->AwaitCalls(2));
  sim_->Crash();
  EXPECT_THAT(waits.get(), HasSubstr("rpc error"));
  EXPECT_EQ(Waits(), "the kubelet is not running");
}

TEST_F(SimStart, SkipsPreStartAfterARestartUntilRegistration) {
  Start();
  Register();
  Admit();
  ASSERT_TRUE(sim_->Restart());
  EXPECT_EQ(Waits(), "");
  EXPECT_THAT(plugin_->pre_start_calls(), IsEmpty());
  NewPlugin("2.sock");
  Register();
  EXPECT_EQ(Waits(), "");
  EXPECT_THAT(plugin_->pre_start_calls(), SizeIs(1));
}

TEST_F(SimStart, FailsIfAPreStartPluginHasStopped) {
  Start();
  Register();
  Admit();
  plugin_->Stop();
  ASSERT_TRUE(Await([&] { return !View().connected; }));
  EXPECT_EQ(Waits(), kCallFailed + "endpoint example.com/r has been stopped");
}

TEST_F(SimStart, SucceedsIfAPluginWithoutPreStartHasStopped) {
  Start();
  Register(false);
  Admit();
  plugin_->Stop();
  ASSERT_TRUE(Await([&] { return !View().connected; }));
  EXPECT_EQ(Waits(), "");
}

TEST_F(SimStart, FailsAfterTheGracePeriodOfAStoppedPlugin) {
  Start(KubeletProfile::kSync, [](KubeletSimOptions& options) { options.clock_scale = 6000; });
  Register(false);
  Admit();
  plugin_->Stop();
  ASSERT_TRUE(Await([&] { return View().known && View().capacity == 0; }));
  EXPECT_EQ(Waits(), kWaits + "endpoint not found in cache for a registered resource: " + kR);
}

}  // namespace
}  // namespace patchbay
