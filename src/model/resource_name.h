#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// Returns an error message if `name` is not a valid name of an extended resource. The rules are
/// those of the kubelet's IsExtendedResourceName, and in addition each label of the domain has at
/// most 63 bytes, as in DNS.
std::optional<std::string> ProblemWithResourceName(std::string_view name);

}  // namespace patchbay
