#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dra/attributes.h"
#include "model/snapshot.h"

namespace patchbay {

/// The ResourceSlices that the daemon would publish for a scan, at an API server that stores all
/// fields.
struct SlicePreview {
  struct Device {
    std::string id;
    std::string name;  ///< in the slice
    Attributes attributes;
  };
  std::string pool;
  std::string device_class;
  std::vector<Device> devices;        ///< those that are published, in the order of the snapshot
  std::vector<std::string> problems;  ///< devices and attributes that are not; printable
  std::string not_served;             ///< why there is no slice; empty if there is one
};

/// Returns the slices of a resource on the Kubernetes node `node_name`; nothing if the device
/// plugin API serves it. Pure.
std::optional<SlicePreview> PreviewSlices(const std::shared_ptr<const Snapshot>& snapshot,
                                          const std::string& node_name);

/// Returns the attributes as an object; a version is a string.
nlohmann::ordered_json AttributesJson(const Attributes& attributes);

/// Returns the preview as JSON: {pool, device_class, devices, problems, not_served}.
nlohmann::ordered_json PreviewJson(const SlicePreview& preview);

}  // namespace patchbay
