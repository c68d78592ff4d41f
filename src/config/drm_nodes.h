#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/spec.h"

namespace patchbay {

/// Returns an example of a node in /dev/dri that gets another name in the container because of
/// `node`, such as "/dev/dri/renderD128", or none if the patterns of the matches indicate no such
/// node. Renaming such nodes is a problem because libdrm and VA-API determine the device number of
/// an open descriptor and then open /dev/dri/<kernel name>.
std::optional<std::string> RenamedDrmNode(const DeviceNodeSpec& node,
                                          std::span<const MatchSpec* const> matches);

}  // namespace patchbay
