#include "model/spec.h"

#include <algorithm>

namespace patchbay {

std::string_view Name(Hook hook) {
  switch (hook) {
    case Hook::kPreStart: return "pre_start";
    case Hook::kAllocate: return "allocate";
    case Hook::kRelease: return "release";
  }
  return "";
}

const std::optional<HookSpec>& HookOf(const ResourceSpec& spec, Hook hook) {
  switch (hook) {
    case Hook::kPreStart: return spec.pre_start;
    case Hook::kAllocate: return spec.allocate;
    case Hook::kRelease: break;
  }
  return spec.release;
}

bool IsOfSubsystem(const UdevPattern& udev, std::string_view name) {
  return !udev.subsystems.empty() &&
         std::all_of(udev.subsystems.begin(), udev.subsystems.end(),
                     [&](const NamePattern& p) { return p.literal() && p.text() == name; });
}

bool HasConditions(const MatchSpec& match) {
  return !match.conditions.empty() || !match.negated.empty();
}

SourceTraits TraitsOf(const MatchSpec& match) {
  return std::visit([](const auto& source) { return source.kTraits; }, match.source);
}

bool UsesSysfs(const MatchSpec& match) {
  return HasConditions(match) || TraitsOf(match).reads_sysfs;
}

bool UsesSysfs(const ResourceSpec& resource) {
  if (resource.api == Api::kDra) return true;  // for attributes
  return std::any_of(resource.matches.begin(), resource.matches.end(),
                     [](const MatchSpec& match) { return UsesSysfs(match); });
}

bool FindsInterfaces(const MatchSpec& match) {
  const auto* udev = std::get_if<UdevPattern>(&match.source);
  return udev != nullptr && IsOfSubsystem(*udev, "net");
}

bool CanHaveNodes(const MatchSpec& match) {
  if (!TraitsOf(match).has_nodes) return false;
  const auto* udev = std::get_if<UdevPattern>(&match.source);
  if (udev == nullptr && match.conditions.udev) udev = &*match.conditions.udev;
  return udev == nullptr || !IsOfSubsystem(*udev, "net");
}

bool HasNodes(const ResourceSpec& resource) {
  return std::any_of(resource.matches.begin(), resource.matches.end(), CanHaveNodes);
}

bool GivesDeviceNodes(const ResourceSpec& resource) {
  return !resource.device_nodes.empty() ||
         std::any_of(resource.matches.begin(), resource.matches.end(),
                     [](const MatchSpec& match) { return !match.device_nodes.empty(); });
}

bool HasCommand(const ResourceSpec& resource) {
  return std::any_of(resource.matches.begin(), resource.matches.end(), [](const MatchSpec& match) {
    return std::holds_alternative<CommandSource>(match.source);
  });
}

bool HasDra(const ResourceSpecs& resources) {
  return std::any_of(resources.begin(), resources.end(),
                     [](const auto& resource) { return resource->api == Api::kDra; });
}

bool NeedsPreStart(const ResourceSpec& resource) { return resource.pre_start || resource.release; }

const std::vector<DeviceNodeSpec>& DeviceNodesOf(const ResourceSpec& resource, std::size_t match) {
  const bool has_own =
      match < resource.matches.size() && !resource.matches[match].device_nodes.empty();
  return has_own ? resource.matches[match].device_nodes : resource.device_nodes;
}

std::vector<const Template*> DeviceTemplates(const ResourceSpec& resource, std::size_t match) {
  std::vector<const Template*> templates;
  for (const DeviceNodeSpec& node : DeviceNodesOf(resource, match)) {
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
  const auto add_all = [&](const std::vector<Template>& list) {
    for (const Template& t : list) templates.push_back(&t);
  };
  add_all(resource.cdi_devices);
  if (resource.net_device) {
    if (resource.net_device->name) templates.push_back(&*resource.net_device->name);
    add_all(resource.net_device->addresses);
  }
  if (resource.health) {
    const ProbeKind& kind = resource.health->kind;
    if (const auto* command = std::get_if<CommandProbe>(&kind)) add_all(command->argv);
    if (const auto* file = std::get_if<FileProbe>(&kind)) templates.push_back(&file->path);
  }
  for (const auto* hook : {&resource.pre_start, &resource.allocate, &resource.release}) {
    if (*hook) add_all((*hook)->argv);
  }
  return templates;
}

ResourceSpecs ResourcesFor(const Model& model, const std::string& node_name) {
  ResourceSpecs resources;
  for (const ResourceSpec& resource : model.resources) {
    if (resource.on_nodes.Matches(node_name)) {
      resources.push_back(std::make_shared<const ResourceSpec>(resource));
    }
  }
  return resources;
}

ResourceSpecs ExclusiveResourcesAbove(const ResourceSpec& resource, const ResourceSpecs& all) {
  ResourceSpecs above;
  for (const auto& other : all) {
    if (other->name == resource.name) {
      if (resource.exclusive) break;
    } else if (other->exclusive) {
      above.push_back(other);
    }
  }
  return above;
}

bool SameExclusive(const ResourceSpecs& a, const ResourceSpecs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x->name == y->name && x->matches == y->matches;
  });
}

}  // namespace patchbay
