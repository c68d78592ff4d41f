// `exclude` applies to a node by any of its names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/format.h"
#include "specs.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::Ids;
using test::PathMatch;
using test::RegexMatch;
using test::Without;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class ExclusionTest : public testing::Test {
 protected:
  ExclusionTest() {
    for (const char* disk : {"nvme0n1", "nvme1n1", "nvme2n1"}) {
      tree_.File(std::string("dev/") + disk);
    }
    tree_.Link("dev/disk/by-id/nvme-SYSTEM", "../../nvme0n1");
    tree_.Link("dev/disk/by-id/nvme-DATA", "../../nvme1n1");
    tree_.Link("dev/disk/by-path/pci-1", "../../nvme0n1");
  }

  Discovery Look(const MatchSpec& match) const {
    return Discover(test::Resource({match}), HostRoot(tree_.path()),
                    ScanRequest{.node_name = "node", .report = true});
  }
  std::vector<std::string> Disks(std::string_view exclude) const {
    return Ids(Look(Without(PathMatch({"/dev/nvme*n1"}, NodeType::kAny), exclude)));
  }
  /// Returns why a path is excluded.
  std::vector<std::string> Drops(const MatchSpec& match) const {
    std::vector<std::string> drops;
    const Discovery found = Look(match);
    for (const auto& drop : found.reports.at(0).drops) {
      EXPECT_EQ(drop.reason, DropReason::kExcluded);
      drops.push_back(drop.paths.at(0) + ": " + drop.detail);
    }
    return drops;
  }

  test::TempTree tree_;
};

TEST_F(ExclusionTest, LinkExcludesItsTarget) {
  EXPECT_THAT(Disks("/dev/disk/by-id/nvme-SYSTEM"), ElementsAre("nvme1n1", "nvme2n1"));
  EXPECT_THAT(Disks("/dev/disk/by-id/nvme-SYS*"), ElementsAre("nvme1n1", "nvme2n1"));
  EXPECT_THAT(Disks("/dev/disk/*/nvme-{SYSTEM,DATA}"), ElementsAre("nvme2n1"));
  EXPECT_THAT(Disks("/dev/disk/**"), ElementsAre("nvme2n1"));
  EXPECT_THAT(Disks("/dev/nvme[12]n1"), ElementsAre("nvme0n1"));
}

/// Like a link by file system UUID, which a USB stick can copy: the link then points to that stick.
TEST_F(ExclusionTest, RetargetedLinkStillExcludesTheOriginalDevice) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.CharDevice("dev/sda1", 8, 1);
  tree_.CharDevice("dev/sdb1", 8, 17);
  tree_.File("run/udev/data/c8:1", "S:disk/by-uuid/ROOT\n");
  tree_.File("run/udev/data/c8:17", "S:disk/by-uuid/ROOT\n");
  tree_.Link("dev/disk/by-uuid/ROOT", "../../sdb1");
  EXPECT_THAT(Ids(Look(Without(PathMatch({"/dev/sd*"}), "/dev/disk/by-uuid/ROOT"))), IsEmpty());
}

TEST_F(ExclusionTest, UnreadablePatternExcludesEverything) {
  tree_.Link("dev/error", std::string(300, 'x'));  // longer than NAME_MAX
  EXPECT_THAT(Disks("/dev/error/SYSTEM"), IsEmpty());
  EXPECT_THAT(Disks("/dev/error/*"), IsEmpty());
  EXPECT_THAT(Disks("/dev/error"), IsEmpty());
  EXPECT_THAT(Drops(Without(PathMatch({"/dev/nvme0n1"}, NodeType::kAny), "/dev/error/SYSTEM")),
              ElementsAre("/dev/nvme0n1: /dev/error/SYSTEM, which may exclude it, cannot be looked "
                          "up now"));
}

TEST_F(ExclusionTest, EachLinkOfAChainExcludes) {
  tree_.Link("dev/root", "disk/by-id/nvme-SYSTEM");
  tree_.Link("srv/never/system", "/dev/root");
  for (const char* exclude : {"/dev/root", "/srv/never/system", "/srv/never/*"}) {
    EXPECT_THAT(Disks(exclude), ElementsAre("nvme1n1", "nvme2n1")) << exclude;
  }
}

