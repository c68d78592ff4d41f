#include "dra/device_name.h"
#include "dra/slice_json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "model/object_name.h"

namespace patchbay {
namespace {

using testing::SizeIs;
using testing::StartsWith;

TEST(DeviceClassName, PutsTheDomainBehindTheName) {
  EXPECT_EQ(DeviceClassName("example.com/serial"), "serial.example.com");
  EXPECT_EQ(DeviceClassName("patchbay.dev/sound-card"), "sound-card.patchbay.dev");
  EXPECT_EQ(DeviceClassName("a/0"), "0.a");
}

TEST(DeviceClassName, IsASubdomainForEveryResourceName) {
  for (const char* name : {"Serial", "usb_serial", "a.b", "a-.-b", "A__b"}) {
    const std::string class_name = DeviceClassName(std::string("example.com/") + name);
    EXPECT_TRUE(IsDnsSubdomain(class_name)) << class_name;
    EXPECT_THAT(class_name, testing::EndsWith(".example.com"));
  }
  EXPECT_THAT(DeviceClassName("example.com/USB_Serial"), StartsWith("usb-serial-"));
}

/// Classes of two resources with one name would replace each other.
TEST(DeviceClassName, DistinguishesResources) {
  const std::set<std::string> resources = {"example.com/serial",     "example.com/Serial",
                                           "example.com/SERIAL",     "example.com/usb-serial",
                                           "example.com/usb_serial", "example.com/usb.serial",
                                           "serial.example.com/usb"};
  std::set<std::string> names;
  for (const std::string& resource : resources) names.insert(DeviceClassName(resource));
  EXPECT_THAT(names, SizeIs(resources.size()));
}

TEST(DeviceClassName, NeverChanges) {
  EXPECT_EQ(DeviceClassName("example.com/ttyUSB0"), "ttyusb0-8acffaeae38f2be1.example.com");
}

TEST(DeviceClassJson, IsTheObjectOfTheApi) {
  EXPECT_EQ(DeviceClassJson("example.com/serial", "dra.example.com").dump(2), R"({
  "apiVersion": "resource.k8s.io/v1",
  "kind": "DeviceClass",
  "metadata": {
    "name": "serial.example.com"
  },
  "spec": {
    "extendedResourceName": "example.com/serial",
    "selectors": [
      {
        "cel": {
          "expression": "device.driver == 'dra.example.com' && device.attributes['dra.example.com'].resource == 'example.com/serial'"
        }
      }
    ]
  }
})");
}

}  // namespace
}  // namespace patchbay
