#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/explain/report_json.h"
#include "cli/explain/report_text.h"
#include "cli/explain/target_filter.h"
#include "cli/load.h"
#include "cli/yaml.h"

namespace patchbay {
namespace {

/// The text of the answer, and whether there are devices.
struct Answer {
  std::string text;
  bool has_devices = false;
};

Result<Answer> ExplainHost(const Model& model, const Arguments& arguments, bool colored) {
  if (!arguments.resource.empty()) TRY(CheckResource(model, arguments.resource, NodeName()));
  // Scans for all resources even if one is requested, because others may share its nodes.
  const auto inspections = TRY(RunScan(
      model, {.node_name = NodeName(), .report = true, .path = NormalizedPath(arguments.path)}));
  auto reports = Explain(inspections, NodeName());
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
  const bool has_devices = HaveDevices(reports, target.has_value());
  if (arguments.output != Output::kTable) {
    const auto json = ReportJson(reports, target ? &*target : nullptr);
    return Answer{ObjectText(json, arguments.output), has_devices};
  }
  const ReportStyle style{colored, HintCommand(arguments, "devices"),
                          HintCommand(arguments, "explain")};
  return Answer{target ? TargetReportText(*target, reports, style) : ReportText(reports, style),
                has_devices};
}

}  // namespace

int RunExplain(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto answer = ExplainHost(*model, arguments, streams.colors_out);
  if (!answer) return ReportFailure(answer.error(), streams);
  streams.out << answer->text;
  if (arguments.resource.empty()) streams.err << LeftOutText(*model, NodeName());
  return arguments.needs_devices && !answer->has_devices ? kFailed : kOk;
}

}  // namespace patchbay
