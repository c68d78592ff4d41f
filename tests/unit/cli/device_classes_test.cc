// The examples are served as if their devices were published, and the built-in API server allocates
// them by the printed classes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/format.h"
#include "cli_support.h"
#include "config/load.h"
#include "convert/yaml.h"
#include "dra/device_name.h"
#include "dra/slice_json.h"
#include "dra/wanted_pool.h"
#include "sim/api_server/api.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;
using test::Ran;
using test::RunCli;
using test::ScopedEnv;
using testing::HasSubstr;

constexpr std::string_view kClasses = "/apis/resource.k8s.io/v1/deviceclasses";
constexpr std::string_view kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr std::string_view kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr const char* kNode = "rack-1";

constexpr const char* kTwoApis = R"([[resource]]
name = "example.com/plugin"
match = [{ count = 1 }]

[[resource]]
name = "example.com/serial"
api = "dra"
match = [{ count = 1 }]

[[resource]]
name = "example.com/Fuse"
api = "dra"
replicas = 50
match = [{ count = 1 }]
)";

/// Returns whether `object` has all of `part`. The server adds defaults.
bool Contains(const Json& object, const Json& part) {
  if (part.is_array()) return object.is_array() && std::ranges::equal(object, part, Contains);
  if (!part.is_object()) return object == part;
  for (const auto& [key, value] : part.items()) {
    if (!object.contains(key) || !Contains(object[key], value)) return false;
  }
  return true;
}

/// Parses the documents of a YAML text.
Json DocumentsOf(const std::string& yaml) {
  YamlBudget budget;
  Diagnostics diagnostics;
  Findings findings(diagnostics);
  const auto place_of = [](int line, int) { return SourceLocation{"output", line, 1}; };
  Json documents = Json::array();
  for (const YamlValue& document : ReadYaml(yaml, place_of, budget, findings)) {
    documents.push_back(Json::parse(ToJson(document)));
  }
  EXPECT_EQ(diagnostics.RenderText(false), "");
  return documents;
}

