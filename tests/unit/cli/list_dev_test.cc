#include "cli/list_dev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "cli_support.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ListDevTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  }

  /// Returns the names, with a slash after those of directories.
  std::vector<std::string> Names(std::size_t most = 1000) {
    const auto seen = ListDev(HostRoot(host_.path()), most, findings_);
    if (!seen) return {seen.error().message};
    std::vector<std::string> names;
    for (const SeenName& name : *seen) names.push_back(name.name + (name.is_directory ? "/" : ""));
    return names;
  }

  test::TempTree host_;
  Diagnostics diagnostics_;
  Findings findings_{diagnostics_};
};

TEST_F(ListDevTest, ListsDevicesDirectoriesAndLinksToThem) {
  host_.CharDevice("/dev/snd/timer");
  host_.BlockDevice("/dev/sr0", 11, 0);
  host_.File("/dev/text");
  host_.File("/proc/kcore");
  host_.CharDevice("/elsewhere/node");
  host_.Link("/dev/cdrom", "sr0");
  host_.Link("/dev/sound", "/dev/snd");
  host_.Link("/dev/core", "/proc/kcore");
  host_.Link("/dev/out", "/elsewhere/node");
  host_.Link("/dev/gone", "nowhere");
  host_.Link("/dev/loop", "loop");
  EXPECT_THAT(Names(), ElementsAre("cdrom", "out", "snd/", "snd/timer", "sound/", "sr0"));
  EXPECT_EQ(diagnostics_.RenderText(), "");
}

TEST_F(ListDevTest, SkipsOtherFileSystems) {
  host_.CharDevice("/dev/ptmx");
  host_.Dir("/dev/pts");
  host_.Dir("/proc");
  host_.Link("/dev/fd", "/proc");
  if (mount("none", host_.path("/dev/pts").c_str(), "tmpfs", 0, "") != 0) {
    GTEST_SKIP() << "nothing can be mounted here";
  }
  host_.CharDevice("/dev/pts/ptmx");
  const bool is_mounted = mount("none", host_.path("/proc").c_str(), "tmpfs", 0, "") == 0;
  const auto names = Names();
  umount(host_.path("/dev/pts").c_str());
  if (is_mounted) umount(host_.path("/proc").c_str());
  EXPECT_TRUE(is_mounted);
  EXPECT_THAT(names, ElementsAre("ptmx"));
}

TEST_F(ListDevTest, DescendsTenLevels) {
  const std::string ten = "/dev/1/2/3/4/5/6/7/8/9/10";
  host_.CharDevice(ten + "/in");
  host_.CharDevice(ten + "/11/out");
  EXPECT_THAT(Names(), testing::Contains("1/2/3/4/5/6/7/8/9/10/in"));
  EXPECT_THAT(Names(), SizeIs(12));
}

TEST_F(ListDevTest, WarnsBeyondTheMaximum) {
  host_.CharDevice("/dev/a");
  host_.CharDevice("/dev/b");
  EXPECT_THAT(Names(2), SizeIs(2));
  EXPECT_EQ(diagnostics_.RenderText(), "");
  EXPECT_THAT(Names(1), SizeIs(1));
  EXPECT_THAT(diagnostics_.RenderText(),
              testing::StartsWith("/dev: warning[assumed]: more than 1 names"));
}

TEST_F(ListDevTest, WarnsOfUnreadableDirectories) {
  host_.CharDevice("/dev/a");
  host_.CharDevice("/dev/secret/b");
  std::filesystem::permissions(host_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(host_.path("/dev/secret"), std::filesystem::perms(0700));
  {
    const test::Unprivileged unprivileged;
    EXPECT_THAT(Names(), ElementsAre("a", "secret/"));
  }
  EXPECT_THAT(diagnostics_.RenderText(), testing::StartsWith("/dev/secret: warning[assumed]: "));
}

/// Directories appear and disappear during the scan. None of that is reported.
TEST_F(ListDevTest, IgnoresDirectoriesThatVanishDuringTheScan) {
  host_.CharDevice("/dev/zz");
  host_.Dir("/away");
  std::vector<std::pair<std::string, std::string>> moves;
  for (const std::string name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    host_.CharDevice("/dev/" + name + "/node");
    moves.emplace_back(host_.path("/dev/" + name), host_.path("/away/" + name));
  }
  std::atomic<bool> is_done = false;
  std::thread mover([&] {
    while (!is_done) {
      for (const auto& [here, there] : moves) std::filesystem::rename(here, there);
      for (const auto& [here, there] : moves) std::filesystem::rename(there, here);
    }
  });
  for (int i = 0; i < 300; ++i) EXPECT_THAT(Names(), testing::Contains("zz"));
  is_done = true;
  mover.join();
  EXPECT_EQ(diagnostics_.RenderText(), "");
}

TEST_F(ListDevTest, FailsWithoutDev) {
  const auto seen = ListDev(HostRoot(host_.path()), 10, findings_);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().message, "cannot access /dev: No such file or directory");
}

}  // namespace
}  // namespace patchbay
