// Cases 1 to 21 of the kubelet's contract: registration.

#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>
#include <cstring>
#include <filesystem>
#include <set>

#include "integration/contract.h"
#include "kubelet/registration.h"
#include "os/unique_fd.h"
#include "support/unix_socket.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST_P(Contract, Case01ServesBeforeItRegisters) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet().SetRegisterFault(RegisterFault::kHang);
  StartDaemon();
  ASSERT_TRUE(AwaitCalls(1));

  const RegisterCall call = Calls().front();
  EXPECT_EQ(call.version, "v1beta1");
  EXPECT_EQ(call.endpoint.find('/'), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_socket(tree_.path("kubelet/" + call.endpoint)));
  v1beta1::DevicePluginOptions options;
  ASSERT_TRUE(PluginStub(tree_.path("kubelet/" + call.endpoint)).Options(&options).ok());
  EXPECT_EQ(options.pre_start_required(), call.options.pre_start_required);
  EXPECT_EQ(options.get_preferred_allocation_available(),
            call.options.get_preferred_allocation_available);

  kubelet_->SetRegisterFault(RegisterFault::kNone);
  ASSERT_TRUE(AwaitServed());
  EXPECT_THAT(Calls(), SizeIs(1));
}

TEST_P(SyncContract, Case02OptionsAreRequestedDuringRegister) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  EXPECT_EQ(View().options, Calls().front().options);
  EXPECT_EQ(daemon_->Metric("patchbay_rpcs_total{code=\"OK\",method=\"GetDevicePluginOptions\""
                            ",resource=\"example.com/serial\"}"),
            1);
}

/// A kubelet that receives the first list before it responds to Register.
class EagerKubelet : public v1beta1::Registration::Service {
 public:
  explicit EagerKubelet(const std::string& directory) : directory_(directory) {
    std::filesystem::create_directories(directory);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directory + "/kubelet.sock",
                             grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~EagerKubelet() override {
    context_.TryCancel();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    stub_ = v1beta1::DevicePlugin::NewStub(grpc::CreateChannel(
        "unix:" + directory_ + "/" + request->endpoint(), grpc::InsecureChannelCredentials()));
    stream_ = stub_->ListAndWatch(&context_, {});
    if (!stream_->Read(&list)) return {grpc::StatusCode::UNKNOWN, "no list"};
    return grpc::Status::OK;
  }

  v1beta1::ListAndWatchResponse list;  ///< read it once the daemon is registered

 private:
  const std::string directory_;
  grpc::ClientContext context_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> stream_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_P(SyncContract, Case03ListAndWatchBeforeTheRegisterResponse) {
  tree_.CharDevice("dev/ttyUSB0");
  EagerKubelet kubelet(tree_.path("kubelet"));
  StartDaemon();
  ASSERT_TRUE(daemon_->log().Await("registered resource=example.com/serial"));
  ASSERT_EQ(kubelet.list.devices_size(), 1);
  EXPECT_EQ(kubelet.list.devices(0).id(), "ttyUSB0");
  // It dials once without waiting: the server was started before the first Register call.
  EXPECT_THAT(daemon_->log().text(), Not(HasSubstr("rejected the registration")));
  daemon_->Stop();
}

TEST_P(AsyncContract, Case04KubeletThatNeverDials) {
  // registration_test.cc covers the deadline of 20 seconds.
  StartKubelet().SetRegisterFault(RegisterFault::kNeverDial);
  StartDaemon();
  ASSERT_TRUE(AwaitCalls(1));
  EXPECT_EQ(daemon_->Get("/readyz").status, 503);
  EXPECT_THAT(Calls(), SizeIs(1));

  kubelet_->SetRegisterFault(RegisterFault::kNone);
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitServed());
}

// In a rolling update, the stream of the older process can end after the newer one was asked for
// its options and before its stream opens. The kubelet then disconnects the newer one and forgets
// it.
TEST_P(SyncContract, Case21DisconnectedBeforeTheStreamOpens) {
  StartKubelet().SetRegisterFault(RegisterFault::kNeverWatch);
  StartDaemon();
  // The second attempt follows long before the 20 s that a kubelet may need to dial.
  ASSERT_TRUE(AwaitCalls(2, kConfirmDeadline / 2));
  kubelet_->SetRegisterFault(RegisterFault::kNone);
  EXPECT_TRUE(AwaitServed());
}

TEST_P(Contract, Case05NoKubeletYet) {
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"24h\""});  // only events cause scans
  EXPECT_EQ(daemon_->Get("/readyz").status, 503);
  EXPECT_EQ(daemon_->Metric("patchbay_kubelet_up"), 0);
  const auto start = std::chrono::steady_clock::now();
  StartKubelet();  // creates the directory, too
  ASSERT_TRUE(AwaitServed());
  EXPECT_LT(Calls().front().received - start, 5s);  // 1 s, plus a margin for a busy machine
  EXPECT_THAT(Calls(), SizeIs(1));
  EXPECT_TRUE(daemon_->AwaitReady());
  EXPECT_EQ(daemon_->Metric("patchbay_kubelet_up"), 1);
}

