#include <ostream>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/explanation_json.h"
#include "cli/explanation_text.h"
#include "cli/load.h"

namespace patchbay {
namespace {

Result<std::string> ExplainHost(const Model& model, const Arguments& arguments) {
  if (!arguments.resource.empty()) TRY(CheckResource(model, arguments.resource, NodeName()));
  // Scans for all resources even if one is requested, because others may share its nodes.
  const auto inspections = TRY(RunScan(
      model, {.node_name = NodeName(), .report = true, .path = ShortestPath(arguments.path)}));
  auto explanations = Explain(inspections);
  std::optional<Inquiry> inquiry;
  if (!arguments.path.empty()) {
    const Sysfs sysfs{HostRoot(model.daemon.host_root)};
    DeviceAncestries ancestries(sysfs);
    inquiry = TRY(Inquire(arguments.path, inspections, sysfs, ancestries));
    NarrowTo(*inquiry, inspections, sysfs, ancestries, explanations);
  }
  if (!arguments.resource.empty()) {
    std::erase_if(explanations,
                  [&](const Explanation& e) { return e.resource != arguments.resource; });
  }
  if (arguments.output == Output::kJson) {
    return ExplanationJson(explanations, inquiry ? &*inquiry : nullptr);
  }
  return inquiry ? AnswerText(*inquiry, explanations) : ExplanationText(explanations);
}

}  // namespace

int RunExplain(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto explanation = ExplainHost(*model, arguments);
  if (!explanation) return ReportFailure(explanation.error(), streams);
  streams.out << *explanation;
  if (arguments.resource.empty()) streams.err << LeftOutText(*model, NodeName());
  return kOk;
}

}  // namespace patchbay
