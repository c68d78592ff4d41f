#include "convert/convert.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "config/load.h"
#include "config/toml_writer.h"
#include "convert/diagnostics.h"
#include "convert/generic_device_plugin.h"
#include "convert/helm.h"
#include "convert/manifest.h"
#include "convert/pools.h"
#include "convert/readers.h"
#include "convert/smarter_device_manager.h"

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
      {{kForeignPrograms[0], "/etc/generic-device-plugin/config.yaml", IsGenericConfiguration,
        FindMisspelledGeneric},
       ConvertGenericDevicePlugin,
       "no configuration of generic-device-plugin found",
       "pass its configuration file, or a manifest with its --device arguments or its ConfigMap; "
       "render a chart first, with `helm template`"},
      {{kForeignPrograms[1], "/root/config/conf.yaml", IsSmarterConfiguration,
        FindMisspelledSmarter},
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

/// Moves the resources that the loader rejects to the parts that are not converted.
void RefuseInvalid(NewFile& file, Findings& findings) {
  if (WriteToml(file).size() > kLargestSource) return;  // reported by Written
  if (ErrorsOf({{}, file.resources, {}}).empty()) return;
  for (NewResource& resource : std::exchange(file.resources, {})) {
    const NewFile alone{{}, {resource}, {}};
    const auto errors = ErrorsOf(alone);
    for (const Diagnostic& error : errors) {
      findings.CannotConvert(resource.matches.front().place, error.message, error.hint);
    }
    if (errors.empty()) {
      file.resources.push_back(std::move(resource));
    } else {
      file.refused.push_back({resource.name, findings.TakeErrors(), WriteToml(alone)});
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

bool IsEmpty(const NewFile& file) { return file.resources.empty() && file.refused.empty(); }

/// Returns the map with the `type` of a container's workload in the values of the chart
/// app-template: an entry of `controllers`, or up to version 1 `controller`, or the values if they
/// have neither. False for other containers.
YamlValue ControllerOf(const Manifest::Container& container) {
  const auto* scope = container.scope.get();
  if (scope == nullptr || container.image.empty()) return {};
  // Up to version 1, the values have one container.
  if (const auto controller = scope->map.Find("controller"); controller.IsMap()) return controller;
  if (!scope->chart_volumes.empty() && !scope->map.Find("controllers")) return scope->map;
  for (; scope->outer && scope->outer->outer; scope = scope->outer.get()) {
    const bool is_controller =
        scope->outer->outer->map.Find("controllers").IsSameAs(scope->outer->map);
    if (is_controller && scope->map.Find("containers")) return scope->map;
  }
  return {};
}

/// Returns the kind in a word such as "statefulset", of an object or in the values of a chart, if
/// it runs on some nodes only; "" otherwise.
std::string_view PartialWorkload(const YamlValue& kind) {
  for (const std::string_view workload : {"Deployment", "StatefulSet", "ReplicaSet",
                                          "ReplicationController", "Pod", "Job", "CronJob"}) {
    if (ToLower(kind.text()) == ToLower(workload)) return workload;
  }
  return "";
}

/// Notes that the plugin does not run on all nodes.
void NoteWorkload(const Manifest::Container& container, NewFile& file, Findings& findings) {
  const YamlValue owners = container.object.Find("metadata").Find("ownerReferences");
  const YamlValue controller = ControllerOf(container);
  const YamlValue type = controller.Find("type");
  const auto add = [&](const YamlValue& cause, std::string_view subject, std::string_view kind) {
    const std::string difference = Format(
        "{} a {}, which runs on some nodes; Patchbay is a DaemonSet, which runs on all nodes",
        subject, kind);
    AddOnce(findings.Differs(cause.place(), difference,
                             "choose the nodes with nodeSelector or affinity"),
            file.notes);
  };
  for (const YamlValue& kind :
       {PodSetting(container, "kind"), PodSetting(container, "type"), type}) {
    const std::string_view workload = PartialWorkload(kind);
    const bool is_of_daemon_set =
        workload == "Pod" && std::ranges::any_of(owners.items(), [](const YamlValue& owner) {
          return owner.Find("kind").text() == "DaemonSet";
        });
    if (!workload.empty() && !is_of_daemon_set) return add(kind, "the plugin is", workload);
  }
  // Charts with the same values can have another default.
  const YamlValue chart = PodSetting(container, "chart");
  const std::string name = chart.text() + chart.Find("spec").Find("chart").text();
  const bool can_be_it = name.empty() || name.ends_with("app-template");
  if (controller && type.IsEmpty() && can_be_it) {
    add(controller, "without a `type`, app-template makes the plugin", "Deployment");
  }
}

/// Notes resources that TOML has for all nodes, although only the pods of some pools have them.
void NotePartialResources(const Converter& converter, const Manifest& manifest,
                          const ConvertHints& hints, NewFile& file, Findings& findings) {
  Diagnostics unused;
  Findings known(unused);
  std::map<std::string, std::size_t> pools_with;
  const std::vector<Pool> pools = PoolsOf(manifest, known);
  for (const Pool& pool : pools) {
    const bool has_all_nodes = NodesOf(pool.part.containers.front()).empty();
    const auto part = converter.convert(pool.part, hints, known).value_or(NewFile());
    for (const NewResource& resource : part.resources) {
      pools_with[resource.name] += has_all_nodes ? pools.size() : 1;
    }
  }
  for (NewResource& resource : file.resources) {
    if (!resource.on_nodes.empty() || pools_with[resource.name] >= pools.size()) continue;
    resource.notes.push_back(findings.Differs(
        resource.matches.front().place,
        Format("only some pods of the plugin have {}; the output has it for all nodes",
               resource.name),
        "use --output helm, which writes a pool for each choice of nodes, or add `on_nodes`"));
  }
}

/// Reports values that seem to be a configuration but are not. They are errors if there is no
/// configuration of the plugin, and otherwise probably belong to other programs.
void ReportUnreadable(const Manifest& manifest, bool has_nothing_else, Findings& findings) {
  for (const Diagnostic& d : manifest.unreadable) {
    if (has_nothing_else) {
      findings.Malformed(d.place, d.message, d.hint);
    } else {
      findings.Assumed(d.place, d.message,
                       "if it belongs to the plugin, fix it; otherwise, pass only the objects of "
                       "the plugin");
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
  if (pools.empty()) pools.push_back({"", manifest});
  bool found = false;
  std::vector<std::pair<const Pool*, NewFile>> files;
  for (const Pool& pool : pools) {
    auto file = converter.convert(pool.part, hints, findings);
    found = found || file;
    if (file) files.emplace_back(&pool, std::move(*file));
  }
  const bool has_content =
      std::ranges::any_of(files, [](const auto& file) { return !IsEmpty(file.second); });
  std::erase_if(files, [&](const auto& file) {
    return IsEmpty(file.second) && (has_content || diagnostics.HasErrors());
  });
  // The unreadable text is probably the file.
  if (found || manifest.unreadable.empty()) ReportMissingFiles(manifest, findings);
  auto missing = findings.TakeErrors();
  if (!found && missing.empty() && manifest.unreadable.empty()) {
    findings.Malformed({source.name, 0, 0}, converter.not_found, converter.hint);
  }
  if (!files.empty() && !missing.empty()) {
    files.front().second.refused.push_back({"a file", std::move(missing), ""});
  }
  ReportUnreadable(manifest, files.empty(), findings);
  std::vector<HelmConfig> configs;
  for (auto& [pool, file] : files) {
    file.notes.insert(file.notes.begin(),
                      Format("Converted from {}: {}. Comments mark differences in meaning.",
                             converter.recognizer.program, source.name));
    auto containers = ContainersOf(pool->part);
    for (const auto& each : containers) NoteWorkload(each, file, findings);
    RefuseInvalid(file, findings);
    if (!hints.needs_helm) NotePartialResources(converter, manifest, hints, file, findings);
    auto toml = Written(file, source.name, findings);
    if (!toml) return conversion;
    configs.push_back({pool->name, std::move(containers), std::move(*toml)});
  }
  if (configs.empty()) return conversion;
  conversion.text =
      hints.needs_helm ? WriteHelm(manifest, configs, findings) : std::move(configs.front().toml);
  return conversion;
}

}  // namespace patchbay
