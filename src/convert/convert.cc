#include "convert/convert.h"

#include <utility>

#include "base/format.h"
#include "config/load.h"
#include "convert/diagnostics.h"
#include "convert/generic_device_plugin.h"
#include "convert/manifest.h"
#include "convert/smarter_device_manager.h"
#include "convert/toml_writer.h"

namespace patchbay {
namespace {

using Converter = NewFile (*)(const Manifest&, const std::string&, const ConvertHints&, Findings&);
constexpr Converter kConverters[] = {ConvertGenericDevicePlugin, ConvertSmarterDeviceManager};

/// Loads the result and reports the loader's errors, such as an invalid name or pattern, for the
/// file that was converted.
void CheckOutcome(const std::string& toml, const std::string& file, Findings& findings) {
  if (toml.size() > kLargestSource) {
    findings.CannotConvert(
        {file, 0, 0},
        format("the converted file would have {} bytes; the limit is {}", toml.size(),
               kLargestSource),
        "convert the input in parts; Patchbay combines all files of a directory");
    return;
  }
  const Loaded loaded = LoadTexts({{"converted", toml}});
  for (const Diagnostic& d : loaded.diagnostics.Sorted()) {
    if (d.severity != Severity::kError) continue;
    findings.CannotConvert({file, 0, 0}, d.message, d.hint);
  }
}

/// Reports texts in ConfigMaps that are not valid YAML. They are errors if there is no other
/// configuration of the plugin, and otherwise probably belong to other programs.
void ReportUnreadable(const Manifest& manifest, bool has_nothing_else, Findings& findings) {
  for (const Diagnostic& d : manifest.unreadable) {
    if (has_nothing_else) {
      findings.Malformed(d.place, d.message, d.hint);
    } else {
      findings.Assumed(d.place, d.message,
                       "it probably belongs to another program and is ignored; if it belongs to "
                       "the plugin, fix it");
    }
  }
}

}  // namespace

Conversion Convert(ForeignProgram from, const SourceFile& source, const ConvertHints& hints) {
  Conversion conversion;
  Diagnostics& diagnostics = conversion.diagnostics;
  Findings findings(diagnostics);
  if (source.text.size() > kLargestSource) {
    findings.Malformed({source.name, 0, 0},
                       format("the file is larger than {} bytes", kLargestSource),
                       "pass only the objects of the plugin");
    return conversion;
  }
  diagnostics.AddSource(source.name, source.text);
  const Manifest manifest = ReadManifest(source.name, source.text, findings);
  if (diagnostics.HasErrors()) return conversion;
  const auto index = static_cast<std::size_t>(from);
  NewFile file = kConverters[index](manifest, source.name, hints, findings);
  ReportUnreadable(manifest, file.resources.empty() && diagnostics.HasErrors(), findings);
  file.notes.insert(file.notes.begin(),
                    format("Converted from {}: {}. Comments mark differences in meaning.",
                           kForeignPrograms[index], source.name));
  std::string toml = WriteToml(file);
  if (!diagnostics.HasErrors()) CheckOutcome(toml, source.name, findings);
  if (!diagnostics.HasErrors()) conversion.toml = std::move(toml);
  return conversion;
}

}  // namespace patchbay
