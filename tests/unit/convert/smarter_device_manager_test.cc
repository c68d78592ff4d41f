#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "convert/listed_names.h"
#include "convert_support.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

test::Outcome Smarter(const std::string& text, const ConvertHints& hints = {}) {
  return test::Converted(ForeignProgram::kSmarterDeviceManager, text, hints);
}

test::Outcome Match(const std::string& regex, const ConvertHints& hints = {}) {
  return Smarter("- devicematch: '" + regex + "'\n  nummaxdevices: 3\n", hints);
}

TEST(SmarterDeviceManagerTest, ConvertsEachNameToAResource) {
  const auto outcome = Match("^net/(tun|tap[01])$");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(outcome.toml,
            "# Converted from smarter-device-manager: in.yaml. Comments mark differences in "
            "meaning.\n"
            "\n"
            "# devicematch: ^net/(tun|tap[01])$\n"
            "[[resource]]\n"
            "name = \"smarter-devices/net_tap0\"\n"
            "replicas = 3\n"
            "\n"
            "  [[resource.match]]\n"
            "  path = \"/dev/net/tap0\"\n"
            "\n"
            "[[resource]]\n"
            "name = \"smarter-devices/net_tap1\"\n"
            "replicas = 3\n"
            "\n"
            "  [[resource.match]]\n"
            "  path = \"/dev/net/tap1\"\n"
            "\n"
            "[[resource]]\n"
            "name = \"smarter-devices/net_tun\"\n"
            "replicas = 3\n"
            "\n"
            "  [[resource.match]]\n"
            "  path = \"/dev/net/tun\"\n");
}

TEST(SmarterDeviceManagerTest, LimitsTheNumberOfNames) {
  std::string different, equal;
  for (int i = 0; i < 250; ++i) {
    different += Format("- {{devicematch: '^a{}_[0-9][0-9]$', nummaxdevices: 1}}\n", i);
    equal += "- {devicematch: '^a_[0-9][0-9]$', nummaxdevices: 1}\n";
  }
  const auto outcome = Smarter(different);
  EXPECT_EQ(outcome.findings, "201:3 error the entries have more than 20000 names of devices\n");
  EXPECT_EQ(outcome.toml, "");
  EXPECT_EQ(Smarter(equal).toml, "");
}

TEST(SmarterDeviceManagerTest, WarnsThatOnlyNumbersOfOneDigitAreListed) {
  const auto outcome = Match("^ttyUSB[0-9]*$");
  EXPECT_EQ(outcome.findings,
            "1:16 warning of the numbers in these names, only 0 to 9 are listed\n");
  EXPECT_THAT(outcome.toml,
              AllOf(HasSubstr("ttyUSB0\""), HasSubstr("ttyUSB9\""),
                    HasSubstr("# Difference: of the numbers in these names, only 0 to 9")));
}

TEST(SmarterDeviceManagerTest, WarnsIfTheExpressionMatchesMoreNames) {
  for (const char* regex : {"vcsm", "^vcsm", "vcsm$"}) {
    const auto outcome = Match(regex);
    EXPECT_THAT(outcome.findings, StartsWith("1:16 warning the expression matches more names"))
        << regex;
    EXPECT_THAT(outcome.toml, HasSubstr("path = \"/dev/vcsm\"")) << regex;
  }
}

TEST(SmarterDeviceManagerTest, AnExpressionWithAWildcardBecomesAGlob) {
  for (const char* regex : {"^ttyUSB.*$", "^ttyUSB.*"}) {
    const auto outcome = Match(regex);
    EXPECT_EQ(outcome.findings,
              "1:16 warning names with the same beginning become the devices of one resource\n");
    EXPECT_THAT(outcome.toml, AllOf(HasSubstr("name = \"smarter-devices/ttyUSB\""),
                                    HasSubstr("path = \"/dev/ttyUSB*\"")));
  }
  EXPECT_THAT(Match(".*").findings,
              StartsWith("1:16 error smarter-device-manager creates a resource for each matching "
                         "name in /dev, and this expression does not show these names"));
}

