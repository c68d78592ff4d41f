#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/api_server/api_error.h"

namespace patchbay::api_sim {

/// A condition of a selector: an attribute of the device equals a value.
struct AttributeCondition {
  std::string domain;
  std::string name;
  std::variant<std::string, std::int64_t, bool> value;
};

/// A selector that the built-in server understands. CEL is out of scope: only a conjunction of
/// `device.driver == "…"` and `device.attributes["DOMAIN"].NAME == VALUE` is accepted, which is the
/// form of the DeviceClasses that Patchbay prints. VALUE is a string, an integer, true or false.
struct DeviceSelector {
  std::vector<std::string> drivers;
  std::vector<AttributeCondition> attributes;
};

/// Parses a CEL expression of that form. Fails with kInvalid for any other expression.
Result<DeviceSelector> ParseSelector(std::string_view expression);

/// Returns whether a device of `driver` meets all conditions. An attribute without a domain is in
/// the domain of its driver.
bool Matches(const DeviceSelector& selector, std::string_view driver, const Json& device);

}  // namespace patchbay::api_sim
