#include "dra/device_class.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "dra/device_name.h"

namespace patchbay {

std::string DeviceClassName(std::string_view resource) {
  const auto slash = resource.find('/');
  return Format("{}.{}", SliceDeviceName(resource.substr(slash + 1)), resource.substr(0, slash));
}

nlohmann::ordered_json DeviceClassJson(std::string_view resource, std::string_view driver) {
  nlohmann::ordered_json json;
  json["apiVersion"] = "resource.k8s.io/v1";
  json["kind"] = "DeviceClass";
  json["metadata"]["name"] = DeviceClassName(resource);
  json["spec"]["extendedResourceName"] = resource;
  // Strings of CEL in single quotes need no escapes in JSON and YAML. Neither name has a quote.
  json["spec"]["selectors"].emplace_back()["cel"]["expression"] = Format(
      "device.driver == '{0}' && device.attributes['{0}'].resource == '{1}'", driver, resource);
  return json;
}

}  // namespace patchbay
