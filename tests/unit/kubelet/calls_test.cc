#include "kubelet/calls.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <future>
#include <string>

#include "kubelet/plugin_server.h"
#include "os/unique_fd.h"
#include "support/process.h"
#include "support/temp_tree.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::BindSocket;
using test::DescriptorsOf;
using test::TempTree;

/// Somebody who listens and speaks HTTP/2 only when told to.
class Peer {
 public:
  explicit Peer(const std::string& path) : listener_(BindSocket(path, true)) {}

  UniqueFd Accept() const { return UniqueFd(accept(listener_.get(), nullptr, nullptr)); }

  /// Begins to speak; the other side may have gone by now.
  static void SendSettings(const UniqueFd& connection) {
    constexpr char kSettings[] = "\0\0\0\4\0\0\0\0";  // an empty frame, with the NUL at its end
    (void)send(connection.get(), kSettings, sizeof kSettings, MSG_NOSIGNAL);
  }

  /// Reads until the other side has closed; false when it does not.
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

class Calls : public testing::Test {
 protected:
  Calls() { KeepGrpc(); }

  Status CallAndWait(std::chrono::milliseconds deadline) {
    std::promise<Status> outcome;
    const PendingCall call =
        CallOwnServer(socket_, deadline, [&](const Status& status) { outcome.set_value(status); });
    return outcome.get_future().get();
  }

  const TempTree tree_;
  const std::string socket_ = tree_.path("1.sock");
};

TEST_F(Calls, NobodyIsUnavailable) {
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

TEST_F(Calls, EndAtTheirDeadline) {
  const Peer peer(socket_);
  const Status status = CallAndWait(50ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUnavailable);
  const UniqueFd connection = peer.Accept();
  EXPECT_TRUE(Peer::AwaitEnd(connection));
}

int CallWithoutThreads() {
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || setuid(65534) != 0) return 0;
  std::string why;
  (void)CallOwnServer("/absent/1.sock", 10s, [&](const Status& s) { why = s.error().message; });
  return why.starts_with("no thread could be started") ? 0 : 2;
}

// The caller is the loop, which may not wait for a path.
TEST(CallsDeathTest, LookUpNothingWhereThereIsNoThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(CallWithoutThreads()), testing::ExitedWithCode(0), "");
}

TEST_F(Calls, GivenUpLeaveNothing) {
  const Peer peer(socket_);
  (void)CallAndWait(1ms);  // gRPC has made what it keeps
  EXPECT_TRUE(Peer::AwaitEnd(peer.Accept()));

  const std::size_t before = DescriptorsOf(getpid());
  for (const bool speaks_late : {false, true}) {
    UniqueFd connection;
    {
      const PendingCall call = CallOwnServer(socket_, 10s, [](const Status&) {});
      connection = peer.Accept();
    }
    if (speaks_late) Peer::SendSettings(connection);
    EXPECT_TRUE(Peer::AwaitEnd(connection)) << (speaks_late ? "late" : "silent");
  }
  EXPECT_EQ(DescriptorsOf(getpid()), before);
}

}  // namespace
}  // namespace patchbay
