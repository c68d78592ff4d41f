#include "chaos/configuration.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay::test {
namespace {

using Resource = Configuration::Resource;

/// Programs are rarer than files: there are few processors.
constexpr decltype(Resource::probe) kProbes[] = {Resource::kUnprobed, Resource::kByFile,
                                                 Resource::kByFile, Resource::kByProgram};

}  // namespace

std::string Configuration::Resource::Toml(const std::string& host) const {
  std::string toml = format("[[resource]]\nname = \"{}\"\nforget_after = \"50ms\"\n", name);
  if (replicas > 1) toml += format("replicas = {}\n", replicas);
  if (is_exclusive) toml += "exclusive = true\n";
  if (is_packed) toml += "preferred_allocation = \"packed\"\n";
  for (const std::size_t group : groups) {
    toml += format("[[resource.match]]\npath = \"{}\"\n", Host::Pattern(group));
  }
  toml += format("[resource.env]\nVERSION = \"{}\"\n", version);
  if (has_hook) toml += "[resource.hooks.allocate]\ncommand = [\"/bin/sleep\", \"0.02\"]\n";
  if (probe == kUnprobed) return toml;
  toml += "[resource.health]\nfailure_threshold = 1\n";
  if (is_doubted) toml += "before_first = \"unhealthy\"\n";
  toml += probe == kByFile
              ? "file = \"/state/{name}\"\nequals = \"ok\"\nperiod = \"100ms\"\n"
              : format(
                    "command = [\"{0}/probe\", \"{0}/state/{{name}}\"]\nperiod = \"300ms\"\n"
                    "timeout = \"250ms\"\n",
                    host);
  return toml;
}

Configuration::Health Configuration::Listed(const Resource& resource, const Host& host) const {
  Health health;
  for (const std::size_t group : resource.groups) {
    if (IsKeptFrom(resource, group)) continue;
    for (const auto& [id, works] : host.Devices(group)) {
      for (std::size_t i = 0; i < resource.replicas; ++i) {
        const std::string unit = resource.replicas == 1 ? id : format("{}::{}", id, i);
        health[unit] = works || resource.probe == Resource::kUnprobed ? "Healthy" : "Unhealthy";
      }
    }
  }
  return health;
}

bool Configuration::IsKeptFrom(const Resource& resource, std::size_t group) const {
  const auto owner = std::find_if(resources_.begin(), resources_.end(), [&](const Resource& r) {
    return r.is_exclusive && r.groups.contains(group);
  });
  return owner != resources_.end() && owner->name != resource.name;
}

Configuration::Configuration(Random& random, std::string host) : host_(std::move(host)) {
  for (std::size_t left = 2 + random.Below(3); left > 0; --left) Add(random);
}

std::string Configuration::Toml() const {
  std::string toml;
  for (const Resource& resource : resources_) toml += resource.Toml(host_) + "\n";
  return toml;
}

bool Configuration::RunsPrograms() const {
  return std::any_of(resources_.begin(), resources_.end(),
                     [](const Resource& r) { return r.probe == Resource::kByProgram; });
}

std::set<Configuration::Registration> Configuration::Registrations() const {
  std::set<Registration> registrations;
  for (const Resource& resource : resources_) {
    registrations.emplace(resource.name, resource.is_packed);
  }
  return registrations;
}

std::string Configuration::Change(Random& random) {
  Resource& resource = resources_[random.Below(resources_.size())];
  switch (random.Below(12)) {
    case 0:
      if (resources_.size() < kMostResources) return Add(random);
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
      return format("{} becomes {}", before, resource.name);
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
    case 8: resource.is_exclusive = !resource.is_exclusive; break;
    case 9: std::swap(resource, resources_[random.Below(resources_.size())]); break;
    default: ++resource.version;
  }
  return "changed " + resource.name;
}

std::string Configuration::NewName(Random& random) const {
  std::set<std::string> free;
  for (std::size_t i = 0; i < kMostResources + 2; ++i) free.insert(format("chaos.dev/r{}", i));
  for (const Resource& resource : resources_) free.erase(resource.name);
  return random.OneOf(free);
}

std::string Configuration::Add(Random& random) {
  Resource resource{.name = NewName(random),
                    .replicas = 1 + random.Below(2),
                    .version = 0,
                    .groups = {random.Below(Host::kGroups)},
                    .probe = random.OneOf(kProbes),
                    .is_doubted = random.OneIn(2),
                    .is_packed = random.OneIn(2),
                    .has_hook = random.OneIn(4),
                    .is_exclusive = random.OneIn(6)};
  resources_.push_back(resource);
  return "with " + resource.name;
}

}  // namespace patchbay::test
