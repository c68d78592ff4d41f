#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/format.h"
#include "cli_support.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;
using test::RunCli;
using test::ScopedEnv;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kGood = R"([[resource]]
name = "example.com/serial"
[[resource.match]]
path = "/dev/ttyUSB*"
)";

// Two resources that may claim the same node: valid, with a warning.
constexpr const char* kDoubtful = R"([[resource]]
name = "example.com/a"
[[resource.match]]
path = "/dev/ttyUSB*"
[[resource]]
name = "example.com/b"
[[resource.match]]
path = "/dev/ttyUSB0"
)";

constexpr const char* kFiveMistakes = R"([daemon]
rescan = "soon"

[[resource]]
name = "example.com/serial"
replcas = 2

  [[resource.match]]
  path = "/dev/ttyUSB[0-"

  [[resource.device_node]]
  permissions = "rx"

[[resource]]
name = "example.com/modem"

  [[resource.match]]
  path = "/dev/modem*"

  [resource.env]
  MODEM = "{paht}"
)";

class CheckTest : public testing::Test {
 protected:
  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_{"NODE_NAME", std::nullopt};
  test::TempTree tree_;
};

std::vector<std::string> Places(const Json& diagnostics) {
  std::vector<std::string> places;
  for (const Json& d : diagnostics) {
    places.push_back(Format("{}:{} {} {}", d["line"].get<int>(), d["column"].get<int>(),
                            d["severity"].get<std::string>(), d["code"].get<std::string>()));
  }
  return places;
}

