#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_type.h"
#include "model/named_values.h"

namespace patchbay {

enum class Health { kHealthy, kUnhealthy };

/// Returns "Healthy" or "Unhealthy", the values of the device plugin API.
std::string_view Name(Health health);

/// A host path of a device.
struct DeviceNode {
  std::string path;       ///< as matched; the default ID and container path come from it
  std::string real_path;  ///< without symbolic links; for the container runtime
  FileType type = FileType::kOther;
  unsigned major = 0;
  unsigned minor = 0;
  NamedValues values = {};    ///< text from the device; precedence over Device::values
  NamedValues captures = {};  ///< named groups of the regex; precedence over `values`
  std::uint64_t inode = 0;    ///< of a device node; 0 for anything else

  bool operator==(const DeviceNode&) const = default;
};

/// The identity of a node, independent of its name: type and number of a device node, or the path
/// without links of any other file. Nodes with equal keys are the same node.
struct NodeKey {
  std::uint64_t number = 0;  ///< type and number of a device node; 0 for any other file
  std::string path = {};     ///< of any other file

  auto operator<=>(const NodeKey&) const = default;  // NOLINT(modernize-use-nullptr): its own 0
};
NodeKey KeyOf(const DeviceNode& node);
/// Returns NodeKey::number of a node.
std::uint64_t NumberOf(const DeviceNode& node);
struct NodeKeyHash {
  std::size_t operator()(const NodeKey& key) const;
};

/// The identity of a network interface, which does not depend on its name and network namespace.
struct NetInterface {
  std::string bus_device;  ///< the syspath of the device that it belongs to
  unsigned dev_port = 0;   ///< distinguish the interfaces of one device, as in /sys/class/net
  unsigned dev_id = 0;
  std::string address = {};  ///< the permanent hardware address; empty if none is known
  bool is_away = false;      ///< it is not in the network namespace of the host

  bool operator==(const NetInterface&) const = default;
};

/// Returns whether both are the same interface of the same bus device. Does not compare addresses:
/// another adapter can be in the same place.
bool IsSameInterface(const NetInterface& a, const NetInterface& b);

/// The highest NUMA node that the kubelet aligns.
inline constexpr int kLastNumaNode = 63;

/// A physical device, the unit that a pod requests. Immutable once shared.
struct Device {
  std::string id;                 ///< the same in every scan; without the suffix of a replica
  std::vector<DeviceNode> nodes;  ///< ordered by path; empty for a device without host nodes
  NamedValues values = {};        ///< text from the device or from a command
  std::optional<int> numa_node = {};
  std::size_t match = 0;  ///< the index of the [[resource.match]] that found it
  /// Of a resource with [[resource.net_device]], which moves it into containers.
  std::optional<NetInterface> interface = {};

  bool operator==(const Device&) const = default;
};

/// Returns whether the device is a network interface that a container has.
bool IsAway(const Device& device);

/// Returns the name of a network interface on the host; "" for any other device.
std::string_view InterfaceNameOf(const Device& device);

/// Returns the keys that no other device of the host has: of its nodes, and the path in /sys of a
/// device without a node, or of a PCI function whose node is that of its IOMMU group:
/// "/sys/class/net/NAME" for a network interface, and its syspath for any other.
std::vector<NodeKey> HostKeysOf(const Device& device);

}  // namespace patchbay
