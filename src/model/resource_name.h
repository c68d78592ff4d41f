#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// Why the kubelet would refuse `name` as an extended resource, in words; nothing if it would not.
/// The grammar is that of the kubelet's IsExtendedResourceName, with one tightening: labels of the
/// prefix are at most 63 bytes, as DNS has it.
std::optional<std::string> ProblemWithResourceName(std::string_view name);

}  // namespace patchbay
