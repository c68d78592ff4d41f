#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "config/source_file.h"

namespace patchbay {

/// The programs whose files can be converted, and their names, in the same order.
enum class ForeignProgram { kGenericDevicePlugin, kSmarterDeviceManager };
inline constexpr std::string_view kForeignPrograms[] = {"generic-device-plugin",
                                                        "smarter-device-manager"};

/// What of a node's /dev somebody has looked at: a path without "/dev/" in front.
struct SeenName {
  std::string name;
  bool is_directory = false;
};

/// What the file itself does not say.
struct ConvertHints {
  std::optional<std::string> domain = {};  ///< of resources, instead of what the file says
  /// The names in the /dev of a node: what smarter-device-manager makes resources of, and what of
  /// that is a directory.
  std::optional<std::vector<SeenName>> dev = {};
};

/// A foreign file in Patchbay's terms. The TOML is there if and only if there are no errors; then
/// `check` accepts it. Warnings speak of what somebody should look at.
struct Conversion {
  std::optional<std::string> toml;
  Diagnostics diagnostics;
};

/// Converts a configuration file, or Kubernetes manifests in which it or the arguments are found.
/// The resources keep their names; a comment stands where the meaning differs, and what cannot be
/// said in Patchbay is an error. Any bytes may come in. A pure function: it asks no host.
Conversion Convert(ForeignProgram from, const SourceFile& source, const ConvertHints& hints);

}  // namespace patchbay
