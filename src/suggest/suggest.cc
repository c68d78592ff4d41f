#include "suggest/suggest.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.h"
#include "config/toml_writer.h"
#include "discovery/disk_use.h"
#include "discovery/glob_walk.h"
#include "suggest/identity.h"
#include "suggest/kinds.h"

namespace patchbay {
namespace {

constexpr std::string_view kDomain = "example.com/";

/// Returns the place in sysfs whose parts of one kind are one device.
std::string PlaceOf(const Kind& kind, const DeviceAncestry& device) {
  if (!kind.traits.is_whole) return device.self().path;
  for (const SysfsDevice* place : {device.UsbDevice(), device.PciDevice()}) {
    if (place != nullptr && kind.resource != "optical") return place->path;
  }
  return device.devices.size() > 1 ? device.devices[1].get().path : device.self().path;
}

/// Returns the units of a host, ordered by kind and place.
std::vector<Unit> UnitsOf(DeviceAncestries& ancestries, const Sysfs& sysfs) {
  std::map<std::tuple<std::string_view, const Kind*, std::string>, Unit> units;
  for (const std::string& path : sysfs.Devices([](std::string_view) { return true; }).paths) {
    const auto device = ancestries.Of(path);
    if (!device) continue;
    const Kind* kind = KindOf(*device, ancestries, sysfs);
    if (kind == nullptr) continue;
    if (kind->resource == "disk" && device->self().properties.contains("PARTN")) continue;
    Unit& unit = units[{kind->resource, kind, PlaceOf(*kind, *device)}];
    unit.kind = kind;
    unit.parts.push_back(*device);
  }
  std::vector<Unit> list;
  for (auto& [key, unit] : units) list.push_back(std::move(unit));
  return list;
}

std::string Commented(std::string_view text) {
  std::string commented;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    commented += line.empty() ? "#\n" : Format("# {}\n", line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return commented;
}

}  // namespace

Suggestions Suggest(const HostRoot& host) {
  const Sysfs sysfs(host);
  DeviceAncestries ancestries(sysfs);
  Suggestions suggestions;
  std::vector<Unit> units = UnitsOf(ancestries, sysfs);
  DiskUse uses(sysfs);
  std::erase_if(units, [&](const Unit& unit) {
    const SysfsDevice& self = unit.parts.front().self();
    if (unit.kind->resource != "disk") return false;
    if (!self.number || self.properties.find("DEVTYPE")->second != "disk") return true;
    const auto use = uses.Of(
        {self.node, self.node, self.number->type, self.number->major, self.number->minor, {}});
    const bool is_used = !use || !use->empty();
    suggestions.used_disks += is_used ? 1 : 0;
    return is_used;
  });
  Identities identities(units, ancestries, sysfs);
  std::vector<NewMatch> matches = identities.TakeMatches();
  const auto write = [&](const NewResource& resource, std::string_view danger) {
    std::string text = WriteToml({{}, {resource}, {}, {}});
    if (!danger.empty()) text = Commented(text);
    suggestions.toml += (suggestions.toml.empty() ? "" : "\n") + text;
  };
  for (std::size_t i = 0; i < units.size();) {
    const Kind& kind = *units[i].kind;
    NewResource resource{.name = std::string(kDomain).append(kind.resource), .nodes = {NewNode{}}};
    if (!kind.traits.danger.empty()) {
      resource.notes.push_back(
          Format("Remove the # to use it, if {} is acceptable.", kind.traits.danger));
    }
    const auto is_alike = [&](const Kind& other) {
      return other.resource == kind.resource && other.traits.danger == kind.traits.danger;
    };
    for (; i < units.size() && is_alike(*units[i].kind); ++i) {
      if (matches[i].notes.empty()) continue;
      resource.matches.push_back(std::move(matches[i]));
    }
    if (kind.traits.danger.empty()) suggestions.devices += resource.matches.size();
    write(resource, kind.traits.danger);
  }
  return suggestions;
}

}  // namespace patchbay
