#include "discovery/extra_nodes.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "specs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::MakeTemplate;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

/// Two devices, card1 and card2, for which containers get additional nodes.
class ExtraNodesTest : public testing::Test {
 protected:
  ExtraNodesTest() {
    tree_.CharDevice("dev/card1");
    tree_.CharDevice("dev/card2");
  }
  void NeedsNode(std::string_view host_path, bool optional = false) {
    DeviceNodeSpec node;
    node.host_path = MakeTemplate(host_path);
    node.optional = optional;
    spec_.device_nodes.push_back(std::move(node));
  }
  void NeedsMount(std::string_view host_path) {
    spec_.mounts.push_back({MakeTemplate(host_path), MakeTemplate("/in/container"), true});
  }
  Discovery ScanContext() const { return Discover(spec_, HostRoot(tree_.path()), "node-1"); }

  test::TempTree tree_;
  ResourceSpec spec_ = test::Resource({test::PathMatch({"/dev/card*"})});
};

TEST_F(ExtraNodesTest, NodesOfAMatchReplaceThoseOfTheResource) {
  tree_.CharDevice("dev/port1");
  spec_.matches.push_back(test::PathMatch({"/dev/port*"}));
  NeedsNode("/dev/control");
  DeviceNodeSpec& node = spec_.matches[1].device_nodes.emplace_back();
  node.host_path = MakeTemplate("/dev/switch");
  EXPECT_THAT(ScanContext().unusable, ElementsAre(Pair("card1", HasSubstr("/dev/control")),
                                                  Pair("card2", HasSubstr("/dev/control")),
                                                  Pair("port1", HasSubstr("/dev/switch"))));
}

TEST_F(ExtraNodesTest, ReportsAMissingNodeForEachDevice) {
  NeedsNode("/dev/control");
  const Discovery without = ScanContext();
  EXPECT_THAT(test::Ids(without), ElementsAre("card1", "card2"));
  EXPECT_THAT(without.unusable,
              ElementsAre(Pair("card1", HasSubstr("/dev/control of device_node is missing: ")),
                          Pair("card2", HasSubstr("set optional = true"))));
  tree_.CharDevice("dev/control");
  EXPECT_THAT(ScanContext().unusable, IsEmpty());
  tree_.Remove("dev/control");
  tree_.BlockDevice("dev/control", 7, 1);
  EXPECT_THAT(ScanContext().unusable, IsEmpty());
}

TEST_F(ExtraNodesTest, ReportsAMissingNodeOfOneDevice) {
  NeedsNode("/dev/control-{name}");
  tree_.CharDevice("dev/control-card2");
  EXPECT_THAT(ScanContext().unusable, ElementsAre(Pair("card1", HasSubstr("/dev/control-card1"))));
}

TEST_F(ExtraNodesTest, ReportsPathsThatAreNotDeviceNodes) {
  NeedsNode("/dev/control");
  tree_.Dir("dev/control");
  EXPECT_THAT(
      ScanContext().unusable,
      Contains(Pair("card1", "/dev/control of device_node is a directory, not a device node")));
  tree_.Remove("dev/control");
  tree_.Link("dev/control", "file");
  tree_.File("dev/file");
  EXPECT_THAT(ScanContext().unusable, Contains(Pair("card2", HasSubstr("not a device node"))));
  tree_.Remove("dev/control");
  tree_.Link("dev/control", "card1");
  EXPECT_THAT(ScanContext().unusable, IsEmpty());
  tree_.Remove("dev/control");
  tree_.Link("dev/control", "\xff");
  std::filesystem::rename(tree_.path("dev/card1"), tree_.path("dev/\xff"));
  EXPECT_THAT(ScanContext().unusable, Contains(Pair("card2", HasSubstr("not valid UTF-8"))));
}

TEST_F(ExtraNodesTest, IgnoresMissingOptionalNodes) {
  NeedsNode("/dev/control", true);
  EXPECT_THAT(ScanContext().unusable, IsEmpty());
}

TEST_F(ExtraNodesTest, RequiresTheNodeOfEveryReplica) {
  spec_.replicas = 3;
  NeedsNode("/dev/part{replica}-{name}");
  for (const char* node :
       {"part0-card1", "part1-card1", "part2-card1", "part0-card2", "part1-card2"}) {
    tree_.CharDevice(std::string("dev/") + node);
  }
  EXPECT_THAT(ScanContext().unusable, ElementsAre(Pair("card2", HasSubstr("/dev/part2-card2"))));
}

TEST_F(ExtraNodesTest, DoesNotCheckPathsThatDependOnTheContainer) {
  NeedsNode("/dev/slot{slot}");
  NeedsNode("/dev/index{index}");
  EXPECT_THAT(ScanContext().unusable, IsEmpty());
}

TEST_F(ExtraNodesTest, WatchesDirectoriesWhereANodeMayAppear) {
  NeedsNode("/dev/extra/control");
  EXPECT_THAT(ScanContext().directories, ElementsAre("/dev"));
  tree_.Link("dev/extra/control", "/srv/cards/control");
  EXPECT_THAT(ScanContext().directories, ElementsAre("/", "/dev", "/dev/extra"));
}

TEST_F(ExtraNodesTest, ReportsEachMissingMountOnce) {
  NeedsMount("/opt/firmware");
  NeedsMount("/srv/{name}");
  tree_.Dir("srv/card1");
  const Discovery found = ScanContext();
  EXPECT_THAT(found.unusable, IsEmpty());
  ASSERT_THAT(found.missing_mounts, testing::SizeIs(2));
  EXPECT_EQ(found.missing_mounts[0].path, "/opt/firmware");
  for (MountSpec& mount : spec_.mounts) mount.optional = true;
  EXPECT_THAT(ScanContext().missing_mounts, IsEmpty());
  for (MountSpec& mount : spec_.mounts) mount.optional = false;
  EXPECT_EQ(found.missing_mounts[1].path, "/srv/card2");
  EXPECT_THAT(found.missing_mounts[0].detail, HasSubstr("empty directory"));
  EXPECT_THAT(found.directories, Not(Contains("/srv"))) << "it is checked by the periodic scan";
  tree_.File("opt/firmware");
  tree_.Link("srv/card2", "card1");
  EXPECT_THAT(ScanContext().missing_mounts, IsEmpty());
}

}  // namespace
}  // namespace patchbay
