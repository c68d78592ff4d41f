#pragma once

#include <memory>
#include <string>
#include <utility>

#include "discovery/scan_request.h"
#include "model/device.h"

namespace patchbay {

/// A match of a source, which can become a device. A value; the scan that it belongs to may change
/// its draft.
struct Candidate {
  /// A device without its ID.
  Candidate(Device found, std::string default_id, std::string of_sysfs = {})
      : draft(std::make_shared<Device>(std::move(found))),
        device(draft),
        identity(std::move(default_id)),
        syspath(std::move(of_sysfs)) {}
  /// A complete device of the last scan.
  explicit Candidate(std::shared_ptr<const Device> known) : device(std::move(known)) {}

  std::shared_ptr<Device> draft;  ///< the same as `device`; null if it may not change
  std::shared_ptr<const Device> device;
  std::string identity;  ///< the text of the default ID
  std::string syspath;   ///< of the sysfs device, if the source finds those and not nodes
  /// The listing that keeps the device for the next scan; null if none does. See
  /// ScanContext::AddNodes.
  ScanCache::Listing* listing = nullptr;

  /// Returns the name on the host: the first node, the syspath, or the default ID.
  std::string label() const;
  /// Returns the label for a report.
  MatchReport::Thing thing() const;
};

}  // namespace patchbay
