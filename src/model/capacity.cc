#include "model/capacity.h"

#include <algorithm>

#include "base/escape.h"
#include "base/format.h"
#include "model/attribute.h"

namespace patchbay {
namespace {

/// Returns the share of each replica, rounded down to what a claim can request.
Quantity EqualShare(const CapacitySpec& spec, Quantity value, int replicas) {
  const Quantity share = value / replicas;
  if (spec.step) return std::max(share - share % *spec.step, *spec.step);
  return share < kUnit ? share : share - share % kUnit;
}

SharePolicy PolicyOf(const CapacitySpec& spec, Quantity value, int replicas) {
  SharePolicy policy{.by_default = spec.by_default.value_or(EqualShare(spec, value, replicas))};
  if (spec.max && *spec.max < value) policy.max = spec.max;
  if (policy.max) policy.by_default = std::min(policy.by_default, *policy.max);
  if (spec.step) {
    policy.min = spec.step;
    // The API server refuses a step if the device does not have two.
    (2 * *spec.step <= value ? policy.step : policy.max) = spec.step;
  } else if (policy.max) {
    policy.min = 0;
  }
  return policy;
}

}  // namespace

std::optional<std::string> ProblemWithCapacityName(std::string_view name, std::string_view driver) {
  if (name == kSlots) {
    return Format("\"{}\" is set by Patchbay to the number of replicas; choose another name",
                  kSlots);
  }
  return ProblemWithQualifiedName(name, driver);
}

std::optional<std::string> ProblemWithShares(const CapacitySpec& spec) {
  if (spec.step && !CountOf(*spec.step)) return "\"step\" must be a whole number above 0";
  const auto is_step = [&](const std::optional<Quantity>& share) {
    return !share || !spec.step || (*share > 0 && *share % *spec.step == 0);
  };
  if (!is_step(spec.by_default)) return "\"default\" must be a multiple of \"step\"";
  if (!is_step(spec.max)) return "\"max\" must be a multiple of \"step\"";
  if (spec.by_default && spec.max && *spec.by_default > *spec.max) {
    return "\"default\" must not be above \"max\"";
  }
  return std::nullopt;
}

Result<DeviceCapacity> CapacityOf(const CapacitySpec& spec, std::string_view text, int replicas) {
  const auto value = ParseQuantity(text);
  if (!value || *value < 0) {
    return Fail(ErrorKind::kInvalid,
                Format("\"{}\" is not a quantity such as 16Gi, 10G or 500m", Truncate(text, 80)));
  }
  DeviceCapacity capacity{.value = *value};
  if (replicas == 1) return capacity;
  if (const auto least = spec.by_default ? spec.by_default : spec.step; least && *value < *least) {
    return Fail(ErrorKind::kInvalid,
                Format("the device has {}, which is less than the share {} of a claim", text,
                       QuantityText(*least)));
  }
  capacity.policy = PolicyOf(spec, *value, replicas);
  return capacity;
}

DeviceCapacity SlotCapacity(int replicas) {
  const CapacitySpec one{.name = {}, .value = {}, .by_default = kUnit, .max = {}, .step = kUnit};
  const Quantity value = replicas * kUnit;
  return {.value = value, .policy = PolicyOf(one, value, replicas)};
}

}  // namespace patchbay
