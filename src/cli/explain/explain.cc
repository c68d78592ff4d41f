#include <ostream>

#include "cli/commands.h"
#include "cli/explain/report_json.h"
#include "cli/explain/report_text.h"
#include "cli/explain/target_filter.h"
#include "cli/load.h"

namespace patchbay {
namespace {

Result<std::string> ExplainHost(const Model& model, const Arguments& arguments) {
  if (!arguments.resource.empty()) TRY(CheckResource(model, arguments.resource, NodeName()));
  // Scans for all resources even if one is requested, because others may share its nodes.
  const auto inspections = TRY(RunScan(
      model, {.node_name = NodeName(), .report = true, .path = NormalizedPath(arguments.path)}));
  auto reports = Explain(inspections);
  std::optional<ExplainTarget> target;
  if (!arguments.path.empty()) {
    const Sysfs sysfs{HostRoot(model.daemon.host_root)};
    DeviceAncestries ancestries(sysfs);
    target = TRY(ResolveTarget(arguments.path, inspections, sysfs, ancestries));
    FilterByTarget(*target, inspections, sysfs, ancestries, reports);
  }
  if (!arguments.resource.empty()) {
    std::erase_if(reports,
                  [&](const ExplainReport& e) { return e.resource != arguments.resource; });
  }
  if (arguments.output == Output::kJson) {
    return ReportJson(reports, target ? &*target : nullptr);
  }
  return target ? TargetReportText(*target, reports) : ReportText(reports);
}

}  // namespace

int RunExplain(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto report = ExplainHost(*model, arguments);
  if (!report) return ReportFailure(report.error(), streams);
  streams.out << *report;
  if (arguments.resource.empty()) streams.err << LeftOutText(*model, NodeName());
  return kOk;
}

}  // namespace patchbay
