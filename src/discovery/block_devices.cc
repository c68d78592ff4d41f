#include "discovery/block_devices.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

/// Returns whether the kernel would give the name to a partition of the disk: sda1 of sda, and
/// nvme0n1p1 of nvme0n1.
bool IsNamedAsPartition(std::string_view name, std::string_view disk) {
  if (!name.starts_with(disk) || disk.empty()) return false;
  name.remove_prefix(disk.size());
  if (IsDigit(disk.back())) {
    if (!name.starts_with('p')) return false;
    name.remove_prefix(1);
  }
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

bool IsPartition(const Sysfs& sysfs, const SysfsDevice& device) {
  const auto type = device.properties.find("DEVTYPE");
  return (type != device.properties.end() && type->second == "partition") ||
         sysfs.host().Holds({device.path + "/partition", FileType::kRegular, 0, 0});
}

/// Adds the device unless it was removed.
Status AddDevice(const Sysfs& sysfs, const std::string& path, std::vector<SysfsDevice>& devices) {
  auto device = sysfs.Read(path);
  if (!device) {
    if (device.error().kind == ErrorKind::kNotFound) return {};
    return Failure(std::move(device).error());
  }
  devices.push_back(std::move(*device));
  return {};
}

/// Returns the entries of a directory; none if it does not exist.
Result<std::vector<HostEntry>> EntriesOf(const HostRoot& host, const std::string& directory,
                                         const std::function<bool(const std::string&)>& wanted) {
  auto entries = host.List(directory, wanted);
  if (!entries && entries.error().kind == ErrorKind::kNotFound) return std::vector<HostEntry>();
  return entries;
}

SysfsDevice WithoutSysfs(const DeviceNumber& number, std::string node) {
  SysfsDevice device;
  device.name = BaseName(node);
  device.number = number;
  device.node = std::move(node);
  return device;
}

}  // namespace

Result<SysfsDevice> BlockDeviceOf(const Sysfs& sysfs, const DeviceNumber& number,
                                  const std::string& node) {
  const auto path = sysfs.OfNode(FileType::kBlock, number.major, number.minor);
  auto device = path ? sysfs.Read(*path) : tl::unexpected(path.error());
  if (device || device.error().kind != ErrorKind::kNotFound) return device;
  return WithoutSysfs(number, node);
}

Result<std::vector<SysfsDevice>> PartitionsOf(const Sysfs& sysfs, const SysfsDevice& disk) {
  std::vector<SysfsDevice> partitions;
  const auto is_named = [&](const std::string& name) {
    return IsNamedAsPartition(name, disk.name);
  };
  const bool is_in_sysfs = !disk.path.empty();
  const std::string directory = is_in_sysfs ? disk.path : DirectoryOf(disk.node);
  for (const HostEntry& entry : TRY(EntriesOf(sysfs.host(), directory, is_named))) {
    const std::string path = Format("{}/{}", directory, entry.name);
    if (is_in_sysfs && entry.type == FileType::kDirectory) {
      TRY(AddDevice(sysfs, path, partitions));
    } else if (!is_in_sysfs && entry.type == FileType::kBlock) {
      partitions.push_back(WithoutSysfs({entry.type, entry.major, entry.minor}, path));
    }
  }
  return partitions;
}

Result<std::optional<SysfsDevice>> DiskOf(const Sysfs& sysfs, const SysfsDevice& partition) {
  if (!partition.path.empty()) {
    if (!IsPartition(sysfs, partition)) return std::nullopt;
    std::vector<SysfsDevice> disk;
    TRY(AddDevice(sysfs, DirectoryOf(partition.path), disk));
    return disk.empty() ? std::nullopt : std::optional(std::move(disk.front()));
  }
  if (partition.node.empty()) return std::nullopt;
  // A partition without sysfs: its disk is the node whose name its own begins with.
  const std::string directory = DirectoryOf(partition.node);
  for (const HostEntry& entry :
       TRY(EntriesOf(sysfs.host(), directory, [&](const std::string& name) {
         return IsNamedAsPartition(partition.name, name);
       }))) {
    if (entry.type != FileType::kBlock) continue;
    return WithoutSysfs({entry.type, entry.major, entry.minor},
                        Format("{}/{}", directory, entry.name));
  }
  return std::nullopt;
}

Result<std::vector<SysfsDevice>> RelatedDevices(const Sysfs& sysfs, const SysfsDevice& device,
                                                std::string_view relation) {
  std::vector<SysfsDevice> related;
  if (device.path.empty()) return related;
  const std::string directory = Format("{}/{}", device.path, relation);
  const auto all = [](const std::string&) { return true; };
  for (const HostEntry& entry : TRY(EntriesOf(sysfs.host(), directory, all))) {
    const auto target = sysfs.host().Resolve(Format("{}/{}", directory, entry.name));
    if (target) TRY(AddDevice(sysfs, target->path, related));
  }
  return related;
}

}  // namespace patchbay
