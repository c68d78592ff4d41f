// What a pass tells, for people, of the places that it could not look at.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

  /// Looks as somebody who may not read everything.
  Discovery Find(std::vector<MatchSpec> matches, const std::string& wanted_path = "") const {
    const bool is_root = geteuid() == 0;
    EXPECT_TRUE(!is_root || seteuid(65534) == 0);
    const Pass pass{.wanted_path = wanted_path, .report = true};
    Discovery found = Discover(test::Resource(std::move(matches)), HostRoot(tree_.path()), pass);
    EXPECT_TRUE(!is_root || seteuid(0) == 0);
    return found;
  }
  static std::vector<std::string> Problems(const MatchReport& report) {
    std::vector<std::string> problems;
    for (const MatchReport::Look& look : report.looks) {
      if (!look.problem.empty()) problems.push_back(look.place);
    }
    return problems;
  }
  static MatchSpec Udev(std::string_view attribute) {
    MatchSpec match;
    match.source =
        UdevPattern{{}, {}, {}, {{std::string(attribute), NamePattern::Compile("*").value()}}};
    return match;
  }

  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(ReportTest, EachPlaceInSysfsIsToldAndRejectedAsOne) {
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
  EXPECT_THAT(found.devices, SizeIs(1)) << "the rest goes on";
  chmod(tree_.path("/sys/class/net").c_str(), 0755);
  chmod(tree_.path("/sys/class/tty").c_str(), 0755);
}

TEST_F(ReportTest, AnAttributeIsToldOnceForEachMatch) {
  const std::string path = "/sys/devices/virtual/x/a";
  sysfs_.Device(path, {.subsystem = "x", .attributes = {{"key", "1"}}});
  sysfs_.Device(path + "/b", {.subsystem = "x"});
  chmod(tree_.path(path + "/key").c_str(), 0200);
  const Discovery found = Find({Udev("key"), Udev("key"), Udev("subsystem")});
  EXPECT_THAT(Problems(found.reports[0]), ElementsAre(path + "/key"));
  EXPECT_THAT(Problems(found.reports[1]), ElementsAre(path + "/key"));
  EXPECT_THAT(Problems(found.reports[2]), IsEmpty());
  EXPECT_THAT(found.reports[0].looks[1].problem, HasSubstr("Permission denied"));
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(ReportTest, WhatIsBelowADeviceIsTold) {
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

TEST_F(ReportTest, EveryMatchIsToldWhatIsRejectedOnce) {
  for (const char* directory : {"/sys/class", "/sys/bus"}) tree_.Remove(directory);
  const Discovery found = Find({Udev("a"), Udev("b")});
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("unreadable /sys"));
  for (const MatchReport& report : found.reports)
    EXPECT_THAT(Problems(report), ElementsAre("/sys"));
}

TEST_F(ReportTest, RejectionsBeyondTheBoundAreCounted) {
  constexpr std::size_t kMore = 7;
  for (std::size_t i = 0; i < Scan::kMaxRejections + kMore; ++i) {
    tree_.Link("dev/x" + std::to_string(i), "nowhere");
  }
  const MatchSpec match = test::PathMatch({"/dev/x*"}, NodeType::kAny);
  Discovery found = Find({match});
  EXPECT_THAT(found.rejected, SizeIs(Scan::kMaxRejections));
  EXPECT_THAT(found.reports[0].rejected, SizeIs(Scan::kMaxRejections));
  EXPECT_EQ(found.reports[0].left_out, kMore);

  // Who asks for one path is told of it, wherever it comes in the order of the directory.
  for (std::size_t i = 0; i < Scan::kMaxRejections + kMore; i += 200) {
    const std::string path = "/dev/x" + std::to_string(i);
    found = Find({match}, path);
    EXPECT_THAT(found.reports[0].rejected,
                testing::Contains(testing::Field(&Rejection::path, path)));
    EXPECT_THAT(found.rejected, SizeIs(Scan::kMaxRejections));
  }
}

TEST_F(ReportTest, NobodyIsToldWhoDidNotAsk) {
  tree_.Link("dev/loop", "loop");
  const Discovery found = Discover(test::Resource({test::RegexMatch("/dev/loop/.*")}),
                                   HostRoot(tree_.path()), "node-1");
  EXPECT_THAT(found.reports, IsEmpty());
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("unreadable /dev/loop/"));
}

}  // namespace
}  // namespace patchbay
