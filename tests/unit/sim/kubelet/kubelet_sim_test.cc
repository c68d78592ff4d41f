#include "sim/kubelet/kubelet_sim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>

#include "fake_plugin.h"
#include "os/unique_fd.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using test::FakePlugin;
using test::kLong;
using test::kR;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const std::vector<std::pair<std::string, std::string>> kThree = {
    {"a", "Healthy"}, {"b", "Healthy"}, {"c", "Unhealthy"}};

/// Returns 0, or the errno of connect.
int Connect(const std::string& path) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
}

ino_t Inode(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

class KubeletSimTest : public testing::Test {
 protected:
  void Make(
      KubeletProfile profile = KubeletProfile::kSync,
      const std::function<void(KubeletSimOptions&)>& change = [](KubeletSimOptions&) {}) {
    KubeletSimOptions options{.directory = tree_.path("plugins"), .profile = profile};
    change(options);
    auto made = KubeletSim::Create(options);
    ASSERT_TRUE(made);
    sim_ = std::move(*made);
    const Status started = sim_->Start();
    ASSERT_TRUE(started) << started.error().message;
  }

  std::unique_ptr<FakePlugin> Serve(const std::string& endpoint) {
    auto plugin = std::make_unique<FakePlugin>(sim_->directory() + "/" + endpoint);
    plugin->SetDevices(kThree);
    return plugin;
  }
  grpc::Status Register(const std::string& endpoint) {
    return FakePlugin::Register(sim_->socket_path(), kR, endpoint);
  }
  std::unique_ptr<FakePlugin> ServeAndRegister(const std::string& endpoint) {
    const std::size_t before = View().lists;
    auto plugin = Serve(endpoint);
    const grpc::Status status = Register(endpoint);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(Await([&] { return View().lists > before; }));
    return plugin;
  }

  ResourceView View() const { return sim_->View(kR).value_or(ResourceView()); }
  bool Await(const std::function<bool()>& predicate) const { return sim_->Await(predicate, kLong); }
  bool AwaitAllocatable(std::size_t n) const {
    return Await([&] { return View().known && View().allocatable == n; });
  }

  test::TempTree tree_;
  std::unique_ptr<KubeletSim> sim_;
};

class KubeletSimProfiles : public KubeletSimTest,
                           public testing::WithParamInterface<KubeletProfile> {};
INSTANTIATE_TEST_SUITE_P(All, KubeletSimProfiles,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti));

TEST_P(KubeletSimProfiles, RegistersAPluginAndReadsItsLists) {
  Make(GetParam());
  const auto plugin = ServeAndRegister("1.sock");
  ResourceView view = View();
  EXPECT_TRUE(view.known);
  EXPECT_TRUE(view.connected);
  EXPECT_EQ(view.endpoint, sim_->directory() + "/1.sock");
  EXPECT_EQ(view.capacity, 3u);
  EXPECT_EQ(view.allocatable, 2u);
  EXPECT_EQ(view.streams, 1u);
  EXPECT_EQ(view.connections, 1u);
  EXPECT_EQ(view.registrations, 1u);
  EXPECT_THAT(view.devices,
              ElementsAre(SimDevice{"a", "Healthy", {}}, SimDevice{"b", "Healthy", {}},
                          SimDevice{"c", "Unhealthy", {}}));
  EXPECT_THAT(sim_->Resources(), ElementsAre(kR));
  EXPECT_EQ(plugin->options_calls(), GetParam() == KubeletProfile::kAsync ? 0 : 1);

  plugin->SetDevices({{"a", "Healthy"}, {"a", "Unhealthy"}});
  ASSERT_TRUE(Await([&] { return View().lists == 2; }));
  EXPECT_EQ(View().capacity, 2u);
  EXPECT_EQ(View().allocatable, 1u);

  const auto calls = sim_->RegisterCalls();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].endpoint, "1.sock");
  EXPECT_EQ(calls[0].version, "v1beta1");
  EXPECT_TRUE(calls[0].answered);
  EXPECT_EQ(calls[0].code, 0);
}

TEST_P(KubeletSimProfiles, UsesTheConfiguredAuthority) {
  for (const auto authority : {KubeletAuthority::kLocalhost, KubeletAuthority::kSocketPath}) {
    Make(GetParam(), [&](KubeletSimOptions& options) { options.authority = authority; });
    ServeAndRegister("1.sock");
    sim_.reset();
  }
}

