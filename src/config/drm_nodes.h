#pragma once

#include <optional>
#include <string>

#include "model/spec.h"

namespace patchbay {

/// A node of /dev/dri that the entry would put under another name into the container: an example of
/// one, "/dev/dri/renderD128"; nothing where there is none, as far as the patterns say. libdrm and
/// VA-API find out which device a descriptor is and open /dev/dri/<the kernel's name> again.
std::optional<std::string> RenamedDrmNode(const DeviceNodeSpec& node, const ResourceSpec& resource);

}  // namespace patchbay
