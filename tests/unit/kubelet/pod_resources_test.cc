#include "kubelet/pod_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <sstream>
#include <thread>

#include "os/unique_fd.h"
#include "sim/kubelet/pod_resources_server.h"
#include "sim/kubelet/socket_listener.h"
#include "support/fake_loop.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using Fault = PodResourcesFault;

/// A client on a loop with a stopped clock, and the server of the built-in kubelet.
class PodResourcesTest : public testing::Test {
 protected:
  void Serve(Fault fault = Fault::kNone) {
    auto made = PodResourcesServer::Create(path_,
                                           {.list =
                                                [this] {
                                                  const std::lock_guard lock(mutex_);
                                                  return list_;
                                                },
                                            .on_call =
                                                [this] {
                                                  const std::lock_guard lock(mutex_);
                                                  ++calls_;
                                                  called_.notify_all();
                                                }},
                                           fault);
    ASSERT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
  }

  /// Allocates another device of a.b/r to a pod.
  void Hold(const std::string& pod, const std::string& id) {
    const std::lock_guard lock(mutex_);
    v1::PodResources& added = *list_.add_pod_resources();
    added.set_name(pod);
    v1::ContainerDevices& devices = *added.add_containers()->add_devices();
    devices.set_resource_name("a.b/r");
    devices.add_device_ids(id);
  }

  void Start(std::chrono::milliseconds deadline = 60s) {
    agent_ = std::make_unique<PodResources>(
        loop_, log_, path_,
        PodResources::Events{.on_holders =
                                 [this](const ReportedHolders& reported) {
                                   holders_ = std::make_shared<const Holders>(reported.holders);
                                   kubelet_ = reported.kubelet;
                                   said_.emplace_back("holders");
                                 },
                             .on_up = [this](bool up) { said_.emplace_back(up ? "up" : "down"); }},
        PodResourcesPace{.period = 10s, .deadline = deadline});
  }

  /// Advances by `wait`, then runs until no call is due or pending. Returns the reports.
  std::vector<std::string> After(Loop::Duration wait) {
    loop_.Advance(wait);
    while (loop_.timers() == 0 || loop_.UntilNextTimer() == 0s) {
      loop_.Advance(0s);
      if (!loop_.RunUntil([&] { return loop_.timers() == 1; })) {
        ADD_FAILURE() << "a call does not end";
        break;
      }
    }
    return std::exchange(said_, {});
  }
  std::vector<std::string> AfterStart() {
    Start();
    return After(0s);
  }

  void AwaitCall() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(called_.wait_for(lock, 10s, [this] { return calls_ > 0; }));
  }
  int KubeletClientTest() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  /// Returns the log since the last call.
  std::string Logged() {
    std::string text = log_text_.str();
    log_text_.str("");
    return text;
  }

  test::TempTree tree_;
  const std::string path_ = tree_.path("pod-resources/kubelet.sock");
  test::FakeLoop loop_;
  std::ostringstream log_text_;
  Log log_{LogLevel::kInfo, LogFormat::kText, log_text_};
  std::mutex mutex_;
  std::condition_variable called_;
  v1::ListPodResourcesResponse list_;
  int calls_ = 0;
  std::unique_ptr<PodResourcesServer> server_;
  std::shared_ptr<const Holders> holders_;
  std::string kubelet_;
  std::vector<std::string> said_;
  std::unique_ptr<PodResources> agent_;
};

TEST_F(PodResourcesTest, ReportsNoHoldersImmediately) {
  Serve();
  EXPECT_THAT(AfterStart(), ElementsAre("holders", "up"));
  EXPECT_THAT(*holders_, IsEmpty());
  EXPECT_THAT(Logged(), HasSubstr("device assignments available from the kubelet"));
}

