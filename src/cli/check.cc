#include <nlohmann/json.hpp>
#include <ostream>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/yaml.h"
#include "config/load.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

Json DiagnosticsJson(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics.Sorted()) {
    list.push_back({{"file", d.place.file},
                    {"line", d.place.line},
                    {"column", d.place.column},
                    {"severity", Name(d.severity)},
                    {"code", d.code},
                    {"message", d.message},
                    {"hint", d.hint}});
  }
  return list;
}

std::string Several(std::size_t n, std::string_view noun) {
  return Format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string Summary(const Loaded& loaded, std::size_t errors, std::size_t warnings) {
  if (errors + warnings > 0) {
    return Several(errors, "error") + ", " + Several(warnings, "warning") + "\n";
  }
  return "ok: " + Several(loaded.model->resources.size(), "resource") + "\n";
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
  std::size_t errors = 0, warnings = 0;
  for (const Diagnostic& d : loaded.diagnostics.Sorted()) {
    ++(d.severity == Severity::kError ? errors : warnings);
  }
  if (arguments.output != Output::kTable) {
    streams.out << ObjectText(DiagnosticsJson(loaded.diagnostics), arguments.output);
  } else {
    streams.out << loaded.diagnostics.RenderText(streams.colors_out)
                << Summary(loaded, errors, warnings);
  }
  return errors > 0 || (arguments.strict && warnings > 0) ? kFailed : kOk;
}

}  // namespace patchbay