TEST_F(ExclusionTest, FollowsLinksToDirectories) {
  tree_.Link("dev/links", "disk/by-id");
  EXPECT_THAT(Disks("/dev/links/nvme-SYSTEM"), ElementsAre("nvme1n1", "nvme2n1"));
  tree_.Dir("srv/data1");
  tree_.Dir("srv/data2");
  tree_.Link("srv/current", "data1");
  EXPECT_THAT(Ids(Look(Without(PathMatch({"/srv/data*"}, NodeType::kDirectory), "/srv/current"))),
              ElementsAre("data2"));
}

TEST_F(ExclusionTest, ExcludesMatchedLinksByNodeAndByOtherLinks) {
  const MatchSpec links = PathMatch({"/dev/disk/by-id/*"}, NodeType::kAny);
  for (const char* exclude : {"/dev/nvme0n1", "/dev/disk/by-path/pci-1", "/dev/disk/by-path/*"}) {
    EXPECT_THAT(Ids(Look(Without(links, exclude))), ElementsAre("nvme-DATA")) << exclude;
  }
  const MatchSpec regex = RegexMatch("/dev/disk/by-id/.+", NodeType::kAny);
  EXPECT_THAT(Ids(Look(Without(regex, "/dev/disk/by-path/pci-1"))), ElementsAre("nvme-DATA"));
}

TEST_F(ExclusionTest, DanglingOrMissingLinkExcludesNothing) {
  tree_.Link("dev/disk/by-id/nvme-GONE", "../../nvme7n1");
  for (const char* exclude : {"/dev/disk/by-id/nvme-GONE", "/dev/disk/by-id/nvme-OTHER",
                              "/run/disks/*", "/dev/nvme0n1/below"}) {
    EXPECT_THAT(Disks(exclude), ElementsAre("nvme0n1", "nvme1n1", "nvme2n1")) << exclude;
  }
}

TEST_F(ExclusionTest, WatchesWhereALinkMayAppearOrBeRetargeted) {
  const auto watched = [&](std::string_view exclude) {
    return Look(Without(PathMatch({"/dev/nvme*n1"}, NodeType::kAny), exclude)).directories;
  };
  EXPECT_THAT(watched("/dev/disk/by-id/nvme-SYSTEM"), Contains("/dev/disk/by-id"));
  EXPECT_THAT(watched("/dev/disk/by-id/*"), Contains("/dev/disk/by-id"));
  EXPECT_THAT(watched("/dev/disk/by-uuid/1234"), Contains("/dev/disk"));
  tree_.Link("srv/system", "/dev/disk/by-id/nvme-SYSTEM");
  EXPECT_THAT(watched("/srv/system"), Contains("/dev/disk/by-id"));
}

// "/**/x" still matches the path of the node, but the host is not searched for links.
TEST_F(ExclusionTest, UnrootedPatternIsComparedOnlyWithPaths) {
  EXPECT_THAT(Disks("/**/nvme0*"), ElementsAre("nvme1n1", "nvme2n1"));
  const MatchSpec match = Without(PathMatch({"/dev/nvme*n1"}, NodeType::kAny), "/*/**/nvme-SYSTEM");
  EXPECT_THAT(Look(match).directories, ElementsAre("/dev"));
  EXPECT_THAT(Ids(Look(Without(PathMatch({"/dev/disk/by-id/*"}, NodeType::kAny), "/**/nvme0n1"))),
              ElementsAre("nvme-DATA"));
}

TEST_F(ExclusionTest, ReportNamesThePatternAndTheLink) {
  const MatchSpec nodes = PathMatch({"/dev/nvme0n1"}, NodeType::kAny);
  EXPECT_THAT(Drops(Without(nodes, "/dev/nvme?n1")),
              ElementsAre("/dev/nvme0n1: it is excluded by /dev/nvme?n1"));
  EXPECT_THAT(Drops(Without(nodes, "/dev/disk/by-id/nvme-SYSTEM")),
              ElementsAre("/dev/nvme0n1: it is excluded by /dev/disk/by-id/nvme-SYSTEM, a link to "
                          "the same node"));
  EXPECT_THAT(Drops(Without(nodes, "/dev/disk/by-id/*")),
              ElementsAre("/dev/nvme0n1: it is excluded by /dev/disk/by-id/*, as "
                          "/dev/disk/by-id/nvme-SYSTEM is a link to the same node"));
  EXPECT_THAT(
      Drops(Without(PathMatch({"/dev/disk/by-path/*"}, NodeType::kAny), "/dev/nvme0n1")),
      ElementsAre("/dev/disk/by-path/pci-1: it is a link to /dev/nvme0n1, which is excluded by "
                  "/dev/nvme0n1"));
}

