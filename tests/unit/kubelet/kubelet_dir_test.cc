#include "kubelet/kubelet_dir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <sstream>

#include "base/hash.h"
#include "os/unique_fd.h"
#include "rpc/socket_file.h"
#include "support/fake_loop.h"
#include "support/pool_hold.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

/// Names with the format of SocketName.
constexpr char kFirst[] = "dir/patchbay-0000000000000001-00000001-1.sock";
constexpr char kSecond[] = "dir/patchbay-0000000000000001-00000001-2.sock";

using namespace std::chrono_literals;
using test::PoolHold;
using testing::ElementsAre;
using testing::HasSubstr;

/// A directory and the reports of KubeletDir about it.
class KubeletDirTest : public testing::Test {
 protected:
  void Start(std::string_view directory = "dir") {
    dir_ = std::make_unique<KubeletDir>(
        loop_, pool_, log_, KubeletDir::Options{tree_.path(directory), "00000001", 60s},
        KubeletDir::Events{
            .on_kubelet =
                [this](std::uint64_t epoch, const std::string& identity) {
                  EXPECT_EQ(SocketIdentity(dir_->kubelet_socket()), identity);
                  reports_.push_back("kubelet " + std::to_string(epoch));
                },
            .on_kubelet_lost = [this] { reports_.emplace_back("lost"); },
            .on_sockets =
                [this](const PluginSockets& sockets, Loop::Time) {
                  ++checks_;
                  sockets_ = sockets;
                },
            .on_dead = [this](const std::string&) { reports_.emplace_back("dead"); }});
    dir_->Start();
  }

  void Bind(std::string_view relative) { (void)test::BindSocket(tree_.path(relative), false); }

  /// Returns the reports since the last call, after all events are read and their checks made.
  std::vector<std::string> Said() {
    Settle();
    return std::exchange(reports_, {});
  }
  int Checks() {
    Settle();
    return std::exchange(checks_, 0);
  }
  void Settle() {
    int before = 0;
    do {
      before = checks_;
      while (dir_->is_checking() || loop_.RunReadable() || loop_.RunPosted()) {
        AwaitCheck();
        if (HasFatalFailure()) return;
      }
      loop_.Advance(50ms);  // for events that share a check
    } while (dir_->is_checking() || checks_ != before);
  }
  /// Does not read events.
  void AwaitCheck() {
    ASSERT_TRUE(loop_.RunUntil([this] { return !dir_->is_checking(); }));
  }

  test::TempTree tree_;
  test::FakeLoop loop_;
  ThreadPool pool_{loop_, {.max_running = 1, .patience = 1h}};
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, log_text_};
  std::vector<std::string> reports_;
  int checks_ = 0;
  PluginSockets sockets_;
  std::unique_ptr<KubeletDir> dir_;
};

TEST_F(KubeletDirTest, ReportsAnExistingSocket) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  Start();
  EXPECT_THAT(Said(), ElementsAre("kubelet 1"));
  EXPECT_EQ(dir_->kubelet_socket(), tree_.path("dir/kubelet.sock"));
}

