#pragma once

#include <string>

#include "status/node_status.h"

namespace patchbay {

/// Returns the response of /api/v1/status, on one line; docs/api.md has its schema. The text is
/// valid JSON in UTF-8, even if the status contains invalid bytes. Linear in the number of devices,
/// in time and memory.
std::string StatusJson(const NodeStatus& status, WallTime now);

}  // namespace patchbay
