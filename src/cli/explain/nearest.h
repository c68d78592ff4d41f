#pragma once

#include <string>

#include "model/spec.h"
#include "os/host_root.h"

namespace patchbay {

/// Returns the entry, in TOML, for the device of the host that is most similar to what a match
/// selects by a path or an ID; "" if none is similar. Reads sysfs; may block.
std::string NearestEntry(const MatchSpec& match, const HostRoot& host);

}  // namespace patchbay
