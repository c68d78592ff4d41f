// The part of ScanContext that lists directories, and its memory of the last scan. A directory that
// did not change is not read again. A device that depends on nothing but its directory entry and
// the configuration stays the same object as long as the entry is the same, so that a scan costs
// what has changed. The rules between devices apply to it like to any other.

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "base/path.h"
#include "discovery/scan_context.h"

namespace patchbay {
namespace {

/// Sorts the entries of a directory. A name that is replaced meanwhile can be read twice.
void SortByName(std::vector<HostEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const HostEntry& a, const HostEntry& b) { return IdLess(a.name, b.name); });
  const auto end =
      std::unique(entries.begin(), entries.end(),
                  [](const HostEntry& a, const HostEntry& b) { return a.name == b.name; });
  entries.erase(end, entries.end());
}

/// Returns whether a scan would find the same node at the entry, which has its name.
bool IsNodeOf(const HostEntry& entry, const DeviceNode& node) {
  return entry.type == node.type && entry.major == node.major && entry.minor == node.minor &&
         (node.inode == 0 || entry.inode == node.inode);
}

/// Moves the devices from `last` whose directory entries are the same to `now`, in place of the
/// entries.
void TakeUnchanged(ScanCache::Listing& last, ScanCache::Listing& now) {
  std::unordered_map<std::string_view, std::shared_ptr<const Device>*> by_name;
  now.devices.reserve(last.devices.size());
  for (auto& device : last.devices) by_name.emplace(BaseName(device->nodes.front().path), &device);
  std::erase_if(now.entries, [&](const HostEntry& entry) {
    const auto known = by_name.find(entry.name);
    if (known == by_name.end() || !IsNodeOf(entry, (*known->second)->nodes.front())) return false;
    now.devices.push_back(std::move(*known->second));
    by_name.erase(known);
    return true;
  });
}

}  // namespace

/// Returns whether the cached listing of the directory is current. The kernel reports no changes of
/// the files of sysfs and procfs that it makes itself.
bool ScanContext::IsUnchanged(const HostNode& directory, const ScanCache::Listing& last,
                              const DirectoryStamp& stamp) const {
  const std::string_view path = directory.path;
  if (path.starts_with("/sys/") || path.starts_with("/proc/")) return false;
  return last.stamp == stamp && last.real_path == directory.path &&
         (reuses_devices_ || last.devices.empty()) &&
         request_.unchanged_dirs.contains(host_.Local(directory.path));
}

ScanCache::Listing* ScanContext::ListCached(const std::string& directory, const std::string& source,
                                            const std::string& pattern,
                                            const std::function<bool(const std::string&)>& wanted) {
  if (is_over_budget_) return nullptr;
  WatchNearestExisting(directory);
  auto& listings = request_.cache->listings;
  ScanCache::ListingKey key{match_index_, directory, pattern, source};
  const auto report = [&](const ScanCache::Listing& listing) {
    report_.AddPlace(
        {.place = directory, .pattern = pattern, .seen = listing.seen, .matched = listing.matched});
  };
  // Several alternatives of a glob can list one directory.
  if (const auto same = listings.find(key); same != listings.end()) {
    report(same->second);
    return &same->second;
  }
  const auto last = last_listings_.find(key);
  ScanCache::Listing listing;
  // The timestamp is read first, so that the next scan sees any later change.
  if (auto real = host_.Resolve(directory)) {
    if (const auto stamp = host_.StampOf(*real)) {
      if (last != last_listings_.end() && IsUnchanged(*real, last->second, *stamp)) {
        const std::size_t bytes = ScanShare::kDirectory + ScanShare::kEntry * last->second.matched;
        if (!TakeMemory(bytes, directory)) return nullptr;
        auto& same = listings.insert(last_listings_.extract(last)).position->second;
        report(same);
        return &same;
      }
      listing.stamp = *stamp;
      listing.real_path = std::move(real->path);
    }
  }
  auto entries = host_.List(directory, [&](const std::string& name) {
    ++listing.seen;
    return wanted(name) && TakeMemory(ScanShare::kEntry, directory);
  });
  if (!entries) {
    report_.AddPlace({.place = directory, .problem = entries.error().message});
    if (entries.error().kind != ErrorKind::kNotFound) {
      RejectUnreadable(directory, std::move(entries).error());
    }
    return nullptr;
  }
  if (!TakeMemory(ScanShare::kDirectory, directory)) return nullptr;
  listing.entries = std::move(*entries);
  SortByName(listing.entries);
  listing.matched = listing.entries.size();
  report(listing);
  const bool is_same_place =
      last != last_listings_.end() && last->second.real_path == listing.real_path;
  if (reuses_devices_ && is_same_place) TakeUnchanged(last->second, listing);
  return &listings.emplace(std::move(key), std::move(listing)).first->second;
}

const std::vector<HostEntry>& ScanContext::List(
    const std::string& directory, const std::string& source, const std::string& pattern,
    const std::function<bool(const std::string&)>& wanted) {
  static const std::vector<HostEntry> kNothing;
  const ScanCache::Listing* const listing = ListCached(directory, source, pattern, wanted);
  return listing == nullptr ? kNothing : listing->entries;
}

void ScanContext::AddNodes(const std::string& directory, const std::string& source,
                           const std::string& pattern,
                           const std::function<bool(const std::string&)>& wanted,
                           const std::function<NodeMatch(const std::string&)>& describe) {
  ScanCache::Listing* const listing = ListCached(directory, source, pattern, wanted);
  if (listing == nullptr) return;
  for (const auto& device : listing->devices) {
    const std::string& path = device->nodes.front().path;
    if (paths_.insert(path).second) {
      AddKnownDevice(device);
    } else {
      report_.Drop(path, DropReason::kFoundBefore, "already found");
    }
  }
  std::erase_if(listing->entries, [&](const HostEntry& entry) {
    const std::string path = directory + entry.name;
    NodeMatch match = describe(path);
    const std::size_t before = candidates_.size();
    AddNode(path, &entry, std::move(match.captures), std::move(match.identity));
    // A link can lead elsewhere although its directory entry is the same.
    const bool is_kept = keeps_devices_ && entry.type != FileType::kSymlink;
    if (candidates_.size() == before || !is_kept) return false;
    candidates_.back().draft->listing = listing;
    return true;
  });
  listing->entries.shrink_to_fit();
}

void ScanContext::KeepDevices(const std::vector<Candidate>& complete) {
  for (const Candidate& candidate : complete) {
    if (candidate.draft == nullptr || candidate.draft->listing == nullptr) continue;
    candidate.draft->listing->devices.push_back(candidate.device);
  }
}

}  // namespace patchbay
