#include <gmock/gmock.h>

#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::Ids;
using test::PathMatch;
using test::Paths;
using test::Rejected;
using test::Resource;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class PathSourceTest : public testing::Test {
 protected:
  Discovery Find(MatchSpec match) const {
    return Discover(Resource({std::move(match)}), host_, "node-1");
  }
  Discovery Find(std::string_view glob) const { return Find(PathMatch({glob}, NodeType::kFile)); }

  test::TempTree tree_;
  HostRoot host_{tree_.path()};
};

TEST_F(PathSourceTest, FindsPathsThatMatchTheGlob) {
  const std::vector<std::string> files = {"/dev/ttyUSB0",
                                          "/dev/ttyUSB1",
                                          "/dev/ttyUSB10",
                                          "/dev/ttyACM0",
                                          "/dev/.hidden",
                                          "/dev/a b",
                                          "/dev/{odd}",
                                          "/dev/star*",
                                          "/dev/back\\slash",
                                          "/dev/[x]",
                                          "/dev/snd/pcm0",
                                          "/dev/snd/pcm1",
                                          "/dev/snd/.dot",
                                          "/dev/snd/by/p",
                                          "/dev/bus/usb/1/1",
                                          "/dev/bus/usb/1/2",
                                          "/dev/bus/usb/2/1",
                                          "/dev/.secret/x",
                                          "/dev/.secret/y/x",
                                          "/dev/a/b/c/d/e/x",
                                          "/dev/a/x",
                                          "/top",
                                          "/dev/a/.h/x",
                                          "/dev/ü",
                                          "/dev/" + std::string(255, 'n')};
  for (const std::string& file : files) tree_.File(file);

  const std::string_view globs[] = {
      "/dev/ttyUSB0",
      "/dev/ttyUSB*",
      "/dev/ttyUSB?",
      "/dev/ttyUSB??",
      "/dev/tty[A-U]*0",
      "/dev/tty[!U]*",
      "/dev/tty[^U]*",
      "/dev/tty{USB,ACM}0",
      "/dev/{ttyUSB{0,1},snd/pcm*}",
      "/dev/{ttyUSB*,tty*}",
      "/dev/{,snd/}pcm0",
      "/dev/*",
      "/dev/.*",
      "/dev/\\*",
      "/dev/star\\*",
      "/dev/\\{odd\\}",
      "/dev/back\\\\slash",
      "/dev/\\[x\\]",
      "/dev/[[]x]",
      "/dev/[[:alpha:]][[:blank:]]b",
      "/dev/*/*",
      "/dev/snd/*",
      "/dev/bus/usb/*/1",
      "/dev/bus/*/[12]/*",
      "/dev/**",
      "/dev/**/x",
      "/dev/**/*/x",
      "/dev/**/usb/**",
      "/dev/**/**/x",
      "/**",
      "/**/pcm*",
      "/*",
      "/top",
      "//dev///ttyUSB0",
      "/dev/.secret/*",
      "/dev/.secret/**/x",
      "/dev/*/x",
      "/dev/a/**/x",
      "/dev/none",
      "/dev/none/*",
      "/dev/ttyUSB0/*",
      "/dev/n*",
      "/none/**",
  };
  for (const std::string_view text : globs) {
    const Glob glob = Glob::Compile(text).value();
    std::vector<std::string> expected;
    std::copy_if(files.begin(), files.end(), std::back_inserter(expected),
                 [&](const std::string& file) { return glob.Matches(file); });
    std::sort(expected.begin(), expected.end());
    const Discovery found = Find(text);
    EXPECT_EQ(Paths(found), expected) << text;
    EXPECT_THAT(found.rejected, IsEmpty()) << text;
    EXPECT_TRUE(found.complete) << text;
  }
  // Compares the walk with an independent result.
  EXPECT_THAT(Paths(Find("/dev/**/x")), ElementsAre("/dev/a/b/c/d/e/x", "/dev/a/x"));
  EXPECT_THAT(Paths(Find("/dev/tty{USB,ACM}0")), ElementsAre("/dev/ttyACM0", "/dev/ttyUSB0"));
  EXPECT_THAT(Paths(Find("/dev/{,snd/}pcm0")), ElementsAre("/dev/snd/pcm0"));
  EXPECT_THAT(Paths(Find("/dev/bus/*/[12]/*")), SizeIs(3));
}

