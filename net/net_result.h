#pragma once

#include <string_view>

namespace patchbay {

/// The exit code of patchbay-net, which is all that some container runtimes show.
enum class NetResult : int {
  kDone = 0,
  kUsage = 10,
  kBadState,
  kNoContainer,
  kNoPermission,
  kHostNetwork,
  kLocked,
  kAway,
  kAmbiguous,
  kOtherHardware,
  kVirtual,
  kWireless,
  kMember,
  kDefaultRoute,
  kNodeAddress,
  kNameTaken,
  kNotMoved,
  kNotConfigured,
  kNotReturned,
  kNoStatus,
};

/// Returns why the interface was not moved, and what to do.
constexpr std::string_view TextOf(NetResult result) {
  switch (result) {
    case NetResult::kDone: return "moved";
    case NetResult::kUsage: return "the arguments are not valid; restart Patchbay";
    case NetResult::kBadState: return "the container runtime passed no valid state";
    case NetResult::kNoContainer: return "the process of the container has ended";
    case NetResult::kNoPermission:
      return "the namespace of the container cannot be entered; the container runtime must run "
             "hooks as root, on Linux 5.6 or later";
    case NetResult::kHostNetwork:
      return "the pod has hostNetwork and sees all interfaces already; remove hostNetwork";
    case NetResult::kLocked: return "another container has not finished for 8 seconds";
    case NetResult::kAway: return "it is unplugged, or another container has it";
    case NetResult::kAmbiguous: return "several interfaces have the same device and port";
    case NetResult::kOtherHardware:
      return "its hardware address has changed: another adapter is in the same place";
    case NetResult::kVirtual:
      return "the kernel would not return it when the pod ends, because it is virtual, or IPoIB";
    case NetResult::kWireless: return "it is wireless, which moves only with its whole radio";
    case NetResult::kMember:
      return "it belongs to a bridge, bond or VLAN of the node; remove it there first";
    case NetResult::kDefaultRoute: return "the node has a default route on it";
    case NetResult::kNodeAddress: return "it has the address of the node";
    case NetResult::kNameTaken:
      return "the pod has an interface with this name; set another name of net_device";
    case NetResult::kNotMoved: return "the kernel refused to move it";
    case NetResult::kNotConfigured:
      return "the kernel refused its MTU or an address, so the node has it back";
    case NetResult::kNotReturned:
      return "the pod keeps it without its configuration until its next container starts";
    case NetResult::kNoStatus: return "its status file cannot be written";
  }
  return "unknown exit code";
}

}  // namespace patchbay
