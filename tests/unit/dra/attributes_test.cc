#include "dra/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/escape.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Value = AttributeValue;

Value Text(const std::string& text) { return Value(text); }

Device SerialStick() {
  Device device;
  device.id = "usb-FTDI_A50285BI";
  device.nodes = {{.path = "/dev/ttyUSB0", .real_path = "/dev/ttyUSB0"}};
  device.values = {{"usb_vendor", "0403"},          {"usb_product", "6001"},
                   {"usb_serial", "A50285BI"},      {"driver", "ftdi_sio"},
                   {"pci_address", "0000:00:14.0"}, {"pcie_root", "pci0000:00"},
                   {"ID_MODEL", "FT232R"}};
  device.numa_node = 1;
  return device;
}

DeviceAttributes Compute(const Device& device, const std::vector<AttributeSpec>& specs = {}) {
  return AttributesOf({device, "example.com/serial", "node-1"}, specs);
}

AttributeSpec Spec(const std::string& name, AttributeType type, const std::string& value) {
  return {name, type, Template::Compile(value).value()};
}

TEST(AttributesOf, HasWhatDiscoveryKnows) {
  const Device device = SerialStick();
  const auto [values, problems] = AttributesOf({device, "example.com/serial", "node-1"}, {});
  EXPECT_THAT(
      values,
      ElementsAre(Pair("driver", Text("ftdi_sio")), Pair("id", Text("usb-FTDI_A50285BI")),
                  Pair("path", Text("/dev/ttyUSB0")), Pair("resource", Text("example.com/serial")),
                  Pair("resource.kubernetes.io/numaNode", Value(std::int64_t{1})),
                  Pair("resource.kubernetes.io/pciBusID", Text("0000:00:14.0")),
                  Pair("resource.kubernetes.io/pcieRoot", Text("pci0000:00")),
                  Pair("usbProduct", Text("6001")), Pair("usbSerial", Text("A50285BI")),
                  Pair("usbVendor", Text("0403"))));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(AttributesOf, HasTheIdOfAPciFunction) {
  Device device = SerialStick();
  device.values = {{"pci_vendor", "10de"}, {"pci_device", "2204"}};
  const auto values = Compute(device).values;
  EXPECT_EQ(values.at("pciVendor"), Text("10de"));
  EXPECT_EQ(values.at("pciDevice"), Text("2204"));
}

TEST(AttributesOf, HasOnlyResourceAndIdForADeviceWithoutNodes) {
  Device device;
  device.id = "7";
  EXPECT_THAT(Compute(device).values,
              ElementsAre(Pair("id", Text("7")), Pair("resource", Text("example.com/serial"))));
}

TEST(AttributesOf, RendersSpecifiedOnesByType) {
  const auto [values, problems] =
      Compute(SerialStick(), {Spec("model", AttributeType::kString, "{ID_MODEL} on {node_name}"),
                              Spec("lane", AttributeType::kInt, "-{numa_node}"),
                              Spec("fast", AttributeType::kBool, "true"),
                              Spec("firmware", AttributeType::kVersion, "1.2.{numa_node}"),
                              Spec("driver", AttributeType::kString, "other")});
  EXPECT_EQ(values.at("model"), Text("FT232R on node-1"));
  EXPECT_EQ(values.at("lane"), Value(std::int64_t{-1}));
  EXPECT_EQ(values.at("fast"), Value(true));
  EXPECT_EQ(values.at("firmware"), Value(SemanticVersion{"1.2.1"}));
  EXPECT_EQ(values.at("driver"), Text("other"));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(AttributesOf, LeavesOutWhatTheApiServerWouldRefuse) {
  const struct {
    std::string text, reason;
  } kCases[] = {
      {std::string(65, 'x'), "has 65 bytes, and the API server accepts 64"},
      {"a\x1b[31m", R"("a\x1b[31m" is not printable UTF-8)"},
      {"a\nb", "is not printable UTF-8"},
      {"\xff", R"("\xff" is not printable UTF-8)"},
      {"a\u202e", "is not printable UTF-8"},
      {std::string("a\0b", 3), R"("a\x00b" is not printable UTF-8)"},
  };
  for (const auto& [text, reason] : kCases) {
    Device device = SerialStick();
    device.values = {{"usb_serial", text}};
    const auto [values, problems] = Compute(device);
    EXPECT_FALSE(values.contains("usbSerial"));
    ASSERT_THAT(problems, SizeIs(1)) << reason;
    EXPECT_EQ(problems[0].name, "usbSerial");
    EXPECT_THAT(problems[0].reason, HasSubstr(reason));
  }
}

TEST(AttributesOf, KeepsTextsOfExactlySixtyFourBytes) {
  Device device = SerialStick();
  device.values = {{"usb_serial", std::string(64, 'x')}};
  EXPECT_EQ(Compute(device).values.at("usbSerial"), Text(std::string(64, 'x')));
}

TEST(AttributesOf, ReportsSpecifiedValuesOfAnotherType) {
  const auto [values, problems] = Compute(
      SerialStick(),
      {Spec("a", AttributeType::kInt, "{ID_MODEL}"),
       Spec("b", AttributeType::kInt, "9223372036854775808"), Spec("c", AttributeType::kInt, "1 "),
       Spec("d", AttributeType::kBool, "yes"), Spec("e", AttributeType::kVersion, "1.2"),
       Spec("f", AttributeType::kString, "{ID_MISSING}")});
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) EXPECT_FALSE(values.contains(name));
  ASSERT_THAT(problems, SizeIs(6));
  EXPECT_EQ(problems[0], (AttributeProblem{"a", R"("FT232R" is not an integer of 64 bits)"}));
  EXPECT_EQ(problems[3], (AttributeProblem{"d", R"("yes" is not "true" or "false")"}));
  EXPECT_EQ(problems[4],
            (AttributeProblem{"e", R"("1.2" is not a semantic version such as 1.2.3)"}));
  EXPECT_THAT(problems[5].reason, HasSubstr("ID_MISSING"));
}

TEST(AttributesOf, KeepsFormsOfStandardAttributes) {
  for (const std::string address : {"0000:00:14", "0000:0G:14.0", "00:14.0", "0000:3B:00.0"}) {
    Device device = SerialStick();
    device.values = {{"pci_address", address}, {"pcie_root", "pci" + address}};
    const auto [values, problems] = AttributesOf({device, "a/b", "n"}, {});
    EXPECT_FALSE(values.contains("resource.kubernetes.io/pciBusID")) << address;
    EXPECT_FALSE(values.contains("resource.kubernetes.io/pcieRoot")) << address;
    EXPECT_THAT(problems, SizeIs(2)) << address;
  }
}

TEST(AttributesOf, HasAtMostThirtyTwo) {
  std::vector<AttributeSpec> specs;
  specs.reserve(40);
  for (int i = 0; i < 40; ++i) {
    specs.push_back(Spec("a" + std::to_string(i), AttributeType::kInt, std::to_string(i)));
  }
  const Device device = SerialStick();
  const auto [values, problems] = Compute(device, specs);
  EXPECT_THAT(values, SizeIs(32));
  EXPECT_THAT(problems, SizeIs(18));  // 10 automatic ones
  EXPECT_THAT(problems[0].reason, HasSubstr("has 32 attributes already"));
  EXPECT_THAT(AttributesOf({device, "a/b", "n", 31}, specs).values, SizeIs(31));
  // A value that replaces another needs no room.
  specs = {specs.begin(), specs.begin() + 22};
  specs.push_back(Spec("driver", AttributeType::kString, "other"));
  EXPECT_EQ(Compute(device, specs).values.at("driver"), Text("other"));
}

TEST(AttributesOf, IsLegalForAnyBytesOfADevice) {
  std::mt19937 random(5);
  for (int round = 0; round < 5'000; ++round) {
    Device device = SerialStick();
    NamedValues hostile(device.values.begin(), device.values.end());
    for (auto& value : hostile) {
      value.second.assign(random() % 90, 'x');
      for (char& c : value.second) {
        if (random() % 4 == 0) c = static_cast<char>(random());
      }
    }
    device.values = std::move(hostile);
    const auto [values, problems] =
        Compute(device, {Spec("model", AttributeType::kString, "{ID_MODEL}")});
    for (const auto& [name, value] : values) {
      const auto* text = std::get_if<std::string>(&value);
      if (text == nullptr) continue;
      EXPECT_TRUE(text->size() <= 64 && IsPrintable(*text)) << name;
    }
    for (const AttributeProblem& problem : problems) {
      EXPECT_TRUE(IsPrintable(problem.reason)) << testing::PrintToString(problem.reason);
      EXPECT_LT(problem.reason.size(), 500U);
    }
  }
}

}  // namespace
}  // namespace patchbay
