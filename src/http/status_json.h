#pragma once

#include <string>

#include "status/node_status.h"

namespace patchbay {

/// The response of /api/v1/status, on one line, consists of an opening and the rest; docs/api.md
/// has its schema. The text is valid JSON in UTF-8, whatever bytes the status contains.

/// Returns the opening, the only part that depends on the time of the response.
std::string StatusOpening(WallTime now);

/// Returns the rest. Linear in the number of devices, in time and memory.
std::string StatusRest(const NodeStatus& status);

}  // namespace patchbay