TEST_F(PathSourceTest, IdContainsTheVariableDirectories) {
  tree_.File("dev/snd/a");
  tree_.File("dev/dri/a");
  EXPECT_THAT(Ids(Find("/dev/snd/*")), ElementsAre("a"));
  EXPECT_THAT(Ids(Find("/dev/snd/a")), ElementsAre("a"));
  EXPECT_THAT(Ids(Find("/dev/*/a")), ElementsAre("dri:a", "snd:a"));
  EXPECT_THAT(Ids(Find("/dev/{snd,dri}/a")), ElementsAre("dri:a", "snd:a"));
  EXPECT_THAT(Ids(Find("/dev/**")), ElementsAre("dri:a", "snd:a"));
  EXPECT_THAT(Ids(Find("/**")), ElementsAre("dev:dri:a", "dev:snd:a"));
}

TEST_F(PathSourceTest, WatchesTheDeepestDirectoryAndFindsNewNodes) {
  struct Step {
    std::string_view make;
    std::string_view watched;  ///< the deepest directory
    std::vector<std::string> paths;
  };
  const Step steps[] = {
      {"", "/", {}},
      {"dev", "/dev", {}},
      {"dev/snd", "/dev/snd", {}},
      {"dev/snd/card0", "/dev/snd/card0", {}},
      {"dev/snd/card0/pcm0", "/dev/snd/card0", {"/dev/snd/card0/pcm0"}},
  };
  for (const std::string_view glob :
       {"/dev/snd/card*/pcm*", "/dev/snd/card0/pcm0", "/dev/{snd,sound}/card0/pcm*"}) {
    tree_.Remove("dev");
    for (const Step& step : steps) {
      step.make.ends_with("pcm0") ? tree_.File(step.make) : tree_.Dir(step.make);
      const Discovery found = Find(glob);
      EXPECT_EQ(Paths(found), step.paths) << glob << " with " << step.make;
      ASSERT_THAT(found.directories, Not(IsEmpty()));
      EXPECT_EQ(*found.directories.rbegin(), step.watched) << glob << " with " << step.make;
      EXPECT_TRUE(found.complete);
    }
  }
}

TEST_F(PathSourceTest, WatchesEveryDirectoryThatCanHoldMatches) {
  tree_.Dir("dev/snd/by-id");
  tree_.Dir("dev/dri");
  tree_.Dir("dev/.hidden");
  EXPECT_THAT(Find("/dev/**/x").directories,
              ElementsAre("/dev", "/dev/dri", "/dev/snd", "/dev/snd/by-id"));
  EXPECT_THAT(Find("/dev/*/x").directories, ElementsAre("/dev", "/dev/dri", "/dev/snd"));
}

TEST_F(PathSourceTest, FollowsLinksToDirectoriesExceptForDoubleStar) {
  tree_.File("srv/real/x");
  tree_.Link("dev/link", "/srv/real");
  tree_.Link("dev/loop", "loop");
  tree_.Link("dev/up", "..");
  const Discovery star = Find("/dev/*/x");
  EXPECT_THAT(Paths(star), ElementsAre("/dev/link/x"));
  EXPECT_EQ(star.devices.front().nodes.front().real_path, "/srv/real/x");
  EXPECT_THAT(star.directories, Contains("/dev"));
  EXPECT_THAT(star.directories, Contains("/srv/real"));
  EXPECT_THAT(Paths(Find("/dev/link/x")), ElementsAre("/dev/link/x"));
  EXPECT_THAT(Paths(Find("/dev/up/dev/link/*")), ElementsAre("/dev/up/dev/link/x"));
  EXPECT_THAT(Paths(Find("/dev/**/x")), IsEmpty());
}

