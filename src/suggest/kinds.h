#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery/device_ancestry.h"

namespace patchbay {

/// Conditions of a kind in addition to its names, and how its devices are used.
struct KindTraits {
  bool is_whole = false;  ///< all parts below one parent are one device
  /// An attribute that a part, or a parent of it, must have, and a pattern for its value.
  std::string_view attribute = "", value = "";
  bool is_attribute_compared = false;  ///< other devices of the subsystem are at the same place
  std::string_view ids = "";           ///< USB IDs, a pattern with braces; "": any device
  bool changes_id = false;             ///< a device has each of the IDs in turn
  std::string_view driver = "";        ///< of the nearest parent with one, a pattern with braces
  std::string_view also = "";          ///< a node that its users need in addition
  std::string_view note = "";          ///< what its users should know
  bool is_numbered = false;            ///< ports of one card, which only their numbers distinguish
  bool is_generic = false;             ///< made for a device that the table does not have
};

inline constexpr std::string_view kHostNetwork =
    "A pod needs hostNetwork: true to use it; INTERFACES has its name.";

/// A kind of device that containers use.
struct DeviceKind {
  std::string_view resource;   ///< the name of its resource, without the domain: "serial"
  std::string_view what;       ///< what a device is, for comments: "serial port"
  std::string_view subsystem;  ///< of its parts in sysfs, a pattern with braces
  std::string_view names;      ///< the kernel's names for them, a pattern with braces
  KindTraits traits = {};
};

/// Returns whether a kind has devices of this subsystem.
bool IsSubsystemOfKind(const std::string& subsystem);

/// Returns the first kind of the table that recognizes a sysfs device; null if containers do not
/// use it.
const DeviceKind* KindOf(const DeviceAncestry& device, DeviceAncestries& ancestries,
                         const Sysfs& sysfs);

/// Returns whether a BMC or hypervisor emulates the device: its keyboard, network or media.
bool IsVirtualMedium(const DeviceKind& kind, const DeviceAncestry& device, const Sysfs& sysfs);

/// Nodes that are found by name: those that containers can share, and cards that are not in sysfs,
/// so that only numbers distinguish them.
struct NodeKind {
  std::string_view resource, what;
  std::string_view paths;  ///< a glob with braces; all that exist and are shared are one device
  std::string_view danger = "";
  /// Of a card: a regex with one group, of digits; the name of the group; nodes of all cards.
  std::string_view regex = "", id = "";
  std::vector<std::string_view> also = {};
  std::pair<std::string_view, std::string_view> env = {};
};
std::span<const NodeKind> NodeKinds();

}  // namespace patchbay
