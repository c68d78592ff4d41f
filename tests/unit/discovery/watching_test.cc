// The directories whose changes can change the result of a scan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "specs.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::Ids;
using test::PathMatch;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class WatchingTest : public testing::Test {
 protected:
  std::set<std::string> Watched(const MatchSpec& match) const {
    return Discover(test::Resource({match}), HostRoot(tree_.path()), "").directories;
  }
  std::set<std::string> Watched(std::string_view glob) const {
    return Watched(PathMatch({glob}, NodeType::kAny));
  }

  test::TempTree tree_;
};

TEST_F(WatchingTest, WatchesEachLinkOfAChain) {
  tree_.File("dev/node");
  tree_.Link("dev/c/last", "../node");
  tree_.Link("dev/b/middle", "/dev/c/last");
  tree_.Link("dev/a/first", "../b/middle");
  EXPECT_THAT(Watched("/dev/a/*"), ElementsAre("/dev", "/dev/a", "/dev/b", "/dev/c"));
  EXPECT_THAT(Watched("/dev/a/first"), ElementsAre("/dev", "/dev/a", "/dev/b", "/dev/c"));
}

TEST_F(WatchingTest, WatchesWhereAMissingTargetMayAppear) {
  tree_.Link("dev/by-id/a", "../node");
  EXPECT_THAT(Watched("/dev/by-id/*"), ElementsAre("/dev", "/dev/by-id"));
  tree_.Link("dev/by-id/b", "/srv/cards/node");
  EXPECT_THAT(Watched("/dev/by-id/b"), ElementsAre("/", "/dev", "/dev/by-id"));
  tree_.Dir("srv/cards");
  EXPECT_THAT(Watched("/dev/by-id/b"), ElementsAre("/dev", "/dev/by-id", "/srv/cards"));
}

TEST_F(WatchingTest, WatchesLinksToDirectories) {
  tree_.File("srv/real/node");
  tree_.Link("opt/second", "/srv/real");
  tree_.Link("dev/first", "/opt/second");
  EXPECT_THAT(Watched("/dev/first/*"), ElementsAre("/dev", "/opt", "/srv/real"));
  tree_.Link("links/node", "/dev/first/node");
  EXPECT_THAT(Watched("/links/*"), ElementsAre("/dev", "/links", "/opt", "/srv/real"));
}

TEST_F(WatchingTest, TerminatesOnLinkLoops) {
  tree_.Link("dev/self", "self");
  tree_.Link("dev/a", "b/x");
  tree_.Link("dev/b", "a/y");
  EXPECT_THAT(Watched("/dev/{self,a,b}"), ElementsAre("/dev"));
  // Each level is a link next to its directory, so that the number of paths is exponential.
  std::string path, real;
  for (int level = 0; level < 30; ++level) {
    tree_.Dir(real + "/real");
    tree_.Link(real + "/link", "real");
    path += "/link";
    real += "/real";
  }
  tree_.File(real + "/node");
  const auto watched = Watched(path + "/*");
  EXPECT_EQ(watched.size(), 31U);
  EXPECT_THAT(watched, Contains(real));
}

TEST_F(WatchingTest, WatchesTheUdevDatabaseForSysfsMatches) {
  MatchSpec usb, path = PathMatch({"/dev/tty*"});
  usb.source = UsbPattern{{{0x0403, std::nullopt}}};
  EXPECT_THAT(Watched(usb), ElementsAre("/"));
  EXPECT_THAT(Watched(path), ElementsAre("/"));
  tree_.Dir("run/udev/data");
  EXPECT_THAT(Watched(usb), ElementsAre("/run/udev/data"));
  EXPECT_THAT(Watched(path), ElementsAre("/"));
  path.conditions.usb = UsbPattern{{{0x0403, std::nullopt}}};
  EXPECT_THAT(Watched(path), ElementsAre("/", "/run/udev/data"));
}

/// A host with one USB device that has more descendants than a scan reads.
class SysfsScanTest : public WatchingTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    sysfs_.Device(kStick, {.subsystem = "usb",
                           .driver = "usb",
                           .devtype = "usb_device",
                           .number = "189:1",
                           .node = "bus/usb/001/002",
                           .attributes = {{"idVendor", "0403"}, {"idProduct", "6001"}}});
  }
  static MatchSpec Usb(std::optional<std::uint16_t> vendor, std::optional<std::uint16_t> product) {
    MatchSpec match;
    match.source = UsbPattern{{{vendor, product}}};
    return match;
  }
  Discovery Find(std::vector<MatchSpec> matches) const {
    return Discover(test::Resource(std::move(matches)), HostRoot(tree_.path()), "");
  }

  static inline const std::string kStick = "/sys/devices/pci0000:00/usb1/1-1";
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(SysfsScanTest, FirstMatchKeepsADevice) {
  const Discovery found = Find({Usb(0x0403, {}), Usb({}, 0x6001)});
  EXPECT_THAT(Ids(found), ElementsAre("0403:6001@1-1"));
  EXPECT_THAT(found.rejected, IsEmpty());
  // Conditions that no device meets add nothing.
  MatchSpec ttys = Usb(0x0403, {});
  ttys.conditions.udev = UdevPattern{{NamePattern::Compile("tty").value()}, {}, {}, {}};
  MatchSpec udev;
  udev.source = UdevPattern{{NamePattern::Compile("usb").value()}, {}, {}, {}};
  EXPECT_THAT(Ids(Find({ttys, udev, Usb(0x0403, {})})), ElementsAre("0403:6001@1-1"));
}

TEST_F(SysfsScanTest, RejectsADeviceWithTooManyLevels) {
  std::string path = kStick;
  for (int level = 0; level <= Sysfs::kMaxLevels; ++level) tree_.Dir(path += "/x");
  const Discovery found = Find({Usb(0x0403, {})});
  EXPECT_THAT(Ids(found), ElementsAre("0403:6001@1-1"));
  EXPECT_THAT(test::Rejected(found.rejected), ElementsAre("unreadable " + kStick));
  EXPECT_FALSE(found.complete);
}

}  // namespace
}  // namespace patchbay
