#include "cli/access_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_support.h"
#include "support/temp_tree.h"

namespace patchbay {

// For failure messages.
void PrintTo(const Obstacle& obstacle, std::ostream* out) {
  *out << static_cast<int>(obstacle.barrier) << " at " << obstacle.path;
  for (const std::string& name : obstacle.neighbors) *out << " near " << name;
}

namespace {

class AccessCheckTest : public testing::Test {
 protected:
  void SetUp() override { chmod(tree_.path().c_str(), 0711); }
  Obstacle At(const std::string& path) const { return CheckAccess(HostRoot(tree_.path()), path); }

  test::TempTree tree_;
};

TEST_F(AccessCheckTest, FindsNothingOnAccessiblePaths) {
  tree_.File("dev/node", "text");
  tree_.File("dev/empty");
  tree_.Link("dev/link", "/dev/node");
  for (const char* path : {"/", "", "/dev", "/dev/", "/dev/node", "/dev/empty", "/dev/link"}) {
    EXPECT_EQ(At(path), Obstacle()) << path;
  }
}

TEST_F(AccessCheckTest, ReportsTheFirstMissingComponent) {
  EXPECT_EQ(At("/dev/serial/by-id/"), (Obstacle{Barrier::kMissing, "/dev"}));
  tree_.Dir("dev");
  EXPECT_EQ(At("/dev/serial/by-id/"), (Obstacle{Barrier::kMissing, "/dev"})) << "it is empty";
  tree_.File("dev/null");
  EXPECT_EQ(At("/dev/serial/by-id/"), (Obstacle{Barrier::kMissing, "/dev/serial"}));
  tree_.Link("dev/serial", "../srv/serial");
  EXPECT_EQ(At("/dev/serial/by-id"), (Obstacle{Barrier::kMissing, "/srv"})) << "through a link";
  tree_.Dir("srv/serial");
  EXPECT_EQ(At("/dev/serial/by-id"), (Obstacle{Barrier::kMissing, "/srv/serial/by-id"}));
  EXPECT_EQ(At("/dev/../srv/./x"), (Obstacle{Barrier::kMissing, "/srv/x"}));
}

TEST(NamesLike, ReturnsNamesWithThePrefixOfThePattern) {
  std::vector<HostEntry> entries;
  for (const char* name : {"ttyS10", "ttyS2", "ttyS1", "ttyS0", "loop0", "loop-control", "null"}) {
    entries.push_back({name});
  }
  using testing::ElementsAre;
  EXPECT_THAT(NamesLike("ttys*", entries), ElementsAre("ttyS0", "ttyS1", "ttyS2"));
  EXPECT_THAT(NamesLike("loopp[0-9]", entries), ElementsAre("loop-control", "loop0"));
  EXPECT_THAT(NamesLike("looppp*", entries), ElementsAre("loop-control", "loop0"));
  EXPECT_THAT(NamesLike("loopppp*", entries), testing::IsEmpty()) << "three wrong characters";
  EXPECT_THAT(NamesLike("ttyUSB*", entries), testing::IsEmpty()) << "no misspelling of ttyS";
  EXPECT_THAT(NamesLike("n?", entries), testing::IsEmpty());
  EXPECT_THAT(NamesLike("*", entries), testing::IsEmpty());
  EXPECT_THAT(NamesLike("", entries), testing::IsEmpty());
}

TEST_F(AccessCheckTest, SuggestsSimilarNames) {
  for (const char* name : {"ttyUSB10", "ttyUSB0", "ttyUSB1", "ttyUSB2", "serial", "null"}) {
    tree_.File(std::string("dev/") + name);
  }
  const auto neighbors = [&](const std::string& path) { return At(path).neighbors; };
  EXPECT_THAT(neighbors("/dev/serail/by-id/"), testing::ElementsAre("serial"));
  EXPECT_THAT(neighbors("/dev/ttyUSB3"), testing::ElementsAre("ttyUSB0", "ttyUSB1", "ttyUSB2"));
  EXPECT_THAT(neighbors("/dev/ttyusb10"), testing::Contains("ttyUSB10"));
  EXPECT_THAT(neighbors("/dev/kvm"), testing::IsEmpty());
}

TEST_F(AccessCheckTest, ReportsAComponentThatIsNotADirectory) {
  tree_.File("dev/file");
  EXPECT_EQ(At("/dev/file/below"), (Obstacle{Barrier::kNoDirectory, "/dev/file"}));
  EXPECT_EQ(At("/dev/file/"), (Obstacle{Barrier::kNoDirectory, "/dev/file"}));
  tree_.Link("dev/link", "file/below");
  EXPECT_EQ(At("/dev/link"), (Obstacle{Barrier::kNoDirectory, "/dev/file"}));
}

TEST_F(AccessCheckTest, ReportsLinkLoops) {
  tree_.Link("dev/self", "self");
  EXPECT_EQ(At("/dev/self/x"), (Obstacle{Barrier::kTooManyLinks, "/dev/self"}));
  tree_.Link("dev/a", "b/x");
  tree_.Link("dev/b", "/dev/a/y");
  EXPECT_EQ(At("/dev/a").barrier, Barrier::kTooManyLinks);
}

TEST_F(AccessCheckTest, ReportsMissingPermissions) {
  tree_.File("dev/shut/sub/node");
  tree_.File("dev/names/node");
  tree_.File("dev/mine", "text");
  tree_.File("dev/reset");
  tree_.Link("dev/link", "shut/sub");
  chmod(tree_.path("dev/shut").c_str(), 0);
  chmod(tree_.path("dev/names").c_str(), 0744 & ~0111);
  chmod(tree_.path("dev/mine").c_str(), geteuid() == 0 ? 0600 : 0044);
  chmod(tree_.path("dev/reset").c_str(), 0222);
  std::vector<Obstacle> found;
  {
    const test::Unprivileged unprivileged;
    for (const char* path : {"/dev/shut/", "/dev/shut/sub/node", "/dev/link", "/dev/names",
                             "/dev/names/node", "/dev/mine", "/dev/reset"}) {
      found.push_back(At(path));
    }
  }
  chmod(tree_.path("dev/shut").c_str(), 0755);
  chmod(tree_.path("dev/names").c_str(), 0755);
  EXPECT_THAT(found, testing::ElementsAre(Obstacle{Barrier::kNoRight, "/dev/shut"},
                                          Obstacle{Barrier::kNoRight, "/dev/shut"},
                                          Obstacle{Barrier::kNoRight, "/dev/shut"},
                                          Obstacle{Barrier::kNoRight, "/dev/names"},
                                          Obstacle{Barrier::kNoRight, "/dev/names"},
                                          Obstacle{Barrier::kNoRight, "/dev/mine"},
                                          Obstacle{Barrier::kWriteOnly, "/dev/reset"}));
}

TEST_F(AccessCheckTest, ReportsFilesThatOpenButCannotBeRead) {
  // Reading /proc/self/mem fails at address 0.
  const Obstacle memory = CheckAccess(HostRoot("/"), "/proc/self/mem");
  EXPECT_EQ(memory.barrier, Barrier::kFailure);
  EXPECT_THAT(memory.path, testing::EndsWith("/mem"));
}

}  // namespace
}  // namespace patchbay