TEST_P(Contract, Case05DirectoryCreatedStepByStep) {
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"24h\"", .change_model = [&](Model& model) {
                          model.daemon.kubelet_dir = tree_.path("a/b/kubelet");
                        }});
  for (const char* step : {"a", "a/b", "a/b/kubelet"})
    std::filesystem::create_directory(tree_.path(step));
  auto kubelet =
      KubeletSim::Create({.directory = tree_.path("a/b/kubelet"), .profile = GetParam()});
  ASSERT_TRUE(kubelet);
  kubelet_ = *std::move(kubelet);
  ASSERT_TRUE(kubelet_->Start());
  EXPECT_TRUE(AwaitServed());
}

TEST_P(Contract, Case06StaleKubeletSocket) {
  tree_.Dir("kubelet");
  BindSocket(tree_.path("kubelet/kubelet.sock"), false);
  StartDaemon();
  const std::string_view failures =
      "patchbay_registrations_total{resource=\"example.com/serial\",result=\"failure\"}";
  ASSERT_TRUE(daemon_->AwaitMetricAtLeast(failures, 3));
  EXPECT_EQ(daemon_->Metric("patchbay_kubelet_up"), 0);
  EXPECT_LT(daemon_->Metric(failures), 10);  // it backs off
  EXPECT_EQ(daemon_->log().Count("the kubelet is not responding"), 1) << daemon_->log().text();

  StartKubelet();
  ASSERT_TRUE(AwaitServed());
  EXPECT_THAT(Calls(), SizeIs(1));
}

TEST_P(Contract, Case07SocketThatDoesNotAcceptYet) {
  StartKubelet({.directory = {}, .accept_delay = 700ms});
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  EXPECT_EQ(View().registrations, 1U);
  EXPECT_EQ(View().connections, 1U);
  EXPECT_TRUE(daemon_->AwaitReady());
}

TEST_P(Contract, Case08KubeletRestart) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const std::string before = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_EQ(View().registrations, 1U);
  EXPECT_EQ(HealthOf(View()), (HealthById{{"ttyUSB0", "Healthy"}}));
  EXPECT_THAT(OwnSockets(), SizeIs(1));
  EXPECT_TRUE(daemon_->AwaitReady());
  EXPECT_EQ(daemon_->Metric("patchbay_kubelet_restarts_total"), 1);
}

TEST_P(Contract, Case08KubeletCrash) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->AwaitReady());  // the list can arrive before the response to Register
  const std::string before = View().endpoint;
  kubelet_->Crash();
  ASSERT_TRUE(daemon_->log().Await("no longer registered"));
  ASSERT_TRUE(kubelet_->Start());
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_THAT(OwnSockets(), SizeIs(1));
}

