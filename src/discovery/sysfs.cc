// Links in sysfs are resolved by their text, which names a device directly. The kernel's names and
// numbers identify a device; text that the device itself supplies never does.

#include "discovery/sysfs.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxAttribute = 4096;
constexpr std::size_t kMaxDirectories = 16 * 1024;
constexpr std::size_t kMaxNumber = 32;
constexpr std::string_view kUsb = "usb", kNet = "net";

/// Returns the target of a link of sysfs from its text, because such links point directly to a
/// device. Empty if the target is outside of the device tree.
std::string DeviceBehind(std::string_view directory, std::string_view link) {
  std::string path = FollowLink(directory, link);
  return path.starts_with(kSysDevices) ? path : "";
}

bool IsInterfaceName(std::string_view name) { return name.find(':') != std::string_view::npos; }

bool IsText(std::string_view text) {
  const bool controlled = std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
  return !controlled && IsUtf8(text);
}

}  // namespace

bool IsUsbDevice(const SysfsDevice& device) {
  return device.subsystem == kUsb && !IsInterfaceName(device.name);
}

bool IsUsbInterface(const SysfsDevice& device) {
  return device.subsystem == kUsb && IsInterfaceName(device.name);
}

std::string WhyNodeIsMissing(const SysfsDevice& device) {
  if (device.number) return "";
  if (device.subsystem == "block") {
    return "it has no node: with NVMe multipath, a controller has only paths to its disks; match "
           "the "
           "disks themselves, by path or with udev, and without pci";
  }
  for (const std::string_view subsystem : {"sound", "input", "drm"}) {
    if (device.subsystem == subsystem) return "it has no node";
  }
  return "";
}

Sysfs::Sysfs(HostRoot host, OnUnreadable on_unreadable, std::vector<InterfaceRecord> interfaces)
    : host_(std::move(host)),
      on_unreadable_(std::move(on_unreadable)),
      properties_(host_),
      character_(host_.Resolve("/sys/dev/char")),
      block_(host_.Resolve("/sys/dev/block")) {
  for (InterfaceRecord& record : interfaces) {
    std::string path = record.away_path();
    interfaces_.emplace(std::move(path), std::move(record));
  }
}

void Sysfs::ReportError(const std::string& place, const Error& error) const {
  if (on_unreadable_ && error.kind != ErrorKind::kNotFound) on_unreadable_(place, error);
}

void Sysfs::Note(const std::string& place, const Error& error, SysfsPaths& found) const {
  if (error.kind == ErrorKind::kNotFound) return;
  ReportError(place, error);
  found.errors.push_back(error);
}

void Sysfs::AddDevicesIn(const std::string& directory, SysfsPaths& found) const {
  const auto resolved = host_.Resolve(directory);
  if (!resolved) return Note(directory, resolved.error(), found);
  const auto entries = host_.List(directory, [](const std::string&) { return true; });
  if (!entries) return Note(directory, entries.error(), found);
  for (const HostEntry& entry : *entries) {
    if (entry.type != FileType::kSymlink) continue;
    const auto link = host_.ReadLink(*resolved, entry.name);
    if (!link) {
      Note(Format("{}/{}", directory, entry.name), link.error(), found);
      continue;
    }
    std::string device = DeviceBehind(resolved->path, *link);
    if (!device.empty()) found.paths.push_back(std::move(device));
  }
}

SysfsPaths Sysfs::Devices(const std::function<bool(std::string_view subsystem)>& wanted) const {
  SysfsPaths found;
  bool is_there = false;
  const auto look = [&](const std::string& kind, std::string_view below) {
    const auto subsystems = host_.List(kind, wanted);
    if (!subsystems) return Note(kind, subsystems.error(), found);
    is_there = true;
    for (const HostEntry& subsystem : *subsystems) {
      AddDevicesIn(Format("{}/{}{}", kind, subsystem.name, below), found);
    }
  };
  look("/sys/class", "");
  look("/sys/bus", "/devices");
  if (!is_there && found.errors.empty()) {
    found.errors.push_back(
        {ErrorKind::kNotFound,
         Format("sysfs has no devices: mount the host's /sys at {}", host_.Local("/sys"))});
  }
  if (!interfaces_.empty() && wanted(kNet)) AddAway(found);
  std::sort(found.paths.begin(), found.paths.end());
  found.paths.erase(std::unique(found.paths.begin(), found.paths.end()), found.paths.end());
  return found;
}

