#include "status/status_store.h"

#include <string>
#include <utility>
#include <vector>

namespace patchbay {
namespace {

/// Forgets the probe results of devices that are no longer listed, were replaced, or are no longer
/// probed. Returns true if that may have changed anything.
bool Prune(ProbeResults& probes, const Snapshot* before, const Snapshot& after) {
  if (!after.spec->health) {
    probes.Clear();
    return true;
  }
  if (before == nullptr) return false;
  std::vector<std::string> gone;
  for (const ListedDevice& listed : before->devices) {
    const ListedDevice* const now = FindDevice(after, listed.device->id);
    if (now == nullptr || (now->device != listed.device && *now->device != *listed.device))
      gone.push_back(listed.device->id);
  }
  if (!gone.empty()) probes.Forget(gone);
  return !gone.empty();
}

}  // namespace

NodeStatus StatusStore::Read() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

ResourceStatuses StatusStore::Resources() const {
  const std::lock_guard lock(mutex_);
  return status_.resources;
}

void StatusStore::AddResource(const std::string& resource) {
  Change([&](NodeStatus& node) { node.resources.try_emplace(resource); });
}

void StatusStore::RemoveResource(const std::string& resource) {
  ResourceStatuses::node_type removed;  // destroys its devices after the lock
  Change([&](NodeStatus& node) { removed = node.resources.extract(resource); });
}

std::shared_ptr<const Snapshot> StatusStore::Exchange(const std::string& resource,
                                                      std::shared_ptr<const Snapshot> snapshot) {
  const auto newest = snapshot;
  std::shared_ptr<ProbeResults> probes;
  Change(resource, [&](ResourceStatus& status) {
    status.snapshot.swap(snapshot);
    probes = status.probes;
  });
  if (probes && newest && Prune(*probes, snapshot.get(), *newest)) Changed();
  return snapshot;
}

void StatusStore::SetProbe(const std::string& resource, const std::string& device,
                           LastProbe probe) {
  std::shared_ptr<ProbeResults> probes;
  {
    const std::lock_guard lock(mutex_);
    const auto found = status_.resources.find(resource);
    if (found == status_.resources.end()) return;
    probes = found->second.probes;
  }
  probes->Set(device, std::move(probe));
  Changed();
}

/// Makes readers start again if they have read unlocked data in the meantime.
void StatusStore::Changed() {
  const std::lock_guard lock(mutex_);
  ++status_.serial;
}

void StatusStore::Change(const std::string& resource,
                         const std::function<void(ResourceStatus&)>& change) {
  Change([&](NodeStatus& node) {
    const auto found = node.resources.find(resource);
    if (found != node.resources.end()) change(found->second);
  });
}

void StatusStore::Change(const std::function<void(NodeStatus&)>& change) {
  const std::lock_guard lock(mutex_);
  change(status_);
  ++status_.serial;
}

}  // namespace patchbay