/// smarter-device-manager serves every disk, so the conversion does, too.
TEST(SmarterDeviceManagerTest, AllowsDisksThatTheHostUses) {
  for (const char* name : {"sda", "nvme0n1", "mmcblk0", "dm-3"}) {
    EXPECT_THAT(Match(Format("^{}$", name)).toml,
                HasSubstr(Format("path = \"/dev/{}\"\n  allow_mounted = true\n", name)));
  }
  EXPECT_THAT(Match("^ttyUSB0$").toml, testing::Not(HasSubstr("allow_mounted")));
}

TEST(SmarterDeviceManagerTest, NotesNamesThatMayBeDirectories) {
  EXPECT_THAT(Match("^(mapper|snd|kvm|video0)$").toml,
              HasSubstr("# Assumed to be devices: /dev/mapper. If one"));
}

TEST(SmarterDeviceManagerTest, UsesTheNamesThatExistOnTheNode) {
  ConvertHints hints;
  hints.dev = {{"snd", true},       {"snd/timer", false},      {"video0", false},
               {"video12", false},  {"by-path:video0", false}, {"-video0", false},
               {"my video0", false}};
  const auto names = [&](const std::string& regex) { return Match(regex, hints).toml; };
  EXPECT_THAT(names("^video[0-9]*$"),
              AllOf(HasSubstr("/video0\""), HasSubstr("/video12\""), Not(HasSubstr("my"))));
  EXPECT_THAT(names("video\\d+$"), AllOf(HasSubstr("/video0\""), HasSubstr("/video12\"")));
  EXPECT_THAT(names("^snd$|^video0$"), AllOf(HasSubstr("(?P<group>snd)/"), HasSubstr("/video0\""),
                                             Not(HasSubstr("timer")), Not(HasSubstr("video12"))));
  EXPECT_THAT(names("^tty"), HasSubstr("# Difference: no name in the scanned /dev matches"));
  EXPECT_EQ(Match("^tty", hints).findings,
            "1:16 warning no name in the scanned /dev matches this expression\n");
  EXPECT_THAT(names("video0"), AllOf(HasSubstr("name = \"smarter-devices/my_video0\""),
                                     HasSubstr("name = \"smarter-devices/by-path_video0\"")));
  // A resource cannot have this name; the kubelet also rejects it from smarter-device-manager.
  EXPECT_THAT(Match("video0", hints).findings,
              HasSubstr("warning smarter-devices/-video0 is not a valid resource name"));
  // An expression that would change the meaning of the search around it is an error.
  EXPECT_THAT(Match("\\Qvideo0", hints).findings,
              StartsWith("1:16 error `devicematch` cannot be searched for in names"));
}

TEST(SmarterDeviceManagerTest, QuotesInvalidExpressionsVerbatim) {
  ConvertHints seen;
  seen.dev = {{"snd", true}};
  for (const ConvertHints& hints : {ConvertHints(), seen}) {
    EXPECT_EQ(Match("^snd(", hints).findings,
              "1:16 error `devicematch` is not a valid regular expression: missing ): ^snd(\n");
    EXPECT_THAT(Match("a)|(b", hints).findings,
                StartsWith("1:16 error `devicematch` is not a valid regular expression: "));
  }
}

TEST(SmarterDeviceManagerTest, ConvertsTegraGpusToAVariable) {
  EXPECT_EQ(Match("nvidia-gpu").findings,
            "1:16 warning of the GPUs in /sys/devices, only gpu.0 is converted\n");
  EXPECT_THAT(Match("nvidia-gpu").toml, AllOf(HasSubstr("name = \"smarter-devices/nvidia-gpu0\""),
                                              HasSubstr("path = \"/sys/devices/gpu.0\""),
                                              HasSubstr("NVIDIA_VISIBLE_DEVICES = \"0\"")));
}

