#include "cli/explain/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using At = MatchReport::ScannedPlace::At;

const ReportStyle kStyle{false, "patchbay devices"};

std::string TextOf(ExplainReport::Match match) {
  ExplainReport report;
  report.resource = "a.com/x";
  report.matches.push_back(std::move(match));
  return ReportText({report}, nullptr, kStyle);
}

MatchOutcome Dropped(std::string path, std::string detail,
                     DropReason reason = DropReason::kCondition) {
  return {{"", {std::move(path)}, ""},
          OutcomeKind::kFiltered,
          std::string(Name(reason)),
          std::move(detail)};
}

TEST(ExplanationTextTest, UsesSingularAndPlural) {
  const auto text = [](At at, std::size_t seen, std::size_t matched, const std::string& pattern) {
    ExplainReport::Match match;
    match.scanned.push_back({"/x/", at, pattern, seen, matched, ""});
    const std::string out = TextOf(match);
    const auto from = out.find("/x/: ");
    return out.substr(from + 5, out.find('\n', from) - from - 5);
  };
  EXPECT_EQ(text(At::kNames, 108, 0, "tty*"), "108 names, none of them matches tty*");
  EXPECT_EQ(text(At::kNames, 108, 1, "tty*"), "108 names, 1 of them matches tty*");
  EXPECT_EQ(text(At::kNames, 108, 2, "tty*"), "108 names, 2 of them match tty*");
  EXPECT_EQ(text(At::kNames, 1, 1, "*"), "1 name, which matches *");
  EXPECT_EQ(text(At::kNames, 1, 0, "*"), "1 name, which does not match *");
  EXPECT_EQ(text(At::kNames, 0, 0, "*"), "0 names");
  EXPECT_EQ(text(At::kNames, 5, 2, ""), "5 names, 2 of them match") << "a regex";
  EXPECT_EQ(text(At::kNames, 5, 5, "**"), "5 names") << "all are walked through";
  EXPECT_EQ(text(At::kDevices, 17, 0, ""), "17 devices");
  EXPECT_EQ(text(At::kDevices, 1, 0, ""), "1 device");
  EXPECT_EQ(text(At::kEntries, 3, 2, ""), "printed 3 entries, 2 of them valid");
  EXPECT_EQ(text(At::kEntries, 1, 1, ""), "printed 1 entry");
}

TEST(ExplanationTextTest, GroupsDirectoriesOnOneLine) {
  ExplainReport::Match match;
  for (int i = 0; i < 12; ++i) {
    match.scanned.push_back({Format("/dev/{}/", i), At::kNames, "card*", 10, 1, ""});
    match.scanned.push_back({Format("/dev/{}/", i), At::kNames, "**", 10, 10, ""});
  }
  match.scanned.push_back({"/srv/", At::kNames, "other*", 1, 1, ""});
  EXPECT_THAT(
      TextOf(match),
      AllOf(HasSubstr("scanned    /dev/0/ and 11 more directories: 120 names, 12 of them match "
                      "card*\n    scanned    /srv/: 1 name, which matches other*\n"),
            Not(HasSubstr("**"))));
}

TEST(ExplanationTextTest, PrintsThePathOfADeviceOnce) {
  const auto text = [](std::vector<std::string> paths, const std::string& detail) {
    ExplainReport::Match match;
    match.outcomes.push_back({{"1-5", std::move(paths), ""}, OutcomeKind::kListed, "", detail});
    return TextOf(match);
  };
  EXPECT_THAT(text({"/dev/a"}, "/dev/a: group is root"),
              HasSubstr("listed     1-5: /dev/a, group is root\n"));
  EXPECT_THAT(text({"/dev/a", "/dev/b"}, "/dev/b: group is root"),
              HasSubstr("listed     1-5: /dev/a, /dev/b, /dev/b: group is root\n"));
  EXPECT_THAT(text({"/dev/a"}, "/dev/ab: group is root"),
              HasSubstr("listed     1-5: /dev/a, /dev/ab: group is root\n"));
}

TEST(ExplanationTextTest, LabelsWarnings) {
  ExplainReport::Match match;
  match.scanned.push_back(
      {.place = "not.pci", .problem = "not.pci: it excludes nothing", .is_exclude = true});
  EXPECT_THAT(TextOf(match), HasSubstr("warning    not.pci: it excludes nothing\n"));
}

TEST(ExplanationTextTest, PrintsThePathOfAProblemOnce) {
  const auto text = [](const std::string& place, const std::string& problem) {
    ExplainReport::Match match;
    match.scanned.push_back({.place = place, .problem = problem});
    return TextOf(match);
  };
  EXPECT_THAT(text("/dev/x", "cannot access /dev/x: No such file"),
              HasSubstr("scanned    /dev/x: No such file\n"));
  EXPECT_THAT(text("/dev/x/", "cannot read the directory /dev/x: Denied"),
              HasSubstr("scanned    /dev/x: Denied\n"));
  EXPECT_THAT(text("/dev/x/", "/dev/x is a file, not a directory"),
              HasSubstr("scanned    /dev/x: is a file, not a directory\n"));
  EXPECT_THAT(text("/dev/x/y", "cannot access /dev/x: No such file"),
              HasSubstr("scanned    /dev/x/y: cannot access /dev/x: No such file\n"));
  EXPECT_THAT(text("/", "cannot read the directory /: Denied"), HasSubstr("/: Denied\n"));
  EXPECT_THAT(text("", ""), HasSubstr("scanned    : 0 names")) << "any text";
}

