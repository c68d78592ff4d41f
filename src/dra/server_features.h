#pragma once

#include <string>

#include "dra/resource_slice.h"

namespace patchbay {

/// The features of the API server that change what is published. An API server without a feature
/// stores an object without its fields, and reports neither an error nor a warning: taints need
/// DRADeviceTaints, shared devices DRAConsumableCapacity, both on by default from Kubernetes 1.36.
struct ServerFeatures {
  bool taints = true;
  bool shared_devices = true;  ///< allowMultipleAllocations and the policy of `slots`
  bool operator==(const ServerFeatures&) const = default;
};

/// Returns the features, found by comparing the devices that were sent with those that the API
/// server stored and returned. A feature that nothing in `sent` needs counts as present. Pure.
ServerFeatures FeaturesOf(const ResourceSlice& sent, const ResourceSlice& stored);

/// Returns a slice that needs all features, for a request with dryRun=All before the first slice is
/// published: a shared device must never be visible as an exclusive one.
ResourceSlice FeatureSample(const std::string& pool);

}  // namespace patchbay
