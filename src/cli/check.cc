#include <nlohmann/json.hpp>
#include <ostream>

#include "base/format.h"
#include "cli/commands.h"
#include "config/load.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

std::string RenderJson(const Diagnostics& diagnostics) {
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
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Several(std::size_t n, std::string_view noun) {
  return format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string Summary(const Loaded& loaded, std::size_t errors, std::size_t warnings) {
  if (errors + warnings > 0) {
    return Several(errors, "error") + ", " + Several(warnings, "warning") + "\n";
  }
  return "ok: " + Several(loaded.model->resources.size(), "resource") + "\n";
}

}  // namespace

int RunCheck(const Arguments& arguments, Streams streams) {
  const Loaded loaded =
      LoadPaths(arguments.files.empty() ? std::vector{arguments.config} : arguments.files);
  std::size_t errors = 0, warnings = 0;
  for (const Diagnostic& d : loaded.diagnostics.Sorted()) {
    ++(d.severity == Severity::kError ? errors : warnings);
  }
  if (arguments.output == Output::kJson) {
    streams.out << RenderJson(loaded.diagnostics);
  } else {
    streams.out << loaded.diagnostics.RenderText() << Summary(loaded, errors, warnings);
  }
  return errors > 0 || (arguments.strict && warnings > 0) ? kFailed : kOk;
}

}  // namespace patchbay
