#include "inventory/usage.h"

#include "model/snapshot.h"

namespace patchbay {

Usage UsageOf(const ResourceSpec& spec, const DeviceHolders& units) {
  Usage usage{.units = units.size()};
  for (const auto& [id, holders] : units) {
    const auto unit = ParseAdvertised(spec, id);
    usage.holders[unit ? std::string(unit->device_id) : id].insert(holders.begin(), holders.end());
  }
  return usage;
}

}  // namespace patchbay