TEST_F(PodResourcesTest, ReportsHoldersAfterEachPoll) {
  Serve();
  Hold("p", "1");
  EXPECT_THAT(AfterStart(), ElementsAre("holders", "up"));
  const Holder p{"", "p", ""};
  EXPECT_THAT(*holders_, ElementsAre(Pair("a.b/r", ElementsAre(Pair("1", ElementsAre(p))))));
  EXPECT_THAT(After(9s), IsEmpty());
  EXPECT_EQ(KubeletClientTest(), 1);
  EXPECT_THAT(After(1s), ElementsAre("holders"));
  EXPECT_EQ(KubeletClientTest(), 2);
  Hold("q", "2");
  Logged();
  EXPECT_THAT(After(10s), ElementsAre("holders"));
  EXPECT_EQ(holders_->at("a.b/r").size(), 2u);
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(PodResourcesTest, CoalescesPollRequests) {
  Serve();
  Start();
  After(0s);
  for (int i = 0; i < 100; ++i) agent_->RequestPoll()();
  After(1s);
  EXPECT_EQ(KubeletClientTest(), 2);
  After(9s);
  EXPECT_EQ(KubeletClientTest(), 2);
  After(1s);
  EXPECT_EQ(KubeletClientTest(), 3);
  agent_->RequestPoll()();
  After(1s);
  EXPECT_EQ(KubeletClientTest(), 4);
}

TEST_F(PodResourcesTest, RequestPollIsThreadSafe) {
  Serve();
  Start();
  After(0s);
  const std::function<void()> poll_soon = agent_->RequestPoll();
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int i = 0; i < 1000; ++i) poll_soon();
    });
  }
  for (std::thread& thread : threads) thread.join();
  After(1s);
  EXPECT_EQ(KubeletClientTest(), 2);
  agent_.reset();
  poll_soon();
  loop_.Advance(1h);
  EXPECT_EQ(KubeletClientTest(), 2);
}

TEST_F(PodResourcesTest, PollsAgainIfRequestedDuringACall) {
  Serve(Fault::kHang);
  Start(1s);
  loop_.Advance(0s);
  AwaitCall();
  const std::function<void()> poll_soon = agent_->RequestPoll();
  poll_soon();
  poll_soon();
  After(0s);
  EXPECT_EQ(KubeletClientTest(), 1);
  ASSERT_TRUE(server_->SetFault(Fault::kNone));
  After(1s);
  EXPECT_EQ(KubeletClientTest(), 2);
  poll_soon();
  After(1s);
  EXPECT_EQ(KubeletClientTest(), 3);
}

TEST_F(PodResourcesTest, MakesOneCallAtATime) {
  Serve(Fault::kHang);
  Start();
  loop_.Advance(0s);
  AwaitCall();
  agent_->RequestPoll()();
  loop_.Advance(1h);
  EXPECT_EQ(KubeletClientTest(), 1);
}

/// The effect of a fault. The last holders remain in every case.
struct FaultCase {
  const char* name;
  Fault fault;
  const char* logged;
};

class PodResourcesFaults : public PodResourcesTest,
                           public testing::WithParamInterface<FaultCase> {};

TEST_P(PodResourcesFaults, AreReportedOnceAndKeepTheHolders) {
  Serve();
  Hold("p", "1");
  Start(GetParam().fault == Fault::kHang ? 1s : 10s);
  ASSERT_THAT(After(0s), ElementsAre("holders", "up"));
  const auto holders = holders_;
  Logged();
  ASSERT_TRUE(server_->SetFault(GetParam().fault));
  EXPECT_THAT(After(10s), ElementsAre("down"));
  const std::string logged = Logged();
  EXPECT_THAT(logged, HasSubstr("device assignments unavailable: "));
  EXPECT_THAT(logged, HasSubstr(GetParam().logged));
  EXPECT_THAT(logged, HasSubstr("socket=" + path_));
  EXPECT_THAT(After(10s), IsEmpty());
  EXPECT_THAT(Logged(), IsEmpty());
  EXPECT_EQ(holders_, holders);
  ASSERT_TRUE(server_->SetFault(Fault::kNone));
  EXPECT_THAT(After(10s), testing::Contains("up"));
  EXPECT_EQ(*holders_, *holders);
  EXPECT_THAT(Logged(), HasSubstr("device assignments available from the kubelet"));
}

