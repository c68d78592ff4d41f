#include "model/variables.h"

#include <gmock/gmock.h>

#include "model/spec.h"

namespace patchbay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

std::vector<std::string> Names(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.name);
  return names;
}

std::string Text(const std::optional<FormatValue>& value) {
  if (!value) return "nothing";
  if (const auto* number = std::get_if<std::int64_t>(&*value)) return std::to_string(*number);
  return std::string(std::get<std::string_view>(*value));
}

/// A device in a container, with a different value for each variable.
struct Seen {
  Device device{"dev-id",
                {{"/dev/by-id/usb-A", "/dev/ttyUSB0", FileType::kCharacter, 188, 7}},
                {{"card", "3"}, {"empty", ""}, {"path", "shadowed"}},
                1};
  Variables variables{"example.com/r", "node-1", &device, &device.nodes.front(),
                      "dev-id::4",     5,        6,       4};
};

TEST(Variables, FindEveryName) {
  const Seen seen;
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"id", "dev-id::4"},
      {"resource", "example.com/r"},
      {"node_name", "node-1"},
      {"index", "5"},
      {"slot", "6"},
      {"replica", "4"},
      {"path", "/dev/by-id/usb-A"},
      {"real_path", "/dev/ttyUSB0"},
      {"name", "usb-A"},
      {"major", "188"},
      {"minor", "7"},
      {"card", "3"},
      {"empty", ""},
      {"none", "nothing"},
      {"", "nothing"},
      {"ID", "nothing"},
  };
  for (const auto& [name, value] : cases) EXPECT_EQ(Text(seen.variables.Find(name)), value) << name;
}

/// The serial number of a drive is a property of its block node, and not of its generic one.
TEST(Variables, HaveTheValuesOfOtherNodesForWhatTheirNodeLacks) {
  Device device{"1:0:0:0", std::vector<DeviceNode>(2), {{"driver", "of the device"}}};
  device.nodes[0].values = {{"driver", "sr"}};
  device.nodes[0].captures = {{"kind", "sg"}};
  device.nodes[1].values = {{"driver", "other"}, {"ID_SERIAL", "K1"}};
  device.nodes[1].captures = {{"kind", "sr"}, {"number", "0"}};
  const Variables variables = VariablesOf(device);
  EXPECT_EQ(Text(variables.Find("ID_SERIAL")), "K1");
  EXPECT_EQ(variables.Lookup("ID_SERIAL")->origin, Origin::kDevice);
  EXPECT_EQ(Text(variables.Find("driver")), "sr");
  EXPECT_EQ(Text(variables.Find("kind")), "sg");
  EXPECT_EQ(Text(variables.Find("number")), "nothing") << "a part of the path of another node";
}

TEST(Variables, OmitNodeVariablesWithoutNodes) {
  Seen seen;
  seen.variables.node = nullptr;
  for (const std::string_view name : {"real_path", "name", "major", "minor"}) {
    EXPECT_EQ(Text(seen.variables.Find(name)), "nothing") << name;
  }
  EXPECT_EQ(Text(seen.variables.Find("card")), "3");
  seen.variables.device = nullptr;
  EXPECT_EQ(Text(seen.variables.Find("card")), "nothing");
  EXPECT_EQ(Text(seen.variables.Find("slot")), "6");
}

TEST(Variables, ReportTheirOrigin) {
  Seen seen;
  DeviceNode& node = seen.device.nodes.front();
  node.captures = {{"card", "7"}, {"name", "unused"}, {"resource", "unused"}};
  node.values = {{"card", "8"}, {"port", "9"}, {"real_path", "/never/asked"}};
  const std::pair<std::string_view, Origin> cases[] = {
      {"resource", Origin::kConfiguration},
      {"node_name", Origin::kConfiguration},
      {"id", Origin::kConfiguration},
      {"slot", Origin::kConfiguration},
      {"minor", Origin::kConfiguration},
      {"numa_node", Origin::kConfiguration},
      {"path", Origin::kNode},
      {"real_path", Origin::kNode},
      {"name", Origin::kMatched},
      {"card", Origin::kMatched},
      {"port", Origin::kDevice},
      {"empty", Origin::kDevice},
  };
  for (const auto& [name, origin] : cases) {
    const auto found = seen.variables.Lookup(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->origin, origin) << name;
    if (name != "card") {
      EXPECT_EQ(OriginOf(name), origin) << name;
    }
  }
  EXPECT_EQ(Text(seen.variables.Find("card")), "7") << "a named group has precedence";
  EXPECT_EQ(Text(seen.variables.Find("real_path")), "/dev/ttyUSB0");
  EXPECT_EQ(OriginOf("card"), Origin::kDevice) << "the name alone is not sufficient";
}

