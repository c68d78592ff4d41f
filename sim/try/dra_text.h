#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cdi/cdi_spec.h"
#include "dra/resource_slice.h"

namespace patchbay {

/// The text of the report of `try` about Dynamic Resource Allocation. Pure. All text is printable.

/// Returns a row of the table: the resource, whether it is published, its pool, generation, slices
/// and devices. `slices` is a complete pool, or empty if the resource is not published.
std::vector<std::string> PoolRow(std::string_view resource, std::span<const ResourceSlice> slices);
/// Returns the heading of that table.
std::vector<std::string> PoolHeading();

/// Returns a line for each of the first devices with its attributes, capacities and taints,
/// indented by two spaces, and the number of the others: `  ttyusb0  id=ttyUSB0 path=/dev/ttyUSB0`.
std::string DevicesText(std::span<const ResourceSlice> slices);

/// Returns what a container gets that the runtime gives these CDI devices, in the form of
/// RenderResponse. Edits of devices in `file` are shown, other devices by their names.
std::string RenderCdiDevices(const CdiSpec& file, std::span<const std::string> cdi_devices);

}  // namespace patchbay
