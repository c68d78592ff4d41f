#include "sim/try/host_report.h"

#include <algorithm>
#include <ostream>

#include "base/escape.h"
#include "cli/load.h"
#include "cli/probe_once.h"
#include "cli/run_scan.h"

namespace patchbay {

bool ReportNoDevices(const Model& model, const std::string& resource, std::ostream& out) {
  const auto inspections = RunScan(model, {.node_name = NodeName(), .resource = resource});
  const std::string why = inspections ? WhyUnhealthy(*inspections->front().snapshot) : "";
  out << resource << " has no device to allocate on this host"
      << (why.empty() ? "" : Printable(": " + why)) << "\n";
  return why.empty();
}

void ReportNotes(const Model& model, const std::string& resource,
                 const std::vector<std::string>& ids, std::ostream& out) {
  const auto inspections = RunScan(model, {.node_name = NodeName(), .resource = resource});
  if (inspections) out << NotesText(*inspections->front().snapshot, ids);
}

bool ReportProbes(const Model& model, const std::shared_ptr<const Cancellation>& cancellation,
                  Streams streams) {
  if (std::none_of(model.resources.begin(), model.resources.end(),
                   [](const ResourceSpec& resource) { return resource.health.has_value(); })) {
    return true;
  }
  auto inspections = RunScan(model, {.node_name = NodeName()});
  if (!inspections) return false;
  std::erase_if(*inspections,
                [](const Inspection& inspection) { return !inspection.snapshot->spec->health; });
  const ProbeOutcomes outcomes = ProbeAll(*inspections, model.daemon, NodeName(), cancellation);
  streams.out << "\n" << ProbeText(*inspections, outcomes, streams.colors_out) << std::flush;
  return AllWork(outcomes);
}

}  // namespace patchbay