TEST(SuppliedBy, AgreesWithFind) {
  const Seen seen;
  const MatchSpec path{PathSource{{*Glob::Compile("/dev/x")}}, {}, std::nullopt};
  const std::vector<Variable> supplied = SuppliedBy(path);
  EXPECT_EQ(supplied.size(), 12u);
  for (const Variable& variable : supplied) {
    const auto value = seen.variables.Find(variable.name);
    ASSERT_TRUE(value) << variable.name;
    EXPECT_EQ(std::holds_alternative<std::int64_t>(*value), variable.type == VariableType::kInteger)
        << variable.name;
  }
}

TEST(SuppliedBy, IncludesSysfsVariables) {
  MatchSpec match{PathSource{{*Glob::Compile("/dev/x")}}, {}, std::nullopt};
  EXPECT_FALSE(CanProvide(match, "ID_SERIAL"));
  match.conditions.udev.emplace();
  EXPECT_THAT(Names(SuppliedBy(match)), Contains("usb_serial"));
  EXPECT_TRUE(CanProvide(match, "ID_SERIAL"));
  EXPECT_FALSE(CanProvide(match, "id_serial"));
  EXPECT_FALSE(CanProvide(match, ""));
  EXPECT_THAT(Names(SuppliedBy(MatchSpec{PciPattern{}, {}, std::nullopt})),
              Contains("pci_address"));
}

TEST(SuppliedBy, OmitsNodeVariablesOfNetworkInterfaces) {
  const UdevPattern net{{*NamePattern::Compile("net")}, {}, {}, {}};
  const MatchSpec match{net, {}, std::nullopt};
  EXPECT_THAT(Names(SuppliedBy(match)), Not(Contains("name")));
  EXPECT_THAT(Names(SuppliedBy(match)), Contains("numa_node"));
  EXPECT_TRUE(CanProvide(match, "INTERFACE"));
  MatchSpec card{PciPattern{}, {}, std::nullopt};
  EXPECT_THAT(Names(SuppliedBy(card)), Contains("name"));
  card.conditions.udev = net;
  EXPECT_THAT(Names(SuppliedBy(card)), Not(Contains("name")));
  card.conditions.udev->subsystems.push_back(*NamePattern::Compile("infiniband"));
  EXPECT_THAT(Names(SuppliedBy(card)), Contains("name"));
}

TEST(IsNodeVariable, AcceptsPathNameAndNumberVariables) {
  for (const std::string_view name : {"path", "real_path", "name", "major", "minor"}) {
    EXPECT_TRUE(IsNodeVariable(name)) << name;
  }
  for (const std::string_view name : {"id", "numa_node", "INTERFACE", "none", ""}) {
    EXPECT_FALSE(IsNodeVariable(name)) << name;
  }
}

TEST(SuppliedBy, DependsOnTheSource) {
  const MatchSpec regex{RegexSource{*Regex::Compile("/dev/(?P<a>x)(?P<b>y)?(z)")}, {}, {}};
  EXPECT_THAT(Names(SuppliedBy(regex)), Contains("path"));
  EXPECT_THAT(Names(SuppliedBy(regex)), Contains("a"));
  EXPECT_THAT(Names(SuppliedBy(regex)), Contains("b"));
  EXPECT_EQ(SuppliedBy(regex).size(), 14u);
  const MatchSpec count{CountSource{1}, {}, {}};
  EXPECT_THAT(Names(SuppliedBy(count)),
              ElementsAre("id", "resource", "node_name", "index", "slot", "replica"));
}

}  // namespace
}  // namespace patchbay