TEST_P(Contract, Case09KubeletReplacedWhileOldStreamsAreOpen) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const std::unique_ptr<KubeletSim> old = std::move(kubelet_);
  const std::string before = old->View(kSerialName)->endpoint;
  std::filesystem::remove(tree_.path("kubelet/kubelet.sock"));
  StartKubelet();
  ASSERT_TRUE(AwaitCalls(1));
  EXPECT_EQ(old->View(kSerialName)->streams, 0U);  // the old server ends first
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_EQ(View().registrations, 1U);
  EXPECT_THAT(old->RegisterCalls(), SizeIs(1));
  EXPECT_THAT(OwnSockets(), SizeIs(1));
  old->Crash();  // a Stop would unlink the other's socket
}

TEST_P(Contract, Case10KubeletSocketDeleted) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  std::filesystem::remove(tree_.path("kubelet/kubelet.sock"));
  ASSERT_TRUE(daemon_->log().Await("kubelet socket disappeared"));
  EXPECT_TRUE(daemon_->AwaitMetric("patchbay_kubelet_up", 0));

  tree_.CharDevice("dev/ttyUSB1");
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 2));
  EXPECT_EQ(View().streams, 1U);
  EXPECT_THAT(Calls(), SizeIs(1));
  EXPECT_EQ(daemon_->log().Count("kubelet socket disappeared"), 1U);
  EXPECT_EQ(daemon_->fatal(), "");
}

TEST_P(Contract, Case11OwnSocketDeleted) {
  StartKubelet();
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"24h\""});
  ASSERT_TRUE(AwaitServed());
  const std::string before = View().endpoint;
  std::filesystem::remove(before);
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_THAT(OwnSockets(), SizeIs(1));
  EXPECT_THAT(Calls(), SizeIs(2));
}

TEST_P(Contract, Case12DirectoryRecreated) {
  StartKubelet();
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"24h\""});
  ASSERT_TRUE(AwaitServed());
  const std::string before = View().endpoint;
  RemoveBusyDirectory(tree_.path("kubelet"));
  ASSERT_TRUE(daemon_->log().Await("kubelet socket disappeared")) << daemon_->log().text();
  EXPECT_EQ(daemon_->fatal(), "");
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  // The new directory is watched like the old one.
  const std::string again = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitServed(kSerialName, again));
}

TEST_P(Contract, Case12DirectoryReplacedWhileOpen) {
  StartKubelet();
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"24h\""});
  ASSERT_TRUE(AwaitServed());
  const std::string before = View().endpoint;
  // Like a directory that is mounted into a container: the inode remains, and its removal causes no
  // event.
  const UniqueFd held(open(tree_.path("kubelet").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  daemon_->OnLoop([&] {  // so that it never observes the directory as missing
    RemoveBusyDirectory(tree_.path("kubelet"));
    tree_.Dir("kubelet");
  });
  for (int i = 0; i < 5; ++i) daemon_->OnLoop([] {});  // it has detected the empty directory
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  const std::string again = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitServed(kSerialName, again));
}

TEST_P(Contract, Case12DirectoryRenamed) {
  StartKubelet();
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"24h\""});
  ASSERT_TRUE(AwaitServed());
  const std::string before = View().endpoint;
  std::filesystem::rename(tree_.path("kubelet"), tree_.path("kubelet.old"));
  ASSERT_TRUE(daemon_->log().Await("kubelet socket disappeared"));
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  const std::string again = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitServed(kSerialName, again));
}

TEST_P(Contract, Case14EventsAreLost) {
  StartKubelet();
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"24h\""});
  ASSERT_TRUE(AwaitServed());
  const std::string before = View().endpoint;
  // More events than the queue of the kernel, while the loop is held.
  daemon_->OnLoop([&] {
    const std::string name = tree_.path("kubelet/churn");
    for (int i = 0; i < 10'000; ++i) {
      close(open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
      unlink(name.c_str());
    }
    ASSERT_TRUE(kubelet_->Restart());
  });
  EXPECT_TRUE(AwaitServed(kSerialName, before));
}

