#include "dra/wanted_pool.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/format.h"
#include "dra/device_name.h"

namespace patchbay {
namespace {

/// Returns the taint of a device that should not be used; nothing for a usable device.
std::optional<DeviceTaint> TaintOf(const PoolInput& input, const ListedDevice& listed) {
  if (listed.is_missing) {
    return DeviceTaint{.key = std::string(kGoneTaint), .effect = TaintEffect::kNoExecute};
  }
  if (listed.health == Health::kHealthy) return std::nullopt;
  // A device that may still exist, where a scan could not read, keeps its pods.
  const bool evicts =
      input.devices.snapshot().spec->on_unhealthy == OnUnhealthy::kEvict && !listed.never_found;
  return DeviceTaint{.key = std::string(kUnhealthyTaint),
                     .effect = evicts ? TaintEffect::kNoExecute : TaintEffect::kNoSchedule};
}

/// Returns whether a device that should not be used stays in the pool.
bool StaysPublished(const PoolInput& input, const ListedDevice& listed) {
  const bool is_allocated = input.allocated.contains(listed.device->id);
  if (input.features.taints) return is_allocated || !listed.is_missing;
  return is_allocated && input.devices.snapshot().spec->replicas == 1;
}

std::string WhyNotServed(const ResourceSpec& spec, const ServerFeatures& features) {
  if (spec.name.size() > kMaxAttributeText) {
    return Format(
        "the name of the resource has {} bytes, and device classes select by an attribute "
        "of at most {}; choose a shorter name",
        spec.name.size(), kMaxAttributeText);
  }
  if (spec.replicas > 1 && !features.shared_devices) {
    return "the API server drops allowMultipleAllocations, so a device with replicas would be "
           "exclusive; turn on the feature gate DRAConsumableCapacity (on from Kubernetes 1.36), "
           "or "
           "set replicas = 1";
  }
  return "";
}

}  // namespace

NamedDevices::NamedDevices(std::shared_ptr<const Snapshot> snapshot)
    : snapshot_(std::move(snapshot)) {
  for (const ListedDevice& listed : snapshot_->devices) {
    by_name_.emplace(SliceDeviceName(listed.device->id), &listed);
  }
}

const ListedDevice* NamedDevices::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string ProblemText(const PoolProblem& problem) {
  if (problem.attribute.empty()) return Format("{}: {}", problem.device_id, problem.reason);
  return Format("{} {}: {}", problem.device_id, problem.attribute, problem.reason);
}

ServerFeatures FeaturesOf(const ResourceSlice& sent, const ResourceSlice& stored) {
  ServerFeatures features;
  for (const SliceDevice& device : sent.devices) {
    const auto other = std::ranges::find(stored.devices, device.name, &SliceDevice::name);
    if (other == stored.devices.end()) continue;
    if (!device.taints.empty() && other->taints.empty()) features.taints = false;
    const bool lost_sharing =
        device.allow_multiple_allocations && !other->allow_multiple_allocations;
    const bool lost_policy = std::ranges::any_of(device.capacity, [&](const auto& capacity) {
      const auto stored_one = other->capacity.find(capacity.first);
      return stored_one != other->capacity.end() && capacity.second.policy &&
             !stored_one->second.policy;
    });
    if (lost_sharing || lost_policy) features.shared_devices = false;
  }
  return features;
}

ResourceSlice FeatureSample() {
  SliceDevice device{.name = "sample"};
  device.capacity.emplace(kSlots, SlotCapacity(2));
  device.allow_multiple_allocations = true;
  device.taints = {{.key = std::string(kUnhealthyTaint)}};
  return {.pool = "sample", .devices = {std::move(device)}};
}

WantedPool ComputePool(const PoolInput& input) {
  const Snapshot& snapshot = input.devices.snapshot();
  const ResourceSpec& spec = *snapshot.spec;
  WantedPool pool{.name = PoolName(input.node_name, spec.name),
                  .devices = {},
                  .problems = {},
                  .not_served = WhyNotServed(spec, input.features)};
  if (!pool.not_served.empty()) return pool;
  const bool is_shared = spec.replicas > 1;
  pool.devices.reserve(snapshot.devices.size());
  for (const ListedDevice& listed : snapshot.devices) {
    const std::string& id = listed.device->id;
    auto taint = TaintOf(input, listed);
    if (taint && !StaysPublished(input, listed)) continue;
    SliceDevice device{.name = SliceDeviceName(id)};
    // One name twice would make the API server reject the whole pool.
    if (input.devices.Find(device.name) != &listed) {
      pool.problems.push_back(
          {.device_id = id,
           .reason = Format("another device has the name \"{}\"; set another id", device.name)});
      continue;
    }
    AttributeInput attribute_input{
        .device = *listed.device, .resource = spec.name, .node_name = input.node_name};
    std::vector<AttributeProblem> problems;
    // The variables of one that was never found are unknown.
    if (!listed.never_found) {
      device.capacity = CapacitiesOf(attribute_input, spec.capacity, spec.replicas, problems);
    }
    if (is_shared) {
      device.capacity.emplace(kSlots, SlotCapacity(spec.replicas));
      device.allow_multiple_allocations = true;
    }
    attribute_input.max_attributes = kMaxAttributes - device.capacity.size();
    DeviceAttributes attributes = AttributesOf(
        attribute_input, listed.never_found ? std::vector<AttributeSpec>() : spec.attributes);
    device.attributes = std::move(attributes.values);
    std::ranges::move(attributes.problems, std::back_inserter(problems));
    for (AttributeProblem& problem : problems) {
      pool.problems.push_back({id, std::move(problem.name), std::move(problem.reason)});
    }
    if (taint && input.features.taints) device.taints = {std::move(*taint)};
    pool.devices.push_back(std::move(device));
  }
  return pool;
}

}  // namespace patchbay
