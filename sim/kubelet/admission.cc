#include "sim/kubelet/admission.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace patchbay {
namespace {

Failure Refuse(std::string text) { return Fail(ErrorKind::kPrecondition, std::move(text)); }

void Shuffle(std::vector<std::string>& ids, std::mt19937_64& random) {
  std::shuffle(ids.begin(), ids.end(), random);
}

enum class Affinity { kAligned, kUnaligned, kNone };

Affinity AffinityOf(const SimDevice& device, const std::set<std::int64_t>& numa) {
  if (device.numa_nodes.empty() || numa.empty()) return Affinity::kNone;
  const bool aligned = std::any_of(device.numa_nodes.begin(), device.numa_nodes.end(),
                                   [&](std::int64_t node) { return numa.contains(node); });
  return aligned ? Affinity::kAligned : Affinity::kUnaligned;
}

}  // namespace

Result<AdmissionStart> StartAdmission(KubeletProfile profile, const ContainerKey& key,
                                      std::size_t wanted, const ContainerDevices* held,
                                      const DeviceTable* table, bool allocated) {
  if (table == nullptr && !allocated) return AdmissionStart::kWithout;
  if (held != nullptr && held->ids.size() != wanted) {
    return Refuse(
        Format("pod \"{}\" container \"{}\" changed request for resource \"{}\" from {} "
               "to {}",
               key.pod, key.container, key.resource, held->ids.size(), wanted));
  }
  const bool nothing_needed = held != nullptr || wanted == 0;
  if (profile == KubeletProfile::kAsync) {
    if (nothing_needed) return AdmissionStart::kReuse;
    if (table == nullptr) {
      return Refuse(Format("can't allocate unregistered device {}", key.resource));
    }
    return AdmissionStart::kChoose;
  }
  if (table == nullptr) {
    return Refuse(Format("cannot allocate unregistered device {}", key.resource));
  }
  if (table->healthy().empty()) {
    return Refuse(
        Format("no healthy devices present; cannot allocate unhealthy devices {}", key.resource));
  }
  if (held != nullptr &&
      !std::all_of(held->ids.begin(), held->ids.end(),
                   [&](const std::string& id) { return table->healthy().contains(id); })) {
    return Refuse(Format(
        "previously allocated devices are no longer healthy; cannot allocate unhealthy devices {}",
        key.resource));
  }
  return nothing_needed ? AdmissionStart::kReuse : AdmissionStart::kChoose;
}

Result<DeviceChoice> BeginChoice(const std::string& resource, std::size_t wanted,
                                 const DeviceTable& table, const std::set<std::string>& in_use,
                                 const std::set<std::int64_t>& numa, std::mt19937_64& random) {
  std::vector<std::string> available, aligned, unaligned, other;
  for (const std::string& id : table.healthy()) {
    if (in_use.contains(id)) continue;
    available.push_back(id);
    switch (AffinityOf(table.devices().at(id), numa)) {
      case Affinity::kAligned: aligned.push_back(id); break;
      case Affinity::kUnaligned: unaligned.push_back(id); break;
      case Affinity::kNone: other.push_back(id); break;
    }
  }
  if (available.size() < wanted) {
    return Refuse(
        Format("requested number of devices unavailable for {}. Requested: {}, Available: {}",
               resource, wanted, available.size()));
  }
  for (auto* ids : {&available, &aligned, &unaligned, &other}) Shuffle(*ids, random);

  DeviceChoice choice;
  choice.wanted = wanted;
  if (wanted < aligned.size()) {
    choice.available = aligned;
    choice.rest = aligned;
    return choice;
  }
  choice.taken = aligned;
  if (aligned.size() == wanted) return choice;
  choice.available = available;
  choice.rest = unaligned;
  choice.rest.insert(choice.rest.end(), other.begin(), other.end());
  return choice;
}

std::vector<std::string> CompleteChoice(const DeviceChoice& choice,
                                        const std::vector<std::string>& preferred,
                                        std::mt19937_64& random) {
  const std::set<std::string> available(choice.available.begin(), choice.available.end());
  std::vector<std::string> requested;
  for (const std::string& id : preferred) {
    if (available.contains(id)) requested.push_back(id);
  }
  Shuffle(requested, random);

  std::vector<std::string> chosen = choice.taken;
  std::set<std::string> seen(chosen.begin(), chosen.end());
  for (const auto* source : {&std::as_const(requested), &choice.rest}) {
    for (const std::string& id : *source) {
      if (chosen.size() == choice.wanted) break;
      if (seen.insert(id).second) chosen.push_back(id);
    }
  }
  Shuffle(chosen, random);
  return chosen;
}

}  // namespace patchbay
