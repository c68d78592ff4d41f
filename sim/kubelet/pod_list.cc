#include "sim/kubelet/pod_list.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace patchbay {
namespace {

/// Returns the namespace and the name of a pod.
std::pair<std::string, std::string> NamesOf(const std::string& pod) {
  const std::size_t slash = pod.find('/');
  if (slash == std::string::npos) return {"default", pod};
  return {pod.substr(0, slash), pod.substr(slash + 1)};
}

std::vector<std::int64_t> NumaNodes(const DeviceTable* table, const std::string& id) {
  if (table == nullptr) return {};
  const auto device = table->devices().find(id);
  return device == table->devices().end() ? std::vector<std::int64_t>{} : device->second.numa_nodes;
}

void AddDevice(const std::string& resource, const std::string& id,
               const std::vector<std::int64_t>& numa, v1::ContainerResources& container) {
  for (std::size_t i = 0; i < std::max<std::size_t>(numa.size(), 1); ++i) {
    v1::ContainerDevices& entry = *container.add_devices();
    entry.set_resource_name(resource);
    entry.add_device_ids(id);
    if (i < numa.size()) entry.mutable_topology()->add_nodes()->set_id(numa[i]);
  }
}

void AddClaim(const DraClaims::Entry& entry, v1::ContainerResources& container) {
  v1::DynamicResource& claim = *container.add_dynamic_resources();
  claim.set_claim_name(entry.claim.name);
  claim.set_claim_namespace(entry.claim.namespace_name);
  for (const SimPreparedDevice& device : entry.devices) {
    v1::ClaimResource& resource = *claim.add_claim_resources();
    resource.set_driver_name(entry.claim.driver);
    resource.set_pool_name(device.pool);
    resource.set_device_name(device.device);
    if (device.share_id) resource.set_share_id(*device.share_id);
    for (const std::string& name : device.cdi_devices) resource.add_cdi_devices()->set_name(name);
  }
}

}  // namespace

v1::ListPodResourcesResponse PodList(const PodDevices& pods, const Registry& registry,
                                     const ContainerClaims& claims,
                                     const std::vector<DraClaims::Entry>& prepared) {
  std::map<std::pair<std::string, std::string>, v1::ContainerResources> containers;
  for (const auto& [key, devices] : pods) {
    v1::ContainerResources& container = containers[{key.pod, key.container}];
    const DeviceTable* const table = registry.Table(key.resource);
    for (const std::string& id : devices.ids) {
      AddDevice(key.resource, id, NumaNodes(table, id), container);
    }
  }
  for (const auto& [key, names] : claims) {
    v1::ContainerResources& container = containers[key];
    const std::string in = NamesOf(key.first).first;
    for (const DraClaims::Entry& entry : prepared) {
      if (entry.claim.namespace_name == in && names.contains(entry.claim.name)) {
        AddClaim(entry, container);
      }
    }
  }
  v1::ListPodResourcesResponse list;
  v1::PodResources* pod = nullptr;
  const std::string* last = nullptr;
  for (auto& [key, container] : containers) {
    if (last == nullptr || *last != key.first) {
      pod = list.add_pod_resources();
      const auto [in, name] = NamesOf(key.first);
      pod->set_namespace_(in);
      pod->set_name(name);
    }
    last = &key.first;
    container.set_name(key.second);
    *pod->add_containers() = std::move(container);
  }
  return list;
}

}  // namespace patchbay
