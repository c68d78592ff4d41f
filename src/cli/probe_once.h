#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_scan.h"
#include "health/probe.h"

namespace patchbay {

/// The probe result of each device that has a probe, by resource and device ID.
using ProbeOutcomes = std::map<std::pair<std::string, std::string>, ProbeOutcome>;

/// Runs the probe of each device once, as the daemon does. Blocks until all have finished, timed
/// out, or been cancelled through `cancellation`.
ProbeOutcomes ProbeAll(const std::vector<Inspection>& inspections, const DaemonSpec& daemon,
                       const std::string& node_name,
                       const std::shared_ptr<const Cancellation>& cancellation);

/// Returns whether all probes succeeded.
bool AllWork(const ProbeOutcomes& outcomes);

/// Formats the results as a table, with the output of failed programs.
std::string ProbeText(const std::vector<Inspection>& inspections, const ProbeOutcomes& outcomes,
                      bool colored);

}  // namespace patchbay
