#pragma once

#include <cstddef>
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
/// are ignored.
///
/// Others can write slices of the driver and the node, too, and as many as they like. What is not
/// of a pool of the daemon, or cannot be of Patchbay, or exceeds kMaxBytes, is foreign: only its
/// key and its pool are kept, to delete it. A value.
class SliceStore {
 public:
  /// More slices of others than this are ignored, see is_incomplete.
  static constexpr std::size_t kMaxSlices = 10'000;
  /// Of the content of all slices. 10,000 devices with 32 attributes have less.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20U;

  SliceStore(std::string driver, std::string node_name)
      : driver_(std::move(driver)), node_name_(std::move(node_name)) {}

  /// Sets the names of the pools of the daemon; before the first call every pool is one. Returns
  /// whether slices of a new one are known without their content: list again to read it.
  bool SetPools(const std::set<std::string>& names);

  /// Removes the slices, before those of a list are added, except own writes.
  void BeginList();
  /// Removes own writes that the list does not have, unless it was cut off and may hide them.
  void EndList(bool is_cut);
  /// Own writes in a pool are not as the API server has them: the next list removes them.
  void Forget(const std::string& pool);
  /// Returns whether the API server has slices that are not known here.
  bool is_incomplete() const { return is_incomplete_; }

  /// Reads a slice of a list or an event, without adding it. Returns nothing if it is of another
  /// driver or node. Fails with kInvalid if it is not a valid slice.
  Result<std::optional<PublishedSlice>> Read(const nlohmann::json& object) const;
  /// Adds a slice of a list. Returns the pools whose slices changed: two, if it was in another one.
  std::set<std::string> Put(PublishedSlice slice);
  /// Applies an event with that slice. Returns the pools whose slices changed, which own writes
  /// never cause here.
  std::set<std::string> Apply(WatchEventType type, PublishedSlice slice);

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
  std::optional<PublishedSlice> Take(const std::string& name);

  std::string driver_;
  std::string node_name_;
  std::optional<std::set<std::string>> names_;  ///< of the pools of the daemon
  Pools pools_;
  std::size_t bytes_ = 0;  ///< of the content of all slices
  bool is_incomplete_ = false;
  std::map<std::string, std::string> pool_of_;  ///< by the name of the slice
  /// The resource version of the last own write by name; empty for a deletion.
  std::map<std::string, std::string> written_;
  std::set<std::string> unlisted_;  ///< own writes that the list has not had yet
};

/// Returns about how much memory the content of a slice takes, in bytes.
std::size_t MemoryOf(const ResourceSlice& slice);

}  // namespace patchbay
