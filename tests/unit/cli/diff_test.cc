#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;
using test::RunCli;
using test::ScopedEnv;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Resource(const std::string& name, const std::string& keys = "") {
  return "[[resource]]\nname = \"" + name + "\"\n" + keys +
         "\n[[resource.match]]\npath = \"/dev/ttyUSB*\"\n";
}

class DiffTest : public testing::Test {
 protected:
  test::Ran Diff(const std::string& from, const std::string& to,
                 const std::vector<std::string>& more = {}) {
    tree_.File("old.toml", from);
    tree_.File("new.toml", to);
    std::vector<std::string> line = {"diff", tree_.path("old.toml"), tree_.path("new.toml")};
    line.insert(line.end(), more.begin(), more.end());
    return RunCli(line);
  }

  test::TempTree tree_;
};

TEST_F(DiffTest, PrintsTheEffectOfAReload) {
  const auto ran = Diff("[daemon]\nrescan = \"1m\"\n" + Resource("a.com/old") +
                            Resource("a.com/same") + Resource("a.com/changed"),
                        "[daemon]\nlisten = \":1\"\nrescan = \"2m\"\n" + Resource("a.com/same") +
                            Resource("a.com/changed", "replicas = 2\ndescription = \"x\"") +
                            Resource("a.com/new"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(
      ran.out,
      "RESOURCE       IMPACT   KEYS                   MEANING\n"
      "a.com/old      removed  -                      unregistered: capacity drops to 0\n"
      "a.com/changed  list     description, replicas  kubelet receives an updated device list with "
      "other IDs\n"
      "a.com/new      new      -                      registers\n"
      "1 unchanged\n"
      "drain: a.com/changed: device IDs change; drain the pods that use them before the "
      "reload\n"
      "drain: a.com/old: its devices become devices of a.com/new; drain the pods that use "
      "them before the reload\n"
      "[daemon] listen: needs a restart of Patchbay\n"
      "[daemon] rescan: takes effect on reload\n");
}

TEST_F(DiffTest, ReportsUnchangedResources) {
  EXPECT_EQ(Diff(Resource("a.com/b"), "# a note\n" + Resource("a.com/b")).out, "1 unchanged\n");
}

TEST_F(DiffTest, PrintsJson) {
  const auto ran = Diff(Resource("a.com/b"), Resource("a.com/b", "replicas = 2"), {"-o", "json"});
  EXPECT_EQ(Json::parse(ran.out), Json::parse(R"({
    "refused": "",
    "resources": [{"name": "a.com/b", "impact": "list", "keys": ["replicas"],
                   "drain": "device IDs change"}],
    "daemon": []})"));
}

TEST_F(DiffTest, ReportsAChangeOfTheApi) {
  const auto ran = Diff(Resource("a.com/x"), Resource("a.com/x", "api = \"dra\""));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "RESOURCE  IMPACT  KEYS  MEANING\n"
            "a.com/x   api     api   unregistered, then served by the other API\n"
            "drain: a.com/x: its devices are served by another API; drain the pods that use them "
            "before the reload\n");
}

/// Returns the reason to drain pods for a change from one match to another, or "".
class DrainTest : public DiffTest {
 protected:
  std::string Drain(const std::string& from, const std::string& to) {
    const std::string head = "[[resource]]\nname = 'a.com/x'\n";
    const auto ran = Diff(head + from, head + to, {"-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out)["resources"][0]["drain"];
  }
};

TEST_F(DrainTest, ReportsChangesOfIds) {
  const std::string ids = "device IDs change";
  const std::string a = "[[resource.match]]\npath = '/dev/a*'\n";
  const std::string b = "[[resource.match]]\npath = '/dev/b*'\n";
  EXPECT_EQ(Drain(a, a + "id = 'x{name}'\n"), ids);
  EXPECT_EQ(Drain(a, "[[resource.match]]\nusb = '0403:6001'\n"), ids);
  EXPECT_EQ(Drain(a, a + "together = true\n"), ids);
  EXPECT_EQ(Drain(a + b, b + "id = 'x{name}'\n" + a), ids) << "the other match has the source";
  EXPECT_EQ(Drain("replicas = 2\n" + a, a), ids);
}

TEST_F(DrainTest, IgnoresChangesThatKeepIds) {
  const std::string a = "[[resource.match]]\npath = '/dev/a*'\n";
  const std::string b = "[[resource.match]]\npath = '/dev/b*'\nid = 'x{name}'\n";
  EXPECT_EQ(Drain(a, a + b), "");
  EXPECT_EQ(Drain(a, b + a), "") << "the new one is another match";
  EXPECT_EQ(Drain(a + b, b), "") << "devices of the removed match are dropped";
  EXPECT_EQ(Drain("replicas = 2\n" + a, "replicas = 3\n" + a), "");
  EXPECT_EQ(Drain(a, a + "exclude = '/dev/a1'\n"), "");
  EXPECT_EQ(Drain(a, a + "[resource.env]\nX = '{path}'\n"), "");
}

TEST_F(DrainTest, ReportsDevicesThatChangeTheResource) {
  const std::string a = "[[resource.match]]\npath = '/dev/a*'\n";
  EXPECT_EQ(Drain(a, "exclusive = true\n" + a), "devices can change between resources");
}

TEST_F(DiffTest, PrintsYaml) {
  const auto ran = Diff(Resource("a.com/b"), Resource("a.com/b", "replicas = 2"), {"-o", "yaml"});
  EXPECT_EQ(ran.out,
            "refused: \"\"\n"
            "resources:\n"
            "  - name: a.com/b\n"
            "    impact: list\n"
            "    keys:\n"
            "      - replicas\n"
            "    drain: \"device IDs change\"\n"
            "daemon: []\n");
}

TEST_F(DiffTest, RejectsRemovalOfAllResources) {
  const auto ran = Diff(Resource("a.com/b"), "[daemon]\nrescan = \"2m\"\n");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out,
            "a running patchbay rejects it: the configuration has no resources; if that is "
            "intended, restart patchbay\n");
  const auto json = Json::parse(Diff(Resource("a.com/b"), "", {"-o", "json"}).out);
  EXPECT_THAT(json["refused"].get<std::string>(), HasSubstr("has no resources"));
  EXPECT_EQ(json["resources"], Json::array());
  EXPECT_EQ(Diff("", "").out, "no changes\n");
  EXPECT_THAT(Diff("", Resource("a.com/b")).out, HasSubstr("new"));
}

TEST_F(DiffTest, ConsidersOnNodes) {
  const ScopedEnv node("NODE_NAME", "rack-1");
  const auto ran = Diff(Resource("a.com/b"), Resource("a.com/b", "on_nodes = [\"rack-2\"]"));
  EXPECT_THAT(ran.out, HasSubstr("removed"));
}

TEST_F(DiffTest, ReportsEntriesThatAreNotForThisNode) {
  const ScopedEnv node("NODE_NAME", "vm");
  const std::string both = Resource("a.com/x", "api = 'dra'\non_nodes = ['n1']") +
                           Resource("a.com/x", "on_nodes = ['n2']");
  const std::string left_out =
      "a.com/x: not for this node (vm); on_nodes = [\"n1\", \"n2\"]\n"
      "set NODE_NAME to the name of a node to compare what is for that node\n";
  EXPECT_EQ(Diff(Resource("a.com/x"), both).err, left_out);
  EXPECT_EQ(Diff(both, both).err, left_out);
  EXPECT_THAT(Diff(Resource("a.com/x"), Resource("a.com/x")).err, IsEmpty());
}

TEST_F(DiffTest, ReportsTheEffectOnResourceSlices) {
  const std::string dra = "api = \"dra\"\n";
  const std::string hooks = "[resource.hooks]\npre_start = {command = [\"/bin/true\"]}\n";
  const auto ran =
      Diff(Resource("a.com/old", dra) + Resource("a.com/a", dra) + Resource("a.com/hook", dra),
           Resource("a.com/a", dra + "attributes = {x = \"y\"}") + Resource("a.com/hook", dra) +
               hooks + Resource("a.com/new", dra));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              HasSubstr("RESOURCE    IMPACT    KEYS             MEANING\n"
                        "a.com/old   removed   -                ResourceSlices are deleted\n"
                        "a.com/a     list      attributes       ResourceSlices are updated\n"
                        "a.com/hook  response  hooks.pre_start  applies to containers started "
                        "after the reload\n"
                        "a.com/new   new       -                ResourceSlices are published\n"));
}

TEST_F(DiffTest, ReportsErrorsInEitherFile) {
  for (const auto& [from, to] : {std::pair(std::string("x"), Resource("a.com/b")),
                                 std::pair(Resource("a.com/b"), std::string("x"))}) {
    const auto ran = Diff(from, to);
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, HasSubstr("error["));
    EXPECT_THAT(ran.out, IsEmpty());
  }
  EXPECT_EQ(RunCli({"diff", tree_.path("old.toml")}).code, 2);
}

}  // namespace
}  // namespace patchbay
