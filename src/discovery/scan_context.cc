// Everything that a source looks at is also watched, whether or not it exists: directories, the
// targets of links on the way, and the nearest existing ancestor of what is missing. What cannot be
// read is a rejection and makes the scan incomplete, so that no device is removed for it.

#include "discovery/scan_context.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "discovery/block_devices.h"
#include "discovery/conditions.h"

namespace patchbay {
namespace {

bool Accepts(NodeType wanted, FileType type) {
  switch (wanted) {
    case NodeType::kDevice: return type == FileType::kCharacter || type == FileType::kBlock;
    case NodeType::kFile: return type == FileType::kRegular;
    case NodeType::kDirectory: return type == FileType::kDirectory;
    case NodeType::kAny: return true;
  }
  return false;
}

/// Returns type and number as in "c 188:0".
std::string NumberText(const DeviceNumber& number) {
  const bool is_device = number.type == FileType::kCharacter || number.type == FileType::kBlock;
  if (!is_device) return std::string(Describe(number.type));
  return Format("{} {}:{}", number.type == FileType::kBlock ? 'b' : 'c', number.major,
                number.minor);
}

std::string WrongType(FileType type, NodeType wanted) {
  return Format("it is {}, and the type of the match is \"{}\"", Describe(type),
                kNodeTypeNames[static_cast<std::size_t>(wanted)]);
}

/// Sorts the entries of a directory. A name that is replaced meanwhile can be read twice.
void SortByName(std::vector<HostEntry>& entries) {
  std::ranges::sort(entries, IdLess, &HostEntry::name);
  const auto is_same = [](const HostEntry& a, const HostEntry& b) { return a.name == b.name; };
  entries.erase(std::unique(entries.begin(), entries.end(), is_same), entries.end());
}

}  // namespace

void ScanContext::BeginMatch(const MatchSpec& match, std::size_t index, Api api,
                             bool moves_interfaces) {
  match_ = &match;
  match_index_ = index;
  api_ = api;
  moves_interfaces_ = moves_interfaces;
  unreadable_before_ = unreadable_;
  report_.BeginMatch(match, index);
  excluded_.clear();
  excluded_nodes_.clear();
  negated_.clear();
  unused_conditions_.clear();
  for (const std::string_view name : ConditionsOfNot(match)) unused_conditions_.insert(name);
  has_selected_ = false;
  exclusion_ = match.exclude.empty() ? Exclusion() : Exclusion::Of(match, *this);
  if (UsesSysfs(match) || api == Api::kDra) WatchNearestExisting("/run/udev/data");
}

void ScanContext::EndMatch() {
  if (is_over_budget_) return;  // the excludes were not searched for
  for (std::string& glob : exclusion_.Unused()) AddUnused(std::move(glob));
  if (!has_selected_) return;  // there was nothing to exclude
  for (const std::string_view name : unused_conditions_) {
    AddUnused(KeysOfNot(*match_, name));
  }
}

void ScanContext::AddUnused(std::string what) {
  const UnusedExclude& unused =
      unused_excludes_.emplace_back(UnusedExclude{match_index_, std::move(what)});
  report_.AddPlace({.place = unused.what,
                    .problem = Format("{}: {}", unused.what, unused.reason()),
                    .is_exclude = true});
}

void ScanContext::ReportUnmatched(std::optional<std::string> why) {
  if (request_.wanted.empty()) return;
  const std::string& name = request_.wanted.front();
  const auto node = name.starts_with('/') ? host_.Resolve(name) : HostNode();
  if (!node && node.error().kind != ErrorKind::kNotFound) {
    return report_.Reject({{"", {name}}, RejectReason::kUnreadable, node.error().message},
                          match_index_, false);
  }
  if (unreadable_ > unreadable_before_) return;
  const DropReason reason = why ? DropReason::kNoMatch : DropReason::kNotFound;
  if (!why) {
    why = "the scan did not find it: it may be new, or behind a link that ** does not follow";
  }
  report_.Drop(name, reason, node ? std::move(*why) : "the path does not exist");
}

void ScanContext::ReportUnmatchedPath(const std::function<bool(const std::string& path)>& matches) {
  if (request_.wanted.empty()) return;
  if (std::ranges::any_of(request_.wanted, matches)) return ReportUnmatched(std::nullopt);
  report_.Drop(request_.wanted.front(), DropReason::kNoMatch, "the pattern does not match it");
}

void ScanContext::WatchNearestExisting(std::string directory) {
  while (watched_links_.insert(directory).second) {
    const auto node = host_.Resolve(directory);
    if (node && node->type == FileType::kDirectory) {
      directories_.insert(node->path);
      // If a link led here, its directory is watched too, because the link can be changed.
      if (node->path == directory) return;
      WatchLinks(directory);
    }
    if (directory == "/") return;
    directory = DirectoryOf(directory);
  }
}

/// Watches each link of a chain, which can be changed, and the target, which can appear.
void ScanContext::WatchLinks(std::string path) {
  constexpr int kMaxLinks = 40;  // MAXSYMLINKS of the kernel
  for (int links = 0; links < kMaxLinks; ++links) {
    const std::string above = DirectoryOf(path);
    const auto directory = host_.Resolve(above);
    if (!directory) return WatchNearestExisting(above);
    const auto target = host_.ReadLink(*directory, BaseName(path));
    const bool is_missing = !target && target.error().kind == ErrorKind::kNotFound;
    if (target || is_missing || directory->path != above) WatchNearestExisting(above);
    if (!target) return;
    path = FollowLink(directory->path, *target);
  }
}

std::vector<HostEntry> ScanContext::List(const std::string& directory, const std::string& pattern,
                                         const std::function<bool(const std::string&)>& wanted) {
  if (is_over_budget_) return {};
  WatchNearestExisting(directory);
  std::size_t seen = 0;
  auto entries = host_.List(directory, [&](const std::string& name) {
    ++seen;
    return wanted(name) && TakeMemory(ScanShare::kEntry, directory);
  });
  if (!entries) {
    const bool is_missing = entries.error().kind == ErrorKind::kNotFound;
    report_.AddPlace(
        {.place = directory, .problem = entries.error().message, .is_missing = is_missing});
    if (!is_missing) {
      RejectUnreadable(directory, std::move(entries).error());
    }
    return {};
  }
  if (!TakeMemory(ScanShare::kDirectory, directory)) return {};
  SortByName(*entries);
  report_.AddPlace(
      {.place = directory, .pattern = pattern, .seen = seen, .matched = entries->size()});
  return std::move(*entries);
}

bool ScanContext::IsDirectory(const std::string& path) {
  WatchNearestExisting(path);
  auto node = host_.Resolve(path);
  if (node && node->type == FileType::kDirectory) return true;
  if (report_.is_kept() && report_.Names(path)) {
    const bool is_there = node.has_value();
    report_.AddPlace(
        {.place = is_there ? path + "/" : path,
         .problem = is_there ? Format("{} is {}, not a directory", path, Describe(node->type))
                             : node.error().message,
         .is_missing = !is_there && node.error().kind == ErrorKind::kNotFound});
  }
  if (!node && node.error().kind == ErrorKind::kUnavailable) {
    RejectUnreadable(path, std::move(node).error());
  }
  return false;
}

void ScanContext::RejectUnreadable(const std::string& path, Error error) {
  ++unreadable_;
  report_.AddPlace({.place = path, .problem = error.message});
  RejectOnce(path, RejectReason::kUnreadable, std::move(error.message));
}

void ScanContext::RejectUnresolved(const std::string& path, const HostEntry* entry, Error error) {
  if (error.kind == ErrorKind::kUnavailable) {
    return RejectUnreadable(path, std::move(error));
  }
  bool is_link = entry != nullptr && entry->type == FileType::kSymlink;
  if (entry == nullptr) is_link = host_.ReadLink(path).has_value();
  // A path that does not exist and is not a link is not an error.
  if (!is_link) {
    return report_.Drop(path, DropReason::kMissing, "the path does not exist");
  }
  RejectOnce(path, RejectReason::kDanglingLink, std::move(error.message));
}

std::vector<DeviceAncestry> ScanContext::SysfsDevices(
    const std::function<bool(std::string_view)>& wanted,
    const std::function<bool(const SysfsDevice&)>& is_asked_for) {
  const SysfsPaths found = sysfs_.Devices(wanted);
  for (const Error& error : found.errors) RejectUnreadable("/sys", error);
  std::vector<DeviceAncestry> devices;
  for (const std::string& path : found.paths) {
    auto ancestry = ancestries_.Of(path);
    if (ancestry) {
      if (is_asked_for(ancestry->self())) devices.push_back(std::move(*ancestry));
    } else if (ancestry.error().kind != ErrorKind::kNotFound) {
      RejectUnreadable(path, std::move(ancestry).error());
    }
  }
  if (found.errors.empty() || !devices.empty()) {
    report_.AddPlace(
        {.place = "/sys", .at = MatchReport::ScannedPlace::At::kDevices, .seen = devices.size()});
  }
  return devices;
}

bool ScanContext::Take(const SysfsDevice& device) {
  if (taken_.insert(device.path).second) return true;
  report_.Drop({{"", {device.path}, device.path}, DropReason::kFoundBefore, "already found"});
  return false;
}

std::optional<Unselected> ScanContext::WhyUnselected(const DeviceAncestry& device) {
  auto why = patchbay::WhyUnselected(*match_, device, sysfs_);
  has_selected_ = has_selected_ || !why;
  if (why) NoteNegated(*why, device);
  if (why || !report_.is_kept()) return why;
  const std::string not_compared = WhyNotCompared(*match_, device, sysfs_);
  report_.AddNotCompared(device.self().node, not_compared);
  report_.AddNotCompared(device.self().path, not_compared);
  return why;
}

void ScanContext::NoteNegated(const Unselected& why, const DeviceAncestry& device) {
  for (const std::string_view name : why.negated_by) unused_conditions_.erase(name);
  if (why.is_negated() && !exclusion_.empty()) negated_.push_back(device.self().path);
}

/// Notes the conditions of `not` that a node meets which `exclude` has excluded already.
void ScanContext::CompareExcluded(const HostNode& node) {
  if (unused_conditions_.empty()) return;
  const auto path = sysfs_.OfNode(node.type, node.major, node.minor);
  const auto device = path ? ancestries_.Of(*path) : tl::unexpected(path.error());
  if (!device) return;
  if (const auto why = patchbay::WhyUnselected(*match_, *device, sysfs_))
    NoteNegated(*why, *device);
}

std::optional<Excluded> ScanContext::ExcludeNode(const std::string& path, bool only_with_device) {
  if (exclusion_.empty()) return std::nullopt;
  const auto node = host_.Resolve(path);
  auto excluded = node ? WhyExcluded(path, *node, only_with_device)
                       : exclusion_.OfNode(path, path, only_with_device);
  if (excluded) report_.Drop(path, DropReason::kExcluded, excluded->why);
  return excluded;
}

/// Returns why the node that `path` resolves to is excluded.
std::optional<Excluded> ScanContext::WhyExcluded(const std::string& path, const HostNode& node,
                                                 bool only_with_device) {
  if (exclusion_.empty()) return std::nullopt;
  auto excluded = exclusion_.OfNode(path, node.path, only_with_device);
  const bool is_device = node.type == FileType::kCharacter || node.type == FileType::kBlock;
  if (is_device && !(excluded && excluded->with_device)) {
    auto why = ExcludedByLinkOf({node.type, node.major, node.minor});
    if (!why && node.type == FileType::kBlock) why = ExcludedByPartitionOf(node);
    if (why) excluded = Excluded{*std::move(why), true};
  }
  if (excluded) excluded_nodes_.push_back(node);
  return excluded;
}

/// Another device can have replaced the link, for example with the same file system UUID.
std::optional<std::string> ScanContext::ExcludedByLinkOf(const DeviceNumber& number) {
  for (const std::string& link : sysfs_.properties().LinksOf(number)) {
    if (exclusion_.OfName(link)) return Format("it is excluded because udev links {} to it", link);
  }
  return std::nullopt;
}

/// A container with a disk has its partitions, too.
std::optional<std::string> ScanContext::ExcludedByPartitionOf(const HostNode& node) {
  const auto disk = BlockDeviceOf(sysfs_, {node.type, node.major, node.minor}, node.path);
  const auto partitions = disk ? PartitionsOf(sysfs_, *disk)
                               : Result<std::vector<SysfsDevice>>(tl::unexpected(disk.error()));
  if (!partitions) return Format("its partitions cannot be read: {}", partitions.error().message);
  for (const SysfsDevice& partition : *partitions) {
    std::vector<std::string> links;
    if (partition.number) links = sysfs_.properties().LinksOf(*partition.number);
    if (const auto why = exclusion_.OfPartition(partition.node, links)) {
      return Format(
          "its partition {} is {}; to leave out only partitions, select the disks by "
          "udev = {{ subsystem = \"block\", properties = {{ DEVTYPE = \"disk\" }} }}",
          partition.node, *why);
    }
  }
  return std::nullopt;
}

Result<HostNode> ScanContext::Follow(const std::string& path, const HostEntry* entry) {
  if (entry == nullptr) WatchNearestExisting(DirectoryOf(path));
  if (entry == nullptr || entry->type == FileType::kSymlink) WatchLinks(path);
  return Resolve(path, entry);
}

/// Resolves a path whose directories can be links. The result for the directory is cached for the
/// next path in it.
Result<HostNode> ScanContext::Resolve(const std::string& path, const HostEntry* entry) {
  if (entry == nullptr || entry->type == FileType::kSymlink) return host_.Resolve(path);
  const std::string_view directory = std::string_view(path).substr(0, path.rfind('/'));
  if (directory != last_directory_.first) {
    HostNode real = TRY(host_.Resolve(directory));
    if (real.path == "/") real.path.clear();
    last_directory_ = {std::string(directory), std::move(real.path)};
  }
  return HostNode{last_directory_.second + "/" + entry->name, entry->type, entry->major,
                  entry->minor, entry->inode};
}

std::optional<DeviceNode> ScanContext::NodeAt(const std::string& path, const HostEntry* entry,
                                              NamedValues values, std::string* with_device) {
  if (entry == nullptr) WatchNearestExisting(DirectoryOf(path));
  const auto by_name = exclusion_.OfName(path);
  if (entry != nullptr && entry->type != FileType::kSymlink &&
      !Accepts(match_->type, entry->type)) {
    report_.Drop(path, DropReason::kWrongType, WrongType(entry->type, match_->type));
    return std::nullopt;
  }
  if (entry == nullptr || entry->type == FileType::kSymlink) WatchLinks(path);
  auto resolved = Resolve(path, entry);
  if (!resolved) {
    if (by_name) {
      report_.Drop(path, DropReason::kExcluded, *by_name);
    } else {
      RejectUnresolved(path, entry, std::move(resolved).error());
    }
    return std::nullopt;
  }
  if (auto excluded = WhyExcluded(path, *resolved)) {
    report_.Drop(path, DropReason::kExcluded, excluded->why);
    CompareExcluded(*resolved);
    if (with_device == nullptr || !excluded->with_device) return std::nullopt;
    *with_device = std::move(excluded->why);
  }
  if (!Accepts(match_->type, resolved->type)) {
    report_.Drop(path, DropReason::kWrongType, WrongType(resolved->type, match_->type));
    return std::nullopt;
  }
  DeviceNode node{path,
                  std::move(resolved->path),
                  resolved->type,
                  resolved->major,
                  resolved->minor,
                  std::move(values)};
  // Only for device nodes: an editor that saves a regular file changes its inode.
  const bool is_device = node.type == FileType::kCharacter || node.type == FileType::kBlock;
  if (is_device) node.inode = resolved->inode;
  const bool is_elsewhere = node.real_path != path;
  if (is_elsewhere) WatchNearestExisting(DirectoryOf(node.real_path));
  if (!IsUtf8(path) || (is_elsewhere && !IsUtf8(node.real_path))) {
    RejectOnce(path, RejectReason::kBadName,
               "its path is not valid UTF-8, so it cannot be sent to the kubelet");
    return std::nullopt;
  }
  return node;
}

std::optional<DeviceNode> ScanContext::NodeOf(const SysfsDevice& device, NamedValues values,
                                              std::string* with_device) {
  auto node = NodeAt(device.node, nullptr, std::move(values), with_device);
  if (!node || !device.number) return std::nullopt;
  const DeviceNumber found{node->type, node->major, node->minor};
  if (found == *device.number) return node;
  RejectOnce(
      node->path, RejectReason::kWrongNumber,
      Format("it is {}, and the device at {} is {}; if this persists, check what created the node",
             NumberText(found), device.path, NumberText(*device.number)));
  return std::nullopt;
}

/// Returns whether the node is a part of a device of the match; `excluded` is set if `not` excludes
/// that device. Reads sysfs if the match has conditions, or for attributes, which a node without a
/// sysfs device lacks.
bool ScanContext::AddSysfsValues(DeviceNode& node, std::string& excluded) {
  const bool has_conditions = HasConditions(*match_);
  if (!has_conditions && api_ != Api::kDra) return true;
  const auto path = sysfs_.OfNode(node.type, node.major, node.minor);
  const auto ancestry = path ? ancestries_.Of(*path) : tl::unexpected(path.error());
  if (!ancestry) {
    if (!has_conditions) return true;
    if (!host_.Resolve("/sys/dev")) {
      RejectUnreadable(
          "/sys", {ancestry.error().kind, Format("{}; mount the host's /sys at {}",
                                                 ancestry.error().message, host_.Local("/sys"))});
    } else if (ancestry.error().kind == ErrorKind::kUnavailable) {
      RejectUnreadable(node.path, ancestry.error());
    } else {
      report_.Drop(node.path, DropReason::kUnknown, "it is not in sysfs");
    }
    return false;
  }
  if (auto unselected = WhyUnselected(*ancestry)) {
    const bool is_other = report_.is_kept() && IsOfOtherKind(match_->conditions, *ancestry, sysfs_);
    report_.Drop(node.path, is_other ? DropReason::kOtherKind : DropReason::kCondition,
                 unselected->why);
    if (!unselected->is_negated() || !IsGrouped()) return false;
    excluded = std::move(unselected->why);
  }
  if (report_.is_kept()) {
    report_.AddNotCompared(node.path, WhyNotCompared(*match_, *ancestry, sysfs_));
  }
  node.values = ancestries_.ValuesOf(*ancestry);
  return true;
}

void ScanContext::AddNode(const std::string& path, const HostEntry* entry, NamedValues captures,
                          std::string identity) {
  std::string excluded;
  auto node = NodeAt(path, entry, {}, IsGrouped() ? &excluded : nullptr);
  if (!node || !AddSysfsValues(*node, excluded)) return;
  node->captures = std::move(captures);
  Device device;
  device.nodes.push_back(std::move(*node));
  if (!excluded.empty()) return AddExcluded(std::move(device), path, std::move(excluded));
  if (!paths_.insert(path).second) {
    return report_.Drop(path, DropReason::kFoundBefore, "already found");
  }
  AddCandidate(std::move(device), std::move(identity));
}

void ScanContext::AddExcluded(Device part, const std::string& path, std::string why) {
  if (!IsGrouped() || !TakeMemory(ScanShare::kDevice, path)) return;
  excluded_.emplace_back(std::move(part), std::move(why));
}

void ScanContext::AddCandidate(Device found, std::string identity, std::string syspath,
                               std::string unhealthy) {
  found.match = match_index_;
  Candidate candidate{std::make_shared<Device>(std::move(found)), std::move(identity),
                      std::move(syspath), std::move(unhealthy)};
  if (!TakeMemory(ScanShare::kDevice, candidate.label())) return;
  candidates_.push_back(std::move(candidate));
}

/// Returns whether the scan may use this memory too. If not, the scan ends: it rejects the path,
/// and neither lists nor adds anything more.
bool ScanContext::TakeMemory(std::size_t bytes, const std::string& path) {
  if (is_over_budget_) return false;
  if (request_.cache->share.Take(bytes)) return true;
  is_over_budget_ = true;
  ++unreadable_;
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  Reject(path, RejectReason::kLimit,
         Format("this and all that follows is not searched: the patterns of one resource may find "
                "what needs {} MiB of memory, those of all resources {} MiB; search fewer "
                "directories, or match fewer files",
                ScanShare::kMax / kMiB, ScanBudget::kTotal / kMiB));
  return false;
}

void ScanContext::RejectOnce(const std::string& path, RejectReason reason, std::string detail) {
  if (paths_.insert(path).second) Reject(path, reason, std::move(detail));
}

void ScanContext::RejectCandidate(const Candidate& candidate, RejectReason reason,
                                  std::string detail) {
  Add({candidate.label(), reason, std::move(detail)}, candidate.item(), candidate.device->match);
}

void ScanContext::Reject(std::string path, RejectReason reason, std::string detail) {
  // The label of a device from a command is its ID.
  MatchReport::Item item;
  (path.starts_with('/') ? item.paths.emplace_back() : item.id) = path;
  Add({std::move(path), reason, std::move(detail)}, std::move(item), match_index_);
}

void ScanContext::Add(Rejection rejection, MatchReport::Item item, std::size_t match) {
  const bool is_kept = rejected_.size() < kMaxRejections;
  report_.Reject({std::move(item), rejection.reason, rejection.detail}, match, !is_kept);
  if (is_kept) rejected_.push_back(std::move(rejection));
}

}  // namespace patchbay
