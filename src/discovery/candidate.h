#pragma once

#include <memory>
#include <string>

#include "discovery/scan_request.h"
#include "model/device.h"

namespace patchbay {

/// A match of a source, which can become a device. A value that is moved often, and so is small.
struct Candidate {
  /// The data of a device that only the scan needs that found it.
  struct Draft {
    std::shared_ptr<Device> device;  ///< the same as Candidate::device; null if it may not change
    std::string identity;            ///< the text of the default ID
    std::string syspath;  ///< of the sysfs device, if the source finds those and not nodes
    /// The listing that keeps the device for the next scan; null if none does. See
    /// ScanContext::AddNodes.
    ScanCache::Listing* listing = nullptr;
  };

  std::shared_ptr<const Device> device;
  Draft* draft = nullptr;  ///< belongs to the scan; null for a complete device of the last scan

  /// Returns the device if this scan may change it, otherwise null.
  Device* mutable_device() const { return draft == nullptr ? nullptr : draft->device.get(); }
  /// Makes the next scan list the directory again, because no listing keeps a rejected device.
  void ListAgain() const {
    if (draft != nullptr && draft->listing != nullptr) draft->listing->stamp = {};
  }
  /// Returns the name on the host: the first node, the syspath, or the default ID.
  std::string label() const;
  /// Returns the label for a report.
  MatchReport::Thing thing() const;
};

}  // namespace patchbay
