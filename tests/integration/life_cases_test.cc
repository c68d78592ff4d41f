// Cases 13, 14, 49 to 54 and 58 of the kubelet's contract, with the program itself where a process
// must end: the end of the process, and restarts of kubelets and other processes.

#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <set>

#include "base/format.h"
#include "integration/contract.h"
#include "integration/program.h"
#include "os/unique_fd.h"
#include "support/hanging_mount.h"
#include "support/sanitizer.h"
#include "support/unix_socket.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> Names(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

/// Returns `count` resources with one device each: example.com/r0, …
std::string Resources(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    text += Format(
        "[[resource]]\nname = \"example.com/r{0}\"\n[[resource.match]]\npath = "
        "\"/dev/r{0}.*\"\n",
        i);
  }
  return text;
}
std::string ResourceName(int i) { return Format("example.com/r{}", i); }

// --- end of the process ---

TEST_P(Contract, Case13DirectoryRemovedUnderAMount) {
  tree_.Dir("mnt");
  StartKubelet();
  const std::string from = tree_.path("kubelet"), to = tree_.path("mnt");
  Process process(tree_, to, kSerial, [&] {
    return unshare(CLONE_NEWNS) == 0 &&
           mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
  });
  if (!AwaitServed()) {
    if (process.Wait(0ms) == Process::kCannotEnter) GTEST_SKIP() << "mounts are not permitted";
    FAIL() << process.log();
  }
  RemoveBusyDirectory(tree_.path("kubelet"));
  EXPECT_EQ(process.Wait(), 1) << process.log();
  EXPECT_THAT(process.log(), HasSubstr("was removed on the host while it was mounted here"));
}

TEST_P(Contract, Case14NothingCanBeWatched) {
  StartKubelet();
  Process process(tree_, tree_.path("kubelet"), kSerial,
                  [] { return EnterLimited("max_inotify_instances", "0"); });
  if (!AwaitServed()) {
    if (process.Wait(0ms) == Process::kCannotEnter) GTEST_SKIP() << "no user namespaces";
    FAIL() << process.log();
  }
  // The log is written on a thread of its own.
  EXPECT_TRUE(process.AwaitLog("cannot watch the kubelet's directory")) << process.log();
  const std::string before = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitServed(kSerialName, before)) << process.log();
  tree_.CharDevice("dev/ttyUSB0");
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
}

TEST_P(Contract, Case49Stop) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_EQ(View().allocatable, 1U);
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(OwnSockets(), SizeIs(0));
  EXPECT_TRUE(AwaitView([](const ResourceView& view) {
    return !view.connected && view.streams == 0 && view.allocatable == 0 && view.capacity == 1;
  }));
  EXPECT_THAT(Calls(), SizeIs(1));
}

TEST_P(Contract, Case49Sigterm) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  Process process(tree_, tree_.path("kubelet"), kSerial);
  ASSERT_TRUE(AwaitServed()) << process.log();
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.log();
  EXPECT_THAT(OwnSockets(), SizeIs(0));
  EXPECT_TRUE(AwaitView([](const ResourceView& view) { return view.allocatable == 0; }));
  EXPECT_THAT(process.log(), Not(HasSubstr("shutdown timed out")));
}

TEST_P(Contract, Case49StopWithoutAKubelet) {
  StartDaemon();
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_FALSE(std::filesystem::exists(tree_.path("kubelet")));
}

/// A peer that establishes an HTTP/2 connection and then sends nothing more.
UniqueFd SilentPeer(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0";
  EXPECT_GT(send(fd.get(), hello, sizeof hello, MSG_NOSIGNAL), 0);
  char byte = 0;
  EXPECT_EQ(recv(fd.get(), &byte, 1, MSG_PEEK), 1);  // its settings: the connection is established
  return fd;
}

TEST_P(Contract, Case49StopWithHangingPeers) {
  constexpr int kResources = 15;
  StartKubelet();
  StartDaemon(Resources(kResources));
  std::vector<UniqueFd> peers;
  for (int i = 0; i < kResources; ++i) {
    ASSERT_TRUE(AwaitServed(ResourceName(i)));
    peers.push_back(SilentPeer(View(ResourceName(i)).endpoint));
  }
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(OwnSockets(), SizeIs(0));
}

TEST_P(Contract, Case49StopWithStalledReaders) {
  // Longer than what sockets and gRPC hold back for a reader.
  const int devices = kHasAddressSanitizer || kHasThreadSanitizer ? 5'000 : 10'000;
  StartKubelet();
  StartDaemon(Format(R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  count = {}
)",
                     devices));
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 8, /*reading=*/false));
  ASSERT_TRUE(
      daemon_->AwaitMetric("patchbay_list_watch_streams{resource=\"example.com/serial\"}", 9, 60s));
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(OwnSockets(), SizeIs(0));
}