/// The kernel keeps the directory "net" of a bus device for interfaces in other namespaces, and
/// shows only those of the host in it. One that returned since /sys/class/net was read is added,
/// too.
void Sysfs::AddAway(SysfsPaths& found) const {
  for (const auto& away : interfaces_) {
    const InterfaceRecord& record = away.second;
    const std::string directory = record.interface.bus_device + "/net";
    const auto here = host_.List(directory, [](const std::string&) { return true; });
    if (!here) continue;
    const auto same = std::ranges::find_if(*here, [&](const HostEntry& entry) {
      const NetInterface other = InterfaceAt(Format("{}/{}", directory, entry.name), *this);
      return IsSameInterface(other, record.interface);
    });
    found.paths.push_back(same == here->end() ? away.first
                                              : Format("{}/{}", directory, same->name));
  }
}

/// Returns the record of an interface that is away by its syspath, or null.
const InterfaceRecord* Sysfs::AwayAt(const std::string& syspath) const {
  if (!BaseName(syspath).starts_with(kAwayName)) return nullptr;
  const auto record = interfaces_.find(syspath);
  return record == interfaces_.end() ? nullptr : &record->second;
}

Result<SysfsDevice> Sysfs::Read(const std::string& syspath) const {
  if (const InterfaceRecord* away = AwayAt(syspath)) {
    SysfsDevice device;
    device.path = syspath;
    device.name = away->name;
    device.subsystem = kNet;
    device.properties = away->properties;
    device.is_away = true;
    return device;
  }
  const HostNode directory = TRY(host_.Resolve(syspath));
  const auto linked = [&](std::string_view name) {
    const auto link = host_.ReadLink(directory, name);
    if (link) return std::string(BaseName(*link));
    ReportError(Format("{}/{}", directory.path, name), link.error());
    return std::string();
  };
  KernelFacts facts;
  facts.name = BaseName(directory.path);
  facts.subsystem = linked("subsystem");
  facts.driver = linked("driver");
  facts.number = NumberOf(directory, facts.subsystem);
  if (facts.subsystem == kUsb) {
    facts.devtype = IsInterfaceName(facts.name) ? "usb_interface" : "usb_device";
  }
  if (facts.subsystem == kNet) facts.ifindex = Attribute(directory.path, "ifindex").value_or("");

  SysfsDevice device;
  device.properties = TRY(properties_.Of(directory, facts));
  const auto node = device.properties.find("DEVNAME");
  if (node != device.properties.end() && IsShortestPath(node->second)) device.node = node->second;
  device.path = directory.path;
  device.name = std::move(facts.name);
  device.subsystem = std::move(facts.subsystem);
  device.driver = std::move(facts.driver);
  device.number = facts.number;
  return device;
}

/// Parses the content of the file `dev`, such as "188:0".
std::optional<DeviceNumber> Sysfs::NumberOf(const HostNode& directory,
                                            std::string_view subsystem) const {
  const auto text = host_.ReadFile(directory, "dev", kMaxNumber);
  if (!text) {
    ReportError(directory.path + "/dev", text.error());
    return std::nullopt;
  }
  DeviceNumber number{subsystem == "block" ? FileType::kBlock : FileType::kCharacter};
  const char* const end = text->data() + text->size();
  const auto major = std::from_chars(text->data(), end, number.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != ':') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, number.minor);
  if (minor.ec != std::errc() || std::string_view(minor.ptr, end) != "\n") return std::nullopt;
  return number;
}

Result<std::string> Sysfs::OfNode(FileType type, unsigned major, unsigned minor) const {
  if (type != FileType::kCharacter && type != FileType::kBlock) {
    return Fail(ErrorKind::kInvalid, "only character and block devices have a number");
  }
  const auto& directory = type == FileType::kBlock ? block_ : character_;
  if (!directory) return Failure(directory.error());
  const std::string number = Format("{}:{}", major, minor);
  std::string path = DeviceBehind(directory->path, TRY(host_.ReadLink(*directory, number)));
  if (path.empty()) {
    return Fail(ErrorKind::kNotFound, Format("{}/{} is not a device", directory->path, number));
  }
  return path;
}