TEST_P(Contract, Case15CheckpointChurn) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const auto loop_time = [&] {
    return daemon_->OnLoop([] {
      timespec used{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
      return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
    });
  };
  const auto used = loop_time();
  const auto start = std::chrono::steady_clock::now();
  for (auto next = start; next < start + 1s; next += 10ms) {
    std::this_thread::sleep_until(next);  // the load: a hundred per second
    tree_.File("kubelet/.1234");
    std::filesystem::rename(tree_.path("kubelet/.1234"),
                            tree_.path("kubelet/kubelet_internal_checkpoint"));
  }
  EXPECT_LT(loop_time() - used, (std::chrono::steady_clock::now() - start) / 5);
  EXPECT_THAT(Calls(), SizeIs(1));
  EXPECT_EQ(View().streams, 1U);
  EXPECT_EQ(View().lists, 1U);
}

TEST_P(Contract, Case16VersionNotSupported) {
  StartKubelet().SetRegisterFault(RegisterFault::kUnknownError, "",
                                  "requested API version v1beta1 is not supported by kubelet");
  StartDaemon();
  ASSERT_TRUE(AwaitCalls(4));
  EXPECT_EQ(daemon_->log().Count("is not supported by kubelet"), 1U) << daemon_->log().text();
  EXPECT_GE(daemon_->Metric(
                "patchbay_registrations_total{resource=\"example.com/serial\",result=\"failure\"}"),
            3);
  EXPECT_EQ(daemon_->Metric("patchbay_resource_registered{resource=\"example.com/serial\"}"), 0);
  EXPECT_THAT(daemon_->Get("/readyz").body, HasSubstr(kSerialName));
  // The delay increases with each attempt.
  const auto calls = Calls();
  EXPECT_GE(calls[2].received - calls[1].received, 100ms);
  EXPECT_GE(calls[3].received - calls[2].received, 200ms);

  kubelet_->SetRegisterFault(RegisterFault::kNone);
  ASSERT_TRUE(kubelet_->Restart());  // ends every wait
  EXPECT_TRUE(AwaitServed());
}

TEST_P(Contract, Case17Unimplemented) {
  StartKubelet().SetRegisterFault(RegisterFault::kUnimplemented);
  StartDaemon();
  ASSERT_TRUE(AwaitCalls(3));
  EXPECT_EQ(daemon_->log().Count("the kubelet rejected the registration"), 1U);
  EXPECT_EQ(daemon_->Get("/healthz").status, 200);
  EXPECT_THAT(OwnSockets(), SizeIs(testing::Le(1U)));  // no old server is left behind
  kubelet_->SetRegisterFault(RegisterFault::kNone);
  EXPECT_TRUE(AwaitServed());
}

TEST_P(Contract, AlternatingFailureReasonsAreRateLimited) {
  StartKubelet();
  for (int i = 0; i < 7; ++i) {
    kubelet_->SetRegisterFault(RegisterFault::kUnknownError, "", Format("reason {}", i));
    if (i == 0) StartDaemon();
    ASSERT_TRUE(AwaitCalls(static_cast<std::size_t>(i) + 1, 30s));
  }
  kubelet_->SetRegisterFault(RegisterFault::kNone);
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->log().Await("registered resource=example.com/serial"));
  const std::size_t lines = daemon_->log().Count("the kubelet rejected the registration");
  EXPECT_GE(lines, 1U);
  EXPECT_LE(lines, 4U) << daemon_->log().text();
}

TEST_P(Contract, Case18RegisterHangs) {
  // registration_test.cc covers the expiry of the deadline.
  static_assert(kRegisterDeadline >= 15s);
  StartKubelet().SetRegisterFault(RegisterFault::kHang);
  StartDaemon();
  ASSERT_TRUE(AwaitCalls(1));
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(Calls(), SizeIs(1));
  EXPECT_THAT(OwnSockets(), SizeIs(0));
}

