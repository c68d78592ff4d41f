#pragma once

#include <string>

#include "http/node_status.h"

namespace patchbay {

/// The status as /api/v1/status gives it, on one line; docs/api.md has its schema. `now` is when it
/// is asked for. Whatever bytes are in it, the text is valid JSON in UTF-8. Linear in the number of
/// devices, in time and in memory.
std::string StatusJson(const NodeStatus& status, WallTime now);

}  // namespace patchbay
