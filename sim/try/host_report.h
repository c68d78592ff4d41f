#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "model/spec.h"
#include "os/subprocess.h"

namespace patchbay {

/// The parts of the report of `try` that are about this host and the same for both APIs.

/// More devices of one resource than this are counted, not listed.
inline constexpr std::size_t kMaxDevicesShown = 8;

/// Prints that no device of a resource can be allocated, and why. Returns true if that is no
/// failure: the host has no devices. May block.
bool ReportNoDevices(const Model& model, const std::string& resource, std::ostream& out);

/// Prints the notes on the devices with these IDs, or on all if there are none. May block.
void ReportNotes(const Model& model, const std::string& resource,
                 const std::vector<std::string>& ids, std::ostream& out);

/// Runs the probe of each device once. Returns whether all succeeded. Blocks until they have ended
/// or `cancellation` is triggered.
bool ReportProbes(const Model& model, const std::shared_ptr<const Cancellation>& cancellation,
                  Streams streams);

}  // namespace patchbay
