#include "status/status_store.h"

#include <string>
#include <utility>
#include <vector>

#include "model/snapshot_pairs.h"

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
  std::vector<std::string> removed, replaced;
  VisitPairs(before->devices, after.devices, [&](const ListedDevice* old, const ListedDevice* now) {
    if (now == nullptr) {
      removed.push_back(old->device->id);
    } else if (old != nullptr && now->device != old->device && *now->device != *old->device) {
      replaced.push_back(old->device->id);
    }
  });
  if (removed.empty() && replaced.empty()) return false;
  probes.Forget(removed, replaced);
  return true;
}

}  // namespace

StatusStore::StatusStore(NodeStatus origin, Clock clock)
    : clock_(std::move(clock)), status_(std::move(origin)) {
  status_.kubelet.up_changed_at = Now();
}

NodeStatus StatusStore::Read() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::shared_ptr<ResourceObserver> StatusStore::AddResource(const std::string& name) {
  const WallTime at = Now();
  std::shared_ptr<ResourceCounters> counters;
  Change([&](NodeStatus& node) {
    if (++observers_[name] == 1) {
      node.resources[name] = {.registered_changed_at = at,
                              .counters = std::make_shared<ResourceCounters>()};
    }
    counters = node.resources.at(name).counters;
  });
  return {new ResourceObserver(shared_from_this(), name, std::move(counters)),
          [store = shared_from_this(), name](const ResourceObserver* observer) {
            delete observer;
            store->Release(name);
          }};
}

void StatusStore::Release(const std::string& resource) {
  ResourceStatuses::node_type removed;  // destroys its devices after the lock
  Change([&](NodeStatus& node) {
    if (--observers_.at(resource) > 0) return;
    observers_.erase(resource);
    removed = node.resources.extract(resource);
  });
}

std::shared_ptr<DriverCounters> StatusStore::AddDriver() {
  auto counters = std::make_shared<DriverCounters>();
  Change([&](NodeStatus& node) { node.driver = counters; });
  return counters;
}

void StatusStore::SetKubeletUp(bool up) {
  Change([&, at = Now()](NodeStatus& node) {
    if (std::exchange(node.kubelet.up, up) != up) node.kubelet.up_changed_at = at;
  });
}

void StatusStore::CountKubeletRestart() {
  Change([](NodeStatus& node) { ++node.kubelet.restarts; });
}

void StatusStore::EnablePodResources() {
  Change([](NodeStatus& node) { node.kubelet.uses_pod_resources = true; });
}

void StatusStore::SetPodResourcesUp(bool up) {
  Change([&](NodeStatus& node) { node.kubelet.pod_resources_up = up; });
}

void StatusStore::SetDra(std::shared_ptr<const DraStatus> dra) {
  Change([&](NodeStatus& node) { node.dra.swap(dra); });
}

void StatusStore::SetHiddenResources(HiddenResources hidden) {
  auto next = std::make_shared<const HiddenResources>(std::move(hidden));
  Change([&](NodeStatus& node) { node.hidden.swap(next); });
}

void StatusStore::SetConfigReading(ConfigReading reading) {
  auto last = std::make_shared<const ConfigReading>(std::move(reading));
  Change([&](NodeStatus& node) {
    if (last->accepted) node.config.loaded_at = last->at;
    ++(last->accepted ? node.config.accepted : node.config.rejected);
    node.config.last.swap(last);
  });
}

void StatusStore::SetShown(bool device_metrics, bool suggest_page) {
  Change([&](NodeStatus& node) {
    node.device_metrics = device_metrics;
    node.suggest_page = suggest_page;
  });
}

std::shared_ptr<const Snapshot> StatusStore::Exchange(const std::string& resource,
                                                      std::shared_ptr<const Snapshot> snapshot) {
  const auto newest = snapshot;
  const ResourceStatus status = Find(resource);
  const bool is_retiring = status.registration.state == RegistrationState::kRetiring;
  if (status.probes && newest && !is_retiring) {
    // Before the devices, so that a reader of these devices also has their transitions.
    Record(TransitionsBetween(status.snapshot.get(), *newest, Now()));
  }
  Change(resource, [&](ResourceStatus& changed) { changed.snapshot.swap(snapshot); });
  if (status.probes && newest && Prune(*status.probes, snapshot.get(), *newest)) Changed();
  return snapshot;
}

void StatusStore::SetProbe(const std::string& resource, const std::string& device,
                           LastProbe probe) {
  const ResourceStatus status = Find(resource);
  if (!status.probes) return;
  // A probe can end after its device was removed.
  if (status.snapshot && FindDevice(*status.snapshot, device) == nullptr) return;
  status.probes->Set(device, std::move(probe));
  Changed();
}

void StatusStore::SetNextProbe(const std::string& resource, const std::string& device,
                               std::optional<WallTime> at) {
  const auto probes = Find(resource).probes;
  if (!probes) return;
  probes->SetNext(device, at);
  Changed();
}

/// Returns a status without probes if the resource was not added.
ResourceStatus StatusStore::Find(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  const auto found = status_.resources.find(resource);
  return found == status_.resources.end() ? ResourceStatus{.probes = nullptr} : found->second;
}

/// Copies the history outside of the lock that readers take.
void StatusStore::Record(std::vector<Transition> transitions) {
  if (transitions.empty()) return;
  const std::lock_guard lock(history_mutex_);
  static const TransitionHistory kNothing;
  const auto before = Read().transitions;
  auto next = std::make_shared<const TransitionHistory>(
      Extended(before ? *before : kNothing, std::move(transitions)));
  Change([&](NodeStatus& node) { node.transitions = std::move(next); });
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
