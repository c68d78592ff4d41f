// A resource is a set of independent properties. Toml() writes it as a configuration, and Listed()
// and FindErrorsIn() derive the expected state from the same properties and from the Host. This
// is a second, much simpler implementation of the rules of Patchbay, and must not use its code.
//
// Two rules keep the expectations simple: groups of devices never share nodes or IDs, and a group
// is owned either by one exclusive resource or by none.

#include "chaos/configuration.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/format.h"

namespace patchbay::test {
namespace {

using Resource = Configuration::Resource;

/// Programs are less likely than files, because they need more CPU time.
constexpr decltype(Resource::probe) kProbes[] = {Resource::kUnprobed, Resource::kByFile,
                                                 Resource::kByFile, Resource::kByProgram,
                                                 Resource::kByMountedFile};

std::string OnHost(Hangs::SourceLocation place, std::string_view name) {
  return Format("/{}/{}", Hangs::Directory(place), name);
}

}  // namespace

std::string Configuration::Resource::Toml(const World& world) const {
  std::string toml = Format("[[resource]]\nname = \"{}\"\nforget_after = \"50ms\"\n", name);
  if (replicas > 1) toml += Format("replicas = {}\n", replicas);
  if (IsExclusive()) toml += "exclusive = true\n";
  if (is_packed) toml += "preferred_allocation = \"packed\"\n";
  if (is_elsewhere) toml += "on_nodes = [\"not-this-node\", \"nor-?-this\"]\n";
  for (const std::size_t group : groups) toml += "[[resource.match]]\n" + world.host.Match(group);
  return toml + ContainerToml() + HookToml(world) + ProbeToml(world.root);
}

std::string Configuration::Resource::ContainerToml() const {
  std::string toml = Format("[resource.env]\nVERSION = \"{}\"\n", version);
  if (container_needs.contains(Hangs::kDeviceNode)) {
    toml += Format("[[resource.device_node]]\nhost_path = \"{}\"\n",
                   OnHost(Hangs::kDeviceNode, "node"));
  } else if (!TextInPath().empty()) {
    toml += Format("[[resource.device_node]]\ncontainer_path = \"/dev/of/{{{}}}\"\n", TextInPath());
  }
  if (container_needs.contains(Hangs::kMount)) {
    toml += Format("[[resource.mount]]\nhost_path = \"{}\"\n", OnHost(Hangs::kMount, "file"));
  }
  return toml;
}

std::string Configuration::Resource::HookToml(const World& world) const {
  const std::string toml = has_release ? world.release.Toml() : "";
  if (container_needs.contains(Hangs::kHook)) {
    return toml + Format("[resource.hooks.allocate]\ncommand = [\"{}{}\"]\ntimeout = \"1s\"\n",
                         world.root, OnHost(Hangs::kHook, "program"));
  }
  if (!has_hook) return toml;
  return toml + "[resource.hooks.allocate]\ncommand = [\"/bin/sleep\", \"0.02\"]\n";
}

std::string Configuration::Resource::ProbeToml(const std::string& root) const {
  if (probe == kUnprobed) return "";
  std::string toml = "[resource.health]\nfailure_threshold = 1\n";
  if (is_doubted) toml += "before_first = \"unhealthy\"\n";
  if (probe == kByProgram) {
    return toml + Format(
                      "command = [\"{0}/probe\", \"{0}/state/{{name}}\"]\nperiod = \"300ms\"\n"
                      "timeout = \"250ms\"\n",
                      root);
  }
  const std::string file = probe == kByFile ? "/state/{name}" : OnHost(Hangs::kProbe, "state");
  return toml +
         Format("file = \"{}\"\nequals = \"ok\"\nperiod = \"100ms\"\ntimeout = \"250ms\"\n", file);
}

bool Configuration::Resource::IsExclusive() const {
  return is_exclusive && !groups.contains(Host::kListed) && !groups.contains(Host::kMounted);
}

/// Returns a variable only if the resource has a single group, because other groups lack it.
std::string Configuration::Resource::TextInPath() const {
  return has_text_in_path && groups.size() == 1 ? Host::Text(*groups.begin()) : "";
}

Hangs::Places Configuration::Resource::Needs() const {
  Hangs::Places needs = container_needs;
  if (groups.contains(Host::kMounted)) needs.insert(Hangs::kMatch);
  if (probe == kByMountedFile) needs.insert(Hangs::kProbe);
  return needs;
}

std::string Configuration::Resource::FindErrorsIn(
    const v1beta1::ContainerAllocateResponse& response, const Host& host) const {
  for (const auto& device : response.devices()) {
    const bool is_found = std::any_of(groups.begin(), groups.end(), [&](std::size_t group) {
      return host.IsNode(group, device.host_path());
    });
    const bool is_fixed = device.host_path() == OnHost(Hangs::kDeviceNode, "node");
    const bool needs_fixed = container_needs.contains(Hangs::kDeviceNode);
    if (needs_fixed ? !is_fixed : !is_found) return "the node " + device.host_path();
    if (!needs_fixed && !TextInPath().empty() &&
        (!device.container_path().starts_with("/dev/of/") ||
         !IsPathComponent(device.container_path().substr(std::string_view("/dev/of/").size())))) {
      return "a node at " + device.container_path();
    }
  }
  if (response.devices().empty()) return "no node";
  for (const auto& mount : response.mounts()) {
    if (mount.host_path() != OnHost(Hangs::kMount, "file")) return "the mount " + mount.host_path();
  }
  const auto variable = response.envs().find("VERSION");
  const std::string got = variable == response.envs().end() ? "none" : variable->second;
  return got == Format("{}", version) ? "" : Format("version {} instead of {}", got, version);
}

Configuration::Health Configuration::Resource::Listed(const Host& host, std::size_t group) const {
  Health health;
  for (const auto& [id, device] : host.Devices(group)) {
    const bool has_text = !TextInPath().empty() && !container_needs.contains(Hangs::kDeviceNode);
    if (has_text && !device.has_usable_text) continue;
    if (probe == kByFile && !device.has_usable_name) continue;
    const bool works = device.works || probe == kUnprobed || probe == kByMountedFile;
    for (std::size_t i = 0; i < replicas; ++i) {
      health[replicas == 1 ? id : Format("{}::{}", id, i)] = works ? "Healthy" : "Unhealthy";
    }
  }
  return health;
}

Configuration::Health Configuration::Listed(const Resource& resource) const {
  Health health;
  for (const std::size_t group : resource.groups) {
    if (!IsKeptFrom(resource, group)) health.merge(resource.Listed(world_.host, group));
  }
  return health;
}

bool Configuration::IsKeptFrom(const Resource& resource, std::size_t group) const {
  const auto owner = std::find_if(resources_.begin(), resources_.end(), [&](const Resource& r) {
    return !r.is_elsewhere && r.IsExclusive() && r.groups.contains(group);
  });
  return owner != resources_.end() && owner->name != resource.name;
}

Configuration::Configuration(Random& random, World world) : world_(std::move(world)) {
  for (std::size_t left = 2 + random.Below(3); left > 0; --left) Add(random);
  resources_.front().groups.insert(Host::kListed);
}

std::vector<Resource> Configuration::resources() const {
  std::vector<Resource> here;
  std::copy_if(resources_.begin(), resources_.end(), std::back_inserter(here),
               [](const Resource& resource) { return !resource.is_elsewhere; });
  return here;
}

std::set<std::string> Configuration::names() const {
  std::set<std::string> names;
  for (const Resource& resource : resources_) names.insert(resource.name);
  return names;
}

std::map<Hangs::SourceLocation, std::set<std::string>> Configuration::needs() const {
  std::map<Hangs::SourceLocation, std::set<std::string>> needs;
  for (const Resource& resource : resources()) {
    for (const Hangs::SourceLocation place : resource.Needs()) needs[place].insert(resource.name);
  }
  return needs;
}

std::set<std::string> Configuration::mounted() const {
  std::set<std::string> names;
  for (const Resource& resource : resources_) {
    if (!resource.Needs().empty()) names.insert(resource.name);
  }
  return names;
}

std::set<std::string> Configuration::released() const {
  std::set<std::string> names;
  for (const Resource& resource : resources_) {
    if (resource.has_release) names.insert(resource.name);
  }
  return names;
}

std::string Configuration::Toml() const {
  std::string toml;
  for (const Resource& resource : resources_) toml += resource.Toml(world_) + "\n";
  return toml;
}

bool Configuration::RunsPrograms() const {
  return std::any_of(resources_.begin(), resources_.end(),
                     [](const Resource& r) { return r.probe == Resource::kByProgram; });
}

std::set<Configuration::Registration> Configuration::Registrations() const {
  std::set<Registration> registrations;
  for (const Resource& resource : resources()) {
    registrations.emplace(resource.name, resource.is_packed, resource.has_release);
  }
  return registrations;
}

bool Configuration::MayGive(const std::string& node, const Host& host) {
  for (std::size_t group = 0; group < Host::kGroups; ++group) {
    if (host.IsNode(group, node)) return true;
  }
  return node == OnHost(Hangs::kDeviceNode, "node");
}

std::string Configuration::Change(Random& random) {
  Resource& resource = resources_[random.Below(resources_.size())];
  switch (random.Below(15)) {
    case 0:
      if (resources_.size() < kMaxResources) return Add(random);
      [[fallthrough]];
    case 1: {
      if (resources_.size() == 1) return Add(random);
      const std::string name = resource.name;
      std::erase_if(resources_, [&](const Resource& r) { return r.name == name; });
      return "without " + name;
    }
    case 2: {
      const std::string before = resource.name;
      resource.name = NewName(random);
      return Format("{} becomes {}", before, resource.name);
    }
    case 3: resource.replicas = 1 + random.Below(3); break;
    case 4: {
      const std::size_t group = random.Below(Host::kGroups);
      if (resource.groups.erase(group) == 0 || resource.groups.empty()) {
        resource.groups.insert(group);
      }
      break;
    }
    case 5:
      resource.probe = random.OneOf(kProbes);
      resource.is_doubted = random.OneIn(2);
      break;
    case 6: resource.is_packed = !resource.is_packed; break;
    case 7: resource.has_hook = !resource.has_hook; break;
    case 12: resource.has_release = !resource.has_release; break;
    case 8: resource.is_exclusive = !resource.is_exclusive; break;
    case 9: std::swap(resource, resources_[random.Below(resources_.size())]); break;
    case 10: {
      static constexpr Hangs::SourceLocation kPlaces[] = {Hangs::kDeviceNode, Hangs::kMount,
                                                          Hangs::kHook};
      const Hangs::SourceLocation place = random.OneOf(kPlaces);
      if (resource.container_needs.erase(place) == 0) resource.container_needs.insert(place);
      break;
    }
    case 11:
      resource.groups = {random.OneIn(2) ? Host::kListed : Host::kSticks};
      resource.has_text_in_path = !resource.has_text_in_path;
      break;
    default: ++resource.version;
  }
  return "changed " + resource.name;
}

std::string Configuration::Use(Hangs::SourceLocation place, Random& random) {
  Resource& resource = resources_[random.Below(resources_.size())];
  resource.is_elsewhere = false;
  switch (place) {
    case Hangs::kMatch: resource.groups.insert(Host::kMounted); break;
    case Hangs::kProbe: resource.probe = Resource::kByMountedFile; break;
    default:
      resource.container_needs.insert(place);
      resource.probe = Resource::kUnprobed;  // so that its devices are allocated
  }
  return Format("{} uses the directory of a {}", resource.name, Hangs::Name(place));
}

std::string Configuration::MoveToOtherNode(Random& random) {
  Resource& resource = resources_[random.Below(resources_.size())];
  const bool are_few_here = 2 * resources().size() <= resources_.size();
  resource.is_elsewhere = !resource.is_elsewhere && !are_few_here;
  return Format("{} {} this node", resource.name, resource.is_elsewhere ? "leaves" : "is on");
}

std::string Configuration::NewName(Random& random) const {
  std::set<std::string> free;
  for (std::size_t i = 0; i < kMaxResources + 2; ++i) free.insert(Format("chaos.dev/r{}", i));
  for (const Resource& resource : resources_) free.erase(resource.name);
  return random.OneOf(free);
}

std::string Configuration::Add(Random& random) {
  Resource resource{.name = NewName(random),
                    .replicas = 1 + random.Below(2),
                    .version = 0,
                    .groups = {random.OneIn(4) ? Host::kListed : random.Below(Host::kGroups)},
                    .probe = random.OneOf(kProbes),
                    .is_doubted = random.OneIn(2),
                    .is_packed = random.OneIn(2),
                    .has_hook = random.OneIn(4),
                    .has_release = random.OneIn(2),
                    .is_exclusive = random.OneIn(6),
                    .has_text_in_path = random.OneIn(2)};
  if (random.OneIn(2)) {
    static constexpr Hangs::SourceLocation kPlaces[] = {Hangs::kDeviceNode, Hangs::kMount,
                                                        Hangs::kHook};
    resource.container_needs.insert(random.OneOf(kPlaces));
  }
  resources_.push_back(resource);
  return "with " + resource.name;
}

}  // namespace patchbay::test
