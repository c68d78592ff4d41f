#pragma once

#include <string>
#include <utility>

#include "sim/api_server/api_error.h"

namespace patchbay::test {

/// Valid objects, which tests change.

inline api_sim::Json Device(const std::string& name) {
  return {{"name", name},
          {"attributes",
           {{"resource", {{"string", "example.com/serial"}}}, {"id", {{"string", name}}}}}};
}

inline api_sim::Json SharedDevice(const std::string& name, const std::string& slots) {
  api_sim::Json device = Device(name);
  device["allowMultipleAllocations"] = true;
  device["capacity"]["slots"] = {
      {"value", slots},
      {"requestPolicy", {{"default", "1"}, {"validRange", {{"min", "1"}, {"step", "1"}}}}}};
  return device;
}

inline api_sim::Json Slice(const std::string& name = "slice-1",
                           api_sim::Json devices = api_sim::Json::array({Device("a")})) {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceSlice"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"driver", "patchbay.dev"},
            {"nodeName", "node-1"},
            {"pool",
             {{"name", "node-1/example.com/serial"}, {"generation", 1}, {"resourceSliceCount", 1}}},
            {"devices", std::move(devices)}}}};
}

inline api_sim::Json Claim(const std::string& name = "claim-1", int count = 1) {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec",
           {{"devices",
             {{"requests",
               {{{"name", "s"},
                 {"exactly",
                  {{"deviceClassName", "serial.example.com"},
                   {"allocationMode", "ExactCount"},
                   {"count", count}}}}}}}}}}};
}

inline api_sim::Json DeviceClass(const std::string& expression =
                                     R"(device.driver == "patchbay.dev" && )"
                                     R"(device.attributes["patchbay.dev"].resource == )"
                                     R"("example.com/serial")") {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "DeviceClass"},
          {"metadata", {{"name", "serial.example.com"}}},
          {"spec",
           {{"extendedResourceName", "example.com/serial"},
            {"selectors", {{{"cel", {{"expression", expression}}}}}}}}};
}

}  // namespace patchbay::test
