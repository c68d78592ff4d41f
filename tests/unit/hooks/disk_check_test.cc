#include "hooks/disk_check.h"

#include <gmock/gmock.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <future>
#include <optional>
#include <sstream>
#include <thread>

#include "hooks/hook_runner.h"
#include "support/hanging_mount.h"
#include "support/leftovers.h"
#include "support/loop_disk.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::IsNull;
using testing::NotNull;

DeviceNode BlockNodeAt(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return {.path = path,
          .real_path = path,
          .type = FileType::kBlock,
          .major = static_cast<unsigned>(major(info.st_rdev)),
          .minor = static_cast<unsigned>(minor(info.st_rdev)),
          .inode = info.st_ino};
}

HookCall CallFor(Hook hook, const DeviceNode& node, milliseconds timeout = seconds(60)) {
  return {.resource = "example.com/disk",
          .hook = hook,
          .timeout = timeout,
          .devices = {"d"},
          .commands = {{"d", {"/bin/true"}}},
          .disks = {{"d", node}}};
}

class DiskCheckTest : public testing::Test {
 protected:
  HookOutcome Check(const DeviceNode& node, milliseconds timeout = seconds(60)) const {
    return CheckDisks(CallFor(Hook::kAllocate, node), HostRoot(), steady_clock::now() + timeout,
                      cancellation_);
  }
  std::string WhyNot(const std::string& path) const {
    const HookOutcome outcome = Check(BlockNodeAt(path));
    return outcome.status ? "" : outcome.id + ": " + outcome.status.error().message;
  }

  test::TempTree tree_;
  const std::shared_ptr<const Cancellation> cancellation_ =
      std::make_shared<const Cancellation>(Cancellation::Create().value());
};

