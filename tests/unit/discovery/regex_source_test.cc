#include <gmock/gmock.h>

#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::Ids;
using test::Paths;
using test::RegexMatch;
using test::Rejected;
using test::Resource;
using test::WithId;
using test::Without;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class RegexSourceTest : public testing::Test {
 protected:
  Discovery Find(MatchSpec match) const {
    return Discover(Resource({std::move(match)}), host_, "node-1");
  }
  Discovery Find(std::string_view pattern) const {
    return Find(RegexMatch(pattern, NodeType::kFile));
  }

  test::TempTree tree_;
  HostRoot host_{tree_.path()};
};

TEST_F(RegexSourceTest, MatchesWholePaths) {
  for (const char* path :
       {"dev/ttyUSB0", "dev/ttyUSB10", "dev/ttyUSB", "dev/xttyUSB0", "dev/ttyUSB0x", "dev/.ttyUSB0",
        "dev/dri/card0", "dev/dri/renderD128", "dev/dri/by-path/pci-card0", "b", "etc/card0"}) {
    tree_.File(path);
  }
  tree_.Dir("dev/ttyUSB7");
  struct Case {
    std::string_view pattern;
    std::vector<std::string> paths;
  };
  const Case cases[] = {
      {R"(/dev/ttyUSB\d+)", {"/dev/ttyUSB0", "/dev/ttyUSB10"}},
      {R"(/dev/ttyUSB\d*)", {"/dev/ttyUSB", "/dev/ttyUSB0", "/dev/ttyUSB10"}},
      {R"(/dev/.ttyUSB0)", {"/dev/.ttyUSB0", "/dev/xttyUSB0"}},
      {R"(/dev/(ttyUSB|dri/card)0)", {"/dev/dri/card0", "/dev/ttyUSB0"}},
      {R"(/dev/.*card0)", {"/dev/dri/by-path/pci-card0", "/dev/dri/card0"}},
      {R"(/dev/[^/]*/card0)", {"/dev/dri/card0"}},
      {R"(/(?i)DEV/TTYusb0)", {"/dev/ttyUSB0"}},
      {R"(/dev/dri/card0|/etc/card0)", {"/dev/dri/card0", "/etc/card0"}},
      // The second alternative cannot match an absolute path; the first must still match.
      {R"(/dev/dri/card0|b)", {"/dev/dri/card0"}},
      {R"(/?dev/dri/card0)", {"/dev/dri/card0"}},
      {R"(/dev(/[a-z]+)*/card0)", {"/dev/dri/card0"}},
      {R"(/dev/none/.*)", {}},
      {R"(/dev/ttyUSB0/.*)", {}},
  };
  for (const Case& c : cases) {
    const Discovery found = Find(c.pattern);
    EXPECT_EQ(Paths(found), c.paths) << c.pattern;
    EXPECT_TRUE(found.complete) << c.pattern;
    EXPECT_THAT(found.rejected, IsEmpty()) << c.pattern;
  }
}

TEST_F(RegexSourceTest, SetsCapturesOfTheDevice) {
  tree_.File("dev/xfpga/user.m3");
  tree_.File("dev/xfpga/mgmt.m3");
  const Discovery found = Find(WithId(
      RegexMatch(R"(/dev/xfpga/(?P<kind>\w+)\.m(?P<card>\d+))", NodeType::kFile), "{card}-{kind}"));
  EXPECT_THAT(Ids(found), ElementsAre("3-mgmt", "3-user"));
  EXPECT_EQ(found.devices.front().nodes.front().captures,
            (NamedValues{{"kind", "mgmt"}, {"card", "3"}}));
}

