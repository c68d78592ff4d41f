#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/diagnostics.h"
#include "convert/manifest.h"

namespace patchbay {

/// The default domains of the plugin up to version 0.1, and from 0.2 on.
inline constexpr std::string_view kOldDomain = "squat.ai";
inline constexpr std::string_view kNewDomain = "devic.es";

/// Returns the default domain of the version in the tag of an image, or nothing if the tag is not a
/// version.
std::optional<std::string_view> DomainOfImage(std::string_view image);

/// The domain of devices, and where it comes from.
struct Domain {
  std::string name;  ///< if it is not known, the text that stands for it
  SourceLocation place;
  std::string hint = {};  ///< how to make it known; empty if it is
};

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
