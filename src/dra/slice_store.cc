#include "dra/slice_store.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/number.h"
#include "dra/slice_json.h"

namespace patchbay {
namespace {

void DropContent(PublishedSlice& slice) {
  slice.is_foreign = true;
  slice.slice.devices = {};
}

/// Resource versions are decimal numbers in every release, and comparable since KEP-5504. Others
/// are regarded as different.
bool IsNotNewer(const std::string& version, const std::string& than) {
  const auto number = ParseNumber<std::uint64_t>(version);
  const auto other = ParseNumber<std::uint64_t>(than);
  return number && other ? *number <= *other : version == than;
}

}  // namespace

std::size_t MemoryOf(const ResourceSlice& slice) {
  constexpr std::size_t kOverhead = 48;  // of an allocation for each text
  std::size_t bytes = sizeof(PublishedSlice);
  for (const SliceDevice& device : slice.devices) {
    bytes += sizeof(SliceDevice) + device.name.size();
    for (const auto& [name, value] : device.attributes) {
      const auto* text = std::get_if<std::string>(&value);
      bytes += sizeof(Attributes::value_type) + kOverhead + name.size() +
               (text == nullptr ? 0 : text->size());
    }
    for (const auto& [name, capacity] : device.capacity) {
      bytes += sizeof(Capacities::value_type) + kOverhead + name.size();
    }
    for (const DeviceTaint& taint : device.taints) {
      bytes += sizeof(DeviceTaint) + kOverhead + taint.key.size() + taint.value.size() +
               taint.time_added.size();
    }
  }
  return bytes;
}

bool SliceStore::SetPools(const std::set<std::string>& names) {
  const auto has_unread = [&](const std::string& name) {
    return names_ && !names_->contains(name) && pools_.contains(name);
  };
  const bool must_list = std::ranges::any_of(names, has_unread);
  names_ = names;
  return must_list;
}

bool SliceStore::IsOwn(const PublishedSlice& slice) const {
  return slice.driver == driver_ && slice.node_name == node_name_;
}

std::span<const PublishedSlice> SliceStore::SlicesOf(const std::string& pool) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return {};
  return found->second;
}

std::set<std::string> SliceStore::Put(PublishedSlice slice) {
  const std::optional<PublishedSlice> old = Take(slice.key.name);
  if (unlisted_.erase(slice.key.name) > 0) written_.erase(slice.key.name);
  if (!old && pool_of_.size() >= kMaxSlices && !written_.contains(slice.key.name)) {
    is_incomplete_ = true;
    return {};
  }
  if (bytes_ + MemoryOf(slice.slice) > kMaxBytes) DropContent(slice);
  bytes_ += MemoryOf(slice.slice);
  std::set<std::string> changed;
  if (!old || old->slice != slice.slice || old->key.uid != slice.key.uid ||
      old->owner_uid != slice.owner_uid || old->is_foreign != slice.is_foreign) {
    changed.insert(slice.slice.pool);
    if (old) changed.insert(old->slice.pool);
  }
  pool_of_.emplace(slice.key.name, slice.slice.pool);
  pools_[slice.slice.pool].push_back(std::move(slice));
  return changed;
}

/// Removes a slice and returns it, or nothing if it does not exist.
std::optional<PublishedSlice> SliceStore::Take(const std::string& name) {
  const auto known = pool_of_.find(name);
  if (known == pool_of_.end()) return std::nullopt;
  const auto pool = pools_.find(known->second);
  pool_of_.erase(known);
  const auto at = std::ranges::find(
      pool->second, name, [](const PublishedSlice& s) -> auto& { return s.key.name; });
  std::optional<PublishedSlice> taken = std::move(*at);
  pool->second.erase(at);
  if (pool->second.empty()) pools_.erase(pool);
  bytes_ -= MemoryOf(taken->slice);
  return taken;
}

void SliceStore::BeginList() {
  std::vector<PublishedSlice> own;
  for (const auto& [name, version] : std::exchange(written_, {})) {
    auto slice = version.empty() ? std::nullopt : Take(name);
    if (slice) own.push_back(*std::move(slice));
  }
  pools_.clear();
  bytes_ = 0;
  is_incomplete_ = false;
  pool_of_.clear();
  unlisted_.clear();
  for (const PublishedSlice& slice : own) OnWritten(slice);
  for (const PublishedSlice& slice : own) unlisted_.insert(slice.key.name);
}

void SliceStore::EndList(bool is_cut) {
  is_incomplete_ = is_incomplete_ || is_cut;
  for (const std::string& name : std::exchange(unlisted_, {})) {
    if (is_incomplete_) continue;
    Take(name);
    written_.erase(name);
  }
}

void SliceStore::Forget(const std::string& pool) {
  for (const PublishedSlice& slice : SlicesOf(pool)) written_.erase(slice.key.name);
}

Result<std::optional<PublishedSlice>> SliceStore::Read(const nlohmann::json& object) const {
  std::optional<PublishedSlice> slice = TRY(ReadSliceHead(object));
  if (!IsOwn(*slice)) return std::optional<PublishedSlice>();
  const bool is_known = !names_ || names_->contains(slice->slice.pool);
  auto content = is_known ? ReadSliceContent(object) : Fail(ErrorKind::kInvalid, "");
  if (content) {
    slice->slice = *std::move(content);
  } else {
    DropContent(*slice);
  }
  return slice;
}

std::set<std::string> SliceStore::Apply(WatchEventType type, PublishedSlice slice) {
  using Changed = std::set<std::string>;
  const auto written = written_.find(slice.key.name);
  if (written != written_.end()) {
    const bool is_deleted = written->second.empty();
    if (is_deleted && type != WatchEventType::kDeleted) return Changed();
    if (!is_deleted && IsNotNewer(slice.key.resource_version, written->second)) return Changed();
  }
  if (type != WatchEventType::kDeleted) return Put(std::move(slice));
  if (written != written_.end()) written_.erase(written);
  const std::optional<PublishedSlice> taken = Take(slice.key.name);
  return taken ? Changed{taken->slice.pool} : Changed();
}

void SliceStore::OnWritten(PublishedSlice slice) {
  if (!IsOwn(slice)) return;
  unlisted_.erase(slice.key.name);
  written_[slice.key.name] = slice.key.resource_version;
  Put(std::move(slice));
}

/// Of a slice that is not known any more, the event has arrived: another client deleted it first.
void SliceStore::OnDeleted(const SliceKey& key) {
  if (Take(key.name)) written_[key.name].clear();
}

}  // namespace patchbay
