// The values are written as text, because comments describe what is not carried over. Values of the
// input are written as JSON, which is YAML and cannot leave its line.

#include "convert/helm.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/format.h"
#include "config/reporter.h"

namespace patchbay {
namespace {

using Container = Manifest::Container;

constexpr std::string_view kDevicePlugins = "/var/lib/kubelet/device-plugins";

/// A section that does not carry over, and what to do instead.
struct Section {
  std::string_view key;
  std::string_view instead;
};
constexpr Section kSectionsOfValues[] = {
    {"ingress", "Patchbay needs none"},
    {"networkpolicies", "write one for Patchbay, or do without"},
    {"rbac", "Patchbay needs no permissions in the cluster"},
    {"route", "Patchbay needs none"},
    {"secrets", "Patchbay needs none"},
    {"service", "Patchbay needs none"},
    {"serviceMonitor", "set podMonitor.enabled: true"}};
constexpr Section kSectionsOfSpec[] = {
    {"valuesFrom", "write the values that Patchbay needs in `values`"},
    {"postRenderers", "write new ones for the objects of Patchbay"}};
constexpr std::string_view kReplacedInSpec[] = {"chart", "chartRef", "values", "valuesFrom",
                                                "postRenderers"};

bool IsRelease(const YamlValue& object) { return object.Find("kind").text() == "HelmRelease"; }

/// Returns the values of the chart in a HelmRelease, or else the object.
YamlValue ValuesIn(const YamlValue& object) {
  return IsRelease(object) ? object.Find("spec").Find("values") : object;
}

/// Returns the first value of a key that is not empty, at any depth.
YamlValue FindBelow(const YamlValue& value, std::string_view key) {
  YamlValue found = value.Find(key);
  const auto search = [&](const YamlValue& part) {
    if (found.IsEmpty()) found = FindBelow(part, key);
  };
  for (const YamlEntry& entry : value.entries()) search(entry.value);
  for (const YamlValue& item : value.items()) search(item);
  return found;
}

/// Returns a key with a text of several lines. Line breaks of YAML that are not line breaks of TOML
/// cannot be in a block.
std::string Block(std::string_view key, const std::string& text) {
  std::string block = Format("{}: |\n", key);
  for (const std::string_view line : LinesOf(text)) {
    if (!IsPrintable(line)) return Format("{}: {}\n", key, QuoteJson(text));
    block += line.empty() ? "\n" : Format("  {}\n", line);
  }
  return block.substr(0, block.find_last_not_of('\n') + 2);
}

/// Adds a value from a place in the input. The chart does not render templates in its values.
void AddValue(std::string_view key, const std::string& json, const SourceLocation& place,
              Findings& findings, std::string& values) {
  if (json.find("{{") == std::string::npos) {
    values += Format("{}: {}\n", key, json);
    return;
  }
  findings.Ignored(place, Format("not carried over, because of its template: {}", key),
                   "replace the template with its value");
  values += Format("# Not carried over, because of its template: {}\n", key);
}

/// Returns a setting of the pod of a container as JSON, or "" if it has none. Of `resources`, these
/// are the requests without memory, because Patchbay needs another amount.
std::string SettingOf(const Container& container, std::string_view key) {
  const YamlValue value = PodSetting(container, key);
  if (key != "resources") return value.IsEmpty() ? "" : ToJson(value);
  std::string requests;
  for (const YamlEntry& entry : value.Find("requests").entries()) {
    if (entry.key.text() == "memory") continue;
    requests += Format("{}{}: {}", requests.empty() ? "" : ", ", QuoteJson(entry.key.text()),
                       ToJson(entry.value));
  }
  return requests.empty() ? "" : Format("{{\"requests\": {{{}}}}}", requests);
}

/// Adds a setting of the first pod, and reports the others that differ. If the pod is not known, a
/// setting in the object can be of another program.
void AddSetting(std::string_view key, const std::vector<Container>& containers, Findings& findings,
                std::string& values) {
  const Container& first = containers.front();
  const std::string json = SettingOf(first, key);
  const bool is_unknown = first.image.empty() && first.arguments.empty() && key != "resources";
  if (!json.empty()) {
    AddValue(key, json, PodSetting(first, key).place(), findings, values);
  } else if (key == "tolerations" && PodSetting(first, "containers")) {
    values += "tolerations: []\n";  // the default of the chart tolerates all taints
  } else if (const auto found = FindBelow(first.object, key); is_unknown && !found.IsEmpty()) {
    findings.Assumed(found.place(),
                     Format("not carried over, because it may be of another program: {}", key),
                     "add it to the output if it is of the plugin");
  }
  for (const Container& other : containers) {
    if (SettingOf(other, key) == json) continue;
    findings.Assumed(other.value.place(),
                     Format("the pods of the plugin have different {}; the output has those of {}",
                            key, Where(first.value.place())),
                     "change the output if it does not suit both");
  }
}

/// Returns what carries over from the containers of a pool, or of the release, and their pods.
std::string PodValues(const std::vector<Container>& containers, Findings& findings) {
  std::string values;
  for (const char* key : {"nodeSelector", "affinity", "tolerations", "resources"}) {
    AddSetting(key, containers, findings, values);
  }
  const Container& container = containers.front();
  const YamlValue resources = PodSetting(container, "resources");
  const YamlValue memory = resources.Find("requests").Find("memory");
  for (const auto& [name, value] :
       {std::pair("limits", resources.Find("limits")), {"memory", memory}}) {
    if (!value) continue;
    values += Format("# Not carried over, because Patchbay needs another amount: {} {}\n", name,
                     Truncate(ToJson(value), 200));
  }
  for (const Mount& mount : MountsOf(container)) {
    const std::string& host = mount.host_path;
    if (host.ends_with("/device-plugins") && host != kDevicePlugins) {
      AddValue("kubelet", Format("{{\"devicePlugins\": {}}}", QuoteJson(host)),
               container.value.place(), findings, values);
      break;
    }
  }
  return values;
}

/// Reports the sections of a map that do not carry over, and returns comments about them.
std::string NotCarriedOver(const YamlValue& map, std::span<const Section> sections,
                           Findings& findings) {
  std::string comments;
  for (const Section& section : sections) {
    const YamlValue found = map.Find(section.key);
    if (found.IsEmpty() || found.IsScalar() || found.Find("enabled").text() == "false") continue;
    findings.Ignored(found.place(), Format("not carried over: {}", section.key),
                     std::string(section.instead));
    comments += Format("# Not carried over: {}; {}\n", section.key, section.instead);
  }
  return comments;
}

/// Reports the objects other than the release, which the output does not contain.
void ReportOtherObjects(const Manifest& manifest, const std::vector<HelmConfig>& configs,
                        const YamlValue& release, Findings& findings) {
  for (const YamlValue& object : manifest.objects) {
    const YamlValue kind = object.Find("kind");
    if (object.IsSameAs(release) || !kind.IsScalar()) continue;
    const YamlValue name = object.Find("metadata").Find("name");
    const auto is_in_it = [&](const auto& part) { return part.object.IsSameAs(object); };
    const bool is_converted = std::ranges::any_of(manifest.documents, is_in_it) ||
                              std::ranges::any_of(configs, [&](const HelmConfig& config) {
                                return std::ranges::any_of(config.containers, is_in_it);
                              });
    findings.Ignored(
        object.place(),
        Format("{}{} is not part of the output", Truncate(kind.text(), 60),
               name ? " " + Truncate(name.text(), 100) : ""),
        is_converted ? "its configuration is; remove it if nothing else uses it" : "keep it");
  }
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
std::string Release(const YamlValue& release, const std::string& values, Findings& findings) {
  const auto json = [](const YamlValue& value) { return value ? ToJson(value) : "{}"; };
  const YamlValue metadata = release.Find("metadata");
  const YamlValue spec = release.Find("spec");
  const YamlValue space = metadata.Find("namespace");
  std::string text = Format(
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
      space ? ", \"namespace\": " + ToJson(space) : "", json(release.Find("apiVersion")),
      json(metadata));
  if (const auto comments = NotCarriedOver(spec, kSectionsOfSpec, findings); !comments.empty()) {
    text += Indented(comments, "  ");
  }
  if (!spec.Find("interval")) text += "  interval: 1h\n";
  for (const YamlEntry& entry : spec.entries()) {
    if (IsAmong(entry.key.text(), kReplacedInSpec)) continue;
    text += Format("  {}: {}\n", QuoteJson(entry.key.text()), ToJson(entry.value));
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

std::vector<Container> ContainersOf(const Manifest& manifest) {
  if (!manifest.containers.empty()) return manifest.containers;
  if (manifest.documents.empty()) return std::vector<Container>(1);
  const Manifest::Document& document = manifest.documents.front();
  Container container{.value = document.value,
                      .object = document.object,
                      .scope = ScopeOf(document.value, document.scope)};
  // In the values of the chart app-template, the only controller is that of the plugin.
  for (const char* key : {"controllers", "containers"}) {
    const auto entries = PodSetting(container, key).entries();
    if (entries.size() == 1) container.scope = ScopeOf(entries.front().value, container.scope);
  }
  return {container};
}

std::string WriteHelm(const Manifest& manifest, const std::vector<HelmConfig>& configs,
                      Findings& findings) {
  const Container& first = configs.front().containers.front();
  const bool is_release = IsRelease(first.object);
  std::string values;
  std::vector<YamlValue> objects;
  std::vector<Container> all;
  for (const HelmConfig& config : configs) {
    all.insert(all.end(), config.containers.begin(), config.containers.end());
  }
  for (const Container& container : all) {
    const YamlValue& object = container.object;
    const auto is_it = [&](const YamlValue& other) { return other.IsSameAs(object); };
    if (std::ranges::any_of(objects, is_it)) continue;
    objects.push_back(object);
    values += NotCarriedOver(ValuesIn(object), kSectionsOfValues, findings);
  }
  AddSetting("priorityClassName", all, findings, values);
  const bool has_pools = !configs.front().pool.empty();
  if (has_pools) values += "pools:\n";
  for (const HelmConfig& config : configs) {
    const std::string own =
        PodValues(config.containers, findings) +
        Block("config", is_release ? WithoutSubstitutions(config.toml) : config.toml);
    values += has_pools ? Format("  {}:\n{}", QuoteJson(config.pool), Indented(own, "    ")) : own;
  }
  if (!is_release) return values;
  ReportOtherObjects(manifest, configs, first.object, findings);
  return Release(first.object, values, findings);
}

}  // namespace patchbay