TEST_F(ExclusionTest, ReportNamesOnlyPatternsThatMatchNothing) {
  const auto problems = [&](std::string_view exclude) {
    std::vector<std::string> texts;
    const auto discovery = Look(Without(PathMatch({"/dev/nvme*n1"}, NodeType::kAny), exclude));
    EXPECT_TRUE(discovery.complete);
    for (const auto& look : discovery.reports.at(0).scanned) {
      if (look.place != "/dev/") texts.push_back(look.problem);
    }
    return texts;
  };
  EXPECT_THAT(problems("/dev/disk/by-id/nvme-OTHER"),
              ElementsAre(testing::StartsWith("/dev/disk/by-id/nvme-OTHER: it excludes nothing")));
  EXPECT_THAT(problems("/dev/disk/by-id/nvme-*"), IsEmpty());
  EXPECT_THAT(problems("/dev/nvme0n1"), IsEmpty());
}

/// Disks whose partitions are links and nodes of their own, with and without sysfs.
class PartitionExclusionTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    unsigned minor = 0;
    for (const std::string disk : {"sda", "sdb"}) {
      Device(disk, "/sys/devices/pci0/" + disk, "disk", minor++);
      Device(disk + "1", Format("/sys/devices/pci0/{0}/{0}1", disk), "partition", minor++);
      tree_.Link("dev/disk/by-id/ata-" + disk, "../../" + disk);
      tree_.Link("dev/disk/by-id/ata-" + disk + "-part1", "../../" + disk + "1");
    }
    tree_.Link("dev/disk/by-label/ROOT", "../../sda1");
  }
  void Device(const std::string& name, const std::string& path, const char* type, unsigned minor) {
    const std::string number = Format("8:{}", minor);
    if (GetParam()) {
      sysfs_.Device(path, {.subsystem = "block", .devtype = type, .number = number});
    } else {
      tree_.BlockDevice("dev/" + name, 8, minor);
    }
  }
  std::vector<std::string> Found(std::string_view path, std::string_view exclude) const {
    return Ids(Discover(test::Resource({Without(PathMatch({path}), exclude)}),
                        HostRoot(tree_.path()), "node"));
  }

  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};
INSTANTIATE_TEST_SUITE_P(Sysfs, PartitionExclusionTest, testing::Bool());

TEST_P(PartitionExclusionTest, PartitionExcludesItsDisk) {
  for (const char* exclude : {"/dev/sda1", "/dev/disk/by-label/ROOT", "/dev/disk/by-label/*",
                              "/dev/disk/by-id/ata-sda-part1", "/dev/disk/by-id/ata-sda-part*"}) {
    EXPECT_THAT(Found("/dev/sd?", exclude), ElementsAre("sdb")) << exclude;
    EXPECT_THAT(Found("/dev/disk/by-id/ata-*", exclude), ElementsAre("ata-sdb", "ata-sdb-part1"))
        << exclude;
  }
  EXPECT_THAT(Found("/dev/sd*", "/dev/sda[0-9]"), ElementsAre("sdb", "sdb1"));
  EXPECT_THAT(Found("/dev/sd?", "/dev/disk/by-id/ata-sda"), ElementsAre("sdb"));
}

TEST_P(PartitionExclusionTest, DiskExcludesItsPartitions) {
  if (!GetParam()) GTEST_SKIP() << "only sysfs has the disk of a partition";
  for (const char* exclude : {"/dev/sda", "/dev/disk/by-id/ata-sda"}) {
    EXPECT_THAT(Found("/dev/sd*", exclude), ElementsAre("sdb", "sdb1")) << exclude;
    EXPECT_THAT(Found("/dev/sd*[0-9]", exclude), ElementsAre("sdb1")) << exclude;
  }
  EXPECT_THAT(Found("/dev/sd*", "/dev/sd?"), ElementsAre("sda1", "sdb1"));
}

