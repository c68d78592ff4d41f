#pragma once

#include <compare>
#include <cstddef>
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
/// Whose text they are is known by where they lie: see Origin in model/variables.h.
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
  NamedValues values = {};    ///< text of the device; hides the values of the device as a whole
  NamedValues captures = {};  ///< parts of `path` that the regex of the match named; hide `values`
  std::uint64_t inode = 0;    ///< of a device node; 0 for anything else

  bool operator==(const DeviceNode&) const = default;
};

/// What a node is to the kernel, whatever it is called: a device node is its type and number, all
/// else is its path without links. Two nodes with one key are one.
struct NodeKey {
  std::uint64_t number = 0;  ///< of a character or block device; else 0
  std::string path = {};     ///< of anything else

  auto operator<=>(const NodeKey&) const = default;  // NOLINT(modernize-use-nullptr): its own 0
};
NodeKey KeyOf(const DeviceNode& node);
struct NodeKeyHash {
  std::size_t operator()(const NodeKey& key) const;
};

/// The kubelet aligns no device of a NUMA node beyond this.
inline constexpr int kLastNumaNode = 63;

/// The schedulable unit: what discovery knows of one physical device. Immutable once shared.
struct Device {
  std::string id;                 ///< stable; without the suffix of a replica
  std::vector<DeviceNode> nodes;  ///< by path; empty for a device without host nodes
  NamedValues values = {};        ///< text of the device, or of the command that named it
  std::optional<int> numa_node = {};

  bool operator==(const Device&) const = default;
};

}  // namespace patchbay