TEST_F(CheckTest, PrintsASummaryForAValidFile) {
  tree_.File("a.toml", kGood);
  const auto ran = RunCli({"check", tree_.path("a.toml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.out, "ok: 1 resource\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(CheckTest, SaysWhatInterfacesNeedOnTheNodes) {
  tree_.File("a.toml", R"([[resource]]
name = "example.com/can"
match = [{udev = {subsystem = "net"}}]
net_device = [{}]
)");
  const auto ran = RunCli({"check", "--strict", tree_.path("a.toml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.out, testing::StartsWith("ok: 1 resource\nexample.com/can: without CDI"));
  EXPECT_EQ(RunCli({"check", "--output", "json", tree_.path("a.toml")}).out, "[]\n");
}

TEST_F(CheckTest, PrintsAnEmptyJsonArrayForAValidFile) {
  tree_.File("a.toml", kGood);
  const auto ran = RunCli({"check", "--output", "json", tree_.path("a.toml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.out, "[]\n");
}

TEST_F(CheckTest, ReadsTheStandardInput) {
  const auto check = [](const std::string& text, const std::vector<std::string>& line) {
    std::istringstream input(text);
    auto* const old = std::cin.rdbuf(input.rdbuf());
    const auto ran = RunCli(line);
    std::cin.rdbuf(old);
    std::cin.clear();
    return ran;
  };
  EXPECT_EQ(check(kGood, {"check", "-"}).out, "ok: 1 resource\n");
  EXPECT_EQ(check(kGood, {"check", "--config", "-"}).out, "ok: 1 resource\n");
  const auto bad = check(std::string(kGood) + "exclude = \"x\"\n", {"check", "-"});
  EXPECT_EQ(bad.code, kFailed);
  EXPECT_THAT(bad.out, testing::StartsWith("<stdin>:5:"));
  EXPECT_THAT(bad.out, HasSubstr("\n    exclude = \"x\"\n"));
  EXPECT_THAT(check(std::string(kLargestSource + 1, '#'), {"check", "-"}).out,
              HasSubstr("<stdin>: error[unreadable-file]"));
}

TEST_F(CheckTest, PrintsYaml) {
  tree_.File("bad.toml", std::string("[daemon]\nrescan = \"soon\"\n") + kGood);
  const auto ran = RunCli({"check", "-o", "yaml", tree_.path("bad.toml")});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.out, testing::StartsWith("- file: " + tree_.path("bad.toml") +
                                           "\n  line: 2\n  column: 10\n  severity: error\n"));
  tree_.File("a.toml", kGood);
  EXPECT_EQ(RunCli({"check", "-o", "yaml", tree_.path("a.toml")}).out, "[]\n");
}

TEST_F(CheckTest, ChecksTheConfigIfNoFileIsNamed) {
  tree_.File("a.toml", kGood);
  EXPECT_EQ(RunCli({"check", "--config", tree_.path("a.toml")}).code, kOk);
  const ScopedEnv config("PATCHBAY_CONFIG", tree_.path("none.toml"));
  EXPECT_EQ(RunCli({"check"}).code, kFailed);
  EXPECT_EQ(RunCli({"check", tree_.path("a.toml")}).code, kOk);
}

TEST_F(CheckTest, ComparesEntriesWithOneNameOnTheNodeOfNodeName) {
  std::string text;
  for (const std::string_view nodes : {"rack-*", "*-1"}) {
    text +=
        Format("[[resource]]\nname = 'a.com/x'\non_nodes = ['{}']\nmatch = [{{path = '/dev/x'}}]\n",
               nodes);
  }
  tree_.File("a.toml", text);
  EXPECT_EQ(RunCli({"check", tree_.path("a.toml")}).code, kOk);
  const ScopedEnv node("NODE_NAME", "rack-1");
  const auto ran = RunCli({"check", tree_.path("a.toml")});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.out, HasSubstr("also for the node \"rack-1\""));
  // The daemon and the commands that look at the host load the file for this node.
  const auto scanned = RunCli({"devices", "--config", tree_.path("a.toml"), "--host-root", "/"});
  EXPECT_EQ(scanned.code, kFailed);
  EXPECT_THAT(scanned.err, HasSubstr("error[duplicate]"));
}

TEST_F(CheckTest, ReportsEveryErrorWithItsLocation) {
  tree_.File("bad.toml", kFiveMistakes);
  const auto ran = RunCli({"check", "-o", "json", tree_.path("bad.toml")});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(Places(Json::parse(ran.out)),
              ElementsAre("2:10 error bad-value", "6:1 error unknown-key", "9:22 error bad-pattern",
                          "12:17 error bad-value", "21:13 error unknown-variable"));
}

TEST_F(CheckTest, PrintsErrorsInCompilerFormat) {
  tree_.File("bad.toml", kFiveMistakes);
  const std::string file = tree_.path("bad.toml");
  const auto ran = RunCli({"check", file});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr(file + ":6:1: error[unknown-key]: "));
  EXPECT_THAT(ran.out, HasSubstr("\n    replcas = 2\n    ^\n"));
  EXPECT_THAT(ran.out, HasSubstr("`replicas`"));
  EXPECT_THAT(ran.out, HasSubstr(file + ":21:13: error[unknown-variable]: "));
  EXPECT_THAT(ran.out, HasSubstr("`path`"));
  EXPECT_THAT(ran.out, EndsWith("\n5 errors, 0 warnings\n"));
}

TEST_F(CheckTest, PrintsTheDocumentedJsonFields) {
  tree_.File("bad.toml", kFiveMistakes);
  const Json list = Json::parse(RunCli({"check", "-o", "json", tree_.path("bad.toml")}).out);
  for (const Json& d : list) {
    EXPECT_EQ(d.size(), 7U);
    EXPECT_EQ(d["file"], tree_.path("bad.toml"));
    EXPECT_TRUE(d["message"].is_string() && !d["message"].get<std::string>().empty());
    EXPECT_TRUE(d["hint"].is_string());
  }
}

TEST_F(CheckTest, FailsOnWarningsOnlyIfStrict) {
  tree_.File("a.toml", kDoubtful);
  const std::string file = tree_.path("a.toml");
  const auto ran = RunCli({"check", file});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.out, HasSubstr("warning["));
  EXPECT_THAT(ran.out, EndsWith("\n0 errors, 1 warning\n"));
  EXPECT_EQ(RunCli({"check", "--strict", file}).code, kFailed);
  const auto json = RunCli({"check", "--strict", "-o", "json", file});
  EXPECT_EQ(json.code, kFailed);
  EXPECT_EQ(Json::parse(json.out).at(0)["severity"], "warning");
}

TEST_F(CheckTest, ReadsADirectoryAsOneDocument) {
  tree_.File("d/20.toml", kGood);
  tree_.File("d/10.toml", kDoubtful);
  tree_.File("d/ignored.txt", "not toml");
  tree_.File("d/.hidden.toml", "not toml");
  const auto ran = RunCli({"check", "-o", "json", tree_.path("d")});
  EXPECT_EQ(ran.code, kOk) << ran.out;

  // The same name twice: the error is in the second file, in the order of the file names.
  tree_.File("d/30.toml", kGood);
  const auto twice = RunCli({"check", "-o", "json", tree_.path("d")});
  EXPECT_EQ(twice.code, kFailed);
  bool found = false;
  for (const Json& d : Json::parse(twice.out)) {
    if (d["severity"] != "error") continue;
    found = true;
    EXPECT_EQ(d["file"], tree_.path("d/30.toml"));
    EXPECT_EQ(d["line"], 2);
    EXPECT_EQ(d["column"], 8);
  }
  EXPECT_TRUE(found);
}

TEST_F(CheckTest, ReadsSeveralFilesAsOneDocument) {
  tree_.File("a.toml", kGood);
  tree_.File("b.toml", kGood);
  EXPECT_EQ(RunCli({"check", tree_.path("a.toml"), tree_.path("b.toml")}).code, kFailed);
}

TEST_F(CheckTest, FailsForMissingAndUnreadableFiles) {
  const auto missing = RunCli({"check", tree_.path("none.toml")});
  EXPECT_EQ(missing.code, kFailed);
  EXPECT_THAT(missing.out, HasSubstr("error[unreadable-file]"));
  EXPECT_THAT(missing.out, HasSubstr("hint: specify a file"));
  tree_.File("secret.toml", kGood);
  std::filesystem::permissions(tree_.path("secret.toml"), std::filesystem::perms::none);
  std::string secret;
  {
    const test::Unprivileged unprivileged;
    secret = RunCli({"check", tree_.path("secret.toml")}).out;
  }
  EXPECT_THAT(secret, HasSubstr("hint: run as root"));
  tree_.Dir("empty");
  const auto empty = RunCli({"check", tree_.path("empty")});
  EXPECT_EQ(empty.code, kFailed);
  EXPECT_THAT(empty.out, HasSubstr("error[unreadable-file]"));
}

TEST_F(CheckTest, PrintsValidJsonForAnyBytes) {
  tree_.File("bad.toml", "[[resource]]\nname = \"\xff\xfe\x00\"\n");
  tree_.File("\xff.toml", "x = 1\n");
  const auto ran = RunCli({"check", "-o", "json", tree_.path()});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_FALSE(Json::parse(ran.out, nullptr, false).is_discarded()) << ran.out;
}

}  // namespace
}  // namespace patchbay
