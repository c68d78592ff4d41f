#include "discovery/movable_interface.h"

namespace patchbay {

std::optional<NetInterface> MovableInterface(const SysfsDevice& device, ScanContext& scan,
                                             std::string& unhealthy) {
  if (!device.is_away) {
    if (const std::string_view why = scan.networks().WhyItStays(device); !why.empty()) {
      scan.Reject(device.path, RejectReason::kNotMovable, std::string(why));
      return std::nullopt;
    }
    auto record = RecordOf(device, scan.match(), scan.sysfs());
    if (!record) return std::nullopt;
    scan.interfaces().push_back(*std::move(record));
  }
  NetInterface interface = InterfaceAt(device.path, scan.sysfs());
  interface.is_away = device.is_away;
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
