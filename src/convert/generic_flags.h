#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/diagnostics.h"
#include "convert/generic_domain.h"
#include "convert/manifest.h"

namespace patchbay {

/// The parsed command line of generic-device-plugin.
struct GenericFlags {
  std::vector<Manifest::Argument> devices = {};  ///< the value of each --device, in order
  std::optional<Domain> domain = {};             ///< of the last --domain, which wins
  std::vector<std::pair<std::string, Manifest::Argument>> settings = {};  ///< other flags
};

/// Parses the arguments of a container. Accepts "--device X" and "--device=X", with one dash or
/// two. An argument that the plugin does not have is a finding, and so is a flag without its value.
GenericFlags ReadGenericFlags(const Manifest::Container& container, Findings& findings);

}  // namespace patchbay
