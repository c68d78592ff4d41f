#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// The devices of one snapshot as JSON: what `patchbay devices` and /api/v1/status have in common.
/// Bytes that are not UTF-8 may remain in it; dump it with JsonText. The snapshot outlives it.
class SnapshotJson {
 public:
  explicit SnapshotJson(const Snapshot& snapshot);

  /// {id, health, reason, paths, numa_node, variables} of a device by its place in the list.
  nlohmann::ordered_json Device(std::size_t index) const;
  /// [{path, reason}] of all that was rejected.
  nlohmann::ordered_json Rejected() const;
  /// [{path, reason}] of all mounts whose source is not there.
  nlohmann::ordered_json MissingMounts() const;

 private:
  const Snapshot& snapshot_;
  std::vector<std::string> variables_;  ///< that a device may have
};

/// The text of it, each byte that is no UTF-8 replaced by U+FFFD; on one line where `indent` is -1.
std::string JsonText(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace patchbay
