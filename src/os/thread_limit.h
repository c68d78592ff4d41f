#pragma once

#include <string_view>

namespace patchbay {

/// The end of a message that the system cannot create a thread: what the administrator can do.
inline constexpr std::string_view kRaiseThreadLimit =
    "raise the limit of processes, which is pids.max of the cgroup, or ulimit -u";

}  // namespace patchbay
