#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/explain/nearest.h"
#include "cli/explain/report_json.h"
#include "cli/explain/report_text.h"
#include "cli/explain/target_filter.h"
#include "cli/load.h"
#include "cli/yaml.h"

namespace patchbay {
namespace {

/// Adds entries for devices that are similar to what matches of resources without devices select:
/// to a few, because each one reads sysfs.
void AddNearest(const std::vector<Inspection>& inspections, const HostRoot& host,
                std::vector<ExplainReport>& reports) {
  int left = 3;
  for (ExplainReport& report : reports) {
    if (report.listed > 0) continue;
    const auto of = std::ranges::find_if(inspections, [&](const Inspection& inspection) {
      return inspection.snapshot->spec->name == report.resource;
    });
    for (std::size_t i = 0; i < report.matches.size(); ++i) {
      const bool is_answered = std::ranges::any_of(report.matches[i].outcomes, [](const auto& one) {
        return one.kind != OutcomeKind::kFiltered || one.reason == Name(DropReason::kExcluded);
      });
      if (is_answered || left-- <= 0) continue;
      report.matches[i].nearest = NearestEntry(of->snapshot->spec->matches[i], host);
    }
  }
}

Result<std::vector<ExplainReport>> ExplainHost(const Model& model, const std::string& resource,
                                               const ExplainTarget* target) {
  if (!resource.empty()) TRY(CheckResource(model, resource, NodeName()));
  // Scans for all resources even if one is requested, because others may share its nodes.
  InspectOptions options{.node_name = NodeName(), .report = true};
  if (target != nullptr) options.wanted = target->Names();
  const auto inspections = TRY(RunScan(model, options));
  auto reports = Explain(inspections, NodeName());
  const HostRoot host(model.daemon.host_root);
  if (target != nullptr) TRY(FilterByTarget(*target, inspections, host, reports));
  std::erase_if(reports, [&](const ExplainReport& report) {
    return !resource.empty() && report.resource != resource;
  });
  if (target == nullptr) AddNearest(inspections, host, reports);
  return reports;
}

}  // namespace

int RunExplain(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  std::optional<ExplainTarget> target;
  if (!arguments.path.empty()) {
    target = FindTarget(arguments.path, HostRoot(model->daemon.host_root));
  }
  const ExplainTarget* const of = target ? &*target : nullptr;
  const auto reports = ExplainHost(*model, arguments.resource, of);
  if (!reports) return ReportFailure(reports.error(), streams);
  streams.out << (arguments.output == Output::kTable
                      ? ReportText(*reports, of,
                                   {streams.colors_out, HintCommand(arguments, "devices")})
                      : ObjectText(ReportJson(*reports, of), arguments.output));
  if (arguments.resource.empty()) streams.err << LeftOutText(*model, NodeName());
  const auto has_device = [](const ExplainReport& report) { return report.listed > 0; };
  const bool has_devices = target ? std::ranges::any_of(*reports, has_device)
                                  : std::ranges::all_of(*reports, has_device);
  return arguments.needs_devices && !has_devices ? kFailed : kOk;
}

}  // namespace patchbay