INSTANTIATE_TEST_SUITE_P(
    , PodResourcesFaults,
    testing::Values(
        FaultCase{"Absent", Fault::kAbsent, "mount its directory"},
        FaultCase{"Unimplemented", Fault::kUnimplemented,
                  "device assignments unavailable: the socket does not serve the PodResources API; "
                  "set pod_resources to the kubelet's pod-resources/kubelet.sock"},
        FaultCase{"Hang", Fault::kHang,
                  "device assignments unavailable: the PodResources request timed out; see its"},
        FaultCase{"Garbage", Fault::kGarbage,
                  "device assignments unavailable: the PodResources response is not valid; set "
                  "pod_resources to the kubelet's pod-resources/kubelet.sock"},
        FaultCase{"TooLong", Fault::kTooLong,
                  "device assignments unavailable: the PodResources response is larger than 16 "
                  "MiB; check which pods of this node use many devices"},
        FaultCase{"UnknownError", Fault::kUnknownError, "fault injected"}),
    [](const auto& i) { return std::string(i.param.name); });

TEST_F(PodResourcesTest, ReportsAMissingSocketAtStart) {
  EXPECT_THAT(AfterStart(), ElementsAre("down"));
  EXPECT_EQ(holders_, nullptr);
  EXPECT_THAT(Logged(), HasSubstr("/var/lib/kubelet/pod-resources"));
  Serve();
  EXPECT_THAT(After(10s), ElementsAre("holders", "up"));
}

TEST_F(PodResourcesTest, ReportsARefusedConnection) {
  Serve();
  AfterStart();
  Logged();
  server_.reset();
  EXPECT_THAT(After(10s), ElementsAre("down"));
  EXPECT_THAT(Logged(), HasSubstr("device assignments unavailable: the kubelet's PodResources "
                                  "socket does not respond; check that the kubelet is running and "
                                  "that the directory, not just the socket, is mounted"));
  const std::string before = kubelet_;
  Serve();
  EXPECT_THAT(After(10s), ElementsAre("holders", "up"));
  EXPECT_NE(kubelet_, before);  // the same response of another kubelet
}

TEST_F(PodResourcesTest, PollNowNotifiesEveryCaller) {
  Serve();
  AfterStart();
  const auto ask = [this] {
    agent_->PollNow(
        [this](bool answered) { said_.emplace_back(answered ? "answered" : "unknown"); });
  };
  Hold("p", "1");
  ask(), ask();
  EXPECT_THAT(After(0s), ElementsAre("holders", "answered", "answered"));
  EXPECT_EQ(KubeletClientTest(), 2);
  ASSERT_TRUE(server_->SetFault(Fault::kUnknownError));
  ask();
  EXPECT_THAT(After(0s), ElementsAre("down", "unknown"));
  ASSERT_TRUE(server_->SetFault(Fault::kOnlyV1alpha1));
  ask();
  EXPECT_THAT(After(0s), ElementsAre("holders", "up", "answered"));
  ASSERT_TRUE(server_->SetFault(Fault::kRateLimited));
  ask();
  EXPECT_THAT(After(0s), ElementsAre("unknown"));
  ASSERT_TRUE(server_->SetFault(Fault::kNone));
  ask();  // polls once anyway
  EXPECT_THAT(After(0s), ElementsAre("holders", "answered"));
}

TEST_F(PodResourcesTest, PollNowDuringACallReportsTheNextCall) {
  Serve();
  Start();
  loop_.Advance(0s);
  AwaitCall();
  agent_->PollNow([this](bool answered) { said_.emplace_back(answered ? "answered" : "unknown"); });
  EXPECT_THAT(After(0s), ElementsAre("holders", "up", "holders", "answered"));
  EXPECT_EQ(KubeletClientTest(), 2);
}

TEST_F(PodResourcesTest, LogsEachNewFailureOnce) {
  Serve(Fault::kUnknownError);
  EXPECT_THAT(AfterStart(), ElementsAre("down"));
  EXPECT_THAT(Logged(), HasSubstr("device assignments unavailable: the kubelet rejected the "
                                  "PodResources request; check the kubelet log"));
  ASSERT_TRUE(server_->SetFault(Fault::kGarbage));
  EXPECT_THAT(After(10s), IsEmpty());
  const std::string logged = Logged();
  EXPECT_THAT(logged,
              HasSubstr("device assignments unavailable: the PodResources response is not valid; "
                        "set pod_resources to the kubelet's pod-resources/kubelet.sock"));
  EXPECT_THAT(logged, Not(HasSubstr("device assignments unavailable: the kubelet rejected the "
                                    "PodResources request; check the kubelet log")));
}

