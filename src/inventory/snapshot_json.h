#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "model/snapshot.h"

namespace patchbay {

/// The devices of one snapshot as JSON, for `patchbay devices` and /api/v1/status. It may contain
/// bytes that are not UTF-8: dump it with JsonText. The snapshot outlives it.
class SnapshotJson {
 public:
  explicit SnapshotJson(const Snapshot& snapshot);

  /// {id, health, reason, paths, numa_node, variables} of the device at this index.
  nlohmann::ordered_json Device(std::size_t index) const;
  /// [{path, reason}] of all rejected paths.
  nlohmann::ordered_json Rejected() const;
  /// [{path, reason}] of all mounts whose source is missing.
  nlohmann::ordered_json MissingMounts() const;
  nlohmann::ordered_json UnusedExcludes() const;
  /// [{device, reason}] of devices that need attention, see discovery/device_notes.h.
  nlohmann::ordered_json Notes() const;

 private:
  const Snapshot& snapshot_;
  std::vector<std::string> variables_;  ///< that a device may have
};

/// {file, line, column, severity, code, message, hint}, for `patchbay check` and /api/v1/status.
nlohmann::ordered_json DiagnosticJson(const Diagnostic& diagnostic);

/// Returns JSON as text; bytes that are not UTF-8 become U+FFFD. An `indent` of -1 makes one line.
std::string JsonText(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace patchbay
