#pragma once

#include <memory>
#include <string>

#include "discovery/scan_request.h"
#include "model/device.h"

namespace patchbay {

/// A match of a source, which can become a device.
struct Candidate {
  std::shared_ptr<Device> device;  ///< never null
  std::string identity;            ///< the text of the default ID
  std::string syspath;             ///< of the sysfs device, if the source finds those and not nodes
  std::string unhealthy = {};      ///< why the source reports it as unhealthy; empty if it does not

  /// Returns the name on the host: the first node, the syspath, or the default ID.
  std::string label() const;
  /// Returns the label for a report.
  MatchReport::Item item() const;
};

}  // namespace patchbay