TEST_F(PodResourcesTest, RateLimitIsNotAnOutage) {
  Serve();
  Hold("p", "1");
  AfterStart();
  Logged();
  ASSERT_TRUE(server_->SetFault(Fault::kRateLimited));
  EXPECT_THAT(After(10s), IsEmpty());
  EXPECT_THAT(Logged(), HasSubstr("rejected by rate limit"));
  EXPECT_EQ(KubeletClientTest(), 2);
  agent_->RequestPoll()();
  EXPECT_THAT(After(19s), IsEmpty());
  EXPECT_EQ(KubeletClientTest(), 2);
  EXPECT_THAT(After(1s), IsEmpty());
  EXPECT_EQ(KubeletClientTest(), 3);
  EXPECT_THAT(Logged(), IsEmpty());
  ASSERT_TRUE(server_->SetFault(Fault::kNone));
  Hold("q", "2");
  EXPECT_THAT(After(40s), ElementsAre("holders"));
}

TEST_F(PodResourcesTest, UsesV1alpha1WithOldKubelets) {
  Serve(Fault::kOnlyV1alpha1);
  Hold("p", "1");
  EXPECT_THAT(AfterStart(), ElementsAre("holders", "up"));
  EXPECT_EQ(holders_->at("a.b/r").size(), 1u);
  EXPECT_EQ(KubeletClientTest(), 2);
  After(10s);
  EXPECT_EQ(KubeletClientTest(), 3);
}

TEST_F(PodResourcesTest, AcceptsResponsesOfManyMegabytes) {
  Serve();
  Hold(std::string(15 << 20, 'x'), "1");
  EXPECT_THAT(AfterStart(), ElementsAre("holders", "up"));
  EXPECT_EQ(holders_->at("a.b/r").at("1").begin()->pod.size(), 253u);
}

TEST_F(PodResourcesTest, LogsTooManyHoldersOnce) {
  Serve();
  for (std::size_t i = 0; i <= kMaxHoldings; ++i) Hold("p", std::to_string(i));
  EXPECT_THAT(AfterStart(), ElementsAre("holders", "up"));
  EXPECT_THAT(Logged(),
              HasSubstr("the PodResources response has more device holders than Patchbay keeps, so "
                        "the other devices appear free; check which pods of this node use many"));
  Hold("p", "one more");
  EXPECT_THAT(After(10s), ElementsAre("holders"));
  EXPECT_THAT(Logged(), IsEmpty());
}

/// Another server on the socket, which accepts connections and sends `text`.
class ForeignServer {
 public:
  ForeignServer(const std::string& path, const std::string& text)
      : listener_(SocketListener::Create(path, 0ms, [this, text](UniqueFd connection) {
                    (void)send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL);
                    connections_.push_back(std::move(connection));
                  }).value()) {}

 private:
  std::vector<UniqueFd> connections_;
  std::unique_ptr<SocketListener> listener_;
};

TEST_F(PodResourcesTest, TimesOutIfTheServerIsSilent) {
  tree_.Dir("pod-resources");
  const ForeignServer server(path_, "");
  Start(200ms);
  EXPECT_THAT(After(0s), ElementsAre("down"));
}

TEST_F(PodResourcesTest, ReportsAServerOfAnotherProtocol) {
  tree_.Dir("pod-resources");
  const ForeignServer server(path_, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  Start(2s);
  EXPECT_THAT(After(0s), ElementsAre("down"));
}

TEST_F(PodResourcesTest, DestructorCancelsACallInProgress) {
  Serve(Fault::kHang);
  Start(1h);
  loop_.Advance(0s);
  AwaitCall();
  agent_.reset();
  loop_.RunPosted();
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(PodResourcesTest, DestructorCancelsACallThatJustStarted) {
  Serve(Fault::kHang);
  Start(1h);
  loop_.Advance(0s);
  agent_.reset();
  loop_.RunPosted();
  EXPECT_THAT(said_, IsEmpty());
}

}  // namespace
}  // namespace patchbay