TEST_P(Contract, Case49StopWhileAnAllocateHangs) {
  const std::string hung = "example.com/hung";
  for (const char* node : {"dev/ttyUSB0", "dev/card0", "mnt/card0"}) tree_.CharDevice(node);
  StartKubelet();
  StartDaemon(Format(R"({}
[[resource]]
name = "{}"
  [[resource.match]]
  path = "/dev/card*"
  [[resource.device_node]]
  host_path = "/mnt/card0"
)",
                     kSerial, hung));
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(AwaitServed(hung));
  HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::async(
        std::launch::async, [stub = Stub(hung)]() mutable { return stub.Allocate({{"card0"}}); }));
  }
  ASSERT_TRUE(mount.AwaitHang(kPatience));
  const std::string before = View().endpoint, hung_before = View(hung).endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitServed(kSerialName, before)) << daemon_->log().text();
  EXPECT_TRUE(AwaitServed(hung, hung_before)) << daemon_->log().text();
  EXPECT_TRUE(Stub().Allocate({{"ttyUSB0"}}).ok());
  daemon_->Reload(kSerial);
  EXPECT_TRUE(AwaitView([](const ResourceView& view) { return !view.connected; }, hung));
  EXPECT_TRUE(daemon_->AwaitReady());
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(OwnSockets(), SizeIs(0));
  for (auto& call : calls) EXPECT_EQ(call.wait_for(kPatience), std::future_status::ready);
}

TEST_P(Contract, Case50RestartAfterSigkill) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubelet();
  Process killed(tree_, tree_.path("kubelet"), kSerial);
  ASSERT_TRUE(AwaitServed()) << killed.log();
  const auto devices = View().devices;
  const std::string before = View().endpoint;
  killed.Signal(SIGKILL);
  EXPECT_EQ(killed.Wait(), -SIGKILL);
  ASSERT_THAT(OwnSockets(), SizeIs(1));

  const UniqueFd foreign = BindSocket(tree_.path("kubelet/foreign.sock"), false);
  const UniqueFd live = BindSocket(tree_.path("kubelet/patchbay-0-0-1.sock"), true);
  tree_.File("kubelet/patchbay-not-a-socket.sock");
  tree_.File("kubelet/patchbay.txt");
  StartDaemon();
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_EQ(View().devices, devices);
  EXPECT_FALSE(std::filesystem::exists(before));
  for (const char* kept :
       {"foreign.sock", "patchbay-0-0-1.sock", "patchbay-not-a-socket.sock", "patchbay.txt"}) {
    EXPECT_THAT(Names(tree_.path("kubelet")), Contains(kept));
  }
  daemon_->Stop();
  EXPECT_THAT(OwnSockets(),
              testing::ElementsAre("patchbay-0-0-1.sock", "patchbay-not-a-socket.sock"));
}

// --- several resources ---

TEST_P(Contract, Case51TenResources) {
  constexpr int kResources = 10;
  for (int i = 0; i < kResources; ++i) tree_.CharDevice(Format("dev/r{}.0", i));
  StartKubelet().SetRegisterFault(RegisterFault::kUnknownError, ResourceName(3), "not this one");
  kubelet_->SetRegisterFault(RegisterFault::kHang, ResourceName(7));
  StartDaemon(Resources(kResources));
  const auto served_but_two = [&] {
    for (int i = 0; i < kResources; ++i) {
      if (i == 3 || i == 7) continue;
      EXPECT_TRUE(AwaitServed(ResourceName(i))) << i;
      EXPECT_EQ(HealthOf(View(ResourceName(i))), (HealthById{{Format("r{}.0", i), "Healthy"}}));
      EXPECT_TRUE(daemon_->AwaitMetric(
          Format("patchbay_resource_registered{{resource=\"{}\"}}", ResourceName(i)), 1));
    }
  };
  served_but_two();
  const HttpAnswer ready = daemon_->Get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.body, HasSubstr(ResourceName(3)));
  EXPECT_THAT(ready.body, HasSubstr(ResourceName(7)));
  EXPECT_THAT(ready.body, Not(HasSubstr(ResourceName(1))));

  // The problem of the two affects no other resource: none registered more than once.
  for (int i = 0; i < kResources; ++i) {
    if (i == 3) continue;
    EXPECT_THAT(Calls(ResourceName(i)), SizeIs(1)) << i;
  }
  ASSERT_TRUE(kubelet_->Restart());
  served_but_two();

  kubelet_->SetRegisterFault(RegisterFault::kNone, ResourceName(3));
  kubelet_->SetRegisterFault(RegisterFault::kNone, ResourceName(7));
  ASSERT_TRUE(kubelet_->Restart());
  for (int i = 0; i < kResources; ++i) EXPECT_TRUE(AwaitServed(ResourceName(i)));
  EXPECT_TRUE(daemon_->AwaitReady());
  EXPECT_THAT(OwnSockets(), SizeIs(kResources));
  std::set<std::string> endpoints;
  for (int i = 0; i < kResources; ++i) endpoints.insert(View(ResourceName(i)).endpoint);
  EXPECT_THAT(endpoints, SizeIs(kResources));
  EXPECT_TRUE(daemon_->Stop(2s));
  EXPECT_THAT(OwnSockets(), SizeIs(0));
}