class DeviceClassesTest : public testing::Test {
 protected:
  void Config(std::string_view text) { tree_.File("patchbay.toml", text); }
  Ran DeviceClasses(const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"device-classes", "--config", tree_.path("patchbay.toml")};
    line.insert(line.end(), more.begin(), more.end());
    return RunCli(line);
  }
  /// Returns the classes, which are the items of a List.
  Json Items(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = more;
    words.insert(words.end(), {"--output", "json"});
    const Ran ran = DeviceClasses(words);
    EXPECT_EQ(ran.code, kOk) << ran.err;
    const Json list = Json::parse(ran.out, nullptr, false);
    EXPECT_EQ(list["apiVersion"], "v1");
    EXPECT_EQ(list["kind"], "List");
    return list["items"];
  }

  /// Creates an object at the API server, which must keep all of its fields.
  void Create(std::string_view collection, const Json& object) {
    const auto response = api_.Handle({.method = "POST",
                                       .target = std::string(collection),
                                       .body = object.dump(),
                                       .content_type = "application/json"},
                                      now_);
    EXPECT_EQ(response.status, 201) << response.body << object.dump(2);
    const Json stored = Json::parse(response.body, nullptr, false);
    EXPECT_TRUE(Contains(stored["spec"], object["spec"])) << stored << "\n" << object;
  }

  /// Publishes two devices of a resource.
  void Publish(const ResourceSpec& spec) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->spec = std::make_shared<const ResourceSpec>(spec);
    for (const char* id : {"one", "two"}) {
      auto device = std::make_shared<Device>();
      device->id = id;
      snapshot->devices.push_back({device, Health::kHealthy, ""});
    }
    const NamedDevices devices(snapshot);
    const WantedPool pool = ComputePool({.devices = devices, .node_name = kNode, .allocated = {}});
    EXPECT_EQ(pool.not_served, "");
    const SliceCreation creation{.index = 0, .slice = {.pool = pool.name, .devices = pool.devices}};
    Create(kSlices,
           Json::parse(CreationJson(
               creation, {.driver = "patchbay.dev", .node_name = kNode, .node_uid = "node-uid"})));
  }

  /// Returns the devices that a claim with this spec gets, as "POOL/DEVICE", or the error.
  std::set<std::string> Allocate(const std::string& name, const Json& spec) {
    Create(kClaims, {{"apiVersion", "resource.k8s.io/v1"},
                     {"kind", "ResourceClaim"},
                     {"metadata", {{"name", name}, {"namespace", "default"}}},
                     {"spec", spec}});
    const Status allocated = api_.AllocateClaim("default", name, kNode);
    if (!allocated) return {allocated.error().message};
    std::set<std::string> devices;
    const auto claim = api_.store().Find({api_sim::Kind::kResourceClaim, "default", name});
    for (const Json& result : (*claim)["status"]["allocation"]["devices"]["results"]) {
      devices.insert(result["pool"].get<std::string>() + "/" + result["device"].get<std::string>());
    }
    return devices;
  }

  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_name_{"NODE_NAME", kNode};
  test::TempTree tree_;
  api_sim::Api::Time now_{std::chrono::seconds(1'769'860'800)};
  api_sim::Api api_;
};

/// A request for all devices of a class.
Json SpecForAll(const Json& device_class) {
  return {{"devices",
           {{"requests", Json::array({{{"name", "d"},
                                       {"exactly",
                                        {{"deviceClassName", device_class["metadata"]["name"]},
                                         {"allocationMode", "All"}}}}})}}}};
}

TEST_F(DeviceClassesTest, PrintsManifestsWithTheirUse) {
  Config(kTwoApis);
  const Ran ran = DeviceClasses({"example.com/serial"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: serial.example.com
spec:
  extendedResourceName: example.com/serial
  selectors:
    - cel:
        expression: "device.driver == 'patchbay.dev' && device.attributes['patchbay.dev'].resource == 'example.com/serial'"
#
# From Kubernetes 1.36, a container requests a device in its limits:
#
#   resources:
#     limits:
#       example.com/serial: 1
#
# From Kubernetes 1.34, a pod requests a device by a claim, which can select it by its attributes.
# `patchbay devices` lists the IDs.
#
#   apiVersion: resource.k8s.io/v1
#   kind: ResourceClaimTemplate
#   metadata:
#     name: serial
#   spec:
#     spec:
#       devices:
#         requests:
#         - name: device
#           exactly:
#             deviceClassName: serial.example.com
#             selectors:
#             - cel:
#                 expression: device.attributes['patchbay.dev'].id == 'ID'
#   ---
#   apiVersion: v1
#   kind: Pod
#   metadata:
#     name: serial
#   spec:
#     resourceClaims:
#     - name: device
#       resourceClaimTemplateName: serial
#     containers:
#     - name: main
#       image: registry.example.com/app
#       resources:
#         claims:
#         - name: device
)");
}

TEST_F(DeviceClassesTest, YamlHasTheContentOfJson) {
  Config(kTwoApis);
  const std::string text = DeviceClasses().out;
  EXPECT_THAT(text, HasSubstr("\n# Claims share a device, up to 50 slots."));
  const Json documents = DocumentsOf(text);
  EXPECT_EQ(documents, Items());
  EXPECT_THAT(documents, testing::SizeIs(2));
}

TEST_F(DeviceClassesTest, CommentsQuoteNamesThatYamlReadsAsOtherTypes) {
  Config("[[resource]]\nname = 'example.com/1e3'\napi = 'dra'\nmatch = [{ path = '/dev/x*' }]\n");
  const std::string out = DeviceClasses().out;
  EXPECT_THAT(out, HasSubstr("#     name: \"1e3\"\n"));
  EXPECT_THAT(out, HasSubstr("resourceClaimTemplateName: \"1e3\"\n"));
}

TEST_F(DeviceClassesTest, PrintsNames) {
  Config(kTwoApis);
  EXPECT_EQ(DeviceClasses({"-o", "name"}).out,
            "serial.example.com\nfuse-8d2f97503969e386.example.com\n");
  EXPECT_EQ(DeviceClasses({"-o", "name", "example.com/Fuse", "example.com/Fuse"}).out,
            "fuse-8d2f97503969e386.example.com\n");
}

TEST_F(DeviceClassesTest, UsesTheDriverOfTheConfiguration) {
  Config(std::string("[daemon.dra]\ndriver = \"dra.example.com\"\n") + kTwoApis);
  EXPECT_THAT(DeviceClasses().out,
              HasSubstr("device.driver == 'dra.example.com' && "
                        "device.attributes['dra.example.com'].resource == 'example.com/serial'"));
}

TEST_F(DeviceClassesTest, PrintsOneClassForEntriesOfOtherNodes) {
  Config(R"([daemon]
host_root = "/does/not/exist"
[[resource]]
name = "example.com/serial"
api = "dra"
on_nodes = ["edge-*"]
match = [{ count = 1 }]
[[resource]]
name = "example.com/serial"
api = "dra"
on_nodes = ["core-*"]
replicas = 7
match = [{ count = 1 }]
[[resource]]
name = "example.com/serial"
on_nodes = ["old-*"]
replicas = 9
match = [{ count = 1 }]
)");
  EXPECT_EQ(DeviceClasses({"-o", "name"}).out, "serial.example.com\n");
  EXPECT_THAT(DeviceClasses().out, HasSubstr("up to 7 slots"));
}

TEST_F(DeviceClassesTest, FailsWithoutResourcesThatNeedAClass) {
  Config("[[resource]]\nname = \"example.com/plugin\"\nmatch = [{ count = 1 }]\n");
  const Ran none = DeviceClasses();
  EXPECT_EQ(none.code, kFailed);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err,
            "patchbay: no resource is served by Dynamic Resource Allocation, so none needs a "
            "DeviceClass; set api = \"dra\" in a [[resource]], or in [daemon] for all\n");
  Config("nonsense = 1\n");
  EXPECT_EQ(DeviceClasses().code, kFailed);
}

TEST_F(DeviceClassesTest, FailsForResourcesWithoutAClass) {
  Config(kTwoApis);
  const Ran plugin = DeviceClasses({"example.com/serial", "example.com/plugin"});
  EXPECT_EQ(plugin.code, kFailed);
  EXPECT_EQ(plugin.out, "");
  EXPECT_THAT(plugin.err, HasSubstr("example.com/plugin is served by the device plugin API"));
  EXPECT_THAT(DeviceClasses({"example.com/seria"}).err,
              HasSubstr("did you mean \"example.com/serial\"?"));
  EXPECT_EQ(DeviceClasses({"/dev/null"}).code, kUsage);
  EXPECT_EQ(DeviceClasses({"example.com/serial", "other.toml"}).code, kUsage);
}

/// Returns the YAML documents in the comments of a class, as JSON.
Json DocumentsInComments(const std::string& text) {
  std::string yaml;
  std::istringstream lines(text);
  bool is_template = false;
  for (std::string line; std::getline(lines, line);) {
    is_template = line.starts_with("#   ") && (is_template || line.find("apiVersion") == 4);
    if (is_template) yaml += line.substr(4) + "\n";
  }
  return DocumentsOf(yaml);
}

TEST_F(DeviceClassesTest, CommentedClaimSelectsADeviceById) {
  Config(kTwoApis);
  const auto loaded = LoadPaths({tree_.path("patchbay.toml")});
  for (const ResourceSpec& spec : loaded.model->resources) {
    if (spec.api == Api::kDra) Publish(spec);
  }
  for (const Json& item : Items()) Create(kClasses, item);
  const Json documents = DocumentsInComments(DeviceClasses({"example.com/serial"}).out);
  ASSERT_THAT(documents, testing::SizeIs(2));
  EXPECT_EQ(documents[1]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"],
            documents[0]["metadata"]["name"]);
  Json spec = documents[0]["spec"]["spec"];
  Json& request = spec["devices"]["requests"][0]["exactly"];
  request["allocationMode"] = "All";  // more than one device, if the selector were wrong
  std::string expression = request["selectors"][0]["cel"]["expression"];
  expression.replace(expression.find("'ID'"), 4, "'two'");
  request["selectors"][0]["cel"]["expression"] = expression;
  EXPECT_THAT(Allocate("serial", spec), testing::ElementsAre("rack-1/example.com/serial/two"));
}

TEST_F(DeviceClassesTest, DocumentedClaimsAreValid) {
  int claims = 0;
  std::ifstream file(PATCHBAY_SOURCE_DIR "/docs/dra.md");
  std::string yaml;
  bool is_yaml = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      is_yaml = line == "```yaml";
      if (is_yaml) yaml += "---\n";
    } else if (is_yaml) {
      yaml += line + "\n";
    }
  }
  for (const Json& document : DocumentsOf(yaml)) {
    const Json kind = document.value("kind", "");
    if (kind != "ResourceClaim" && kind != "ResourceClaimTemplate") continue;
    const Json& spec = document["spec"];
    Create(kClaims,
           {{"apiVersion", document["apiVersion"]},
            {"kind", "ResourceClaim"},
            {"metadata", {{"name", Format("claim-{}", ++claims)}, {"namespace", "default"}}},
            {"spec", kind == "ResourceClaim" ? spec : spec["spec"]}});
  }
  EXPECT_GT(claims, 4);
}

