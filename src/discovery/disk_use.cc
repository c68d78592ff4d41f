// The tables name devices that are in use by number, or by path where a file system has several.
// From these, `slaves` lead down to the parts of volumes and arrays. A device is then in use if it
// is one of them, if a volume holds it, or if a partition of it, or its disk, is in use.

#include "discovery/disk_use.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <vector>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "discovery/block_devices.h"
#include "discovery/mount_table.h"

namespace patchbay {
namespace {

/// A node with 1,000 pods has a table of about 4 MiB.
constexpr std::size_t kMaxTable = 32U << 20U;
constexpr std::string_view kPools = "/proc/spl/kstat/zfs";

/// Returns whether the tables of this process are those of the host. A tree of plain files
/// describes another host, whose device numbers mean something else.
bool IsOwnHost(const HostRoot& host) {
  struct statfs info;
  return statfs(host.Local("/sys").c_str(), &info) == 0 && info.f_type == SYSFS_MAGIC;
}

/// Reads a table; "" if it is not visible.
Result<std::string> TableAt(const HostRoot& host, const std::string& path) {
  auto text = host.ReadFile(path, kMaxTable);
  if (!text && text.error().kind != ErrorKind::kInvalid) return std::string();
  return text;
}

std::vector<HostRoot> RootsOfTables(const HostRoot& host) {
  std::vector<HostRoot> roots = {host};
  if (host.Local("/") != "/" && IsOwnHost(host)) roots.emplace_back();
  return roots;
}

std::string MountUse(const MountEntry& mount) {
  constexpr std::size_t kMaxShown = 200;
  const std::string target = Truncate(mount.target, kMaxShown);
  if (mount.root == "/" || mount.type == "btrfs") return Format("is mounted at {}", target);
  return Format("is mounted: its {} is at {}", Truncate(mount.root, kMaxShown), target);
}

}  // namespace

void DiskUse::Mark(const std::optional<DeviceNumber>& number, const std::string& use) {
  if (number) uses_.try_emplace({number->major, number->minor}, use);
}

Status DiskUse::LoadMounts() {
  std::vector<MountEntry> mounts;
  for (const HostRoot& root : RootsOfTables(sysfs_.host())) {
    for (const char* table : {"/proc/1/mountinfo", "/proc/self/mountinfo"}) {
      for (MountEntry& mount : ParseMountInfo(TRY(TableAt(root, table)))) {
        mounts.push_back(std::move(mount));
      }
    }
  }
  // A whole file system first: its mount says more than that of a part of it in a container.
  std::stable_partition(mounts.begin(), mounts.end(),
                        [](const MountEntry& mount) { return mount.root == "/"; });
  for (const MountEntry& mount : mounts) {
    const std::string use = MountUse(mount);
    if (mount.major != 0) {
      Mark(DeviceNumber{FileType::kBlock, mount.major, mount.minor}, use);
    } else if (mount.type == "zfs") {
      pools_.try_emplace(mount.source.substr(0, mount.source.find('/')), use);
    } else {
      // Several devices are separated by colons.
      for (std::size_t at = 0; at < mount.source.size();) {
        const auto end = std::min(mount.source.find(':', at), mount.source.size());
        const std::string source = mount.source.substr(at, end - at);
        at = end + 1;
        if (!source.starts_with("/dev/")) continue;
        const auto node = sysfs_.host().Resolve(source);
        if (!node || node->type != FileType::kBlock) continue;
        Mark(DeviceNumber{node->type, node->major, node->minor}, use);
      }
    }
  }
  return {};
}

/// The kernel shows the path as this process would see it, or only its end if it cannot.
Status DiskUse::LoadSwaps() {
  for (const HostRoot& root : RootsOfTables(sysfs_.host())) {
    for (const std::string& path : ParseSwaps(TRY(TableAt(root, "/proc/swaps")))) {
      for (const std::string& name : {path, Format("/dev/{}", BaseName(path))}) {
        const auto node = sysfs_.host().Resolve(name);
        if (!node || node->type != FileType::kBlock) continue;
        Mark(DeviceNumber{node->type, node->major, node->minor}, "is swap space");
        break;
      }
    }
  }
  return {};
}

/// Each file system that is mounted has a directory with links to its devices.
void DiskUse::LoadBtrfs() {
  const HostRoot& host = sysfs_.host();
  const auto all = [](const std::string&) { return true; };
  const auto systems = host.List("/sys/fs/btrfs", all);
  for (const HostEntry& system : systems.value_or(std::vector<HostEntry>())) {
    const std::string directory = Format("/sys/fs/btrfs/{}/devices", system.name);
    std::string use = Format("is part of the btrfs file system {}", system.name);
    std::vector<DeviceNumber> numbers;
    for (const HostEntry& entry : host.List(directory, all).value_or(std::vector<HostEntry>())) {
      const auto target = host.Resolve(Format("{}/{}", directory, entry.name));
      const auto device = target ? sysfs_.Read(target->path) : tl::unexpected(target.error());
      if (!device || !device->number) continue;
      numbers.push_back(*device->number);
      const auto known = uses_.find({device->number->major, device->number->minor});
      if (known != uses_.end()) use = "is part of a btrfs file system that " + known->second;
    }
    for (const DeviceNumber& number : numbers) Mark(number, use);
  }
}

void DiskUse::LoadPools() {
  for (const HostRoot& root : RootsOfTables(sysfs_.host())) {
    const auto pools = root.List(kPools, [](const std::string&) { return true; });
    for (const HostEntry& pool : pools.value_or(std::vector<HostEntry>())) {
      if (pool.type == FileType::kDirectory) pools_.try_emplace(pool.name, "is imported");
    }
  }
}

Status DiskUse::FollowSlaves() {
  std::vector<Number> pending;
  for (const auto& [number, use] : uses_) pending.push_back(number);
  while (!pending.empty()) {
    const auto [major, minor] = pending.back();
    pending.pop_back();
    const std::string use = uses_.at({major, minor});
    auto device = TRY(BlockDeviceOf(sysfs_, {FileType::kBlock, major, minor}, ""));
    // A partition of an array or a volume is made of what that is made of.
    if (auto disk = TRY(DiskOf(sysfs_, device))) device = std::move(*disk);
    for (const SysfsDevice& part : TRY(RelatedDevices(sysfs_, device, "slaves"))) {
      if (!part.number || uses_.contains({part.number->major, part.number->minor})) continue;
      Mark(part.number, Format("is part of {}, which {}", LabelOf(device), use));
      pending.emplace_back(part.number->major, part.number->minor);
    }
  }
  return {};
}

Status DiskUse::Load() {
  TRY(LoadMounts());
  TRY(LoadSwaps());
  LoadBtrfs();
  LoadPools();
  return FollowSlaves();
}

std::string DiskUse::LabelOf(const SysfsDevice& device) const {
  const std::string& name = device.node.empty() ? device.name : device.node;
  const auto volume = sysfs_.Attribute(device.path, "dm/name");
  return volume ? Format("{} ({})", name, Truncate(*volume, 100)) : name;
}

/// Returns the use of a device without that of volumes and partitions.
std::string DiskUse::OwnUse(const SysfsDevice& device) const {
  if (device.number) {
    const auto use = uses_.find({device.number->major, device.number->minor});
    if (use != uses_.end()) return use->second;
  }
  const auto type = device.properties.find("ID_FS_TYPE");
  const auto label = device.properties.find("ID_FS_LABEL");
  if (type == device.properties.end() || type->second != "zfs_member") return "";
  if (label == device.properties.end()) return "";
  const auto pool = pools_.find(label->second);
  if (pool == pools_.end()) return "";
  return Format("is part of the ZFS pool {}, which {}", pool->first, pool->second);
}

/// Returns the use by a volume, even one of which nothing else is known.
Result<std::string> DiskUse::HolderUse(const SysfsDevice& device) {
  std::string use;
  for (const SysfsDevice& holder : TRY(RelatedDevices(sysfs_, device, "holders"))) {
    const std::string next = TRY(UseOf(holder));
    if (!use.empty() && next.empty()) continue;
    use = Format("is part of {}", LabelOf(holder));
    if (!next.empty()) return use + ", which " + next;
  }
  return use;
}

Result<std::string> DiskUse::UseOf(const SysfsDevice& device) {
  const auto [known, is_new] = known_.try_emplace(device.path.empty() ? device.node : device.path);
  if (!is_new) return known->second;
  std::string& use = known->second;
  use = OwnUse(device);
  if (use.empty()) use = TRY(HolderUse(device));
  if (!use.empty()) return use;
  for (const SysfsDevice& partition : TRY(PartitionsOf(sysfs_, device))) {
    const std::string next = TRY(UseOf(partition));
    if (next.empty()) continue;
    use = Format("has the partition {}, which {}", LabelOf(partition), next);
    break;
  }
  return use;
}

Result<std::string> DiskUse::Of(const DeviceNode& node) {
  if (!loaded_) loaded_ = Load();
  if (!*loaded_) return Failure(loaded_->error());
  const SysfsDevice device =
      TRY(BlockDeviceOf(sysfs_, {FileType::kBlock, node.major, node.minor}, node.real_path));
  std::string use = TRY(UseOf(device));
  if (!use.empty()) return "it " + use;
  const auto disk = TRY(DiskOf(sysfs_, device));
  if (!disk) return use;
  use = OwnUse(*disk);
  if (use.empty()) use = TRY(HolderUse(*disk));
  return use.empty() ? use : Format("it is a partition of {}, which {}", LabelOf(*disk), use);
}

std::string DiskUse::RiskOf(const SysfsDevice& device) {
  if (device.subsystem != "block") return "";
  std::string unknown = "the host may use it";
  if (!device.number) return unknown;
  const auto& [type, major, minor] = *device.number;
  const auto use = Of({device.node, device.node, type, major, minor});
  auto areas = PartitionsOf(sysfs_, device);
  if (!use || !areas) return unknown;
  if (!use->empty()) return *use;
  areas->push_back(device);
  const bool is_member = std::ranges::any_of(*areas, [](const SysfsDevice& area) {
    const auto found = area.properties.find("ID_FS_TYPE");
    return found != area.properties.end() && found->second.ends_with("_member");
  });
  return is_member ? "it has a part of an array or a volume" : "";
}

}  // namespace patchbay
