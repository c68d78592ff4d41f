#include "kubelet/kubelet_client.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "deviceplugin.grpc.pb.h"
#include "os/unique_fd.h"
#include "rpc/grpc_init.h"
#include "rpc/socket_file.h"
#include "support/process.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::BindSocket;
using test::DescriptorsOf;
using test::TempTree;

/// A server that listens, and sends its HTTP/2 settings only on request.
class Peer {
 public:
  explicit Peer(const std::string& path) : listener_(BindSocket(path, true)) {}

  UniqueFd Accept() const { return UniqueFd(accept(listener_.get(), nullptr, nullptr)); }

  /// Sends the HTTP/2 settings; the client may have disconnected.
  static void SendSettings(const UniqueFd& connection) {
    constexpr char kSettings[] = "\0\0\0\4\0\0\0\0";  // an empty frame, with the NUL at its end
    (void)send(connection.get(), kSettings, sizeof kSettings, MSG_NOSIGNAL);
  }

  /// Reads until the client closes the connection. Returns false if it does not.
  static bool AwaitEnd(const UniqueFd& connection) {
    const auto deadline = std::chrono::steady_clock::now() + 15s;
    char bytes[4096];
    while (std::chrono::steady_clock::now() < deadline) {
      pollfd readable{connection.get(), POLLIN, 0};
      if (poll(&readable, 1, 1000) > 0 && read(connection.get(), bytes, sizeof bytes) <= 0) {
        return true;
      }
    }
    return false;
  }

 private:
  UniqueFd listener_;
};

/// A kubelet that responds to Register only on request.
class Kubelet : public v1beta1::Registration::CallbackService {
 public:
  explicit Kubelet(const std::string& path) : listener_(BindSocket(path, true)) {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    acceptor_ = std::thread([this] {
      while (const UniqueFd connection{accept(listener_.get(), nullptr, nullptr)}) {
        fcntl(connection.get(), F_SETFL, O_NONBLOCK);
        grpc::AddInsecureChannelFromFd(server_.get(), dup(connection.get()));
      }
    });
  }
  ~Kubelet() override {
    shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    AnswerAll();
    server_->Shutdown();
  }

  /// Waits for this number of unanswered calls; returns false after 20 s.
  bool AwaitCalls(std::size_t calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return reactors_.size() >= calls; });
  }
  bool HasCalls() {
    const std::lock_guard lock(mutex_);
    return !reactors_.empty();
  }
  void AnswerAll() {
    const std::lock_guard lock(mutex_);
    for (auto* reactor : reactors_) reactor->Finish(grpc::Status::OK);
    reactors_.clear();
  }

 private:
  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1beta1::RegisterRequest*, v1beta1::Empty*) override {
    const std::lock_guard lock(mutex_);
    reactors_.push_back(context->DefaultReactor());
    changed_.notify_all();
    return reactors_.back();
  }

  const UniqueFd listener_;
  std::unique_ptr<grpc::Server> server_;
  std::thread acceptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<grpc::ServerUnaryReactor*> reactors_;
};

class KubeletClientTest : public testing::Test {
 protected:
  KubeletClientTest() {
    InitGrpc();
    resource_.name = "example.com/thing";
  }

  /// Sets the current peer to the process that listens now.
  PendingCall Begin(std::chrono::milliseconds deadline, const CallDone& done) {
    peer_ = SocketIdentity(socket_).value_or("");
    return CallRegister(socket_, peer_, "1.sock", resource_, deadline, done);
  }
  Status CallAndWait(std::chrono::milliseconds deadline) {
    std::promise<Status> outcome;
    const PendingCall call =
        Begin(deadline, [&](const Status& status) { outcome.set_value(status); });
    return outcome.get_future().get();
  }
  /// Returns the outcome of a call to the last set peer.
  Status CallPeer() {
    std::promise<Status> outcome;
    const PendingCall call = CallRegister(socket_, peer_, "1.sock", resource_, 20s,
                                          [&](const Status& status) { outcome.set_value(status); });
    return outcome.get_future().get();
  }

  const TempTree tree_;
  const std::string socket_ = tree_.path("kubelet.sock");
  const UniqueFd plugin_ = BindSocket(tree_.path("1.sock"), true);
  std::string peer_;
  ResourceSpec resource_;
};

