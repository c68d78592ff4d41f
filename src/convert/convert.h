#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "config/source_file.h"

namespace patchbay {

/// The plugins whose configuration can be converted.
enum class ForeignProgram { kGenericDevicePlugin, kSmarterDeviceManager };
/// The names of the plugins, in the order of ForeignProgram.
inline constexpr std::string_view kForeignPrograms[] = {"generic-device-plugin",
                                                        "smarter-device-manager"};

/// A device or directory in the /dev of a node. The name is its path without the leading "/dev/".
struct SeenName {
  std::string name;
  bool is_directory = false;
};

/// Information that the converted file does not contain.
struct ConvertHints {
  std::optional<std::string> domain = {};  ///< replaces the resource domain in the file
  /// The content of a node's /dev. It shows which paths are directories, and for which names
  /// smarter-device-manager creates resources.
  std::optional<std::vector<SeenName>> dev = {};
  bool needs_helm = false;  ///< write values for the chart instead of TOML
};

/// A converted configuration. An error prevents the conversion of a part of the input, which is a
/// comment at the end of the configuration then. Each warning describes something that the user
/// should review.
struct Conversion {
  /// TOML that `check` accepts; or, if they were requested, values for the chart that contain it,
  /// with a pool for each choice of nodes, see helm.h. Absent if the input cannot be read, does not
  /// contain a configuration, or is too large.
  std::optional<std::string> text;
  Diagnostics diagnostics;
};

/// Converts the configuration file of a plugin, or Kubernetes manifests that contain the file or
/// the arguments of the plugin. The resources keep their names. Comments in the TOML mark
/// differences in meaning; a setting without an equivalent in Patchbay is an error. The input may
/// be any bytes. A pure function that does not access the host.
Conversion Convert(ForeignProgram from, const SourceFile& source, const ConvertHints& hints);

}  // namespace patchbay
