// The values are written as text, because comments describe what is not carried over. Values of the
// input are written as JSON, which is YAML and cannot leave its line.

#include "convert/helm.h"

#include <algorithm>
#include <vector>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

using Kind = YamlValue::Kind;
using Container = Manifest::Container;

constexpr std::string_view kDevicePlugins = "/var/lib/kubelet/device-plugins";
constexpr std::string_view kReplacedInSpec[] = {"chart", "chartRef", "values", "valuesFrom",
                                                "postRenderers"};

/// Returns the container of the plugin, or null if the input has none.
const Container* ContainerOf(const Manifest& manifest, std::string_view program) {
  const auto& all = manifest.containers;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Container& container) {
    return container.image.find(program) != std::string::npos ||
           container.name.find(program) != std::string::npos;
  });
  if (found != all.end()) return &*found;
  return all.size() == 1 ? &all.front() : nullptr;
}

/// Returns the first value of a key, at any depth, that is of this kind and not empty.
const YamlValue* FindBelow(const YamlValue& value, std::string_view key, Kind kind) {
  const YamlValue* found = value.Find(key);
  if (found != nullptr && found->kind == kind &&
      !(found->text.empty() && found->items.empty() && found->entries.empty())) {
    return found;
  }
  found = nullptr;
  for (const YamlEntry& entry : value.entries) {
    if (found == nullptr) found = FindBelow(entry.value, key, kind);
  }
  for (const YamlValue& item : value.items) {
    if (found == nullptr) found = FindBelow(item, key, kind);
  }
  return found;
}

/// Returns a key with a text of several lines. Line breaks of YAML that are not line breaks of TOML
/// cannot be in a block.
std::string Block(std::string_view key, const std::string& text) {
  std::string block = format("{}: |\n", key);
  for (const std::string_view line : LinesOf(text)) {
    if (!IsPrintable(line)) return format("{}: {}\n", key, QuoteJson(text));
    block += line.empty() ? "\n" : format("  {}\n", line);
  }
  return block.substr(0, block.find_last_not_of('\n') + 2);
}

/// Returns what carries over from the pod of the plugin.
std::string PodValues(const Container& container) {
  std::string values;
  const auto add = [&](std::string_view key, const std::string& json) {
    // The chart does not render templates in its values.
    const bool is_template = json.find("{{") != std::string::npos;
    values += is_template ? format("# Not carried over, because of its template: {}\n", key)
                          : format("{}: {}\n", key, json);
  };
  const std::pair<std::string_view, Kind> keys[] = {{"nodeSelector", Kind::kMap},
                                                    {"affinity", Kind::kMap},
                                                    {"tolerations", Kind::kList},
                                                    {"priorityClassName", Kind::kScalar}};
  for (const auto& [key, kind] : keys) {
    const YamlValue* found = FindBelow(*container.object, key, kind);
    if (found != nullptr) add(key, ToJson(*found));
  }
  if (const YamlValue* resources = container.value->Find("resources")) {
    const YamlValue* requests = resources->Find("requests");
    const YamlValue* limits = resources->Find("limits");
    if (limits != nullptr) {
      values += format("# Not carried over, because Patchbay needs another amount: limits {}\n",
                       Truncate(ToJson(*limits), 200));
    }
    if (requests != nullptr && requests->IsMap()) {
      add("resources", format("{{\"requests\": {}}}", ToJson(*requests)));
    }
  }
  for (const auto& [inside, host] : container.host_paths) {
    if (host.ends_with("/device-plugins") && host != kDevicePlugins) {
      add("kubelet", format("{{\"devicePlugins\": {}}}", QuoteJson(host)));
      break;
    }
  }
  return values;
}

std::string Indented(const std::string& text, std::string_view indent) {
  std::string indented;
  for (const std::string_view line : LinesOf(text)) {
    if (!line.empty()) indented += indent;
    indented.append(line).push_back('\n');
  }
  indented.pop_back();
  return indented;
}

/// Flux would replace ${…} in the configuration.
std::string WithoutSubstitutions(const std::string& text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0) escaped.push_back('$');
    escaped.push_back(text[i]);
  }
  return escaped;
}

/// Returns a HelmRelease with the name and the settings of the given one.
std::string Release(const YamlValue& release, const std::string& values) {
  const auto json = [](const YamlValue* value) { return value == nullptr ? "{}" : ToJson(*value); };
  const YamlValue* metadata = release.Find("metadata");
  const YamlValue* spec = release.Find("spec");
  const YamlValue* space = metadata == nullptr ? nullptr : metadata->Find("namespace");
  std::string text = format(
      "apiVersion: source.toolkit.fluxcd.io/v1\n"
      "kind: GitRepository\n"
      "metadata: {{\"name\": \"patchbay\"{}}}\n"
      "spec:\n"
      "  interval: 24h\n"
      "  url: https://github.com/patchbay/patchbay\n"
      "  ref: {{\"semver\": \"0.x\"}}\n"
      "---\n"
      "apiVersion: {}\n"
      "kind: HelmRelease\n"
      "metadata: {}\n"
      "spec:\n",
      space == nullptr ? "" : ", \"namespace\": " + ToJson(*space),
      json(release.Find("apiVersion")), json(metadata));
  if (spec == nullptr || spec->Find("interval") == nullptr) text += "  interval: 1h\n";
  if (spec != nullptr) {
    for (const YamlEntry& entry : spec->entries) {
      const bool is_replaced = std::find(std::begin(kReplacedInSpec), std::end(kReplacedInSpec),
                                         entry.key.text) != std::end(kReplacedInSpec);
      if (!is_replaced)
        text += format("  {}: {}\n", QuoteJson(entry.key.text), ToJson(entry.value));
    }
  }
  return text +
         "  chart:\n"
         "    spec:\n"
         "      chart: ./deploy/helm/patchbay\n"
         "      sourceRef: {\"kind\": \"GitRepository\", \"name\": \"patchbay\"}\n"
         "  values:\n" +
         Indented(values, "    ");
}

}  // namespace

std::string WriteHelm(const Manifest& manifest, std::string_view program, const std::string& toml) {
  const Container* container = ContainerOf(manifest, program);
  const YamlValue* kind = container == nullptr ? nullptr : container->object->Find("kind");
  const bool is_release = kind != nullptr && kind->text == "HelmRelease";
  const std::string values = (container == nullptr ? "" : PodValues(*container)) +
                             Block("config", is_release ? WithoutSubstitutions(toml) : toml);
  return is_release ? Release(*container->object, values) : values;
}

}  // namespace patchbay