TEST(SmarterDeviceManagerTest, ReportsInvalidEntries) {
  EXPECT_EQ(
      Smarter("- devicematch: ^a0$\n").findings,
      "1:3 warning an entry without `nummaxdevices` provides no devices; it is not converted\n");
  EXPECT_THAT(Smarter("- nummaxdevices: 1\n").findings, StartsWith("1:3 error an entry without"));
  EXPECT_EQ(
      Smarter("- devicematch: ^a0$\n  nummaxdevices: 0\n").findings,
      "2:18 warning an entry with `nummaxdevices: 0` provides no devices; it is not converted\n");
  for (const std::string wrong : {"-1", "'40'", "many", "[1]"}) {
    EXPECT_EQ(Smarter("- devicematch: ^a0$\n  nummaxdevices: " + wrong + "\n").findings,
              "2:18 error `nummaxdevices` must be a whole number from 0 to 10000\n");
  }
  EXPECT_EQ(Smarter("- devicematch: ^a0$\n  nummaxdevices: 10001\n").findings,
            "2:18 error `nummaxdevices` must be at most 10000\n");
  EXPECT_THAT(Smarter("- devicematch: ^a0$\n  nummaxdevices: 1\n- x\n").findings,
              StartsWith("3:3 error an entry must be a map"));
  EXPECT_THAT(Smarter("- devicematch: ^a0$\n  nummaxdevices: 1\n  nummax: 1\n").findings,
              StartsWith("3:3 warning unknown key `nummax`; smarter-device-manager ignores it"));
  EXPECT_THAT(
      Smarter("- devicematch: ^a0$\n  nummaxdevices: 1\n"
              "- devicematch: ^[ab]0$\n  nummaxdevices: 2\n")
          .findings,
      StartsWith("1:16 warning duplicate resource smarter-devices/a0; smarter-device-manager uses "
                 "the last one, at in.yaml:3"));
  EXPECT_THAT(Smarter("kind: DaemonSet\n").findings,
              StartsWith("0:0 error no list of `devicematch` entries found"));
}

TEST(SmarterDeviceManagerTest, NamesHaveOnlyLettersDigitsDashesAndUnderscores) {
  const std::string entry = "- {devicematch: '^(spidev0\\.0|a_B:-0)$', nummaxdevices: 1}\n";
  const auto outcome = Smarter(entry);
  EXPECT_THAT(outcome.toml, AllOf(HasSubstr("name = \"smarter-devices/spidev0_0\""),
                                  HasSubstr("name = \"smarter-devices/a_B_-0\""),
                                  HasSubstr("path = \"/dev/spidev0.0\"")));
  EXPECT_EQ(outcome.findings,
            "1:17 warning smarter-device-manager before v1.20.10 keeps the dots in these names\n");
  const auto with_image = [&](const std::string& tag) {
    return Smarter("image: ghcr.io/x/smarter-device-manager:" + tag + "\n---\n" + entry).findings;
  };
  EXPECT_EQ(with_image("v1.20.12"), "");
  EXPECT_THAT(with_image("v1.1.2"), HasSubstr("keeps the dots"));
}

TEST(SmarterDeviceManagerTest, TheLastOfSeveralEntriesWithTheSameNameWins) {
  const auto outcome = Smarter(
      "- {devicematch: '^video[01]$', nummaxdevices: 1}\n"
      "- {devicematch: ^video0$, nummaxdevices: 20}\n");
  EXPECT_THAT(outcome.toml,
              AllOf(HasSubstr("# devicematch: ^video[01]$\n# devicematch: ^video0$\n[[resource]]\n"
                              "name = \"smarter-devices/video0\"\nreplicas = 20\n"),
                    HasSubstr("name = \"smarter-devices/video1\"\n\n")));
  ConvertHints hints;
  hints.dev = {{"x.0", false}, {"x_0", false}};
  EXPECT_THAT(Match("^x", hints).findings, HasSubstr("duplicate resource smarter-devices/x_0"));
}

