#include "kubelet_sim/pod_list.h"

#include <algorithm>
#include <vector>

namespace patchbay {
namespace {

void SetNames(const std::string& pod, v1::PodResources& message) {
  const std::size_t slash = pod.find('/');
  const bool bare = slash == std::string::npos;
  message.set_namespace_(bare ? "default" : pod.substr(0, slash));
  message.set_name(bare ? pod : pod.substr(slash + 1));
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

}  // namespace

v1::ListPodResourcesResponse PodList(const PodDevices& pods, const Registry& registry) {
  v1::ListPodResourcesResponse list;
  v1::PodResources* pod = nullptr;
  v1::ContainerResources* container = nullptr;
  const ContainerKey* last = nullptr;
  // The keys are ordered, so that all entries of a container and of a pod are adjacent.
  for (const auto& [key, devices] : pods) {
    const bool new_pod = last == nullptr || last->pod != key.pod;
    if (new_pod) SetNames(key.pod, *(pod = list.add_pod_resources()));
    if (new_pod || last->container != key.container) {
      container = pod->add_containers();
      container->set_name(key.container);
    }
    last = &key;
    const DeviceTable* const table = registry.Table(key.resource);
    for (const std::string& id : devices.ids) {
      AddDevice(key.resource, id, NumaNodes(table, id), *container);
    }
  }
  return list;
}

}  // namespace patchbay