TEST_P(KubeletSimProfiles, RejectsAnInvalidRequestWithUnknown) {
  Make(GetParam());
  const auto version = FakePlugin::Register(sim_->socket_path(), kR, "x", kLong, "v1beta2");
  EXPECT_EQ(version.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_THAT(version.error_message(), HasSubstr("is not supported by kubelet"));
  const auto name = FakePlugin::Register(sim_->socket_path(), "kubernetes.io/x", "x");
  EXPECT_EQ(name.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(name.error_message(), "the ResourceName \"kubernetes.io/x\" is invalid");
  EXPECT_EQ(sim_->RegisterCalls()[1].code, grpc::StatusCode::UNKNOWN);
  EXPECT_FALSE(sim_->View(kR));
}

TEST_P(KubeletSimProfiles, KeepsCapacityWhenTheStreamEnds) {
  Make(GetParam());
  const auto plugin = ServeAndRegister("1.sock");
  plugin->EndStreams({grpc::StatusCode::ABORTED, "enough"});
  ASSERT_TRUE(AwaitAllocatable(0));
  const ResourceView view = View();
  EXPECT_EQ(view.capacity, 3u);
  EXPECT_FALSE(view.connected);
  EXPECT_EQ(view.streams, 0u);
  EXPECT_EQ(view.stream_error, "Aborted: enough");
  EXPECT_EQ(plugin->sent(), 1);
  EXPECT_EQ(sim_->Admit("p", "c", kR, 1).error().message,
            GetParam() == KubeletProfile::kAsync
                ? "UnexpectedAdmissionError: Allocate failed due to requested number of devices "
                  "unavailable for example.com/r. Requested: 1, Available: 0, which is unexpected"
                : "UnexpectedAdmissionError: Allocate failed due to no healthy devices present; "
                  "cannot allocate unhealthy devices example.com/r, which is unexpected");
  const auto next = ServeAndRegister("2.sock");
  EXPECT_TRUE(AwaitAllocatable(2));
}

TEST_P(KubeletSimProfiles, ForgetsThePluginAfterTheGracePeriod) {
  Make(GetParam(), [](KubeletSimOptions& options) { options.clock_scale = 6000; });
  ServeAndRegister("1.sock")->Stop();
  ASSERT_TRUE(Await([&] { return View().known && View().capacity == 0; }));
  EXPECT_TRUE(View().endpoint.empty());
  const auto next = ServeAndRegister("2.sock");
  EXPECT_TRUE(AwaitAllocatable(2));
}

TEST_P(KubeletSimProfiles, RestartsWithStoppedEndpointsAndAnEmptyDirectory) {
  Make(GetParam());
  const auto plugin = ServeAndRegister("1.sock");
  ASSERT_TRUE(sim_->Admit("p", "c", kR, 1));
  ASSERT_TRUE(sim_->Restart());
  ResourceView view = View();
  EXPECT_TRUE(view.known);
  EXPECT_FALSE(view.connected);
  EXPECT_EQ(view.capacity, 0u);
  EXPECT_EQ(view.allocatable, 0u);
  EXPECT_FALSE(std::filesystem::exists(sim_->directory() + "/1.sock"));
  const auto next = ServeAndRegister("2.sock");
  ASSERT_TRUE(AwaitAllocatable(2));
  const auto again = sim_->Admit("p", "c", kR, 1);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->reused);
  EXPECT_THAT(next->allocate_calls(), SizeIs(0));
}

TEST_P(KubeletSimProfiles, FreesDevicesOfPodsThatEndedWhileItDidNotRun) {
  Make(GetParam());
  const auto plugin = ServeAndRegister("1.sock");
  ASSERT_TRUE(sim_->Admit("ends", "c", kR, 1));
  ASSERT_TRUE(sim_->Admit("stays", "c", kR, 1));
  sim_->Crash();
  sim_->Release("ends");
  ASSERT_TRUE(sim_->Start());
  const auto next = ServeAndRegister("2.sock");
  ASSERT_TRUE(AwaitAllocatable(2));
  const auto stays = sim_->Admit("stays", "c", kR, 1);
  ASSERT_TRUE(stays);
  EXPECT_TRUE(stays->reused);
  // A pod of the same name is another pod.
  const auto ends = sim_->Admit("ends", "c", kR, 1);
  ASSERT_TRUE(ends) << ends.error().message;
  EXPECT_FALSE(ends->reused);
  // Freed devices stay free.
  sim_->Release("stays");
  ASSERT_TRUE(sim_->Restart());
  const auto last = ServeAndRegister("3.sock");
  ASSERT_TRUE(AwaitAllocatable(2));
  EXPECT_TRUE(sim_->Admit("other", "c", kR, 1));
}

TEST_P(KubeletSimProfiles, StopsImmediatelyWhilePluginsHang) {
  Make(GetParam());
  const auto plugin = ServeAndRegister("1.sock");
  plugin->HangAllocate();
  plugin->HangOptions();
  auto admission = std::async(std::launch::async, [&] { return sim_->Admit("p", "c", kR, 1); });
  auto registration = std::async(std::launch::async, [&] { return Register("missing.sock"); });
  auto another = std::async(std::launch::async, [&] { return Register("1.sock"); });
  ASSERT_TRUE(Await([&] { return sim_->RegisterCalls().size() == 3; }));
  const auto before = steady_clock::now();
  sim_->Stop();
  EXPECT_LT(steady_clock::now() - before, seconds(1));
  EXPECT_FALSE(admission.get());
  (void)registration.get();
  (void)another.get();
}

TEST_F(KubeletSimTest, LeavesAStaleSocketWhenItCrashes) {
  Make();
  const auto plugin = ServeAndRegister("1.sock");
  const ino_t inode = Inode(sim_->socket_path());
  sim_->Crash();
  EXPECT_FALSE(sim_->Running());
  EXPECT_EQ(Inode(sim_->socket_path()), inode);
  EXPECT_EQ(Connect(sim_->socket_path()), ECONNREFUSED);
  EXPECT_FALSE(sim_->View(kR));
  ASSERT_TRUE(sim_->Start());
  EXPECT_EQ(Connect(sim_->socket_path()), 0);
  sim_->Stop();
  EXPECT_EQ(Connect(sim_->socket_path()), ENOENT);
}

TEST_F(KubeletSimTest, QueuesCallersBeforeItAccepts) {
  Make(KubeletProfile::kSync,
       [](KubeletSimOptions& options) { options.accept_delay = milliseconds(200); });
  EXPECT_EQ(Connect(sim_->socket_path()), 0);
  const auto before = steady_clock::now();
  const auto plugin = ServeAndRegister("1.sock");
  EXPECT_GT(steady_clock::now() - before, milliseconds(100));
}

TEST_F(KubeletSimTest, FailsARegistrationThatItCannotDial) {
  Make(KubeletProfile::kSync,
       [](KubeletSimOptions& options) { options.dial_timeout = milliseconds(100); });
  const grpc::Status status = Register("missing.sock");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(status.error_message(), "failed to dial device plugin: context deadline exceeded");
  EXPECT_FALSE(sim_->View(kR));
}

TEST_F(KubeletSimTest, DialsUntilThePluginServes) {
  Make();
  auto registered = std::async(std::launch::async, [&] { return Register("1.sock"); });
  ASSERT_TRUE(Await([&] { return sim_->RegisterCalls().size() == 1; }));
  const auto plugin = Serve("1.sock");
  EXPECT_TRUE(registered.get().ok());
  EXPECT_TRUE(AwaitAllocatable(2));
}

TEST_F(KubeletSimTest, AsyncRespondsBeforeItDials) {
  Make(KubeletProfile::kAsync);
  EXPECT_TRUE(FakePlugin::Register(sim_->socket_path(), kR, "1.sock", kLong, "v1beta1", true).ok());
  const auto plugin = Serve("1.sock");
  ASSERT_TRUE(AwaitAllocatable(2));
  EXPECT_TRUE(View().options.get_preferred_allocation_available);
  EXPECT_EQ(plugin->options_calls(), 0);
}

TEST_F(KubeletSimTest, SyncFailsWithoutOptions) {
  Make();
  const auto plugin = Serve("1.sock");
  plugin->options_status = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no");
  EXPECT_EQ(Register("1.sock").error_message(),
            "failed to get device plugin options: rpc error: code = Unimplemented desc = no");
  EXPECT_FALSE(sim_->View(kR));
  EXPECT_EQ(plugin->sent(), 0);
}

TEST_F(KubeletSimTest, SyncConnectsEvenIfTheCallerTimedOut) {
  Make();
  const auto plugin = Serve("1.sock");
  plugin->HangOptions();
  const auto status = FakePlugin::Register(sim_->socket_path(), kR, "1.sock", milliseconds(200));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  plugin->Release();
  EXPECT_TRUE(AwaitAllocatable(2));
}

TEST_F(KubeletSimTest, SyncEndOfTheOldStreamEndsTheNewPlugin) {
  Make();
  const auto old = ServeAndRegister("1.sock");
  const auto plugin = ServeAndRegister("2.sock");
  EXPECT_EQ(View().streams, 2u);
  EXPECT_EQ(View().endpoint, sim_->directory() + "/2.sock");
  old->EndStreams();
  ASSERT_TRUE(Await([&] { return View().streams == 0; }));
  EXPECT_EQ(View().allocatable, 0u);
  EXPECT_EQ(View().stream_error.substr(0, 8), "Canceled");
}

TEST_F(KubeletSimTest, SyncDoesNotNoticeThePluginEndAfterFailedDuplicate) {
  Make(KubeletProfile::kSync,
       [](KubeletSimOptions& options) { options.dial_timeout = milliseconds(100); });
  const auto plugin = ServeAndRegister("1.sock");
  EXPECT_FALSE(Register("missing.sock").ok());
  plugin->Stop();
  ASSERT_TRUE(Await([&] { return View().streams == 0; }));
  EXPECT_EQ(View().allocatable, 2u);
  const auto admitted = sim_->Admit("p", "c", kR, 1);
  ASSERT_FALSE(admitted);
  EXPECT_THAT(admitted.error().message, HasSubstr("rpc error: code = "));
  // A failed registration is not kept.
  EXPECT_THAT(sim_->Admit("p", "c", kR, 3).error().message, HasSubstr("Available: 2"));
}

TEST_F(KubeletSimTest, AsyncKeepsTheNewPluginWhenTheOldStreamEnds) {
  Make(KubeletProfile::kAsync);
  const auto old = ServeAndRegister("1.sock");
  const auto plugin = ServeAndRegister("2.sock");
  old->EndStreams();
  ASSERT_TRUE(Await([&] { return View().streams == 1; }));
  EXPECT_EQ(View().allocatable, 2u);
}

TEST_F(KubeletSimTest, MultiPromotesTheRemainingPlugin) {
  Make(KubeletProfile::kMulti);
  const auto old = ServeAndRegister("1.sock");
  const auto plugin = ServeAndRegister("2.sock");
  plugin->EndStreams();
  ASSERT_TRUE(Await([&] { return View().streams == 1; }));
  EXPECT_EQ(View().allocatable, 2u);
  EXPECT_EQ(View().endpoint, sim_->directory() + "/1.sock");
  old->EndStreams();
  EXPECT_TRUE(AwaitAllocatable(0));
}

TEST_F(KubeletSimTest, MultiRejectsAConnectedSocket) {
  Make(KubeletProfile::kMulti);
  const auto plugin = ServeAndRegister("1.sock");
  EXPECT_EQ(Register("1.sock").error_message(),
            "device plugin already connected: " + sim_->directory() + "/1.sock");
}

TEST_F(KubeletSimTest, MultiCanIgnoreAConnectedSocketSilently) {
  Make(KubeletProfile::kMulti, [](KubeletSimOptions& options) { options.silent_dedupe = true; });
  const auto plugin = ServeAndRegister("1.sock");
  EXPECT_TRUE(Register("1.sock").ok());
  EXPECT_EQ(View().registrations, 2u);
  EXPECT_EQ(View().connections, 1u);
  EXPECT_EQ(plugin->options_calls(), 1);
}

TEST_F(KubeletSimTest, DropsAStreamWithAListAboveFourMebibytes) {
  Make();
  const auto plugin = ServeAndRegister("1.sock");
  plugin->SetDevices({{std::string(4194304, 'x'), "Healthy"}});
  ASSERT_TRUE(AwaitAllocatable(0));
  EXPECT_THAT(View().stream_error, HasSubstr("ResourceExhausted"));
}

TEST_F(KubeletSimTest, DropsAStreamWithAListThatIsNotUtf8) {
  Make();
  const auto plugin = ServeAndRegister("1.sock");
  plugin->SetDevices({{"\xff", "Healthy"}});
  ASSERT_TRUE(AwaitAllocatable(0));
  EXPECT_THAT(View().stream_error, HasSubstr("unmarshalling"));
}

TEST_F(KubeletSimTest, WritesACheckpointForEveryList) {
  Make();
  const auto plugin = ServeAndRegister("1.sock");
  const std::string path = sim_->directory() + "/kubelet_internal_checkpoint";
  ASSERT_TRUE(sim_->Admit("p", "c", kR, 1));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("\"example.com/r\":[\"a\",\"b\"]"));
  EXPECT_THAT(text, HasSubstr("\"PodUID\":\"p\""));
}

}  // namespace
}  // namespace patchbay