TEST(SmarterDeviceManagerTest, HintsAtQuotesOnlyForQuotedNumbers) {
  const auto shown = [](const std::string& number) {
    const std::string text = "- devicematch: ^a$\n  nummaxdevices: " + number + "\n";
    return Convert(ForeignProgram::kSmarterDeviceManager, {"in.yaml", text}, {})
        .diagnostics.RenderText();
  };
  EXPECT_THAT(shown("'40'"), HasSubstr("hint: remove the quotes"));
  EXPECT_THAT(shown("many"), HasSubstr("hint: use decimal digits without a leading zero"));
}

TEST(SmarterDeviceManagerTest, LocatesErrorsOfAConfigMapInTheFile) {
  EXPECT_THAT(Smarter("kind: ConfigMap\n"
                      "data:\n"
                      "  conf.yaml: |\n"
                      "        - devicematch: ^a$\n"
                      "          nummaxdevices: many\n")
                  .findings,
              StartsWith("5:26 error `nummaxdevices` must be a whole number"));
}

TEST(SmarterDeviceManagerTest, AcceptsHelmChartValues) {
  EXPECT_THAT(Smarter("config:\n  - devicematch: ^snd$\n    nummaxdevices: 20\n").toml,
              AllOf(HasSubstr("smarter-devices/snd\""), HasSubstr("replicas = 20")));
}

TEST(ListedNamesTest, ListsTheNamesThatAnExpressionMatches) {
  const auto names = [](const std::string& regex) {
    std::string joined;
    const auto listed = ListNames(regex);
    if (!listed) return std::string("none");
    for (const ListedName& name : listed->names) {
      joined += name.name + (name.glob.empty() ? "" : "=" + name.glob) + " ";
    }
    return joined;
  };
  EXPECT_EQ(names("^a$"), "a ");
  EXPECT_EQ(names("a(b|c|)"), "a ab ac ");
  EXPECT_EQ(names("[ab-]x[3-5]"), "-x3 -x4 -x5 ax3 ax4 ax5 bx3 bx4 bx5 ");
  EXPECT_EQ(names("a\\.b\\-c,{d"), "none");
  EXPECT_EQ(names("a\\.b\\-c,d\\{"), "a.b-c,d{ ");
  EXPECT_EQ(names("(?:a|a)|[,{]"), ", a { ");
  EXPECT_EQ(names("[]a]"), "] a ");
  EXPECT_EQ(names("net/(tun|tap[01])"), "net/tap0 net/tap1 net/tun ");
  EXPECT_EQ(names("a\\d+"), "a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 ");
  EXPECT_EQ(names("^a.*$|^b-.+c$"), "a=/dev/a* b=/dev/b-?*c ");
  for (const std::string regex :
       {"a*", "a+", "a?", "a{2}", "(a|b)*", "(?i)a", "(?P<n>a)", "\\pL", "[[:alpha:]]", "[\\d]",
        "[^a]", "", "^$", ".", "a|.+", "[a-z][a-z][a-z]", "a[0-9]+.*", "\\.\\./a", "[\xc3\xa9]"}) {
    EXPECT_EQ(names(regex), "none") << regex;
  }
  EXPECT_FALSE(ListNames(std::string(100'000, '(') + std::string(100'000, ')')));
}

TEST(ListedNamesTest, DetectsAnchorsAndNumbers) {
  for (const char* regex : {"^a$", "^(a|b)$", "^a.*", "^a$|^b.*|^c$"}) {
    EXPECT_TRUE(ListNames(regex)->is_anchored) << regex;
  }
  for (const char* regex : {"^a$|b$", "^a|^b$", "^a$|^b", "^(a$|b)", "^a", "a$", "^a\\$", ".*a$"}) {
    const auto listed = ListNames(regex);
    EXPECT_FALSE(listed && listed->is_anchored) << regex;
  }
  EXPECT_TRUE(ListNames("^a[0-9]+$")->has_numbers);
  EXPECT_TRUE(ListNames("^a\\d*$")->has_numbers);
  EXPECT_FALSE(ListNames("^a[0-9]$")->has_numbers);
}

}  // namespace
}  // namespace patchbay
