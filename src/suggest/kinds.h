#pragma once

#include <span>
#include <string>
#include <string_view>

#include "discovery/device_ancestry.h"

namespace patchbay {

/// What recognizes a kind in addition to its names, and what its devices are.
struct KindTraits {
  bool is_whole = false;  ///< all parts below one parent are one device
  /// An attribute that the parts, or a parent of them, must have, and a pattern for its value.
  std::string_view attribute = "", value = "";
  std::string_view ids = "";     ///< USB IDs, a pattern with braces; "": any device
  std::string_view driver = "";  ///< of the nearest device that has one, a pattern with braces
  /// Why only an administrator should decide to give it to pods; "": it is harmless.
  std::string_view danger = "";
};

/// A kind of device that containers use.
struct Kind {
  std::string_view resource;   ///< the name of its resource, without the domain: "serial"
  std::string_view what;       ///< what a device is, for comments: "serial port"
  std::string_view subsystem;  ///< of its parts in sysfs, a pattern with braces
  std::string_view names;      ///< the kernel's names for them, a pattern with braces
  KindTraits traits = {};
};

/// Returns the kind of a sysfs device: the first one of the table that recognizes it. Null if
/// containers do not use it.
const Kind* KindOf(const DeviceAncestry& device, DeviceAncestries& ancestries, const Sysfs& sysfs);

/// Nodes of the kernel with names that stay, which containers can share.
struct SharedNodes {
  std::string_view resource, what;
  std::string_view paths;  ///< a glob with braces; all that exist are one device
};
std::span<const SharedNodes> SharedNodeKinds();

}  // namespace patchbay
