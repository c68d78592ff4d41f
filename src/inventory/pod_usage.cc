#include "inventory/pod_usage.h"

namespace patchbay {
namespace {

/// Returns the device of a unit.
std::string_view DeviceOf(std::string_view id, const ResourceSpec& spec, const Snapshot* known) {
  const auto is_known = [known](std::string_view device_id) {
    return known != nullptr && FindDevice(*known, device_id) != nullptr;
  };
  const auto unit = ParseAdvertised(spec, id);
  if (unit && (spec.replicas > 1 || is_known(id))) return unit->device_id;
  const auto before = ParseReplica(id);  // from before `replicas` changed
  return before && is_known(before->device_id) ? before->device_id : id;
}

}  // namespace

PodUsage PodUsageOf(const ResourceSpec& spec, const DeviceHolders& units, const Snapshot* known) {
  PodUsage usage{.units = units.size()};
  for (const auto& [id, holders] : units) {
    usage.holders[std::string(DeviceOf(id, spec, known))].insert(holders.begin(), holders.end());
  }
  return usage;
}

}  // namespace patchbay
