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
using testing::Each;
using testing::Field;
using testing::SizeIs;

class SimFaults : public testing::Test {
 protected:
  SimFaults() {
    auto made = KubeletSim::Create({.directory = tree_.path()});
    sim_ = std::move(*made);
    EXPECT_TRUE(sim_->Start());
    plugin_ = std::make_unique<FakePlugin>(tree_.path("1.sock"));
    plugin_->SetDevices({{"a", "Healthy"}});
  }

  grpc::Status Register(milliseconds timeout = kLong) {
    return FakePlugin::Register(sim_->socket_path(), kR, "1.sock", timeout);
  }
  ResourceView View() const { return sim_->View(kR).value_or(ResourceView()); }
  bool Await(const std::function<bool()>& predicate) const { return sim_->Await(predicate, kLong); }
  bool Connected() {
    return Register().ok() && Await([&] { return View().allocatable == 1; });
  }

  test::TempTree tree_;
  std::unique_ptr<KubeletSim> sim_;
  std::unique_ptr<FakePlugin> plugin_;
};

TEST_F(SimFaults, RegisterReturnsTheConfiguredError) {
  sim_->SetRegisterFault(RegisterFault::kUnimplemented);
  EXPECT_EQ(Register().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  sim_->SetRegisterFault(RegisterFault::kUnknownError, kR, "not today");
  EXPECT_EQ(Register().error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(Register().error_message(), "not today");
  sim_->SetRegisterFault(RegisterFault::kNone, kR);
  EXPECT_TRUE(Connected());
}

TEST_F(SimFaults, RegisterSucceedsWithoutDialing) {
  sim_->SetRegisterFault(RegisterFault::kNeverDial);
  EXPECT_TRUE(Register().ok());
  EXPECT_FALSE(sim_->View(kR));
  EXPECT_EQ(plugin_->options_calls(), 0);
}

TEST_F(SimFaults, HangEndsWhenTheCallerCancels) {
  sim_->SetRegisterFault(RegisterFault::kHang);
  // On a busy machine a deadline can pass before the call has arrived.
  ASSERT_TRUE(Await([&] {
    EXPECT_EQ(Register(milliseconds(100)).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    return !sim_->RegisterCalls().empty();
  }));
  EXPECT_TRUE(Await([&] { return sim_->RegisterCalls()[0].answered; }));
  EXPECT_EQ(sim_->RegisterCalls()[0].code, grpc::StatusCode::CANCELLED);
}

TEST_F(SimFaults, HangEndsWhenReleased) {
  sim_->SetRegisterFault(RegisterFault::kHang);
  auto registered = std::async(std::launch::async, [&] { return Register(); });
  ASSERT_TRUE(Await([&] { return sim_->RegisterCalls().size() == 1; }));
  sim_->SetRegisterFault(RegisterFault::kNone);
  EXPECT_TRUE(registered.get().ok());
  EXPECT_TRUE(Await([&] { return View().allocatable == 1; }));
}

TEST_F(SimFaults, HangEndsWhenTheKubeletCrashes) {
  sim_->SetRegisterFault(RegisterFault::kHang);
  auto registered = std::async(std::launch::async, [&] { return Register(); });
  ASSERT_TRUE(Await([&] { return sim_->RegisterCalls().size() == 1; }));
  sim_->Crash();
  EXPECT_EQ(registered.get().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SimFaults, DropsTheStream) {
  ASSERT_TRUE(Connected());
  sim_->DropStreams(kR);
  EXPECT_TRUE(Await([&] { return View().streams == 0 && View().allocatable == 0; }));
  EXPECT_TRUE(Connected());
}

TEST_F(SimFaults, ZombieCancelsTheStream) {
  ASSERT_TRUE(Connected());
  sim_->ZombieCancel(kR);
  EXPECT_FALSE(View().connected);
  EXPECT_EQ(View().allocatable, 0u);
  EXPECT_TRUE(Await([&] { return View().streams == 0; }));
  EXPECT_TRUE(Connected());
}

TEST_F(SimFaults, OpensExtraStreams) {
  EXPECT_FALSE(sim_->OpenExtraStreams(kR, 1));
  ASSERT_TRUE(Connected());
  ASSERT_TRUE(sim_->OpenExtraStreams(kR, 3));
  const auto all = [&](std::size_t lists) {
    const auto extra = View().extra_streams;
    return std::all_of(extra.begin(), extra.end(),
                       [&](const ExtraStreamView& e) { return e.open && e.lists == lists; });
  };
  EXPECT_TRUE(Await([&] { return all(1); }));
  plugin_->SetDevices({{"a", "Healthy"}, {"b", "Healthy"}});
  EXPECT_TRUE(Await([&] { return all(2) && View().allocatable == 2; }));
  EXPECT_THAT(View().extra_streams, SizeIs(3));
  EXPECT_THAT(View().extra_streams, Each(Field(&ExtraStreamView::devices, SizeIs(2))));
  EXPECT_EQ(View().streams, 1u);
  EXPECT_EQ(View().lists, 2u);
  sim_->CloseExtraStreams(kR);
  EXPECT_TRUE(View().connected);
}

TEST_F(SimFaults, OpensAStreamThatDoesNotRead) {
  ASSERT_TRUE(Connected());
  ASSERT_TRUE(sim_->OpenExtraStreams(kR, 1, false));
  ASSERT_TRUE(Await([&] { return View().extra_streams[0].open; }));
  // More than any flow-control window, so that the plugin blocks while it sends this.
  const std::string id(1 << 20, 'x');
  plugin_->SetDevices({{id, "Healthy"}});
  ASSERT_TRUE(Await([&] { return View().devices.size() == 1 && View().devices[0].id == id; }));
  EXPECT_EQ(View().extra_streams[0].lists, 0u);
  sim_->ResumeReading(kR);
  EXPECT_TRUE(Await([&] {
    const auto extra = View().extra_streams[0];
    return !extra.devices.empty() && extra.devices[0].id == id;
  }));
}

TEST_F(SimFaults, StopsAndResumesReading) {
  ASSERT_TRUE(Connected());
  sim_->StopReading(kR);
  plugin_->SetDevices({{"b", "Healthy"}});
  plugin_->SetDevices({{"c", "Healthy"}});
  // Another plugin registers and sends a list meanwhile.
  FakePlugin other(tree_.path("2.sock"));
  other.SetDevices({{"x", "Healthy"}});
  ASSERT_TRUE(FakePlugin::Register(sim_->socket_path(), "example.com/other", "2.sock", kLong).ok());
  ASSERT_TRUE(Await([&] {
    const auto view = sim_->View("example.com/other");
    return view && view->allocatable == 1;
  }));
  // A read that had begun can still receive one list.
  EXPECT_LE(View().lists, 2U);
  sim_->ResumeReading(kR);
  EXPECT_TRUE(Await([&] { return View().devices[0].id == "c"; }));
}

TEST_F(SimFaults, ResumesReadingWhileAPluginConnects) {
  plugin_->HangOptions();
  sim_->StopReading(kR);
  auto registered = std::async(std::launch::async, [&] { return Register(); });
  EXPECT_TRUE(plugin_->AwaitOptionsCall());
  sim_->ResumeReading(kR);
  plugin_->Release();
  EXPECT_TRUE(registered.get().ok());
  EXPECT_TRUE(Await([&] { return View().allocatable == 1; }));
}

}  // namespace
}  // namespace patchbay
