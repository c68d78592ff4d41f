#pragma once

#include <optional>
#include <string_view>

namespace patchbay {

/// The longest state that is read, in bytes. It contains the annotations of a pod.
inline constexpr unsigned kMaxContainerState = 1U << 20;

/// The state of a container that a runtime writes to a hook (opencontainers/runtime-spec,
/// runtime.md, "State").
struct ContainerState {
  int pid = 0;          ///< of its first process, in the namespace of the runtime
  std::string_view id;  ///< a view into the text; "" if it has other characters than [\w.-]
};

/// Parses a state, which is one JSON object. Returns nothing if the text is not valid JSON or has
/// not exactly one `pid` that is a number of a process. Pure; the text can be any bytes.
std::optional<ContainerState> ParseContainerState(std::string_view text);

}  // namespace patchbay