TEST_P(Contract, Case18KubeletRestartEndsAHang) {
  StartKubelet().SetRegisterFault(RegisterFault::kHang);
  StartDaemon();
  ASSERT_TRUE(AwaitCalls(1));
  const std::string hung = Calls().front().endpoint;
  kubelet_->Stop();
  kubelet_->SetRegisterFault(RegisterFault::kNone);
  ASSERT_TRUE(kubelet_->Start());
  ASSERT_TRUE(AwaitServed(kSerialName, tree_.path("kubelet/" + hung)));
  EXPECT_THAT(OwnSockets(), SizeIs(1));
}

TEST_P(MultiContract, Case19SameSocketIsNeverUsedTwice) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  std::string before = View().endpoint;
  kubelet_->DropStreams(kSerialName);
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  before = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitServed(kSerialName, before));

  before = View().endpoint;
  kubelet_->SetRegisterFault(RegisterFault::kUnknownError, "",
                             "device plugin already connected: " + before);
  const std::size_t calls = kubelet_->RegisterCalls().size();
  kubelet_->DropStreams(kSerialName);
  ASSERT_TRUE(AwaitCalls(calls + 2));
  kubelet_->SetRegisterFault(RegisterFault::kNone);
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  std::set<std::string> names;
  for (const RegisterCall& call : Calls()) {
    EXPECT_TRUE(names.insert(call.endpoint).second) << call.endpoint;
  }
}

TEST_P(MultiContract, Case20SilentDeduplication) {
  StartKubelet({.directory = {}, .silent_dedupe = true});
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  kubelet_->DropStreams(kSerialName);
  ASSERT_TRUE(AwaitCalls(2));
  ASSERT_TRUE(AwaitServed());
  EXPECT_EQ(View().streams, 1U);
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(Calls(), SizeIs(2));
}

TEST_P(Contract, Case21ZombieCancelsTheNewStream) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->log().Await("registered resource="));
  for (int i = 0; i < 3; ++i) {
    const std::string before = View().endpoint;
    kubelet_->ZombieCancel(kSerialName);
    ASSERT_TRUE(AwaitServed(kSerialName, before)) << i << daemon_->log().text();
    ASSERT_TRUE(daemon_->log().Await("registered resource=", static_cast<std::size_t>(i) + 2));
  }
  EXPECT_EQ(View().streams, 1U);
  EXPECT_THAT(OwnSockets(), SizeIs(1));
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(Calls(), SizeIs(4));
  const auto calls = Calls();
  EXPECT_GE(calls[3].received - calls[2].received, 200ms);  // the back-off grows
}

TEST_P(Contract, Case23StreamIsCanceled) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::string before = View().endpoint;
  kubelet_->DropStreams(kSerialName);
  ASSERT_TRUE(daemon_->log().Await("no longer registered"));
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_rpcs_total{code=\"CANCELLED\",method=\"ListAndWatch\","
                           "resource=\"example.com/serial\"}",
                           1));
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_list_watch_streams{resource=\"example.com/serial\"}", 1));
  EXPECT_THAT(OwnSockets(), SizeIs(1));
}

// A stream of another client must not hide that the kubelet stopped.
TEST_P(Contract, Case23StreamIsCanceledWhileAnotherContinues) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const std::string before = View().endpoint;
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 2));
  ASSERT_TRUE(
      daemon_->AwaitMetric("patchbay_list_watch_streams{resource=\"example.com/serial\"}", 3));
  kubelet_->DropStreams(kSerialName);
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_list_watch_streams{resource=\"example.com/serial\"}", 1));
  EXPECT_THAT(OwnSockets(), SizeIs(1));
}

TEST_P(Contract, Case55DeprecationFile) {
  tree_.File("kubelet/DEPRECATION", "nothing to see");
  StartKubelet();
  tree_.File("kubelet/DEPRECATION", "nothing to see");  // some kubelets clean up, then write it
  StartDaemon();
  EXPECT_TRUE(AwaitServed());
  EXPECT_TRUE(std::filesystem::exists(tree_.path("kubelet/DEPRECATION")));
}

}  // namespace
}  // namespace patchbay::test
