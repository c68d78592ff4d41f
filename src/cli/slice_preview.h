#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dra/resource_slice.h"
#include "model/snapshot.h"

namespace patchbay {

/// The ResourceSlices that the daemon would publish for a scan, at an API server that stores all
/// fields.
struct SlicePreview {
  struct Device {
    std::string id;
    SliceDevice entry;
  };
  std::string pool;
  std::string device_class;
  std::size_t slices = 0;
  std::vector<Device> devices;        ///< those that are published, in the order of the snapshot
  std::vector<std::string> problems;  ///< what is not published; printable
  std::string not_served;             ///< why there is no slice; empty if there is one
};

/// Returns the slices of a resource on the Kubernetes node `node_name`; nothing if the device
/// plugin API serves it. Pure.
std::optional<SlicePreview> PreviewSlices(const std::shared_ptr<const Snapshot>& snapshot,
                                          const std::string& node_name);

/// Returns the ID of the device that has this name in its ResourceSlice; nothing if there is none.
std::optional<std::string> IdOfSliceName(const std::shared_ptr<const Snapshot>& snapshot,
                                         std::string_view name);

/// Returns the attributes as an object; a version is a string.
nlohmann::ordered_json AttributesJson(const Attributes& attributes);

/// Returns the entry of a device as JSON: {slice_name, attributes, slots, capacity, taints}.
/// `slots` is null unless claims share the device, and `slice_name` without an entry.
nlohmann::ordered_json EntryJson(const SliceDevice* entry);

/// Returns the preview as JSON: {pool, device_class, slices, devices, problems, not_served}.
nlohmann::ordered_json PreviewJson(const SlicePreview& preview);

}  // namespace patchbay
