#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dra/resource_slice.h"
#include "kube/watch_event.h"

namespace patchbay {

/// The slices of one driver on one Kubernetes node, as the API server has them. They are known from
/// lists, from events of a watch and from responses to own writes, which arrive in any order: an
/// event can be older than a response that arrived before it, and is then ignored. Slices of others
/// are ignored. A value.
class SliceStore {
 public:
  /// More slices than this are ignored: the API server is not trusted.
  static constexpr std::size_t kMaxSlices = 10'000;

  SliceStore(std::string driver, std::string node_name)
      : driver_(std::move(driver)), node_name_(std::move(node_name)) {}

  /// Replaces all slices by the objects of a list. Returns the errors of objects that are not valid
  /// slices; these are left out.
  std::vector<Error> ReplaceAll(const std::vector<nlohmann::json>& objects);

  /// Applies an event. Returns the pools whose slices changed, which own writes never cause here.
  /// Fails with kInvalid if the object is not a valid slice: list again to know the slices.
  Result<std::set<std::string>> Apply(const WatchEvent& event);

  /// Record that an own write succeeded.
  void OnWritten(PublishedSlice slice);
  void OnDeleted(const SliceKey& key);

  /// The slices by the name of their pool; no pool is empty.
  using Pools = std::map<std::string, std::vector<PublishedSlice>>;
  const Pools& pools() const { return pools_; }
  /// Returns the slices of a pool.
  std::span<const PublishedSlice> SlicesOf(const std::string& pool) const;

 private:
  bool IsOwn(const PublishedSlice& slice) const;
  std::set<std::string> Put(PublishedSlice slice);
  std::optional<PublishedSlice> Take(const std::string& name);

  std::string driver_;
  std::string node_name_;
  Pools pools_;
  std::map<std::string, std::string> pool_of_;  ///< by the name of the slice
  /// The resource version of the last own write by name; empty for a deletion.
  std::map<std::string, std::string> written_;
};

}  // namespace patchbay
