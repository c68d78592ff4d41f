#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "discovery/scan_request.h"
#include "model/device.h"
#include "model/spec.h"

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

/// Returns the text of the device's ID: as the match renders it, or the default one. Fails if the
/// device has no value for a variable.
Result<std::string> IdentityOf(const ResourceSpec& spec, const Candidate& candidate,
                               const std::string& node_name);

}  // namespace patchbay