TEST_F(DeviceClassesTest, ExamplesSelectTheDevicesOfTheirResources) {
  std::set<std::string> served;
  const std::filesystem::path examples = PATCHBAY_SOURCE_DIR "/examples/configs";
  for (const auto& entry : std::filesystem::directory_iterator(examples)) {
    if (entry.path().extension() != ".toml") continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << "[daemon]\napi = \"dra\"\n" << file.rdbuf();
    Config(text.str());
    const auto loaded = LoadPaths({tree_.path("patchbay.toml")});
    ASSERT_TRUE(loaded.model) << entry.path();
    for (const ResourceSpec& spec : loaded.model->resources) {
      if (served.insert(spec.name).second) Publish(spec);
    }
    for (const Json& item : Items()) {
      if (!api_.store().Find({api_sim::Kind::kDeviceClass, "", item["metadata"]["name"]})) {
        Create(kClasses, item);
      }
    }
  }
  EXPECT_THAT(served, testing::SizeIs(testing::Gt(20)));
  const auto classes = api_.store().List(api_sim::Kind::kDeviceClass);
  EXPECT_THAT(classes, testing::SizeIs(served.size()));
  for (const auto& [key, device_class] : classes) {
    const std::string resource = (*device_class)["spec"]["extendedResourceName"];
    const std::string pool = PoolName(kNode, resource);
    EXPECT_THAT(Allocate(key.name, SpecForAll(*device_class)),
                testing::ElementsAre(pool + "/one", pool + "/two"));
  }
}

}  // namespace
}  // namespace patchbay
