#include "inventory/replica_ids.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// Longer IDs are not misspellings.
constexpr std::size_t kMaxMisspelt = 253;

/// Suggests the device that an unknown ID may mean, otherwise lists those that exist.
std::string AvailableNames(const Snapshot& snapshot, std::string_view id) {
  const ResourceSpec& spec = *snapshot.spec;
  const auto parsed = ParseReplica(id);
  std::vector<std::string_view> devices;
  for (const ListedDevice& listed : snapshot.devices) devices.push_back(listed.device->id);
  const std::string_view nearest =
      id.size() > kMaxMisspelt ? "" : Nearest(parsed ? parsed->device_id : id, devices);
  if (!nearest.empty()) return Format("did you mean \"{}\"?", AdvertisedId(spec, nearest, 0));
  return ListNames(devices);
}

Failure UnknownId(const Snapshot& snapshot, std::string_view id) {
  const ResourceSpec& spec = *snapshot.spec;
  const std::string first = AdvertisedId(spec, id, 0);
  const auto parsed = ParseReplica(id);
  if (spec.replicas > 1 && parsed) {
    const std::string own = AdvertisedId(spec, parsed->device_id, 0);
    if (FindAdvertised(snapshot, own).listed != nullptr) {
      return Fail(
          ErrorKind::kNotFound,
          Format("{} has no device \"{}\"; those of \"{}\" are \"{}\" to \"{}\"", spec.name, id,
                 parsed->device_id, own, AdvertisedId(spec, parsed->device_id, spec.replicas - 1)));
    }
  }
  if (spec.replicas > 1 && FindAdvertised(snapshot, first).listed != nullptr) {
    return Fail(ErrorKind::kNotFound,
                Format("\"{0}\" is advertised {1} times, as \"{2}\" to \"{3}\"; use one of these",
                       id, spec.replicas, first, AdvertisedId(spec, id, spec.replicas - 1)));
  }
  return Fail(ErrorKind::kNotFound,
              Format("{} has no device \"{}\"; {}", spec.name, id, AvailableNames(snapshot, id)));
}

}  // namespace

Result<std::vector<Unit>> FindUnits(const Snapshot& snapshot, std::span<const std::string> ids,
                                    std::string_view node_name, std::int64_t first_slot) {
  std::vector<std::string_view> ordered(ids.begin(), ids.end());
  std::sort(ordered.begin(), ordered.end(), IdLess);
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());

  std::vector<Unit> units;
  units.reserve(ordered.size());
  for (const std::string_view id : ordered) {
    const FoundDevice found = FindAdvertised(snapshot, id);
    if (found.listed == nullptr) return UnknownId(snapshot, id);
    Unit& unit = units.emplace_back(
        Unit{found.listed, VariablesOf(*found.listed->device, snapshot.spec->name, node_name)});
    unit.variables.id = id;
    unit.variables.index = found.index;
    unit.variables.slot = first_slot + static_cast<std::int64_t>(units.size() - 1);
    unit.variables.replica = found.replica;
  }
  return units;
}

}  // namespace patchbay
