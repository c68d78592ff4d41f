// Admission and removal of pods.

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "sim/kubelet/kubelet_instance.h"

namespace patchbay {

Result<Admitted> KubeletInstance::Admit(const ContainerKey& key, std::size_t wanted,
                                        const std::set<std::int64_t>& numa) {
  const std::lock_guard admission(one_admission_);
  auto admitted = Admitting(key, wanted, numa);
  if (admitted) return admitted;
  return Fail(admitted.error().kind,
              Format("UnexpectedAdmissionError: Allocate failed due to {}, which is unexpected",
                     admitted.error().message));
}

Result<Admitted> KubeletInstance::Admitting(const ContainerKey& key, std::size_t wanted,
                                            const std::set<std::int64_t>& numa) {
  DeviceChoice choice;
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return Fail(ErrorKind::kUnavailable, "the kubelet is stopping");
    if (state_->ended_pods.erase(key.pod) != 0) RemovePod(key.pod);
    Expire();
    const DeviceTable* const table = registry_.Table(key.resource);
    const ContainerDevices* const held = Held(key);
    const std::set<std::string> in_use = InUse(key.resource);
    switch (TRY(StartAdmission(options_.profile, key, wanted, held, table, !in_use.empty()))) {
      case AdmissionStart::kWithout: return Admitted{};
      case AdmissionStart::kReuse:
        return held == nullptr ? Admitted{} : Admitted{held->ids, held->response, true};
      case AdmissionStart::kChoose: break;
    }
    choice = TRY(BeginChoice(key.resource, wanted, *table, in_use, numa, random_));
  }
  const auto preferred = TRY(Prefer(key.resource, choice));
  Admitted admitted;
  admitted.device_ids = CompleteChoice(choice, preferred, random_);
  admitted.response = TRY(Allocate(key.resource, admitted.device_ids));
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return Fail(ErrorKind::kUnavailable, "the kubelet is stopping");
    pods_[key] = {admitted.device_ids, admitted.response};
    state_->Changed();
  }
  // The plugin has responded, so the devices stay allocated even if this fails.
  TRY(SaveCheckpoint());
  return admitted;
}

/// Returns the preferred devices of the plugin; nothing if it does not have the option.
Result<std::vector<std::string>> KubeletInstance::Prefer(const std::string& resource,
                                                         const DeviceChoice& choice) {
  Client client;
  {
    const std::lock_guard lock(state_->mutex);
    const Registry::Endpoint* const primary = registry_.Primary(resource);
    if (choice.available.empty()) return std::vector<std::string>{};
    if (primary == nullptr) {
      return Fail(ErrorKind::kPrecondition,
                  Format("endpoint not found in cache for a registered resource: {}", resource));
    }
    if (!primary->options.get_preferred_allocation_available) return std::vector<std::string>{};
    client = FindClient(primary->client);
  }
  if (!client) return std::vector<std::string>{};
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  for (const std::string& id : choice.available) container.add_available_device_ids(id);
  for (const std::string& id : choice.taken) container.add_must_include_device_ids(id);
  container.set_allocation_size(static_cast<std::int32_t>(choice.wanted));
  const auto answer = client->GetPreferred(request);
  if (!answer) {
    return Fail(answer.error().kind, "device plugin GetPreferredAllocation rpc failed with err: " +
                                         answer.error().message);
  }
  if (answer->container_responses().empty()) return std::vector<std::string>{};
  const auto& ids = answer->container_responses(0).device_ids();
  return std::vector<std::string>(ids.begin(), ids.end());
}

Result<v1beta1::ContainerAllocateResponse> KubeletInstance::Allocate(
    const std::string& resource, const std::vector<std::string>& ids) {
  Client client;
  {
    const std::lock_guard lock(state_->mutex);
    const Registry::Endpoint* const primary = registry_.Primary(resource);
    if (primary == nullptr) {
      return Fail(ErrorKind::kPrecondition, Format("unknown Device Plugin {}", resource));
    }
    client = FindClient(primary->client);
    if (primary->stopped || !client) {
      return Fail(ErrorKind::kPrecondition, Format("endpoint {} has been stopped", resource));
    }
  }
  v1beta1::AllocateRequest request;
  auto& container = *request.add_container_requests();
  for (const std::string& id : ids) container.add_devices_ids(id);
  const auto answer = TRY(client->Allocate(request));
  if (answer.container_responses().empty()) {
    return Fail(ErrorKind::kUnavailable, "no containers return in allocation response");
  }
  return answer.container_responses(0);
}

std::set<std::string> KubeletInstance::InUse(const std::string& resource) const {
  std::set<std::string> ids;
  for (const auto& [key, devices] : pods_) {
    if (key.resource == resource) ids.insert(devices.ids.begin(), devices.ids.end());
  }
  return ids;
}

const ContainerDevices* KubeletInstance::Held(const ContainerKey& key) const {
  const auto held = pods_.find(key);
  return held == pods_.end() ? nullptr : &held->second;
}

void KubeletInstance::RemoveEndedPods() {
  std::map<std::string, std::uint64_t> ended;
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_ || state_->ended_pods.empty()) return;
    ended = state_->ended_pods;
    for (const auto& [pod, end] : ended) RemovePod(pod);
    state_->Changed();
  }
  if (!SaveCheckpoint()) return;
  const std::lock_guard lock(state_->mutex);
  // The next instance may have read the checkpoint before it was written.
  if (ending_) return;
  // A pod of the same name may have come and gone meanwhile.
  std::erase_if(state_->ended_pods, [&](const auto& entry) {
    const auto saved = ended.find(entry.first);
    return saved != ended.end() && saved->second == entry.second;
  });
}

void KubeletInstance::RemovePod(const std::string& pod) {
  std::erase_if(pods_, [&](const auto& entry) { return entry.first.pod == pod; });
}

}  // namespace patchbay