TEST_P(Contract, Case51TenRestartsInARow) {
  constexpr int kResources = 4;
  StartKubelet();
  StartDaemon(Resources(kResources));
  for (int restart = 0; restart <= 10; ++restart) {
    for (int i = 0; i < kResources; ++i) {
      ASSERT_TRUE(AwaitServed(ResourceName(i))) << restart << "\n" << daemon_->log().text();
      EXPECT_EQ(View(ResourceName(i)).registrations, 1U) << restart << "\n"
                                                         << daemon_->log().text();
    }
    EXPECT_TRUE(daemon_->AwaitReady());
    EXPECT_THAT(OwnSockets(), SizeIs(kResources));
    if (restart == 10) break;
    ASSERT_TRUE(kubelet_->Restart());
  }
  EXPECT_EQ(daemon_->Metric("patchbay_kubelet_restarts_total"), 10);
}

// The kubelet restarts while servers start and stop, at any moment.
TEST_P(Contract, Case51RestartsWithoutPause) {
  constexpr int kResources = 4;
  // A call for a socket that the kubelet has removed would never end.
  StartKubelet({.directory = {}, .dial_timeout = 1h});
  StartDaemon(Resources(kResources));
  ASSERT_TRUE(AwaitCalls(1));
  for (int restart = 0; restart < 40; ++restart) ASSERT_TRUE(kubelet_->Restart());
  for (int i = 0; i < kResources; ++i) {
    ASSERT_TRUE(AwaitServed(ResourceName(i))) << daemon_->log().text();
  }
  EXPECT_TRUE(daemon_->AwaitReady());
  EXPECT_THAT(OwnSockets(), SizeIs(kResources));
}

TEST_P(Contract, Case52Authorities) {
  tree_.CharDevice("dev/ttyUSB0");
  for (const auto authority : {KubeletAuthority::kSocketPath, KubeletAuthority::kLocalhost}) {
    StartKubelet({.directory = {}, .authority = authority});
    if (!daemon_) StartDaemon();
    ASSERT_TRUE(AwaitServed());
    EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 1));
    v1beta1::AllocateResponse response;
    const std::string endpoint = View().endpoint;
    PluginStub stub(endpoint, authority == KubeletAuthority::kLocalhost ? "localhost" : endpoint);
    EXPECT_TRUE(stub.Allocate({{"ttyUSB0"}}, &response).ok());
    kubelet_->Release("pod");
    kubelet_.reset();
  }
}

TEST_P(Contract, Case54AbsentLongerThanTheGracePeriod) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet({.directory = {}, .clock_scale = 1500});  // the five minutes are 200 ms
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  daemon_.reset();
  ASSERT_TRUE(AwaitView([](const ResourceView& view) { return view.known && view.capacity == 0; }));
  StartDaemon();
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  EXPECT_EQ(View().allocatable, 1U);
  EXPECT_EQ(View().streams, 1U);
}

// It is retried indefinitely: ending the process would also be a retry, but would end the other
// resources and /readyz, which reports the problem.
TEST_P(Contract, Case58UnwritableDirectory) {
  constexpr uid_t kSomebody = 65534;
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  const std::string directory = tree_.path("kubelet");
  ASSERT_EQ(chown(directory.c_str(), kSomebody, kSomebody), 0);
  // Root without capabilities, like in a container, so that file permissions apply.
  Process process(tree_, directory, kSerial,
                  [] { return prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) == 0; });
  ASSERT_TRUE(
      process.AwaitLog("check that the directory exists, that this process may write there "
                       "(run as root)"))
      << process.log();
  EXPECT_THAT(Calls(), SizeIs(0));
  EXPECT_THAT(OwnSockets(), SizeIs(0));

  ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
  EXPECT_TRUE(AwaitServed()) << process.log();
  EXPECT_EQ(HealthOf(View()), (HealthById{{"ttyUSB0", "Healthy"}}));
  const std::string log = process.log(), warning = "warning plugin server failed to start";
  EXPECT_EQ(log.find(warning), log.rfind(warning)) << log;  // once
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.log();
}

}  // namespace
}  // namespace patchbay::test
