#pragma once

#include <string>

#include "status/node_status.h"

namespace patchbay {

/// The status as /api/v1/status gives it, on one line, is the opening and the rest; docs/api.md has
/// its schema. Whatever bytes are in it, the text is valid JSON in UTF-8.

/// What differs between two answers of one and the same status: `now` is when it is answered.
std::string StatusOpening(WallTime now);

/// The same for everybody. Linear in the number of devices, in time and in memory.
std::string StatusRest(const NodeStatus& status);

}  // namespace patchbay
