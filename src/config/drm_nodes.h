#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/spec.h"

namespace patchbay {

struct RenamedDrm {
  std::string path;      ///< an example, such as "/dev/dri/renderD128", or the pattern for links
  bool is_link = false;  ///< to a node whose name only the host knows
};

/// Returns a node in /dev/dri that can have another name in the container because of `node`, or
/// none if the patterns of the matches indicate no such node. Renaming such nodes is a problem
/// because libdrm and VA-API determine the device number of an open descriptor and then open
/// /dev/dri/<kernel name>.
std::optional<RenamedDrm> RenamedDrmNode(const DeviceNodeSpec& node,
                                         std::span<const MatchSpec* const> matches);

}  // namespace patchbay
