#include "discovery/match_summary.h"

#include <gmock/gmock.h>

#include "base/escape.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

MatchSummary SummaryOf(const MatchReport& report, const std::string& match = "path = \"/dev/x\"") {
  ResourceSpec spec;
  spec.matches.emplace_back().display.text = match;
  return Summarize(spec, {report}).front();
}

MatchReport::Drop DropOf(const std::string& path, const std::string& detail,
                         const std::string& numbers = "") {
  return {{"", {path}, ""}, DropReason::kExcluded, detail, numbers};
}

MatchReport Scanned(std::vector<MatchReport::ScannedPlace> places) {
  MatchReport report;
  report.scanned = std::move(places);
  return report;
}
MatchReport Dropped(std::vector<MatchReport::Drop> drops) {
  MatchReport report;
  report.drops = std::move(drops);
  return report;
}

TEST(MatchSummary, SaysWhyAMatchFoundNothing) {
  MatchReport rejected, found;
  rejected.rejected = {{{"", {"/dev/a"}, ""}, RejectReason::kDanglingLink, "it"}};
  found.found = {{"a", {"/dev/a"}, ""}};
  const MatchReport::ScannedPlace dev{.place = "/dev/", .pattern = "tty*", .seen = 108};
  const struct {
    const char* what;
    MatchReport report;
    std::vector<std::string> lines;
  } kCases[] = {
      {"nothing was reported", {}, {"nothing on the host can match"}},
      {"no name matches", Scanned({dev}), {"scanned: /dev/: 108 names, none of them matches tty*"}},
      {"several directories",
       Scanned({dev, {.place = "/x/", .pattern = "tty*", .seen = 2, .matched = 2}}),
       {"scanned: /dev/ and 1 more directory: 110 names, 2 of them match tty*"}},
      {"a recursive walk is the same place",
       Scanned({{.place = "/dev/", .pattern = "**", .seen = 108}, dev}),
       {"scanned: /dev/: 108 names, none of them matches tty*"}},
      {"a problem comes first",
       Scanned({dev, {.place = "/x", .problem = "cannot open /x: Permission denied"}}),
       {"scanned: /x: Permission denied", "scanned: /dev/: 108 names, none of them matches tty*"}},
      {"patterns of exclude do not matter",
       Scanned({dev, {.place = "/x", .problem = "no", .is_exclude = true}}),
       {"scanned: /dev/: 108 names, none of them matches tty*"}},
      {"filtered, by reason",
       Dropped({DropOf("/dev/a", "excluded by /dev/?"), DropOf("/dev/b", "it is a directory"),
                DropOf("/dev/c", "excluded by /dev/?")}),
       {"filtered: /dev/a, /dev/c: excluded by /dev/?", "filtered: /dev/b: it is a directory"}},
      {"other vendors on one line",
       Dropped({DropOf("/sys/a", "", "0403:6001"), DropOf("/sys/b", "", "0403:6001"),
                DropOf("/sys/c", "", "10c4:ea60")}),
       {"filtered: 3 devices of other vendors: 0403:6001, 10c4:ea60"}},
      {"rejected", rejected, {"rejected: /dev/a: dangling_link: it"}},
      {"found, but not allocatable", found, {"rejected: 1 device that cannot be allocated"}},
  };
  for (const auto& each : kCases) {
    EXPECT_EQ(SummaryOf(each.report), (MatchSummary{"path = \"/dev/x\"", each.lines})) << each.what;
  }
}

TEST(MatchSummary, IsLimitedAndPrintable) {
  const std::string hostile = "\xff\x1b[31m\n" + std::string(5000, 'x');
  MatchReport report;
  for (int i = 0; i < 500; ++i) {
    const std::string name = hostile + std::to_string(i);
    report.scanned.push_back({.place = name, .problem = name});
    report.scanned.push_back({.place = name, .pattern = name, .seen = 1});
    report.drops.push_back(DropOf(name, name));
    report.drops.push_back(DropOf(name, "", name));
    report.rejected.push_back({{"", {name}, ""}, RejectReason::kBadName, name});
  }
  report.left_out = 7;
  ResourceSpec spec;
  spec.matches.resize(50);
  spec.matches[0].display.text = hostile;
  const auto summaries = Summarize(spec, std::vector<MatchReport>(50, report));
  EXPECT_THAT(summaries, SizeIs(kMaxSummaries));
  for (const auto& [match, lines] : summaries) {
    EXPECT_TRUE(IsPrintable(match));
    EXPECT_THAT(lines, AllOf(SizeIs(testing::Le(kMaxSummaryLines)),
                             Each(testing::ResultOf(IsPrintable, true))));
    EXPECT_THAT(lines, Each(testing::ResultOf([](const std::string& line) { return line.size(); },
                                              testing::Le(kMaxSummaryLine * 5))));
    EXPECT_THAT(lines.back(), AllOf(StartsWith("and "), HasSubstr(" more")));
  }
}

TEST(MatchSummary, CountsTheNamesInEveryScan) {
  test::TempTree tree;
  tree.File("dev/tty0");
  const HostRoot host(tree.path());
  const ResourceSpec spec = test::Resource({test::PathMatch({"/dev/usb*"})});
  const ScanRequest request{.report = true};
  for (int scan = 0; scan < 2; ++scan) {
    EXPECT_THAT(Summarize(spec, Discover(spec, host, request).reports).front().lines,
                ElementsAre("scanned: /dev/: 1 name, which does not match usb*"));
  }
}

}  // namespace
}  // namespace patchbay
