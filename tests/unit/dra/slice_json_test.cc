#include "dra/slice_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "dra/wanted_pool.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const SliceOwner kOwner{"patchbay.dev", "node1", "8c1d6c7e-0000-4000-8000-000000000001"};

/// A slice with every field that Patchbay writes.
ResourceSlice FullSlice() {
  ResourceSlice slice{
      .pool = "node1/example.com/serial", .generation = 3, .slice_count = 2, .devices = {}};
  SliceDevice exclusive{.name = "usb-ftdi-a50285bi-3f9c1e00"};
  exclusive.attributes = {{"resource", "example.com/serial"},
                          {"id", "usb-FTDI_\"A50285BI\""},
                          {"hot", true},
                          {"firmware", SemanticVersion{"1.2.3"}},
                          {"offset", std::int64_t{-5}},
                          {"resource.kubernetes.io/numaNode", std::int64_t{0}}};
  exclusive.taints = {{.key = std::string(kUnhealthyTaint),
                       .effect = TaintEffect::kNoSchedule,
                       .time_added = "2026-11-22T10:00:00Z"},
                      {.key = std::string(kGoneTaint), .effect = TaintEffect::kNoExecute}};
  SliceDevice shared{.name = "fuse-1"};
  shared.capacity = {
      {"slots", SlotCapacity(50)},
      {"memory", {.value = 10 * kUnit, .policy = SharePolicy{.by_default = 1'500}}},
      {"example.com/lanes",
       {.value = 8 * kUnit, .policy = SharePolicy{kUnit, Quantity{0}, 4 * kUnit, {}}}}};
  shared.allow_multiple_allocations = true;
  slice.devices = {exclusive, shared, {.name = "bare"}};
  return slice;
}

const SliceKey kKey{"00000-patchbay.dev-node1-x7k2p", "uid-1", "4711"};

std::string FullJson() { return UpdateJson({kKey, FullSlice()}, kOwner); }

/// Returns the text with `change` applied to the JSON.
template <class Change>
std::string Changed(Change change) {
  json object = json::parse(FullJson());
  change(object);
  return object.dump();
}

TEST(CreationJson, IsWhatTheApiExpects) {
  ResourceSlice slice{.pool = "node1/example.com/fuse", .devices = {}};
  SliceDevice device{.name = "fuse"};
  device.attributes = {{"id", "fuse"}};
  device.capacity = {{"slots", SlotCapacity(50)}};
  device.allow_multiple_allocations = true;
  device.taints = {{.key = std::string(kUnhealthyTaint)}};
  slice.devices = {device};
  EXPECT_EQ(CreationJson({1, slice}, kOwner),
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{)"
            R"("generateName":"00001-patchbay.dev-node1-",)"
            R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node1",)"
            R"("uid":"8c1d6c7e-0000-4000-8000-000000000001","controller":true}]},)"
            R"("spec":{"driver":"patchbay.dev","nodeName":"node1",)"
            R"("pool":{"name":"node1/example.com/fuse","generation":1,"resourceSliceCount":1},)"
            R"("devices":[{"name":"fuse","attributes":{"id":{"string":"fuse"}},)"
            R"("capacity":{"slots":{"value":"50","requestPolicy":{"default":"1",)"
            R"("validRange":{"min":"1","step":"1"}}}},"allowMultipleAllocations":true,)"
            R"("taints":[{"key":"patchbay.dev/unhealthy","effect":"NoSchedule"}]}]}})");
}

TEST(CreationJson, HasAnEmptyListIfThereAreNoDevices) {
  const auto object = json::parse(CreationJson({0, {.pool = "n/a/b", .devices = {}}}, kOwner));
  EXPECT_EQ(object["spec"]["devices"], json::array());
}

TEST(CreationJson, HasAPrefixThatTheApiServerNeitherCutsNorRefuses) {
  const auto prefix = [](const std::string& node) {
    const auto object = json::parse(
        CreationJson({0xfffff, {.pool = "p", .devices = {}}}, {std::string(47, 'd'), node, "uid"}));
    return object["metadata"]["generateName"].get<std::string>();
  };
  EXPECT_THAT(prefix("n"), SizeIs(56));
  for (std::size_t length = 1; length < 253; ++length) {
    std::string node(length, 'n');
    for (std::size_t i = 1; i < length; i += 2) node[i] = i % 4 == 1 ? '.' : '-';
    const std::string name = prefix(node);
    EXPECT_LE(name.size(), 58U);
    EXPECT_TRUE(name.ends_with('-'));
    EXPECT_TRUE(IsDnsSubdomain(name + "abcde")) << name;
  }
}

TEST(UpdateJson, NamesTheVersionThatItReplaces) {
  const auto object = json::parse(FullJson());
  EXPECT_EQ(object["metadata"]["name"], kKey.name);
  EXPECT_EQ(object["metadata"]["uid"], kKey.uid);
  EXPECT_EQ(object["metadata"]["resourceVersion"], kKey.resource_version);
  EXPECT_EQ(object["spec"]["devices"][0]["taints"][0]["timeAdded"], "2026-11-22T10:00:00Z");
}

TEST(DeletionJson, AppliesToOneVersionOnly) {
  EXPECT_EQ(DeletionJson(kKey), R"({"apiVersion":"v1","kind":"DeleteOptions",)"
                                R"("preconditions":{"uid":"uid-1","resourceVersion":"4711"}})");
}

TEST(ParseSlice, ReadsWhatPatchbayWrites) {
  const auto parsed = ParseSlice(FullJson());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, (PublishedSlice{kKey, "patchbay.dev", "node1", kOwner.node_uid, FullSlice()}));
  EXPECT_EQ(parsed->slice.devices[0].taints[0].time_added, "2026-11-22T10:00:00Z");
}

TEST(ParseSlice, ReadsWhatTheApiServerAdds) {
  const std::string text = Changed([](json& object) {
    object["metadata"]["managedFields"] = json::array({{{"manager", "patchbay"}}});
    object["metadata"]["generation"] = 1;
    object["metadata"]["creationTimestamp"] = "2026-11-22T10:00:00Z";
    object["spec"]["futureField"] = "x";
    object["spec"]["devices"][0]["futureField"] = true;
    object["spec"]["devices"][0]["taints"][1]["timeAdded"] = "2026-11-22T10:00:00Z";
    object["spec"]["devices"][1]["capacity"]["slots"]["value"] = "50";
  });
  EXPECT_EQ(ParseSlice(text).value().slice, FullSlice());
}

TEST(ParseSlice, ReadsTheNodeAmongTheOwners) {
  const auto owner_of = [](const json& owners) {
    return ParseSlice(
        Changed([&](json& object) { object["metadata"]["ownerReferences"] = owners; }));
  };
  const json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "p"}, {"uid", "pod-uid"}};
  const json node = {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n"}, {"uid", "node-uid"}};
  EXPECT_EQ(owner_of(json::array({pod, node})).value().owner_uid, "node-uid");
  EXPECT_EQ(owner_of(json::array({pod})).value().owner_uid, "");
  EXPECT_EQ(owner_of(json::array()).value().owner_uid, "");
  EXPECT_EQ(owner_of(nullptr).value().owner_uid, "");
  // The slice is written again with its owner.
  EXPECT_EQ(owner_of("node-uid").value().owner_uid, "");
  EXPECT_EQ(owner_of(json::array({{{"kind", "Node"}, {"uid", 7}}})).value().owner_uid, "");
}

TEST(ParseSlice, ReadsLargeNumbersOfSlotsAsTheApiServerWritesThem) {
  const std::string text = Changed(
      [](json& object) { object["spec"]["devices"][1]["capacity"]["slots"]["value"] = "2k"; });
  EXPECT_EQ(ParseSlice(text).value().slice.devices[1].capacity.at("slots"), SlotCapacity(2000));
}

TEST(ParseSlice, ReadsQuantitiesInAnyNotation) {
  const std::string text = Changed([](json& object) {
    json& memory = object["spec"]["devices"][1]["capacity"]["memory"];
    memory["value"] = "10000m";
    memory["requestPolicy"]["default"] = "1.5";
  });
  EXPECT_EQ(ParseSlice(text).value().slice, FullSlice());
}

TEST(ParseSlice, KeepsAtMostThirtyTwoCapacities) {
  const std::string text = Changed([](json& object) {
    json& capacity = object["spec"]["devices"][0]["capacity"];
    for (int i = 0; i < 1000; ++i) capacity["c" + std::to_string(i)]["value"] = "1";
    capacity[std::string(600, 'n')]["value"] = "1";
  });
  const SliceDevice device = ParseSlice(text).value().slice.devices[0];
  EXPECT_THAT(device.capacity, SizeIs(32));
  EXPECT_TRUE(device.has_foreign_fields);
}

TEST(ParseSlice, NoticesWhatOthersChanged) {
  using Change = void (*)(json & device);
  const Change kChanges[] = {
      [](json& d) {
        d["attributes"]["ports"] = {{"ints", {1, 2}}};
      },
      [](json& d) {
        d["attributes"]["ports"] = {{"int", 1}, {"string", "1"}};
      },
      [](json& d) {
        d["attributes"]["ports"] = {{"int", 9223372036854775808U}};
      },
      [](json& d) { d["attributes"]["ports"] = 7; },
      [](json& d) {
        d["attributes"]["ports"] = {{"int", 7}};
      },
      [](json& d) { d["attributes"].erase("id"); },
      [](json& d) {
        d["attributes"]["hot"] = {{"bool", false}};
      },
      [](json& d) {
        d["capacity"]["memory"] = {{"value", "1Gi"}};
      },
      [](json& d) {
        d["capacity"]["slots"] = {{"value", "2500m"}};
      },
      [](json& d) {
        d["capacity"]["slots"] = {{"value", "1"}};
      },
      [](json& d) { d["allowMultipleAllocations"] = true; },
      [](json& d) {
        d["taints"].push_back({{"key", "a"}, {"effect", "None"}});
      },
      [](json& d) {
        d["taints"].push_back({{"key", "a"}, {"effect", "NoExecute"}});
      },
      [](json& d) { d.erase("taints"); },
      [](json& d) {
        d["consumesCounters"] = json::array({{{"counterSet", "a"}}});
      },
      [](json& d) { d["bindsToNode"] = true; },
      [](json& d) { d["name"] = "other"; },
  };
  for (std::size_t i = 0; i < std::size(kChanges); ++i) {
    const std::string text =
        Changed([&](json& object) { kChanges[i](object["spec"]["devices"][0]); });
    const auto parsed = ParseSlice(text);
    ASSERT_TRUE(parsed) << i << parsed.error().message;
    EXPECT_NE(parsed->slice.devices[0], FullSlice().devices[0]) << i;
  }
}

TEST(ParseSlice, NoticesAnotherPolicyOfTheSlots) {
  const char* kPolicies[] = {
      R"({})",
      R"({"default":"1"})",
      R"({"default":"2","validRange":{"min":"1","step":"1"}})",
      R"({"default":"1","validRange":{"min":"2","step":"1"}})",
      R"({"default":"1","validRange":{"min":"1","step":"2"}})",
      R"({"default":"1","validRange":{"min":"1","step":"1","max":"5"}})",
      R"({"default":"1","validValues":["1"]})",
  };
  for (const char* policy : kPolicies) {
    const std::string text = Changed([&](json& object) {
      object["spec"]["devices"][1]["capacity"]["slots"]["requestPolicy"] = json::parse(policy);
    });
    EXPECT_NE(ParseSlice(text).value().slice.devices[1], FullSlice().devices[1]) << policy;
  }
}

TEST(ParseSlice, FindsFieldsThatTheApiServerDropped) {
  const std::string text = Changed([](json& object) {
    json& devices = object["spec"]["devices"];
    devices[0].erase("taints");
    devices[1].erase("allowMultipleAllocations");
    devices[1]["capacity"]["slots"].erase("requestPolicy");
  });
  const PublishedSlice stored = ParseSlice(text).value();
  EXPECT_FALSE(stored.slice.devices[1].has_foreign_fields);
  EXPECT_EQ(FeaturesOf(FullSlice(), stored.slice), (ServerFeatures{false, false}));
}

TEST(ParseSlice, RejectsHostileObjects) {
  const struct {
    const char* error;
    void (*change)(json& object);
  } kCases[] = {
      {"not a resource.k8s.io/v1 ResourceSlice", [](json& o) { o["kind"] = "Pod"; }},
      {"not a resource.k8s.io/v1", [](json& o) { o["apiVersion"] = "resource.k8s.io/v1beta1"; }},
      {"must have \"metadata\" and \"spec\"", [](json& o) { o.erase("spec"); }},
      {"\"metadata\" must be an object", [](json& o) { o["metadata"] = 1; }},
      {"\"name\" must be a DNS subdomain", [](json& o) { o["metadata"]["name"] = "../a"; }},
      {"\"name\" must be a DNS subdomain", [](json& o) { o["metadata"].erase("name"); }},
      {"\"uid\" must be letters", [](json& o) { o["metadata"]["uid"] = "a/b"; }},
      {"\"uid\" must be letters", [](json& o) { o["metadata"].erase("uid"); }},
      {"\"resourceVersion\"", [](json& o) { o["metadata"]["resourceVersion"] = ""; }},
      {"\"resourceVersion\"", [](json& o) { o["metadata"]["resourceVersion"] = "1\n2"; }},
      {"\"pool\" must be an object", [](json& o) { o["spec"].erase("pool"); }},
      {"\"generation\" must be", [](json& o) { o["spec"]["pool"]["generation"] = -1; }},
      {"\"resourceSliceCount\" must be",
       [](json& o) { o["spec"]["pool"]["resourceSliceCount"] = "1"; }},
      {"\"devices\" must be", [](json& o) { o["spec"]["devices"] = json::object(); }},
      {"\"devices\" must be", [](json& o) { o["spec"]["devices"] = json(65, json::object()); }},
      {"devices[2]: \"name\" must be",
       [](json& o) { o["spec"]["devices"][2]["name"] = std::string(64, 'a'); }},
      {"devices[1]: \"capacity\" must be",
       [](json& o) { o["spec"]["devices"][1]["capacity"] = "50"; }},
      {"devices[1]: each entry of \"capacity\" must be",
       [](json& o) { o["spec"]["devices"][1]["capacity"]["\n"] = "50"; }},
      {"devices[1]: \"value\" must be",
       [](json& o) { o["spec"]["devices"][1]["capacity"]["memory"]["value"] = 50; }},
      {"devices[1]: \"default\" must be",
       [](json& o) {
         o["spec"]["devices"][1]["capacity"]["memory"]["requestPolicy"]["default"] =
             std::string(600, '1');
       }},
      {"devices[0]: \"taints\" must be",
       [](json& o) { o["spec"]["devices"][0]["taints"] = json(65, json::object()); }},
      {"\"driver\" must be", [](json& o) { o["spec"]["driver"] = std::string(64, 'd'); }},
  };
  for (const auto& [error, change] : kCases) {
    const auto parsed = ParseSlice(Changed(change));
    ASSERT_FALSE(parsed) << error;
    EXPECT_THAT(parsed.error().message, HasSubstr(error));
    EXPECT_TRUE(IsPrintable(parsed.error().message));
  }
}

TEST(ParseSlice, ReadsAnItemOfAListWithoutKind) {
  json item = json::parse(FullJson());
  item.erase("kind");
  item.erase("apiVersion");
  EXPECT_EQ(ParseSlice(item.dump())->slice, FullSlice());
}

TEST(ParseUnstoredSlice, NeedsNoResourceVersion) {
  json object = json::parse(FullJson());
  object["metadata"].erase("resourceVersion");
  EXPECT_FALSE(ParseSlice(object.dump()));
  EXPECT_EQ(ParseUnstoredSlice(object.dump()).value(), FullSlice());
  object["spec"]["pool"] = 1;
  EXPECT_FALSE(ParseUnstoredSlice(object.dump()));
  EXPECT_FALSE(ParseUnstoredSlice("{}"));
  EXPECT_FALSE(ParseUnstoredSlice("["));
}

}  // namespace
}  // namespace patchbay