TEST_F(KubeletClientTest, FailsWithUnavailableIfNoProcessListens) {
  const Status absent = CallAndWait(10s);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(absent.error().message.find("No such file"), std::string::npos);

  { const Peer gone(socket_); }
  const Status refused = CallAndWait(10s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(refused.error().message.find("refused"), std::string::npos);
}

TEST_F(KubeletClientTest, CallsEndAtTheirDeadline) {
  const Peer peer(socket_);
  const Status status = CallAndWait(50ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUnavailable);
  const UniqueFd connection = peer.Accept();
  EXPECT_TRUE(Peer::AwaitEnd(connection));
}

int CallWithoutThreads() {
  if (!test::ForbidThreads()) return 0;
  std::string why;
  (void)CallRegister("/absent/kubelet.sock", "", "1.sock", {}, 10s,
                     [&](const Status& s) { why = s.error().message; });
  return why.starts_with(
             "cannot start a thread for the call; raise the limit of processes and threads")
             ? 0
             : 2;
}

// The caller is the loop, which must not wait for a path lookup.
TEST(KubeletClientDeathTest, CallFailsIfNoThreadCanStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(CallWithoutThreads()), testing::ExitedWithCode(0), "");
}

TEST_F(KubeletClientTest, CanceledCallsLeakNothing) {
  const Peer peer(socket_);
  (void)CallAndWait(1ms);  // gRPC has allocated its permanent state
  EXPECT_TRUE(Peer::AwaitEnd(peer.Accept()));

  const std::size_t before = DescriptorsOf(getpid());
  for (const bool speaks_late : {false, true}) {
    UniqueFd connection;
    {
      const PendingCall call = Begin(10s, [](const Status&) {});
      connection = peer.Accept();
    }
    if (speaks_late) Peer::SendSettings(connection);
    EXPECT_TRUE(Peer::AwaitEnd(connection)) << (speaks_late ? "late" : "silent");
  }
  EXPECT_EQ(DescriptorsOf(getpid()), before);
}

TEST_F(KubeletClientTest, ReachesANewKubelet) {
  Kubelet before(socket_);
  const PendingCall hung = Begin(20s, [](const Status&) {});
  ASSERT_TRUE(before.AwaitCalls(1));
  unlink(socket_.c_str());
  Kubelet after(socket_);
  const PendingCall call = Begin(20s, [](const Status&) {});
  EXPECT_TRUE(after.AwaitCalls(1));
}

// The loop detects a new kubelet by a check of the directory. A registration before that would have
// to be repeated.
TEST_F(KubeletClientTest, DoesNotCallAKubeletThatIsNotYetDetected) {
  Kubelet before(socket_);
  peer_ = SocketIdentity(socket_).value();
  unlink(socket_.c_str());
  Kubelet after(socket_);
  const Status early = CallPeer();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().kind, ErrorKind::kPrecondition);
  EXPECT_FALSE(after.HasCalls());

  const PendingCall call = Begin(20s, [](const Status&) {});
  EXPECT_TRUE(after.AwaitCalls(1));
}

// A kubelet that starts deletes the sockets of plugins, and would dial this one for ten seconds.
TEST_F(KubeletClientTest, DoesNotCallForADeletedPluginSocket) {
  Kubelet kubelet(socket_);
  peer_ = SocketIdentity(socket_).value();
  unlink(tree_.path("1.sock").c_str());
  const Status gone = CallPeer();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kPrecondition);
  EXPECT_FALSE(kubelet.HasCalls());
}

TEST_F(KubeletClientTest, ATimeoutDoesNotAffectOtherCalls) {
  Kubelet kubelet(socket_);
  std::promise<Status> outcome;
  const PendingCall pending = Begin(20s, [&](const Status& status) { outcome.set_value(status); });
  ASSERT_TRUE(kubelet.AwaitCalls(1));
  EXPECT_FALSE(CallAndWait(50ms));
  kubelet.AnswerAll();
  EXPECT_TRUE(outcome.get_future().get());
}

TEST_F(KubeletClientTest, CallsEndWithTheirConnection) {
  std::vector<std::promise<Status>> outcomes(3);
  std::vector<PendingCall> calls;
  {
    const Peer peer(socket_);
    UniqueFd connection;
    for (auto& outcome : outcomes) {
      calls.push_back(Begin(20s, [&](const Status& status) { outcome.set_value(status); }));
      if (!connection) connection = peer.Accept();
    }
  }
  for (auto& outcome : outcomes) {
    const Status status = outcome.get_future().get();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kUnavailable);
  }
}

// A stopped kubelet reads nothing, so the socket buffers fill up.
TEST_F(KubeletClientTest, CallsEndAtTheirDeadlineIfThePeerDoesNotRead) {
  resource_.name = "example.com/" + std::string(60, 'x');
  const UniqueFd listener = BindSocket(socket_, true);
  ASSERT_EQ(listen(listener.get(), 1000), 0);
  std::vector<std::promise<Status>> outcomes(500);
  std::vector<PendingCall> calls;
  for (auto& outcome : outcomes) {
    calls.push_back(Begin(200ms, [&](const Status& status) { outcome.set_value(status); }));
  }
  for (auto& outcome : outcomes) {
    auto answer = outcome.get_future();
    ASSERT_EQ(answer.wait_for(30s), std::future_status::ready);
    EXPECT_FALSE(answer.get());
  }
}

}  // namespace
}  // namespace patchbay
