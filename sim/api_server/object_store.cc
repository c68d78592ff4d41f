#include "sim/api_server/object_store.h"

#include <algorithm>
#include <limits>

namespace patchbay::api_sim {
namespace {

constexpr std::uint64_t kLatest = std::numeric_limits<std::uint64_t>::max();

}  // namespace

ObjectStore::Revisions::const_iterator ObjectStore::FindAt(const ObjectKey& key,
                                                           std::uint64_t version) const {
  const auto next = revisions_.upper_bound({key, version});
  if (next == revisions_.begin()) return revisions_.end();
  const auto found = std::prev(next);
  return found->first.first == key ? found : revisions_.end();
}

Object ObjectStore::Find(const ObjectKey& key) const {
  const auto found = FindAt(key, kLatest);
  return found == revisions_.end() ? nullptr : found->second;
}

Object ObjectStore::Put(const ObjectKey& key, Json object) {
  const ChangeType type = Find(key) ? ChangeType::kModified : ChangeType::kAdded;
  return Record(type, key, std::move(object));
}

Object ObjectStore::Remove(const ObjectKey& key) {
  const Object last = Find(key);
  return last ? Record(ChangeType::kDeleted, key, *last) : nullptr;
}

Object ObjectStore::Record(ChangeType type, const ObjectKey& key, Json object) {
  ++version_;
  object["metadata"]["resourceVersion"] = std::to_string(version_);
  auto stored = std::make_shared<const Json>(std::move(object));
  revisions_[{key, version_}] = type == ChangeType::kDeleted ? nullptr : stored;
  history_.push_back({version_, type, key, stored});
  if (history_.size() > max_history_) DropOldestChange();
  return stored;
}

/// Makes its version the oldest one, at which the former state of its key is not needed.
void ObjectStore::DropOldestChange() {
  const Change& change = history_.front();
  oldest_version_ = change.version;
  const auto at = revisions_.find({change.key, change.version});
  if (at != revisions_.begin()) {
    const auto former = std::prev(at);
    if (former->first.first == change.key) revisions_.erase(former);
  }
  if (at->second == nullptr) revisions_.erase(at);
  history_.pop_front();
}

void ObjectStore::Compact() {
  while (!history_.empty()) DropOldestChange();
}

void ObjectStore::VisitAfter(
    const ObjectKey& after, std::uint64_t version,
    const std::function<bool(const ObjectKey&, const Object&)>& visit) const {
  auto next = revisions_.upper_bound({after, kLatest});
  while (next != revisions_.end() && next->first.first.kind == after.kind) {
    const ObjectKey& key = next->first.first;
    Object object;
    for (; next != revisions_.end() && next->first.first == key; ++next) {
      if (next->first.second <= version) object = next->second;
    }
    if (object && !visit(key, object)) return;
  }
}

std::vector<std::pair<ObjectKey, Object>> ObjectStore::List(Kind kind) const {
  std::vector<std::pair<ObjectKey, Object>> objects;
  VisitAfter({kind}, version_, [&](const ObjectKey& key, const Object& object) {
    objects.emplace_back(key, object);
    return true;
  });
  return objects;
}

std::vector<const Change*> ObjectStore::ChangesAfter(std::uint64_t version) const {
  const auto first = std::ranges::upper_bound(history_, version, {}, &Change::version);
  std::vector<const Change*> changes;
  for (auto change = first; change != history_.end(); ++change) changes.push_back(&*change);
  return changes;
}

}  // namespace patchbay::api_sim