TEST_F(RegexSourceTest, OmitsGroupsThatDidNotParticipate) {
  tree_.File("dev/card0");
  tree_.File("dev/card1p2");
  tree_.File("dev/card2p");
  const MatchSpec match = RegexMatch(R"(/dev/card(?P<card>\d)(p(?P<part>\d?))?)", NodeType::kFile);
  const Discovery all = Find(match);
  ASSERT_THAT(Ids(all), ElementsAre("card0", "card1p2", "card2p"));
  EXPECT_EQ(all.devices[0].nodes.front().captures, (NamedValues{{"card", "0"}}));
  EXPECT_EQ(all.devices[1].nodes.front().captures, (NamedValues{{"card", "1"}, {"part", "2"}}));
  EXPECT_EQ(all.devices[2].nodes.front().captures, (NamedValues{{"card", "2"}, {"part", ""}}))
      << "empty, but present";

  const Discovery found = Find(WithId(match, "c{card}.{part}"));
  EXPECT_THAT(Ids(found), ElementsAre("c1.2", "c2."));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("missing_variable /dev/card0"));
  EXPECT_THAT(found.rejected.front().detail, testing::HasSubstr("\"part\""));
}

TEST_F(RegexSourceTest, IdContainsTheVariableDirectories) {
  tree_.File("dev/a/x0");
  tree_.File("dev/b/x0");
  EXPECT_THAT(Ids(Find(R"(/dev/[ab]/x\d)")), ElementsAre("a:x0", "b:x0"));
  EXPECT_THAT(Ids(Find(R"(/dev/a/x\d)")), ElementsAre("x0"));
}

TEST_F(RegexSourceTest, FollowsLinksToNodesButNotIntoDirectories) {
  tree_.File("dev/real/x0");
  tree_.File("dev/real/y");
  tree_.Link("dev/loop", ".");
  tree_.Link("dev/real/x1", "y");
  tree_.Link("dev/real/x2", "nowhere");
  const Discovery found = Find(Without(RegexMatch("/dev/.*x\\d", NodeType::kFile), "/dev/**/x0"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/real/x1"));
  EXPECT_EQ(found.devices.front().nodes.front().real_path, "/dev/real/y");
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("dangling_link /dev/real/x2"));
}

TEST_F(RegexSourceTest, WatchesTheDirectoriesItReads) {
  tree_.Dir("dev/snd/by-id");
  tree_.Dir("dev/dri");
  EXPECT_THAT(Find(R"(/dev/snd/pcm\d+)").directories, ElementsAre("/dev/snd"));
  EXPECT_THAT(Find(R"(/dev/snd/.*)").directories, ElementsAre("/dev/snd", "/dev/snd/by-id"));
  EXPECT_THAT(Find(R"(/dev/none/deep/x\d+)").directories, ElementsAre("/dev"));
}

TEST_F(RegexSourceTest, FollowsARetargetedLinkToItsDirectory) {
  tree_.File("srv/one/x0");
  tree_.File("srv/two/x1");
  tree_.Link("dev/things", "/srv/one");
  const Discovery before = Find(R"(/dev/things/x\d)");
  EXPECT_THAT(Paths(before), ElementsAre("/dev/things/x0"));
  EXPECT_EQ(before.devices.front().nodes.front().real_path, "/srv/one/x0");
  EXPECT_THAT(before.directories, ElementsAre("/dev", "/srv/one"));
  tree_.Remove("dev/things");
  tree_.Link("dev/things", "/srv/two");
  EXPECT_THAT(Paths(Find(R"(/dev/things/x\d)")), ElementsAre("/dev/things/x1"));
}

TEST_F(RegexSourceTest, LimitsTheDepth) {
  std::string path = "dev";
  for (int i = 0; i < Regex::kAnyDepth + 3; ++i) {
    path += "/d";
    tree_.File(path + "/node");
  }
  EXPECT_THAT(Find("/dev/.*/node").devices, SizeIs(Regex::kAnyDepth));
}

TEST_F(RegexSourceTest, GivesHostileNamesValidIds) {
  tree_.File("dev/a b");
  tree_.File("dev/a\nb");
  tree_.File("dev/a\xff");
  tree_.File("dev/" + std::string(255, 'z'));
  const Discovery found = Find(R"(/dev/(?s:(?P<rest>[^/]*)))");
  // A regex does not match bytes that are not UTF-8.
  EXPECT_THAT(found.devices, SizeIs(3));
  for (const Device& device : found.devices) EXPECT_TRUE(test::IsLegalId(device.id)) << device.id;
  EXPECT_THAT(Paths(found), Contains("/dev/a\nb"));
}

}  // namespace
}  // namespace patchbay