TEST_P(PartitionExclusionTest, FilterForWhatThePatternFindsKeepsDisks) {
  EXPECT_THAT(Found("/dev/disk/by-id/ata-*", "/dev/disk/by-id/*-part*"),
              ElementsAre("ata-sda", "ata-sdb"));
  EXPECT_THAT(Found("/dev/sd*", "/dev/sd*[0-9]"), ElementsAre("sda", "sdb"));
  // The pattern does not match the label.
  EXPECT_THAT(Found("/dev/sd*", "/dev/disk/**/ROOT"), ElementsAre("sdb", "sdb1"));
}

TEST_P(PartitionExclusionTest, LinkThatUdevRequestedForAPartitionExcludesItsDisk) {
  if (!GetParam()) GTEST_SKIP() << "the database of udev needs sysfs";
  tree_.Remove("dev/disk/by-label/ROOT");
  tree_.Link("dev/disk/by-label/ROOT", "../../sdb1");
  tree_.File("run/udev/data/b8:1", "S:disk/by-label/ROOT\n");
  EXPECT_THAT(Found("/dev/sd?", "/dev/disk/by-label/ROOT"), IsEmpty());
}

TEST_F(ExclusionTest, ReportsGlobsThatExcludeNothing) {
  const auto unused = [&](std::vector<std::string_view> globs, NodeType type = NodeType::kFile) {
    MatchSpec match = PathMatch({"/dev/nvme*n1"}, type);
    for (const std::string_view glob : globs) match = Without(match, glob);
    std::vector<std::string> texts;
    for (const UnusedExclude& exclude : Look(match).unused_excludes) texts.push_back(exclude.what);
    return texts;
  };
  EXPECT_THAT(unused({"/dev/disk/by-id/nvme-SYSTEM", "/dev/nvme1*"}), IsEmpty());
  EXPECT_THAT(unused({"/dev/disk/by-id/nvme-SYSTEMS", "/dev/nvme1n1", "/dev/disk/by-label/*"}),
              ElementsAre("/dev/disk/by-id/nvme-SYSTEMS", "/dev/disk/by-label/*"));
  // The match finds neither: a directory, and a file that exists.
  EXPECT_THAT(unused({"/dev/disk/by-id"}), ElementsAre("/dev/disk/by-id"));
  tree_.File("dev/nvme0");
  EXPECT_THAT(unused({"/dev/nvme0"}), ElementsAre("/dev/nvme0"));
  // These are names of one node.
  EXPECT_THAT(unused({"/dev/nvme0n1", "/dev/disk/by-id/nvme-SYSTEM", "/dev/nvme0*", "/**/nvme0n1"}),
              IsEmpty());
  EXPECT_THAT(unused({"/dev/disk/by-id/{nvme-SYSTEM,nvme-SYSTEMS}", "/dev/{nvme1,nvme9}*"}),
              ElementsAre("/dev/disk/by-id/nvme-SYSTEMS"));
  EXPECT_THAT(unused({"/**/nvme2*", "/**/other"}), ElementsAre("/**/other"));
}

TEST_F(ExclusionTest, RequiredExcludeWithholdsTheMatchUntilItIsFound) {
  MatchSpec match =
      Without(PathMatch({"/dev/nvme*n1"}, NodeType::kFile), "/dev/disk/by-label/ROOT");
  EXPECT_THAT(Ids(Look(match)), testing::SizeIs(3));
  match.exclude_required = true;
  const Discovery none = Look(match);
  EXPECT_THAT(Ids(none), IsEmpty());
  EXPECT_THAT(test::Rejected(none.rejected), Contains("missing_exclude /dev/nvme0n1"));
  EXPECT_THAT(
      none.rejected.front().detail,
      testing::HasSubstr("/dev/disk/by-label/ROOT excludes no device of the match on this node"));
  tree_.Link("dev/disk/by-label/ROOT", "../../nvme0n1");
  EXPECT_THAT(Ids(Look(match)), ElementsAre("nvme1n1", "nvme2n1"));
}

}  // namespace
}  // namespace patchbay
