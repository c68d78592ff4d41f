#include "discovery/named_devices.h"

#include <algorithm>
#include <sstream>

#include "base/ascii.h"
#include "base/diagnostics.h"
#include "base/format.h"
#include "base/path.h"
#include "discovery/device_notes.h"
#include "discovery/vfio.h"

namespace patchbay {
namespace {

bool IsAny(std::string_view) { return true; }

bool IsOnIdBus(std::string_view subsystem) { return subsystem == "usb" || subsystem == "pci"; }

bool HasId(const SysfsDevice& device) { return IsUsbDevice(device) || device.subsystem == "pci"; }

bool IsId(std::string_view word) {
  constexpr std::size_t kColon = 4;
  if (word.size() != 2 * kColon + 1 || word[kColon] != ':') return false;
  return std::ranges::count_if(word, [](char c) { return IsLowerHex(ToLower(c)); }) == 2 * kColon;
}

/// Returns the path of a link that udev made in a directory such as /dev/serial/by-id, or "".
std::string UdevLink(const std::string& name, const HostRoot& host) {
  const auto is_by = [](const std::string& entry) { return entry.starts_with("by-"); };
  const auto kinds = host.List("/dev", IsAny);
  if (!kinds || name.size() < 3) return "";
  for (const HostEntry& kind : *kinds) {
    if (kind.type != FileType::kDirectory) continue;
    const auto directories = host.List("/dev/" + kind.name, is_by);
    if (!directories) continue;
    for (const HostEntry& directory : *directories) {
      std::string path = Format("/dev/{}/{}/{}", kind.name, directory.name, name);
      if (host.Resolve(path)) return path;
    }
  }
  return "";
}

/// Names the functions on VFIO of an IOMMU group instead of its node.
void AddFunctions(const std::string& node, DeviceAncestries& ancestries, const Sysfs& sysfs,
                  WordTarget& named) {
  std::vector<std::string> functions;
  for (const std::string& path : VfioFunctionsOf(node, sysfs.host())) {
    const auto device = ancestries.Of(path);
    if (device && IsOnVfio(device->self(), sysfs)) functions.push_back(path);
  }
  if (!functions.empty()) named.syspaths = functions;
}

/// Returns whether a file of the host is named that is a device, or why not.
bool IsFound(const HostNode& file, DeviceAncestries& ancestries, const Sysfs& sysfs,
             WordTarget& named) {
  if (file.type == FileType::kCharacter || file.type == FileType::kBlock) {
    named.node = file.path;
    const auto device = sysfs.OfNode(file.type, file.major, file.minor);
    if (device) named.syspaths = {*device};
    AddFunctions(file.path, ancestries, sysfs, named);
    return true;
  }
  if (!file.path.starts_with(kSysDevices)) return false;
  const bool is_device = ancestries.Of(file.path).has_value();
  const auto device = is_device ? file.path : sysfs.Parent(file.path);
  if (device) named.syspaths = {*device};
  return device.has_value();
}

WordTarget Find(const std::string& word, const std::string& directory, DeviceAncestries& ancestries,
                const Sysfs& sysfs) {
  WordTarget named;
  named.why_none = "it does not exist";
  const bool is_path = word.find('/') != std::string::npos;
  std::vector<std::string> paths = {FollowLink("/dev", word)};
  const std::string raw = word.starts_with('/') ? "" : FollowLink("/dev/bus/usb", word);
  if (is_path && !raw.empty()) paths.push_back(raw);
  if (is_path) paths.insert(paths.begin(), FollowLink(directory, word));
  for (const std::string& path : paths) {
    const auto file = sysfs.host().Resolve(path);
    if (file && IsFound(*file, ancestries, sysfs, named)) {
      named.why_none = "";
      const std::size_t requests =
          path == file->path ? 0 : RequestsOfLink(path, sysfs.host()).size();
      if (requests > 1) {
        named.note =
            Format("{} devices request the link {}; now {} has it.", requests, path, file->path);
      }
      if (path == raw) named.node = "";  // the device, not its raw node
      return named;
    }
    if (file && is_path) {
      named.why_none = file->type == FileType::kDirectory ? "it is a directory" : "it is a file";
    }
  }
  if (is_path) return named;
  if (const std::string link = UdevLink(word, sysfs.host()); !link.empty()) {
    return Find(link, directory, ancestries, sysfs);
  }
  const std::string id = ToLower(word), with_domain = "0000:" + id;
  for (const std::string& path : sysfs.Devices(IsId(word) ? IsOnIdBus : IsAny).paths) {
    const std::string_view name = BaseName(path);
    bool is_it = name == word || name == id || name == with_domain;
    if (IsId(word)) {
      const auto device = ancestries.Of(path);
      is_it = device && HasId(device->self()) && ancestries.NumbersOf(device->self()) == id;
    }
    if (is_it) named.syspaths.push_back(path);
  }
  if (!named.syspaths.empty()) named.why_none = "";
  return named;
}

}  // namespace

WordTarget FindNamed(const std::string& word, const std::string& directory,
                     DeviceAncestries& ancestries, const Sysfs& sysfs) {
  WordTarget named = Find(word, directory, ancestries, sysfs);
  if (named.syspaths.size() != 1) return named;
  const auto device = ancestries.Of(named.syspaths.front());
  if (!device || device->self().subsystem != "pci") return named;
  named.node = NvidiaNodeOf(*device, sysfs);
  if (!named.node.empty()) named.syspaths.clear();
  return named;
}

std::string NvidiaNodeOf(const DeviceAncestry& part, const Sysfs& sysfs) {
  const SysfsDevice* function = part.PciDevice();
  if (function == nullptr || function->driver != "nvidia") return "";
  const std::string file = Format("/proc/driver/nvidia/gpus/{}/information", function->name);
  std::istringstream lines(sysfs.host().ReadFile(file, 4096).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Device Minor:")) continue;
    std::string node = "/dev/nvidia" + line.substr(line.find_last_of(" \t") + 1);
    if (sysfs.host().Resolve(node)) return node;
  }
  return "";
}

std::vector<std::string> SimilarNames(const std::string& word, DeviceAncestries& ancestries,
                                      const Sysfs& sysfs) {
  constexpr std::size_t kMaxSimilar = 5;
  constexpr std::size_t kMaxWord = 64;  // longer ones are no names; the time is quadratic
  std::vector<std::string> names, similar;
  if (word.size() > kMaxWord) return similar;
  if (word.starts_with("/dev/")) {  // a directory, such as /dev/serial/by-id
    const auto entries = sysfs.host().List(word, IsAny);
    for (const HostEntry& entry : entries ? *entries : std::vector<HostEntry>()) {
      if (similar.size() < kMaxSimilar) similar.push_back(Format("{}/{}", word, entry.name));
    }
    if (!similar.empty()) return similar;
  }
  for (const std::string& path : sysfs.Devices(IsId(word) ? IsOnIdBus : IsAny).paths) {
    const auto device = ancestries.Of(path);
    if (!device) continue;
    const SysfsDevice& self = device->self();
    if (IsId(word)) {
      if (HasId(self)) names.push_back(ancestries.NumbersOf(self));
    } else if (word.starts_with('/')) {
      names.push_back(self.node);
    } else if (!self.node.empty() || self.subsystem == "net" || HasId(self)) {
      names.push_back(self.name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // A short PCI address is one of another domain.
  for (const std::string& name : names) {
    const bool is_end = !word.empty() && name.ends_with(":" + ToLower(word));
    if (is_end && similar.size() < kMaxSimilar) similar.push_back(name);
  }
  while (similar.size() < kMaxSimilar) {
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string nearest(Nearest(word, candidates));
    if (nearest.empty()) break;
    std::erase(names, nearest);
    similar.push_back(nearest);
  }
  return similar;
}

std::vector<DeviceAncestry> PartsOf(const DeviceAncestry& device, DeviceAncestries& ancestries,
                                    const Sysfs& sysfs) {
  std::vector<DeviceAncestry> parts;
  const auto is_other = [&](const std::string& path) {
    const auto below = ancestries.Of(path);
    return below && HasId(below->self());
  };
  for (const std::string& path : sysfs.Below(device.self().path, is_other).paths) {
    const auto part = ancestries.Of(path);
    if (part && (!part->self().node.empty() || part->self().subsystem == "net")) {
      parts.push_back(*part);
    }
  }
  return parts;
}

}  // namespace patchbay
