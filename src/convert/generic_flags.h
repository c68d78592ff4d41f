#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convert/diagnostics.h"
#include "convert/manifest.h"

namespace patchbay {

/// What the command line of generic-device-plugin says.
struct GenericFlags {
  std::vector<YamlValue> devices = {};     ///< what follows each --device, in order
  bool names_devices = false;              ///< --device is there, be it without a value
  std::optional<std::string> domain = {};  ///< the last one, which wins
  std::vector<std::pair<std::string, std::string>> settings = {};  ///< others, with their dashes
};

/// Whether --device is among the arguments of a container, whatever program it runs.
bool NamesDevices(const Manifest::Container& container);

/// Reads "--device X" and "--device=X", with one dash or two. What is no argument of the plugin,
/// or lacks its value, is a finding.
GenericFlags ReadGenericFlags(const Manifest::Container& container, Findings& findings);

}  // namespace patchbay