TEST_F(KubeletDirTest, ReportsCreatedAndRemovedSockets) {
  tree_.Dir("dir");
  Start();
  EXPECT_THAT(Said(), ElementsAre());
  Bind("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("kubelet 1"));
  tree_.Remove("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("lost"));
  Bind("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("kubelet 2"));
}

TEST_F(KubeletDirTest, LogsWhyThereIsNoKubelet) {
  const auto why = [this](std::string_view directory) {
    log_text_.str("");
    Start(directory);
    AwaitCheck();
    return log_text_.str();
  };
  EXPECT_THAT(why("dir"), HasSubstr("device-plugins directory to appear"));
  tree_.Dir("dir");
  EXPECT_THAT(why("dir"), HasSubstr("waiting for the kubelet's socket to appear"));
  tree_.File("file");
  EXPECT_THAT(why("file"), HasSubstr("is a file"));
  if (geteuid() != 0) return;
  tree_.Dir("closed/dir");
  std::filesystem::permissions(tree_.path("closed"), std::filesystem::perms::none);
  ASSERT_EQ(seteuid(65534), 0);
  const std::string closed = why("closed/dir");
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_THAT(closed, HasSubstr("run as root"));
}

TEST_F(KubeletDirTest, LogsNothingForAKubeletAlreadyReportedLost) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  Start();
  Said();
  tree_.Remove("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("lost"));
  EXPECT_EQ(log_text_.str(), "");
}

TEST_F(KubeletDirTest, RemovesLeftoverSocketsForEachNewKubelet) {
  tree_.Dir("dir");
  const std::string left = SocketName("a/b", "00000002", 1);
  const std::string own = SocketName("a/b", "00000001", 1);
  Bind("dir/" + left);
  Bind("dir/" + own);
  Start();
  Settle();
  EXPECT_THAT(sockets_.own, ElementsAre(own));
  EXPECT_THAT(sockets_.others, ElementsAre());
  EXPECT_THAT(log_text_.str(), HasSubstr(left));
  Bind("dir/" + left);
  Settle();
  EXPECT_THAT(sockets_.others, ElementsAre(StableHash("a/b")));
  Bind("dir/kubelet.sock");
  Settle();
  EXPECT_THAT(sockets_.others, ElementsAre());
}

// The inode number can be the same; the birth time differs.
TEST_F(KubeletDirTest, DetectsASocketReplacedBetweenTwoChecks) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  Start();
  Said();
  for (int i = 2; i < 20; ++i) {
    tree_.Remove("dir/kubelet.sock");
    Bind("dir/kubelet.sock");
    EXPECT_THAT(Said(), ElementsAre("kubelet " + std::to_string(i)));
  }
}

TEST_F(KubeletDirTest, IgnoresPathsThatAreNotSockets) {
  tree_.File("dir/kubelet.sock");
  Start();
  EXPECT_THAT(Said(), ElementsAre());
  tree_.Remove("dir/kubelet.sock");
  tree_.Dir("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre());
}

TEST_F(KubeletDirTest, IgnoresMetadataChangesOfTheSocket) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  Start();
  Said();
  ASSERT_EQ(chmod(tree_.path("dir/kubelet.sock").c_str(), 0700), 0);
  std::filesystem::create_hard_link(tree_.path("dir/kubelet.sock"), tree_.path(kFirst));
  EXPECT_THAT(Said(), ElementsAre());
}

TEST_F(KubeletDirTest, IgnoresCheckpointsAndOtherPlugins) {
  tree_.Dir("dir");
  Start();
  Checks();
  for (int i = 0; i < 100; ++i) {
    tree_.File("dir/.1234");
    std::filesystem::rename(tree_.path("dir/.1234"), tree_.path("dir/kubelet_internal_checkpoint"));
  }
  Bind("dir/other-plugin.sock");
  EXPECT_EQ(Checks(), 0);
  Bind(kFirst);
  EXPECT_GE(Checks(), 1);
  tree_.Remove(kFirst);
  EXPECT_GE(Checks(), 1);
}

TEST_F(KubeletDirTest, ChecksAtTheFirstEventAndOnceForThoseOfTheNext50Milliseconds) {
  tree_.File(kFirst);
  Start();
  Checks();
  const auto event = [this](int i) {
    std::filesystem::rename(tree_.path(i % 2 == 0 ? kFirst : kSecond),
                            tree_.path(i % 2 == 0 ? kSecond : kFirst));
    while (loop_.RunReadable() || loop_.RunPosted() || dir_->is_checking()) AwaitCheck();
  };
  event(0);
  EXPECT_EQ(checks_, 1) << "without a delay";
  for (int i = 1; i < 10; ++i) event(i);
  EXPECT_EQ(checks_, 1);
  loop_.Advance(49ms);
  EXPECT_FALSE(dir_->is_checking());
  loop_.Advance(1ms);
  AwaitCheck();
  EXPECT_EQ(checks_, 2);
  Bind("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("kubelet 1"));
}

TEST_F(KubeletDirTest, DetectsADirectoryCreatedStepByStep) {
  Start("a/b/dir");
  for (const char* step : {"a", "a/b", "a/b/dir"}) {
    tree_.Dir(step);
    EXPECT_THAT(Said(), ElementsAre());
  }
  Bind("a/b/dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("kubelet 1"));
}

TEST_F(KubeletDirTest, DetectsADirectoryCreatedAtOnce) {
  Start("a/b/dir");
  tree_.Dir("a/b/dir");
  Bind("a/b/dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("kubelet 1"));
}

TEST_F(KubeletDirTest, DetectsARecreatedDirectory) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  Start();
  Said();
  for (int i = 2; i < 5; ++i) {
    tree_.Remove("dir");
    EXPECT_THAT(Said(), ElementsAre("lost"));
    tree_.Dir("dir");
    EXPECT_THAT(Said(), ElementsAre());
    Bind("dir/kubelet.sock");
    EXPECT_THAT(Said(), ElementsAre("kubelet " + std::to_string(i)));
  }
}

// Like a directory that is mounted into a container: its removal causes no event.
TEST_F(KubeletDirTest, DetectsADirectoryReplacedWhileOpen) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  Start();
  Said();
  const UniqueFd held(open(tree_.path("dir").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  tree_.Remove("dir");
  tree_.Dir("dir");
  EXPECT_THAT(Said(), ElementsAre("lost"));
  Bind("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("kubelet 2"));
}

TEST_F(KubeletDirTest, DetectsARenamedDirectory) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  Start();
  Said();
  std::filesystem::rename(tree_.path("dir"), tree_.path("old"));
  tree_.Dir("dir");
  EXPECT_THAT(Said(), ElementsAre("lost"));
  Bind("old/patchbay-0000000000000001-00000001-1.sock");
  EXPECT_THAT(Said(), ElementsAre());
  Bind("dir/kubelet.sock");
  EXPECT_THAT(Said(), ElementsAre("kubelet 2"));
}

TEST_F(KubeletDirTest, ChecksPeriodicallyWithoutEvents) {
  tree_.Dir("dir");
  Start();
  Checks();
  loop_.Advance(59s);
  EXPECT_EQ(checks_, 0);
  Bind("dir/kubelet.sock");  // events are not read
  loop_.Advance(1s);
  AwaitCheck();
  EXPECT_THAT(std::exchange(reports_, {}), ElementsAre("kubelet 1"));
  loop_.Advance(60s);
  AwaitCheck();
  EXPECT_EQ(checks_, 2);
  EXPECT_EQ(loop_.timers(), 1U);
}

TEST_F(KubeletDirTest, CoalescesRequestedChecks) {
  tree_.Dir("dir");
  Start();
  Checks();
  dir_->CheckSoon();
  dir_->CheckSoon();
  EXPECT_EQ(Checks(), 1);
  {
    const PoolHold hold(pool_);
    dir_->Check();
    dir_->CheckSoon();
    dir_->CheckSoon();
  }
  EXPECT_EQ(Checks(), 2) << "one began before the request";
}

TEST_F(KubeletDirTest, ChangeDuringACheckCausesAnotherCheck) {
  tree_.Dir("dir");
  Start();
  Checks();
  {
    const PoolHold hold(pool_);
    dir_->Check();
    dir_->Check();
    Bind(kFirst);
    loop_.RunReadable();
    loop_.RunPosted();
    EXPECT_TRUE(dir_->is_checking());
    EXPECT_EQ(checks_, 0);
  }
  EXPECT_EQ(Checks(), 2);
}

TEST_F(KubeletDirTest, IgnoresAPendingCheckAfterDestruction) {
  tree_.Dir("dir");
  Bind("dir/kubelet.sock");
  {
    const PoolHold hold(pool_);
    Start();
    dir_.reset();
  }
  bool checked = false;
  pool_.Run([] { return true; }, [&](bool is_checked) { checked = is_checked; });
  ASSERT_TRUE(loop_.RunUntil([&] { return checked; }));
  EXPECT_THAT(reports_, ElementsAre());
}

TEST_F(KubeletDirTest, CheckRestartsTheTimer) {
  tree_.Dir("dir");
  Start();
  Settle();
  loop_.Advance(30s);
  dir_->Check();
  AwaitCheck();
  EXPECT_EQ(loop_.timers(), 1U);
  EXPECT_EQ(loop_.UntilNextTimer(), 60s);
}

/// As without file descriptors. It is then unknown which sockets exist.
TEST_F(KubeletDirTest, ChecksAgainSoonAfterADirectoryCouldNotBeRead) {
  Start(std::string(300, 'x'));
  EXPECT_EQ(Checks(), 2) << "again because the parent directory is watched now";
  EXPECT_FALSE(sockets_.complete);
  loop_.Advance(5s);
  EXPECT_EQ(Checks(), 1);
}

/// Returns 0 if the kubelet is found as soon as there is a thread for the check.
int CheckWithoutThreads() {
  test::FakeLoop loop;
  const test::TempTree tree;
  const UniqueFd socket = test::BindSocket(tree.path("kubelet.sock"), false);
  if (chmod(tree.path().c_str(), 0755) != 0 || !test::ForbidThreads()) return 0;
  std::ostringstream text;
  Log log{LogLevel::kDebug, LogFormat::kText, text};
  ThreadPool pool(loop);
  int found = 0;
  KubeletDir dir(loop, pool, log, KubeletDir::Options{tree.path(), "00000001", 60s},
                 KubeletDir::Events{.on_kubelet = [&](auto, const auto&) { ++found; },
                                    .on_kubelet_lost = [] {},
                                    .on_sockets = [](const auto&, auto) {},
                                    .on_dead = [](const std::string&) {}});
  dir.Start();
  loop.Advance(1s);
  if (dir.is_checking() || found != 0) return 2;
  const std::string logged = text.str();
  const auto warning = logged.find("raise the limit of processes");
  if (warning == std::string::npos) return 3;
  if (logged.find("raise the limit of processes", warning + 1) != std::string::npos) return 4;
  test::AllowThreads();
  loop.Advance(1s);
  return loop.RunUntil([&] { return found == 1; }) ? 0 : 5;
}

TEST(KubeletDirDeathTest, ChecksAgainWhenThereIsAThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(CheckWithoutThreads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace patchbay
