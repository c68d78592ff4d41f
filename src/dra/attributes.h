#pragma once

#include <boost/container/flat_map.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/attribute.h"
#include "model/capacity.h"
#include "model/device.h"

namespace patchbay {

/// The attributes and capacities of the devices of ResourceSlices. Pure.

/// One block of memory for each device: a node has thousands.
using Attributes = boost::container::flat_map<std::string, AttributeValue, std::less<>>;

using Capacities = boost::container::flat_map<std::string, DeviceCapacity, std::less<>>;

/// An attribute or a capacity that a device does not have, and why; printable.
struct AttributeProblem {
  std::string name;
  std::string reason;
  bool operator==(const AttributeProblem&) const = default;
};

/// The attributes of one device.
struct DeviceAttributes {
  Attributes values;
  std::vector<AttributeProblem> problems;
};

/// The device whose attributes are computed. A view: everything outlives the call.
struct AttributeInput {
  const Device& device;
  std::string_view resource;
  std::string_view node_name;  ///< of the Kubernetes node
  std::size_t max_attributes = kMaxAttributes;
};

/// Returns the attributes of a device: `resource`, `id`, `path`, `usbVendor`, `usbProduct`,
/// `usbSerial`, `pciVendor`, `pciDevice`, `driver` and those of resource.kubernetes.io that are
/// known, then the specified ones, which replace them. A value that the API server would refuse, or
/// that is not printable UTF-8, is left out and reported. So is a specified one whose variables the
/// device lacks; an automatic one is only left out.
DeviceAttributes AttributesOf(const AttributeInput& input, std::span<const AttributeSpec> specs);

/// Returns the specified capacities of a device, with a share for each of its replicas. One whose
/// variables the device lacks, or whose value is not valid, is left out and added to `problems`.
Capacities CapacitiesOf(const AttributeInput& input, std::span<const CapacitySpec> specs,
                        int replicas, std::vector<AttributeProblem>& problems);

}  // namespace patchbay
