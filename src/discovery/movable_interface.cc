#include "discovery/movable_interface.h"

#include <algorithm>

#include "base/path.h"

namespace patchbay {
namespace {

/// Returns whether another interface of its bus device has the same numbers, such as a representor
/// of a virtual function.
bool HasTwin(const SysfsDevice& device, const NetInterface& own, const Sysfs& sysfs) {
  const std::string directory = DirectoryOf(device.path);
  const auto others =
      sysfs.host().List(directory, [&](const std::string& name) { return name != device.name; });
  if (!others) return false;
  return std::ranges::any_of(*others, [&](const HostEntry& other) {
    const std::string path = directory + "/" + other.name;
    // Read last: one that moves away meanwhile has no numbers.
    return IsSameInterface(InterfaceAt(path, sysfs), own) && sysfs.Attribute(path, "type");
  });
}

}  // namespace

std::optional<NetInterface> MovableInterface(const SysfsDevice& device, ScanContext& scan,
                                             std::string& unhealthy) {
  NetInterface interface = InterfaceAt(device.path, scan.sysfs());
  interface.is_away = device.is_away;
  if (!device.is_away) {
    if (const std::string_view why = scan.networks().WhyItStays(device); !why.empty()) {
      scan.Reject(device.path, RejectReason::kNotMovable, std::string(why));
      return std::nullopt;
    }
    if (HasTwin(device, interface, scan.sysfs())) {
      scan.Reject(
          device.path, RejectReason::kNotMovable,
          "another interface of its bus device has the same dev_port and dev_id, so the one "
          "to move is not known; use it with hostNetwork");
      return std::nullopt;
    }
    auto record = RecordOf(device, scan.match(), scan.sysfs());
    if (!record) return std::nullopt;
    scan.interfaces().push_back(*std::move(record));
  }
  const KnownInterface* known = FindKnown(scan.request().interfaces, interface);
  if (known != nullptr && device.is_away && !known->is_moved) {
    unhealthy =
        "it is in a network namespace to which Patchbay has not moved it; end the program or "
        "container that uses it";
  } else if (known != nullptr && !device.is_away && known->host_needs_it) {
    unhealthy = known->failure;
  }
  return interface;
}

}  // namespace patchbay
