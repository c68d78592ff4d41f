#include "convert/convert.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "config/load.h"
#include "convert/diagnostics.h"
#include "convert/generic_device_plugin.h"
#include "convert/helm.h"
#include "convert/manifest.h"
#include "convert/pools.h"
#include "convert/smarter_device_manager.h"
#include "convert/toml_writer.h"

namespace patchbay {
namespace {

struct Converter {
  Recognizer recognizer;
  std::optional<NewFile> (*convert)(const Manifest&, const ConvertHints&, Findings&);
  const char* not_found;  ///< the error if there is no configuration
  const char* hint;
};
const Converter& ConverterOf(ForeignProgram from) {
  static const Converter kConverters[] = {
      {{kForeignPrograms[0], IsGenericConfiguration, FindMisspelledGeneric},
       ConvertGenericDevicePlugin,
       "no configuration of generic-device-plugin found",
       "pass its configuration file, or a manifest with its --device arguments or its ConfigMap; "
       "render a chart first, with `helm template`"},
      {{kForeignPrograms[1], IsSmarterConfiguration, FindMisspelledSmarter},
       ConvertSmarterDeviceManager,
       "no list of `devicematch` entries found",
       "pass conf.yaml, the ConfigMap that contains it, or the values of the chart; without any of "
       "these, smarter-device-manager uses the conf.yaml in its image"}};
  return kConverters[static_cast<std::size_t>(from)];
}

/// Returns the errors of the loader, such as an invalid pattern.
std::vector<Diagnostic> ErrorsOf(const NewFile& file) {
  auto errors = LoadTexts({{"converted", WriteToml(file)}}).diagnostics.Sorted();
  std::erase_if(errors, [](const Diagnostic& d) { return d.severity != Severity::kError; });
  return errors;
}

/// Moves what the loader rejects to the parts that are not converted: matches, or a whole resource.
/// Each is loaded alone, so that an error has the location of its match.
void RefuseInvalid(NewFile& file, Findings& findings) {
  if (WriteToml(file).size() > kLargestSource) return;  // reported by Written
  if (ErrorsOf({{}, file.resources, {}}).empty()) return;
  const auto refuse = [&](const NewResource& part, const std::vector<Diagnostic>& errors) {
    for (const Diagnostic& error : errors) {
      findings.CannotConvert(part.matches.front().place, error.message, error.hint);
    }
    file.refused.push_back({part.name, findings.TakeErrors(), WriteToml({{}, {part}, {}})});
  };
  for (NewResource& resource : std::exchange(file.resources, {})) {
    const auto matches = std::exchange(resource.matches, {});
    NewResource valid = resource;
    NewResource alone = resource;
    for (const NewMatch& match : matches) {
      alone.matches = {match};
      const auto errors = ErrorsOf({{}, {alone}, {}});
      if (errors.empty()) {
        valid.matches.push_back(match);
      } else {
        refuse(alone, errors);
      }
    }
    if (valid.matches.empty()) continue;
    const auto errors = ErrorsOf({{}, {valid}, {}});
    if (errors.empty()) {
      file.resources.push_back(std::move(valid));
    } else {
      refuse(valid, errors);
    }
  }
}

/// Returns the file as TOML, or nothing if it is too large.
std::optional<std::string> Written(const NewFile& file, const std::string& name,
                                   Findings& findings) {
  std::string toml = WriteToml(file);
  if (toml.size() > kLargestSource) {
    findings.CannotConvert(
        {name, 0, 0},
        Format("the converted file would have {} bytes; the limit is {}", toml.size(),
               kLargestSource),
        "convert the input in parts; Patchbay combines all files of a directory");
    return std::nullopt;
  }
  const auto errors = ErrorsOf({{}, file.resources, {}});
  for (const Diagnostic& d : errors) findings.CannotConvert({name, 0, 0}, d.message, d.hint);
  return errors.empty() ? std::optional(std::move(toml)) : std::nullopt;
}

/// A part of the input that becomes a configuration of its own: the whole, or that of a pool.
struct Part {
  std::string pool;  ///< "" for the whole
  const Manifest* manifest;
  std::optional<NewFile> file;
};

bool IsEmpty(const NewFile& file) { return file.resources.empty() && file.refused.empty(); }

/// Reports values that seem to be a configuration but are not. They are errors if there is no
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
                       Format("the file is larger than {} bytes", kLargestSource),
                       "pass only the objects of the plugin");
    return conversion;
  }
  diagnostics.AddSource(source.name, source.text);
  const Converter& converter = ConverterOf(from);
  const Manifest manifest = ReadManifest(source.name, source.text, converter.recognizer, findings);
  if (diagnostics.HasErrors()) return conversion;
  std::vector<Pool> pools;
  if (hints.needs_helm) pools = PoolsOf(manifest, findings);
  if (diagnostics.HasErrors()) return conversion;
  std::vector<Part> parts;
  parts.reserve(pools.size() + 1);
  for (const Pool& pool : pools) parts.push_back({pool.name, &pool.part, {}});
  if (pools.empty()) parts.push_back({"", &manifest, {}});
  for (Part& part : parts) part.file = converter.convert(*part.manifest, hints, findings);
  const bool found =
      std::any_of(parts.begin(), parts.end(), [](const Part& p) { return !!p.file; });
  std::erase_if(parts, [&](const Part& part) {
    return !part.file || (IsEmpty(*part.file) && (!pools.empty() || diagnostics.HasErrors()));
  });
  ReportUnreadable(manifest, parts.empty(), findings);
  if (!found && manifest.unreadable.empty()) {
    findings.Malformed({source.name, 0, 0}, converter.not_found, converter.hint);
  }
  std::vector<HelmConfig> configs;
  for (Part& part : parts) {
    NewFile& file = *part.file;
    file.notes.insert(file.notes.begin(),
                      Format("Converted from {}: {}. Comments mark differences in meaning.",
                             converter.recognizer.program, source.name));
    RefuseInvalid(file, findings);
    auto toml = Written(file, source.name, findings);
    if (!toml) return conversion;
    configs.push_back({part.pool, ContainerOf(*part.manifest), std::move(*toml)});
  }
  if (configs.empty()) return conversion;
  conversion.text =
      hints.needs_helm ? WriteHelm(manifest, configs, findings) : std::move(configs.front().toml);
  return conversion;
}

}  // namespace patchbay
