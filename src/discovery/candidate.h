#pragma once

#include <memory>
#include <string>
#include <utility>

#include "discovery/scan_request.h"
#include "model/device.h"

namespace patchbay {

/// A match of a source, which can become a device. A value that is moved often, and so is small.
struct Candidate {
  /// What only a device has that this scan found.
  struct Find {
    std::shared_ptr<Device> draft;  ///< the same as `device`; null if it may not change
    std::string identity;           ///< the text of the default ID
    std::string syspath;  ///< of the sysfs device, if the source finds those and not nodes
    /// The listing that keeps the device for the next scan; null if none does. See
    /// ScanContext::AddNodes.
    ScanCache::Listing* listing = nullptr;
  };

  /// A device without its ID.
  Candidate(Device found, std::string identity, std::string syspath = {});
  /// A complete device of the last scan.
  explicit Candidate(std::shared_ptr<const Device> known) : device(std::move(known)) {}

  std::shared_ptr<const Device> device;
  std::unique_ptr<Find> find = {};  ///< null for a device of the last scan

  /// Returns the device if this scan may change it, otherwise null.
  Device* draft() const { return find ? find->draft.get() : nullptr; }
  /// Returns the name on the host: the first node, the syspath, or the default ID.
  std::string label() const;
  /// Returns the label for a report.
  MatchReport::Thing thing() const;
};

}  // namespace patchbay
