#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/inspect.h"
#include "health/probe.h"

namespace patchbay {

/// What a probe said of each device that has one, by the names of the resource and the device.
using ProbeOutcomes = std::map<std::pair<std::string, std::string>, ProbeOutcome>;

/// Runs the probe of every device once, as the daemon would, and waits for all of them, or until
/// `cancellation` has ended the programs among them.
ProbeOutcomes ProbeAll(const std::vector<Inspection>& inspections, const DaemonSpec& daemon,
                       const std::string& node_name,
                       const std::shared_ptr<const Cancellation>& cancellation);

/// Whether all of them are successes.
bool AllWork(const ProbeOutcomes& outcomes);

/// A table of what they said, and what the programs printed where that does not say it.
std::string ProbeText(const std::vector<Inspection>& inspections, const ProbeOutcomes& outcomes);

}  // namespace patchbay
