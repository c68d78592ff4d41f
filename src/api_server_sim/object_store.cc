#include "api_server_sim/object_store.h"

#include <algorithm>
#include <utility>

namespace patchbay::api_sim {

Object ObjectStore::Find(const ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

Object ObjectStore::Put(const ObjectKey& key, Json object) {
  Object previous = Find(key);
  const ChangeType type = previous ? ChangeType::kModified : ChangeType::kAdded;
  return objects_[key] = Record(type, key, std::move(object), std::move(previous));
}

Object ObjectStore::Remove(const ObjectKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return nullptr;
  const Object previous = found->second;
  objects_.erase(found);
  return Record(ChangeType::kDeleted, key, *previous, previous);
}

void ObjectStore::Compact() {
  history_.clear();
  oldest_version_ = version_;
}

Object ObjectStore::Record(ChangeType type, const ObjectKey& key, Json object, Object previous) {
  ++version_;
  object["metadata"]["resourceVersion"] = std::to_string(version_);
  auto stored = std::make_shared<const Json>(std::move(object));
  history_.push_back({version_, type, key, stored, std::move(previous)});
  if (history_.size() > max_history_) {
    oldest_version_ = history_.front().version;
    history_.pop_front();
  }
  return stored;
}

std::map<ObjectKey, Object> ObjectStore::ListAt(Kind kind, std::uint64_t version) const {
  std::map<ObjectKey, Object> found;
  for (auto next = objects_.lower_bound({kind, "", ""});
       next != objects_.end() && next->first.kind == kind; ++next) {
    found.insert(found.end(), *next);
  }
  for (auto change = history_.rbegin(); change != history_.rend() && change->version > version;
       ++change) {
    if (change->key.kind != kind) continue;
    if (change->previous) {
      found[change->key] = change->previous;
    } else {
      found.erase(change->key);
    }
  }
  return found;
}

std::vector<const Change*> ObjectStore::ChangesAfter(std::uint64_t version) const {
  const auto first = std::upper_bound(
      history_.begin(), history_.end(), version,
      [](std::uint64_t limit, const Change& change) { return limit < change.version; });
  std::vector<const Change*> changes;
  changes.reserve(static_cast<std::size_t>(history_.end() - first));
  for (auto change = first; change != history_.end(); ++change) changes.push_back(&*change);
  return changes;
}

}  // namespace patchbay::api_sim
