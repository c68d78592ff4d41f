#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_type.h"

namespace patchbay {

enum class Health { kHealthy, kUnhealthy };

/// "Healthy" or "Unhealthy", exactly as the kubelet compares them.
std::string_view Name(Health health);

/// Values by name: the named groups of a regex, udev properties, the variables of a command.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// Adds to `into` those whose name it does not have.
void MergeValues(NamedValues from, NamedValues& into);

/// One host path of a device, as a match found it.
struct DeviceNode {
  std::string path;       ///< as matched; gives identity and the container path
  std::string real_path;  ///< what it resolves to; handed to the runtime
  FileType type = FileType::kOther;
  unsigned major = 0;
  unsigned minor = 0;
  NamedValues values = {};  ///< what is known of this node; they hide those of the device

  bool operator==(const DeviceNode&) const = default;
};

/// The kubelet aligns no device of a NUMA node beyond this.
inline constexpr int kLastNumaNode = 63;

/// The schedulable unit: what discovery knows of one physical device. Immutable once shared.
struct Device {
  std::string id;                 ///< stable; without the suffix of a replica
  std::vector<DeviceNode> nodes;  ///< by path; empty for a device without host nodes
  NamedValues values = {};        ///< what is known of it as a whole
  std::optional<int> numa_node = {};

  bool operator==(const Device&) const = default;
};

}  // namespace patchbay
