// The messages of a scan about places that it could not read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "specs.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::Rejected;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class ReportTest : public testing::Test {
 protected:
  void SetUp() override { chmod(tree_.path().c_str(), 0711); }

  /// Scans as a user without permission to read everything.
  Discovery Find(std::vector<MatchSpec> matches, std::vector<std::string> wanted = {}) const {
    const bool is_root = geteuid() == 0;
    EXPECT_TRUE(!is_root || seteuid(65534) == 0);
    const ScanRequest request{.wanted = std::move(wanted), .report = true};
    Discovery found = Discover(test::Resource(std::move(matches)), HostRoot(tree_.path()), request);
    EXPECT_TRUE(!is_root || seteuid(0) == 0);
    return found;
  }
  static std::vector<std::string> Problems(const MatchReport& report) {
    std::vector<std::string> problems;
    for (const MatchReport::ScannedPlace& look : report.scanned) {
      if (!look.problem.empty()) problems.push_back(look.place);
    }
    return problems;
  }
  static MatchSpec Udev(std::string_view attribute) {
    MatchSpec match;
    match.source =
        UdevPattern{{}, {}, {}, {{std::string(attribute), {NamePattern::Compile("*").value()}}}};
    return match;
  }

  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(ReportTest, RejectsUnreadableSysfsDirectoriesTogether) {
  for (const std::string name : {"net", "tty", "misc"}) {
    sysfs_.Device("/sys/devices/virtual/" + name + "/a", {.subsystem = name});
  }
  chmod(tree_.path("/sys/class/net").c_str(), 0);
  chmod(tree_.path("/sys/class/tty").c_str(), 0);
  const Discovery found = Find({Udev("uevent"), Udev("uevent")});
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("unreadable /sys"));
  for (const MatchReport& report : found.reports) {
    EXPECT_THAT(Problems(report), UnorderedElementsAre("/sys/class/net", "/sys/class/tty"));
  }
  EXPECT_THAT(found.devices, SizeIs(1)) << "the scan continues";
  chmod(tree_.path("/sys/class/net").c_str(), 0755);
  chmod(tree_.path("/sys/class/tty").c_str(), 0755);
}

TEST_F(ReportTest, ReportsAnUnreadableAttributeOncePerMatch) {
  const std::string path = "/sys/devices/virtual/x/a";
  sysfs_.Device(path, {.subsystem = "x", .attributes = {{"key", "1"}}});
  sysfs_.Device(path + "/b", {.subsystem = "x"});
  chmod(tree_.path(path + "/key").c_str(), 0200);
  const Discovery found = Find({Udev("key"), Udev("key"), Udev("subsystem")});
  EXPECT_THAT(Problems(found.reports[0]), ElementsAre(path + "/key"));
  EXPECT_THAT(Problems(found.reports[1]), ElementsAre(path + "/key"));
  EXPECT_THAT(Problems(found.reports[2]), IsEmpty());
  EXPECT_THAT(found.reports[0].scanned[1].problem, HasSubstr("Permission denied"));
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(ReportTest, ReportsUnreadableDirectoriesBelowADevice) {
  const std::string stick = "/sys/devices/usb1/1-1";
  sysfs_.Device(stick, {.subsystem = "usb", .devtype = "usb_device"});
  tree_.Dir(stick + "/closed");
  tree_.Dir(stick + "/shut");
  for (const char* name : {"/closed", "/shut"}) chmod(tree_.path(stick + name).c_str(), 0);
  MatchSpec usb;
  usb.source = UsbPattern{};
  const Discovery found = Find({usb});
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("unreadable " + stick));
  EXPECT_THAT(Problems(found.reports[0]), UnorderedElementsAre(stick + "/closed", stick + "/shut"));
  for (const char* name : {"/closed", "/shut"}) chmod(tree_.path(stick + name).c_str(), 0755);
}

TEST_F(ReportTest, ReportsACommonRejectionToEveryMatch) {
  for (const char* directory : {"/sys/class", "/sys/bus"}) tree_.Remove(directory);
  const Discovery found = Find({Udev("a"), Udev("b")});
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("unreadable /sys"));
  for (const MatchReport& report : found.reports)
    EXPECT_THAT(Problems(report), ElementsAre("/sys"));
}

TEST_F(ReportTest, CountsRejectionsBeyondTheLimit) {
  constexpr std::size_t kMore = 7;
  for (std::size_t i = 0; i < ScanContext::kMaxRejections + kMore; ++i) {
    tree_.Link("dev/x" + std::to_string(i), "nowhere");
  }
  const MatchSpec match = test::PathMatch({"/dev/x*"}, NodeType::kAny);
  Discovery found = Find({match});
  EXPECT_THAT(found.rejected, SizeIs(ScanContext::kMaxRejections));
  EXPECT_THAT(found.reports[0].rejected, SizeIs(ScanContext::kMaxRejections));
  EXPECT_EQ(found.reports[0].left_out, kMore);

  // A requested path is in the report, regardless of its position in the directory.
  for (std::size_t i = 0; i < ScanContext::kMaxRejections + kMore; i += 200) {
    const std::string path = "/dev/x" + std::to_string(i);
    found = Find({match}, {path});
    EXPECT_THAT(found.reports[0].rejected,
                testing::Contains(testing::Field(&MatchReport::Item::paths, ElementsAre(path))));
    EXPECT_THAT(found.rejected, SizeIs(ScanContext::kMaxRejections));
  }
}

