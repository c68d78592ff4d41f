#include <nlohmann/json.hpp>
#include <ostream>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/yaml.h"
#include "config/load.h"
#include "discovery/match_summary.h"
#include "inventory/snapshot_json.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

Json DiagnosticsJson(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics.Sorted()) list.push_back(DiagnosticJson(d));
  return list;
}

std::string Summary(const Loaded& loaded, std::size_t errors, std::size_t warnings) {
  if (errors + warnings > 0) {
    return Counted(errors, "error", "errors") + ", " + Counted(warnings, "warning", "warnings") +
           "\n";
  }
  return "ok: " + Counted(loaded.model->resources.size(), "resource", "resources") + "\n";
}

/// Returns what must be true on the nodes, which no check of a file can see.
std::string NodesNeedText(const Loaded& loaded) {
  if (!loaded.model) return "";
  for (const auto& resource : loaded.model->resources) {
    if (!resource.net_device) continue;
    return Format(
        "{}: without CDI in the container runtime, pods start without the interface; "
        "`crictl info` on a node shows enableCDI or cdiSpecDirs\n",
        resource.name);
  }
  return "";
}

}  // namespace

int RunCheck(const Arguments& arguments, Streams streams) {
  const auto files = arguments.files.empty() ? std::vector{arguments.config} : arguments.files;
  // ParseArguments rejects other files next to the standard input.
  Loaded loaded;
  // Not the host name: a configuration can be checked on any machine.
  const std::string node = EnvironmentValue("NODE_NAME");
  if (files.front() == kStandardInput) {
    auto source = ReadStandardInput();
    if (!source) return ReportFailure(source.error(), streams);
    loaded = LoadTexts({std::move(*source)}, node);
  } else {
    loaded = LoadPaths(files, node);
  }
  const std::size_t warnings = loaded.diagnostics.WarningCount();
  const std::size_t errors = loaded.diagnostics.Sorted().size() - warnings;
  if (arguments.output != Output::kTable) {
    streams.out << ObjectText(DiagnosticsJson(loaded.diagnostics), arguments.output);
  } else {
    streams.out << loaded.diagnostics.RenderText(streams.colors_out)
                << Summary(loaded, errors, warnings) << NodesNeedText(loaded);
  }
  return errors > 0 || (arguments.strict && warnings > 0) ? kFailed : kOk;
}

}  // namespace patchbay
