#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_type.h"
#include "model/regex.h"

namespace patchbay {

enum class Health { kHealthy, kUnhealthy };

/// "Healthy" or "Unhealthy", exactly as the kubelet compares them.
std::string_view Name(Health health);

/// One host path of a device, as a match found it.
struct DeviceNode {
  std::string path;       ///< as matched; gives identity and the container path
  std::string real_path;  ///< what it resolves to; handed to the runtime
  FileType type = FileType::kOther;
  unsigned major = 0;
  unsigned minor = 0;

  bool operator==(const DeviceNode&) const = default;
};

/// The schedulable unit: what discovery knows of one physical device. Immutable once shared.
struct Device {
  std::string id;                 ///< stable; without the suffix of a replica
  std::vector<DeviceNode> nodes;  ///< empty for a resource without host nodes
  Captures captures;

  bool operator==(const Device&) const = default;
};

}  // namespace patchbay