/// Returns "reason what" for each skipped path, in the order of the scan.
std::vector<std::string> Drops(const MatchReport& report) {
  std::vector<std::string> drops;
  for (const MatchReport::Drop& drop : report.drops) {
    drops.push_back(Format("{} {}", Name(drop.reason),
                           drop.id.empty() ? drop.paths.front() : drop.id + " " + drop.numbers));
  }
  return drops;
}

TEST_F(ReportTest, ReportsOnlyLiteralPathsAsMissing) {
  tree_.File("dev/a/file");
  tree_.Dir("dev/b/c");
  tree_.Link("dev/link", "a/file");
  const Discovery found = Find({test::PathMatch({"/dev/**/x"}, NodeType::kAny),
                                test::PathMatch({"/dev/*/by-id/*"}, NodeType::kAny),
                                test::PathMatch({"/dev/{a,b}/x", "/dev/y/z/*"}, NodeType::kAny),
                                test::PathMatch({"/dev/*/file/*", "/dev/link/*"}, NodeType::kAny)});
  const auto& reports = found.reports;
  EXPECT_THAT(Drops(reports[0]), IsEmpty()) << "one entry per directory would hide the rest";
  EXPECT_THAT(Problems(reports[1]), IsEmpty());
  EXPECT_THAT(Drops(reports[2]), ElementsAre("missing /dev/a/x", "missing /dev/b/x"));
  EXPECT_THAT(Problems(reports[2]), ElementsAre("/dev/y"));
  EXPECT_THAT(Problems(reports[3]), ElementsAre("/dev/link/")) << "other matches are not an error";
  EXPECT_EQ(reports[3].scanned.back().problem, "/dev/link is a regular file, not a directory");
}

TEST_F(ReportTest, ListsScannedDirectoriesAndPatterns) {
  tree_.File("dev/a1");
  tree_.File("dev/a2");
  tree_.File("dev/sub/a3");
  const auto kind = NodeType::kAny;
  const Discovery found =
      Find({test::PathMatch({"/dev/a*", "/dev/b*"}, kind), test::PathMatch({"/dev/**/a3"}, kind),
            test::RegexMatch("/dev/a[0-9]", kind), test::RegexMatch("/dev/(sub/)?a[0-9]", kind)});
  const auto looks = [&](std::size_t match) {
    std::vector<std::string> texts;
    for (const auto& look : found.reports[match].scanned) {
      texts.push_back(Format("{} {} {}/{}", look.place, look.pattern, look.matched, look.seen));
    }
    return texts;
  };
  EXPECT_THAT(looks(0), ElementsAre("/dev/ a* 2/3", "/dev/ b* 0/3"));
  EXPECT_THAT(looks(1), ElementsAre("/dev/ ** 3/3", "/dev/sub/ ** 1/1"));
  EXPECT_THAT(looks(2), ElementsAre("/dev/  2/3"));
  EXPECT_THAT(looks(3), ElementsAre("/dev/ ** 3/3", "/dev/sub/  1/1"));
}

TEST_F(ReportTest, SeparatesOtherVendorsFromNearMisses) {
  const auto usb = [&](const std::string& name, const std::string& vendor, const char* product) {
    sysfs_.Device("/sys/devices/usb1/" + name,
                  {.subsystem = "usb",
                   .devtype = "usb_device",
                   .attributes = {{"idVendor", vendor}, {"idProduct", product}, {"serial", "A1"}}});
  };
  usb("1-1", "1a86", "7523");
  usb("1-2", "0403", "6015");
  usb("1-3", "0403", "6001");
  sysfs_.Device("/sys/devices/usb1/1-3/1-3:1.0", {.subsystem = "usb", .devtype = "usb_interface"});
  sysfs_.Device("/sys/devices/pci0000:00/0000:00:01.0",
                {.subsystem = "pci", .attributes = {{"vendor", "0x8086"}, {"device", "0x1572"}}});
  MatchSpec ours, narrowed, pci;
  ours.source = narrowed.source = UsbPattern{{{0x0403, 0x6001}}};
  narrowed.conditions.udev = UdevPattern{{NamePattern::Compile("tty").value()}, {}, {}, {}};
  pci.source = PciPattern{{{0x10ee, std::nullopt}}};
  const Discovery found = Find({narrowed, ours, pci});
  const auto& reports = found.reports;
  EXPECT_THAT(Drops(reports[1]),
              ElementsAre("other_kind 1a86:7523-A1 1a86:7523", "condition 0403:6015-A1 "));
  EXPECT_THAT(Drops(reports[2]), ElementsAre("other_kind 0000:00:01.0 8086:1572"));
  EXPECT_THAT(Drops(reports[0]), testing::Contains("condition 0403:6001-A1 "))
      << "once, not per part";
  EXPECT_EQ(reports[0].drops.back().detail,
            "no part of it meets the conditions; 1-3:1.0: its subsystem is \"usb\", not tty");
  EXPECT_EQ(reports[1].scanned.front().seen, 3) << "interfaces are not separate devices";
  EXPECT_EQ(reports[1].found.front().syspath, "/sys/devices/usb1/1-3");
}