std::optional<std::string> Sysfs::Parent(const std::string& syspath) const {
  std::string above = DirectoryOf(syspath);
  while (above.starts_with(kSysDevices)) {
    // A syspath contains no links, so it is not resolved again.
    if (host_.Holds({above + "/uevent", FileType::kRegular, 0, 0})) return above;
    above = DirectoryOf(above);
  }
  return std::nullopt;
}

Result<std::string> Sysfs::Attribute(const std::string& syspath, std::string_view name) const {
  const std::string path = Format("{}/{}", syspath, name);
  if (!IsShortestPath(path)) {
    return Fail(ErrorKind::kInvalid, Printable(name) + " is not the name of an attribute");
  }
  if (const InterfaceRecord* away = AwayAt(syspath)) {
    constexpr std::string_view kDevice = "device/";
    if (name.starts_with(kDevice)) {
      return Attribute(away->interface.bus_device, name.substr(kDevice.size()));
    }
    const auto recorded = away->attributes.find(name);
    if (recorded != away->attributes.end()) return recorded->second;
    return Fail(ErrorKind::kNotFound, path + " is not known while a container has the interface");
  }
  // A syspath contains no links, so it is not resolved again.
  const bool is_in_link = name.find('/') != std::string_view::npos;
  auto text =
      TextIn(is_in_link ? host_.Resolve(DirectoryOf(path)) : HostNode{.path = syspath}, path);
  if (!text && text.error().kind == ErrorKind::kUnavailable) ReportError(path, text.error());
  return text;
}

Result<std::string> Sysfs::TextIn(const Result<HostNode>& directory,
                                  const std::string& path) const {
  if (!directory) return Failure(directory.error());
  auto text = host_.ReadLink(*directory, BaseName(path));
  if (text) {
    text = std::string(BaseName(*text));
  } else if (text.error().kind == ErrorKind::kInvalid) {
    text = TRY(host_.ReadFile(*directory, BaseName(path), kMaxAttribute));
  } else {
    return text;
  }
  // Texts of a device tree end with NUL.
  text->resize(text->find_last_not_of(std::string_view("\n\r\0", 3)) + 1);
  if (!IsText(*text)) return Fail(ErrorKind::kInvalid, path + " is not text");
  return text;
}

SysfsPaths Sysfs::Below(const std::string& syspath,
                        const std::function<bool(const std::string& syspath)>& stop) const {
  SysfsPaths found;
  struct Directory {
    std::string path;
    int level;
  };
  std::vector<Directory> pending = {{syspath, 0}};
  std::size_t seen = 0;
  bool cut = false;
  while (!pending.empty()) {
    const Directory directory = std::move(pending.back());
    pending.pop_back();
    if (directory.level > kMaxLevels || ++seen > kMaxDirectories ||
        found.paths.size() == kMaxDevices) {
      cut = true;
      continue;
    }
    const auto entries = host_.List(directory.path, [](const std::string&) { return true; });
    if (!entries) {
      Note(directory.path, entries.error(), found);
      continue;
    }
    const bool is_device = std::any_of(entries->begin(), entries->end(), [](const auto& entry) {
      return entry.name == "uevent" && entry.type == FileType::kRegular;
    });
    if (is_device) {
      if (directory.level > 0 && stop(directory.path)) continue;
      found.paths.push_back(directory.path);
    }
    for (const HostEntry& entry : *entries) {
      if (entry.type != FileType::kDirectory) continue;
      pending.push_back({Format("{}/{}", directory.path, entry.name), directory.level + 1});
    }
  }
  if (cut) {
    found.errors.push_back(
        {ErrorKind::kInvalid,
         Format("{} contains more than {} levels or {} devices; the rest is not scanned", syspath,
                kMaxLevels, kMaxDevices)});
  }
  std::sort(found.paths.begin(), found.paths.end());
  return found;
}

}  // namespace patchbay
