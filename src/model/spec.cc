#include "model/spec.h"

#include <algorithm>

namespace patchbay {

bool UsesSysfs(const MatchSpec& match) {
  return !match.conditions.empty() || std::holds_alternative<UsbPattern>(match.source) ||
         std::holds_alternative<PciPattern>(match.source) ||
         std::holds_alternative<UdevPattern>(match.source);
}

std::vector<const Template*> ContainerTemplates(const ResourceSpec& resource) {
  std::vector<const Template*> templates;
  for (const DeviceNodeSpec& node : resource.device_nodes) {
    if (node.host_path) templates.push_back(&*node.host_path);
    if (node.container_path) templates.push_back(&*node.container_path);
  }
  for (const MountSpec& mount : resource.mounts) {
    templates.push_back(&mount.host_path);
    templates.push_back(&mount.container_path);
  }
  for (const auto* pairs : {&resource.env, &resource.annotations}) {
    for (const auto& [key, value] : *pairs) {
      templates.push_back(&key);
      templates.push_back(&value);
    }
  }
  for (const Template& name : resource.cdi_devices) templates.push_back(&name);
  return templates;
}

bool IsForNode(const ResourceSpec& resource, const std::string& node_name) {
  return resource.on_nodes.empty() ||
         std::any_of(resource.on_nodes.begin(), resource.on_nodes.end(),
                     [&](const NamePattern& pattern) { return pattern.Matches(node_name); });
}

}  // namespace patchbay
