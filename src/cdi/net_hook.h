#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cdi/cdi_spec.h"
#include "model/device.h"

namespace patchbay {

/// The CDI hook that moves a network interface into a container. The container runtime runs it for
/// each start of a container, with the arguments of net/main.cc.

/// The arguments that all hooks of a node have in common.
struct NetHook {
  std::string program;                           ///< patchbay-net, a path on the host
  std::string results;                           ///< its directory of status files, on the host
  std::vector<std::string> node_addresses = {};  ///< an interface with one of them never moves
  bool operator==(const NetHook&) const = default;
};

/// A move into a container.
struct NetMove {
  NetInterface interface;
  std::string name = {};  ///< in the container; empty: as on the host
  bool up = true;
  int mtu = 0;                              ///< 0: as on the host
  std::vector<std::string> addresses = {};  ///< "192.0.2.7/24"
  bool operator==(const NetMove&) const = default;
};

CdiHook HookOf(const NetMove& move, const NetHook& node);

/// Returns the name of the files about an interface, one for each on the host.
std::string InterfaceFileName(const NetInterface& interface);

/// The CDI devices that move the interfaces of one resource of the device plugin API, in which a
/// response can name CDI devices only. There is one for each device and slot, so that a container
/// that restarts after the node, without an allocation, finds its own.

inline constexpr std::string_view kNetKind = "patchbay.dev/net";

/// Returns the name of the CDI device for a device, by its ID, in a slot.
std::string NetDeviceName(std::string_view resource, std::string_view device, int slot);

/// Returns the name of the file with the CDI devices of a resource.
std::string NetFileName(std::string_view resource);

}  // namespace patchbay