TEST_F(ReportTest, EachSourceReportsOnTheRequestedObject) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  const std::string tty = "/sys/devices/virtual/tty/tty0";
  sysfs_.Device(tty, {.subsystem = "tty", .number = "4:0"});
  tree_.File("srv/real/x");
  tree_.Link("dev/link", "../srv/real");
  const auto any = NodeType::kAny;
  MatchSpec usb, pci, udev, count, command, all;
  usb.source = UsbPattern{};
  pci.source = PciPattern{};
  udev.source = UdevPattern{{NamePattern::Compile("net").value()}, {}, {}, {}};
  all.source = UdevPattern{{NamePattern::Compile("tty").value()}, {}, {}, {}};
  count.source = CountSource{1};
  command.source = CommandSource{{"/bin/echo", "[]"}};
  const auto reasons = [&](const std::vector<std::string>& wanted) {
    const Discovery found =
        Find({test::PathMatch({"/dev/x*"}, any), test::RegexMatch("/dev/x.", any),
              test::PathMatch({"/dev/**/x"}, any), usb, pci, udev, all, count, command},
             wanted);
    std::vector<std::string> texts;
    for (const MatchReport& report : found.reports) {
      for (const MatchReport::Drop& drop : report.drops) {
        if (drop.paths == std::vector{wanted.front()}) {
          texts.push_back(Format("{}: {}", Name(drop.reason), drop.detail));
        }
      }
    }
    return texts;
  };
  EXPECT_THAT(reasons({"/dev/tty0", tty}),
              ElementsAre("no_match: the pattern does not match it",
                          "no_match: the pattern does not match it",
                          "no_match: the pattern does not match it",
                          "no_match: it is not a USB device, nor a child of one",
                          "no_match: it is not a PCI device, nor a child of one",
                          "no_match: its subsystem is \"tty\", not net",
                          HasSubstr("not_found: the scan did not find it"),
                          "no_match: a count has no devices on the host",
                          "no_match: the command did not print it"));
  EXPECT_THAT(reasons({"/dev/link/x", "/srv/real/x"}),
              testing::AllOf(testing::Contains(HasSubstr("not_found: the scan did not find it")),
                             testing::Contains("no_match: sysfs has no such device").Times(4)));
  EXPECT_THAT(reasons({"/dev/x1"}),
              testing::AllOf(testing::Contains("not_found: the path does not exist").Times(2),
                             testing::Contains("no_match: the path does not exist").Times(6)));
  EXPECT_THAT(reasons({"3"}), testing::Contains("no_match: a count has no devices on the host"));
}

TEST_F(ReportTest, DoesNotCallAnObjectUnmatchedWhileSomethingCannotBeRead) {
  tree_.File("dev/shut/x");
  MatchSpec usb;
  usb.source = UsbPattern{};
  chmod(tree_.path("dev/shut").c_str(), 0);
  for (const char* directory : {"/sys/class", "/sys/bus"}) tree_.Remove(directory);
  const MatchSpec path = test::PathMatch({"/dev/shut/*"}, NodeType::kAny);
  const Discovery of_path = Find({path, usb}, {"/dev/shut/x"});
  const Discovery of_name = Find({usb}, {"1-1"});
  chmod(tree_.path("dev/shut").c_str(), 0755);
  EXPECT_THAT(of_name.reports[0].drops, IsEmpty());
  for (const MatchReport& report : of_path.reports) {
    EXPECT_THAT(report.drops, IsEmpty());
    EXPECT_THAT(report.rejected.back().paths, ElementsAre("/dev/shut/x"));
    EXPECT_THAT(report.rejected.back().detail, HasSubstr("allow this user to read /dev/shut,"));
  }
  EXPECT_THAT(Rejected(of_path.rejected),
              UnorderedElementsAre("unreadable /dev/shut/", "unreadable /sys"))
      << "only the report has the object";
}

TEST_F(ReportTest, ListsEveryPathOfARejectedDevice) {
  for (const char* name : {"dev/x1a", "dev/x1b"}) tree_.File(name);
  const MatchSpec match =
      test::Grouped(test::RegexMatch("/dev/x(?P<n>1).", NodeType::kAny), "n", {"/dev/y*"});
  const auto report = Find({match}).reports.front();
  ASSERT_THAT(report.rejected, SizeIs(1));
  EXPECT_THAT(report.rejected.front().paths, ElementsAre("/dev/x1a", "/dev/x1b"));
}

TEST_F(ReportTest, IsEmptyUnlessRequested) {
  tree_.Link("dev/loop", "loop");
  const Discovery found = Discover(test::Resource({test::RegexMatch("/dev/loop/.*")}),
                                   HostRoot(tree_.path()), "node-1");
  EXPECT_THAT(found.reports, IsEmpty());
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("unreadable /dev/loop/"));
}

}  // namespace
}  // namespace patchbay