/// Disks that this host really uses.
class DiskInUseTest : public DiskCheckTest {
 protected:
  void SetUp() override {
    if (!disk_.why_not().empty()) GTEST_SKIP() << "no loop device: " << disk_.why_not();
    const UniqueFd fd(open(disk_.path().c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
    if (!fd) GTEST_SKIP() << "loop devices cannot be opened exclusively here";
  }

  test::LoopDisk disk_;
};

TEST_F(DiskInUseTest, FreeDiskPasses) { EXPECT_EQ(WhyNot(disk_.path()), ""); }

TEST_F(DiskInUseTest, MountedDiskFailsUntilItIsUnmounted) {
  if (disk_.Mount(disk_.path()).empty()) GTEST_SKIP() << "no program or right to mount";
  EXPECT_THAT(WhyNot(disk_.path()), HasSubstr("d: " + disk_.path() + " is in use, and no hook"));
  EXPECT_THAT(WhyNot(disk_.path()), HasSubstr(", and unmount it, or exclude the disk"));
  disk_.Release();
  EXPECT_EQ(WhyNot(disk_.path()), "");
}

TEST_F(DiskInUseTest, SwapSpaceFails) {
  if (!disk_.SwapOn(disk_.path())) GTEST_SKIP() << "no right to swap on a loop device";
  EXPECT_THAT(WhyNot(disk_.path()), HasSubstr("is in use"));
}

TEST_F(DiskInUseTest, DiskOfAMountedPartitionFailsAndItsOtherPartitionPasses) {
  if (!disk_.AddPartition(1) || !disk_.AddPartition(2)) GTEST_SKIP() << "no partitions here";
  if (disk_.Mount(disk_.partition(1)).empty()) GTEST_SKIP() << "no program or right to mount";
  EXPECT_THAT(WhyNot(disk_.path()), HasSubstr("is in use"));
  EXPECT_THAT(WhyNot(disk_.partition(1)), HasSubstr("is in use"));
  EXPECT_EQ(WhyNot(disk_.partition(2)), "");
}

TEST_F(DiskInUseTest, BusyDiskIsTriedAgain) {
  UniqueFd user(open(disk_.path().c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
  ASSERT_TRUE(user);
  auto checked = std::async(std::launch::async, [&] { return WhyNot(disk_.path()); });
  EXPECT_EQ(checked.wait_for(milliseconds(200)), std::future_status::timeout);
  user = UniqueFd();
  EXPECT_EQ(checked.get(), "");
}

TEST_F(DiskInUseTest, ChecksWhereALinkLeads) {
  if (!disk_.AddPartition(1) || !disk_.AddPartition(2)) GTEST_SKIP() << "no partitions here";
  tree_.Link("by-id", disk_.partition(1));
  DeviceNode node = BlockNodeAt(disk_.partition(1));
  node.path = tree_.path("by-id");
  EXPECT_TRUE(Check(node).status);
  tree_.Remove("by-id");
  tree_.Link("by-id", disk_.partition(2));
  const HookOutcome moved = Check(node);
  ASSERT_FALSE(moved.status);
  EXPECT_THAT(moved.status.error().message, HasSubstr("by-id is not the node of block device"));
}

TEST_F(DiskInUseTest, NoHookRunsForADiskInUse) {
  if (disk_.Mount(disk_.path()).empty()) GTEST_SKIP() << "no program or right to mount";
  std::ostringstream text;
  Log log{LogLevel::kDebug, LogFormat::kText, text};
  int results = 0;
  HookRunner runner([&](Hook, bool success, std::chrono::nanoseconds) { results += !success; }, log,
                    cancellation_, HostRoot());
  for (const Hook hook : {Hook::kAllocate, Hook::kPreStart, Hook::kRelease}) {
    HookCall call = CallFor(hook, BlockNodeAt(disk_.path()));
    call.commands[0].argv = {"/bin/sh", "-c", ": > " + tree_.path("ran")};
    std::promise<Status> done;
    runner.Run(call, [&](const Status& status) { done.set_value(status); });
    const Status status = done.get_future().get();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kPrecondition);
    EXPECT_THAT(status.error().message,
                HasSubstr(Format("the {} hook of example.com/disk failed for \"d\": {} is in use",
                                 Name(hook), disk_.path())));
  }
  EXPECT_EQ(results, 3);
  EXPECT_FALSE(std::filesystem::exists(tree_.path("ran")));
}

TEST_F(DiskInUseTest, NoHookStartsWithLittleTimeLeftAfterTheCheck) {
  UniqueFd user(open(disk_.path().c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
  ASSERT_TRUE(user);
  std::ostringstream text;
  Log log{LogLevel::kDebug, LogFormat::kText, text};
  HookRunner runner([](Hook, bool, std::chrono::nanoseconds) {}, log, cancellation_, HostRoot());
  HookCall call = CallFor(Hook::kAllocate, BlockNodeAt(disk_.path()));
  call.commands[0].argv = {"/bin/sh", "-c", ": > " + tree_.path("ran")};
  call.patience = seconds(1);
  std::promise<Status> checked, waited;
  runner.Run(call, [&](const Status& status) { checked.set_value(status); });
  call.disks.clear();
  runner.Run(call, [&](const Status& status) { waited.set_value(status); });
  // It waits for the device, and came later: it is now too late for the first call as well.
  EXPECT_FALSE(waited.get_future().get());
  user = UniqueFd();
  EXPECT_FALSE(checked.get_future().get());
  EXPECT_FALSE(std::filesystem::exists(tree_.path("ran")));
}

TEST_F(DiskInUseTest, HookMayOpenTheDiskExclusively) {
  std::ostringstream text;
  Log log{LogLevel::kDebug, LogFormat::kText, text};
  HookRunner runner([](Hook, bool, std::chrono::nanoseconds) {}, log, cancellation_, HostRoot());
  HookCall call = CallFor(Hook::kAllocate, BlockNodeAt(disk_.path()));
  call.commands[0].argv = {"/usr/sbin/blkdiscard", "--zeroout", disk_.path()};  // opens with O_EXCL
  std::promise<Status> done;
  runner.Run(call, [&](const Status& status) { done.set_value(status); });
  const Status status = done.get_future().get();
  EXPECT_TRUE(status) << status.error().message;
}

TEST_F(DiskInUseTest, DiskThatMayNotBeOpenedIsNotChecked) {
  if (disk_.Mount(disk_.path()).empty()) GTEST_SKIP() << "no program or right to mount";
  EXPECT_THAT(WhyNot(disk_.path()), HasSubstr("is in use"));
  std::string unprivileged = "unset";
  std::thread([&] {
    setfsuid(65534);  // of this thread and of those that it starts
    unprivileged = WhyNot(disk_.path());
  }).join();
  EXPECT_EQ(unprivileged, "");
}

TEST_F(DiskCheckTest, MissingNodeAndOneWithoutDeviceAreNotChecked) {
  DeviceNode node{.path = tree_.path("gone"), .real_path = tree_.path("gone")};
  node.type = FileType::kBlock;
  EXPECT_TRUE(Check(node).status);
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.BlockDevice("no-driver", 4000, 1);
  EXPECT_TRUE(Check(BlockNodeAt(tree_.path("no-driver"))).status);
}

int CheckDiskWithoutThreads() {
  const auto cancellation = std::make_shared<const Cancellation>(Cancellation::Create().value());
  const HookCall call = CallFor(Hook::kAllocate, {.path = "/gone", .real_path = "/gone"});
  if (!test::ForbidThreads()) return 0;
  const HookOutcome outcome =
      CheckDisks(call, HostRoot(), steady_clock::now() + seconds(60), cancellation);
  if (outcome.status) return 2;
  const std::string& why = outcome.status.error().message;
  return why.find("raise the limit of processes") == std::string::npos ? 3 : 0;
}

TEST(DiskCheckDeathTest, WithoutAThreadTheReasonNamesTheLimit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(CheckDiskWithoutThreads()), testing::ExitedWithCode(0), "");
}

TEST_F(DiskCheckTest, NodeThatWasReplacedFails) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.BlockDevice("disk", 4000, 1);
  const DeviceNode node = BlockNodeAt(tree_.path("disk"));
  tree_.BlockDevice("other", 4000, 1);  // keeps the inode from being reused
  std::filesystem::rename(tree_.path("other"), tree_.path("disk"));
  const HookOutcome replaced = Check(node);
  ASSERT_FALSE(replaced.status);
  EXPECT_THAT(replaced.status.error().message, HasSubstr("if a pod waits for it, delete the pod"));
  tree_.Remove("disk");
  tree_.NullDevice("disk");
  EXPECT_FALSE(Check(node).status);
}

/// Disks whose lookup hangs.
class HangingDiskTest : public DiskCheckTest {
 protected:
  void SetUp() override {
    if (!hanging_.why_not().empty()) GTEST_SKIP() << hanging_.why_not();
    node_.path = node_.real_path = tree_.path("hanging/disk");
    node_.type = FileType::kBlock;
  }
  /// The thread that hung closes its descriptors, which another test of this process would count.
  void TearDown() override {
    hanging_.End();
    const auto deadline = steady_clock::now() + seconds(60);
    while (test::DescriptorsOf(getpid()) > descriptors_ && steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(test::DescriptorsOf(getpid()), descriptors_);
  }
  std::string Directory() {
    tree_.Dir("hanging");
    return tree_.path("hanging");
  }

  const std::size_t descriptors_ = test::DescriptorsOf(getpid());
  DeviceNode node_;
  test::HangingMount hanging_{Directory()};
};

TEST_F(HangingDiskTest, CancellationEndsTheWait) {
  auto checked = std::async(std::launch::async, [&] { return Check(node_); });
  ASSERT_TRUE(hanging_.AwaitHang(seconds(60)));
  cancellation_->Trigger();
  const HookOutcome outcome = checked.get();
  ASSERT_FALSE(outcome.status);
  EXPECT_THAT(outcome.status.error().message, HasSubstr("is shutting down"));
  EXPECT_THAT(outcome.opening, NotNull());
}

TEST_F(HangingDiskTest, NextCallForTheDeviceWaitsUntilItIsOpened) {
  std::ostringstream text;
  Log log{LogLevel::kDebug, LogFormat::kText, text};
  HookRunner runner([](Hook, bool, std::chrono::nanoseconds) {}, log, cancellation_, HostRoot());
  std::promise<Status> first, second;
  runner.Run(CallFor(Hook::kAllocate, node_, milliseconds(1)),
             [&](const Status& status) { first.set_value(status); });
  const Status hung = first.get_future().get();
  ASSERT_FALSE(hung);
  EXPECT_THAT(hung.error().message, HasSubstr("to check whether it is in use has not returned"));
  HookCall next = CallFor(Hook::kRelease, node_);
  next.disks.clear();
  runner.Run(next, [&](const Status& status) { second.set_value(status); });
  auto waiting = second.get_future();
  EXPECT_EQ(waiting.wait_for(milliseconds(200)), std::future_status::timeout);
  hanging_.End();
  EXPECT_TRUE(waiting.get());
}

}  // namespace
}  // namespace patchbay
