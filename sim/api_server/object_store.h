#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/api_server/api_error.h"
#include "sim/api_server/kinds.h"

namespace patchbay::api_sim {

/// A stored object. It does not change: an update stores another one.
using Object = std::shared_ptr<const Json>;

/// Identifies an object. Ordered as lists of the server are: by namespace, then by name.
struct ObjectKey {
  Kind kind = Kind::kNode;
  std::string namespace_name = {};  ///< "" for a kind without namespaces
  std::string name = {};
  auto operator<=>(const ObjectKey&) const = default;  // NOLINT(modernize-use-nullptr): its own 0
};

enum class ChangeType { kAdded, kModified, kDeleted };

/// A change of the store.
struct Change {
  std::uint64_t version = 0;
  ChangeType type = ChangeType::kAdded;
  ObjectKey key;
  Object object;  ///< for kDeleted the last state, with the version of its removal
};

/// The objects of the server, as etcd keeps them: by key, with one counter of versions, and with
/// the states since the oldest known version. All states share the objects that did not change. A
/// plain value without I/O, time or locks; it does not validate.
class ObjectStore {
 public:
  /// Keeps at most `max_history` changes.
  explicit ObjectStore(std::size_t max_history) : max_history_(max_history) {}

  /// Returns an object, or null.
  Object Find(const ObjectKey& key) const;
  /// Adds or replaces an object. Sets its `metadata.resourceVersion` and returns what is stored.
  Object Put(const ObjectKey& key, Json object);
  /// Removes an object and returns its last state, or null if there was none.
  Object Remove(const ObjectKey& key);

  /// The version of the last change; 1 in an empty store.
  std::uint64_t version() const { return version_; }
  /// The oldest version whose state is known.
  std::uint64_t oldest_version() const { return oldest_version_; }
  /// Drops the history, so that older versions are no longer known.
  void Compact();

  /// Calls `visit` with the objects of the kind of `after` that follow it at a version from
  /// oldest_version() to version(), in order, until it returns false. Costs what it visits, and the
  /// changes of these objects since oldest_version(). `visit` must not change the store.
  void VisitAfter(const ObjectKey& after, std::uint64_t version,
                  const std::function<bool(const ObjectKey&, const Object&)>& visit) const;
  /// Returns the objects of a kind in order.
  std::vector<std::pair<ObjectKey, Object>> List(Kind kind) const;
  /// Returns the changes after a version that is not older than oldest_version(), in order. They
  /// are valid until the store changes.
  std::vector<const Change*> ChangesAfter(std::uint64_t version) const;

 private:
  /// A key, and the version from which it has a state.
  using Revision = std::pair<ObjectKey, std::uint64_t>;
  using Revisions = std::map<Revision, Object>;

  /// Returns the state of a key at a version, or end().
  Revisions::const_iterator FindAt(const ObjectKey& key, std::uint64_t version) const;
  Object Record(ChangeType type, const ObjectKey& key, Json object);
  void DropOldestChange();

  std::size_t max_history_;
  std::uint64_t version_ = 1;
  std::uint64_t oldest_version_ = 1;
  Revisions revisions_;         ///< null: the object does not exist from this version on
  std::deque<Change> history_;  ///< the changes after oldest_version_
};

}  // namespace patchbay::api_sim