TEST_F(PathSourceTest, WatchesTheLinkToItsDirectory) {
  tree_.File("srv/x");
  tree_.Link("devices", "/srv");
  EXPECT_THAT(Find("/devices/x*").directories, ElementsAre("/", "/srv"));
}

TEST_F(PathSourceTest, FollowsLinksToNodes) {
  tree_.File("dev/ttyUSB0");
  tree_.Link("dev/serial/by-id/usb-A", "../../ttyUSB0");
  tree_.Link("dev/serial/by-id/usb-B", "/dev/ttyUSB1");
  const Discovery before = Find("/dev/serial/by-id/*");
  EXPECT_THAT(Ids(before), ElementsAre("usb-A"));
  EXPECT_EQ(before.devices.front().nodes.front().path, "/dev/serial/by-id/usb-A");
  EXPECT_EQ(before.devices.front().nodes.front().real_path, "/dev/ttyUSB0");
  EXPECT_THAT(Rejected(before.rejected), ElementsAre("dangling_link /dev/serial/by-id/usb-B"));
  EXPECT_THAT(before.directories, Contains("/dev")) << "the node can be replaced there";

  tree_.File("dev/ttyUSB1");
  const Discovery after = Find("/dev/serial/by-id/*");
  EXPECT_THAT(Ids(after), ElementsAre("usb-A", "usb-B"));
  EXPECT_EQ(after.devices.back().nodes.front().real_path, "/dev/ttyUSB1");
  EXPECT_THAT(after.rejected, IsEmpty());
}

TEST_F(PathSourceTest, ReportsPathsOfSeveralPatternsOnce) {
  tree_.File("dev/a");
  tree_.Link("dev/b", "nowhere");
  const Discovery found =
      Find(PathMatch({"/dev/{a,b}", "/dev/*", "/dev/[ab]", "/**"}, NodeType::kFile));
  EXPECT_THAT(Ids(found), ElementsAre("a"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("dangling_link /dev/b"));
}

TEST_F(PathSourceTest, LimitsTheDepthOfDoubleStar) {
  std::string path = "dev";
  for (int i = 0; i < 20; ++i) {
    path += "/d";
    tree_.File(path + "/node");
  }
  EXPECT_THAT(Find("/dev/**/node").devices, SizeIs(16));
  EXPECT_THAT(Find("/" + path + "/node").devices, SizeIs(1)) << "a literal path can be deeper";
}

TEST_F(PathSourceTest, GivesHostileNamesValidIds) {
  tree_.File("dev/a b");
  tree_.File("dev/a_b");
  tree_.File("dev/a\nb");
  tree_.File("dev/a\x01\x7f");
  tree_.File("dev/$(reboot)");
  tree_.File("dev/a\xff");
  tree_.File("dev/b\xc3");
  tree_.File("dev/" + std::string(255, 'z'));
  tree_.File("dev/" + std::string(254, 'z') + "y");
  const Discovery found = Find("/dev/*");
  EXPECT_THAT(found.devices, SizeIs(7));
  for (const Device& device : found.devices) EXPECT_TRUE(test::IsLegalId(device.id)) << device.id;
  EXPECT_THAT(Ids(found), Contains("a_b"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("bad_name /dev/a\xff", "bad_name /dev/b\xc3"));
}

TEST_F(PathSourceTest, IgnoresLinkLoops) {
  tree_.File("dev/good/x");
  tree_.Link("dev/loop", "loop");
  const Discovery found = Find(PathMatch({"/dev/loop/*", "/dev/*/x"}, NodeType::kFile));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/good/x"));
  EXPECT_TRUE(found.complete);
}

}  // namespace
}  // namespace patchbay