TEST(ExplanationTextTest, PrintsCommonReasonsLastAndOnce) {
  ExplainReport::Match match;
  for (int i = 0; i < 64; ++i) {
    match.outcomes.push_back(
        Dropped(Format("/dev/tty{}", i), "it is not a USB device", DropReason::kOtherKind));
  }
  match.outcomes.push_back(
      Dropped("/dev/ttyUSB0", "its USB ID is 1a86:7523", DropReason::kOtherKind));
  match.outcomes.push_back(Dropped("/dev/ttyUSB1", "its serial number is \"B\", not A*"));
  EXPECT_THAT(TextOf(match),
              HasSubstr("    filtered   /dev/ttyUSB1: its serial number is \"B\", not A*\n"
                        "    filtered   /dev/ttyUSB0: its USB ID is 1a86:7523\n"
                        "    filtered   /dev/tty0, /dev/tty1, /dev/tty2 and 61 more: it is not "
                        "a USB device\n"));
}

TEST(ExplanationTextTest, GroupsDevicesOfOtherVendorsOnOneLine) {
  ExplainReport::Match match;
  for (int i = 0; i < 12; ++i) {
    MatchOutcome other = Dropped(Format("/sys/{}", i), "its USB ID is…", DropReason::kOtherKind);
    other.numbers = Format("1d6b:000{}", i % 8);
    match.outcomes.push_back(other);
  }
  match.outcomes.push_back(Dropped("/dev/x", "its serial number is…"));
  EXPECT_THAT(TextOf(match),
              HasSubstr("    filtered   /dev/x: its serial number is…\n"
                        "    filtered   12 devices of other vendors: 1d6b:0000, 1d6b:0001, "
                        "1d6b:0002, 1d6b:0003, 1d6b:0004, 1d6b:0005 and 2 more\n"));
}

TEST(ExplanationTextTest, LimitsTheNumberOfLines) {
  ExplainReport::Match match;
  for (int i = 0; i < 64; ++i) {
    match.outcomes.push_back({{Format("tty{}", i), {Format("/dev/tty{}", i)}, ""}});
  }
  for (int i = 0; i < 30; ++i) {
    MatchOutcome rejected{{"", {Format("/dev/x{}", i)}, ""}, OutcomeKind::kRejected, "bad_name"};
    rejected.detail = Format("fault {}", i);
    match.outcomes.push_back(rejected);
    match.scanned.push_back({.place = "/p", .problem = Format("trouble {}", i)});
  }
  match.scanned.push_back({.place = "/dev/x3", .problem = "fault 3"});
  match.left_out = 7;
  const std::string out = TextOf(match);
  EXPECT_LT(std::count(out.begin(), out.end(), '\n'), 55);
  EXPECT_THAT(
      out, AllOf(HasSubstr("listed     tty19: /dev/tty19\n"
                           "               and 44 more; `patchbay devices` lists them"),
                 HasSubstr("rejected   /dev/x9: bad_name: fault 9\n"
                           "               and 20 more; --output json prints them all\n"),
                 HasSubstr("and 20 more that cannot be read\n"),
                 HasSubstr("               and 7 more\n"), Not(HasSubstr("scanned    /dev/x3"))));
}

TEST(ExplanationTextTest, ColorsTheAnswerAndTheOutcomes) {
  ExplainReport report;
  report.resource = "a.com/x";
  report.listed = 1;
  auto& match = report.matches.emplace_back();
  match.outcomes.push_back({{"a", {"/dev/a"}, ""}});
  match.outcomes.push_back(Dropped("/dev/b", "x\x1b[31m"));
  const std::string out = ReportText({report}, nullptr, {true, ""});
  EXPECT_THAT(out, AllOf(HasSubstr("\x1b[1ma.com/x\x1b[m: \x1b[32m1 device listed\x1b[m\n"),
                         HasSubstr("    \x1b[32mlisted\x1b[m     a: /dev/a\n"),
                         HasSubstr("    filtered   /dev/b: x\\x1b[31m\n")));
}

TEST(ExplanationTextTest, RepeatsTheOptionsInHints) {
  ExplainReport::Match match;
  for (int i = 0; i < 64; ++i) match.outcomes.push_back({{Format("tty{}", i), {}, ""}});
  ExplainReport report;
  report.matches.push_back(match);
  EXPECT_THAT(ReportText({report}, nullptr, {false, "patchbay devices --config a.toml"}),
              HasSubstr("and 44 more; `patchbay devices --config a.toml` lists them all"));
}

TEST(ExplanationTextTest, EscapesHostileText) {
  ExplainReport::Match match;
  match.text = "regex = '\n'";
  match.outcomes.push_back(Dropped("/dev/a\nb\xff", "x\x1b[31m"));
  match.scanned.push_back({.place = "/\n", .problem = "y\n"});
  match.hint = "z\n";
  const std::string out = TextOf(match);
  EXPECT_THAT(out, HasSubstr("/dev/a\\x0ab\\xff: x\\x1b[31m\n"));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 8);
}

}  // namespace
}  // namespace patchbay
