#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/quantity.h"
#include "model/template.h"

namespace patchbay {

/// A capacity of a device in a ResourceSlice, such as its memory. Claims select devices by it, and
/// take shares of it if several claims share the device. Pure.

/// The capacity of a shared device of which each claim takes one, unless it requests more.
inline constexpr std::string_view kSlots = "slots";

/// How claims share a capacity: the requestPolicy of the API (kubernetes/api resource/v1).
struct SharePolicy {
  Quantity by_default = 0;            ///< the share of a claim that requests none
  std::optional<Quantity> min = {};   ///< smaller shares are rounded up
  std::optional<Quantity> max = {};   ///< needs `min`
  std::optional<Quantity> step = {};  ///< needs `min`, from which it counts; shares are rounded up
  bool operator==(const SharePolicy&) const = default;
};

struct DeviceCapacity {
  Quantity value = 0;
  std::optional<SharePolicy> policy = {};  ///< of a shared device
  bool operator==(const DeviceCapacity&) const = default;
};

/// The keys of a value in [resource.capacity]. A value that is not a table is the first one.
inline constexpr std::string_view kCapacityKeys[] = {"value", "default", "max", "step"};

/// A capacity that the administrator defines: an entry of [resource.capacity].
struct CapacitySpec {
  std::string name;
  Template value;  ///< rendered for each device
  /// Of the shares of a shared device, which are multiples of `step`.
  std::optional<Quantity> by_default = {}, max = {}, step = {};
  bool operator==(const CapacitySpec&) const = default;
};

/// Returns an error message if `name` is not a valid name of a capacity of the driver `driver`: a
/// name as in ProblemWithAttributeName, but not `slots`.
std::optional<std::string> ProblemWithCapacityName(std::string_view name, std::string_view driver);

/// Returns an error message if `default`, `max` and `step` of a capacity contradict each other. A
/// step must be a whole number: Kubernetes 1.36 rounds it up to one.
std::optional<std::string> ProblemWithShares(const CapacitySpec& spec);

/// Returns the capacity of a device for which its value was rendered as `text`. With `replicas`
/// above 1 it has a policy: a claim gets `default`, or else an equal share, so that each replica
/// has one. Fails with kInvalid if the text is not a quantity, or less than the smallest share.
Result<DeviceCapacity> CapacityOf(const CapacitySpec& spec, std::string_view text, int replicas);

/// Returns the capacity `slots` of a device with that many replicas.
DeviceCapacity SlotCapacity(int replicas);

}  // namespace patchbay
