// A value in `env` can refer to other variables, so variables are expanded recursively. The depth
// is limited because they can refer to themselves, and the number of entries that are searched
// because the time would grow with the product of variables and references.

#include "convert/config_maps.h"

#include <algorithm>
#include <vector>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

constexpr int kMaxReferences = 8;  // of variables that refer to each other

/// Returns the key of a ConfigMap whose text is at a path in a volume; "" if there is none.
std::string KeyAt(const std::string& path, const YamlValue& config_map) {
  const auto items = config_map.Find("items").items();
  for (const YamlValue& item : items) {
    if (item.Find("path").text() == path) return item.Find("key").text();
  }
  return items.empty() ? path : "";
}

}  // namespace

std::optional<EnvVariable> ConfigMaps::Variable(const Manifest::Container& container,
                                                const std::string& name, int depth) {
  const YamlValue env = container.value.Find("env");
  const EnvVariable unknown{env ? env : container.value, std::nullopt, ""};
  if (entries_ == 0 || depth == kMaxReferences) return unknown;
  const auto sources = container.value.Find("envFrom").items();
  std::vector<YamlValue> entries;
  for (const YamlEntry& entry : env.entries()) {  // in the values of charts
    if (entry.key.text() == name && !entry.value.IsNull()) entries.push_back(entry.value);
  }
  const auto items = env.items();
  for (const YamlValue& item : items) {
    if (item.Find("name").text() == name) entries.push_back(item);
  }
  const std::size_t searched = 1 + items.size() + sources.size();
  entries_ -= std::min(searched, entries_);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (auto variable = FromEnv(container, *entry, depth)) return variable;
  }
  for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
    const std::string prefix = source->Find("prefix").text();
    if (source->IsEmpty() || !name.starts_with(prefix)) continue;
    auto variable = FromConfigMap(*source, source->Find("configMapRef"), name.substr(prefix.size()),
                                  container.object);
    if (variable) return variable;
  }
  return std::nullopt;
}

/// Returns a variable from an entry of `env`; nothing if the entry does not set it.
std::optional<EnvVariable> ConfigMaps::FromEnv(const Manifest::Container& container,
                                               const YamlValue& entry, int depth) {
  const YamlValue value = entry.IsScalar() ? entry : entry.Find("value");
  const YamlValue given = entry.Find("valueFrom");
  // In the values of the chart app-template, a map without either is a `valueFrom`.
  const YamlValue from = value || given || entry.Find("name") ? given : entry;
  if (from.IsNull() || !value.text().empty()) {
    Manifest::Argument expanded = Expand(container, value, depth + 1);
    if (expanded.unknown.empty()) return EnvVariable{entry, std::move(expanded.text), ""};
    return EnvVariable{entry, std::nullopt, std::move(expanded.hint)};
  }
  const YamlValue reference = from.Find("configMapKeyRef");
  auto variable = FromConfigMap(from, reference, reference.Find("key").text(), container.object);
  if (variable || reference.Find("optional").AsBool().value_or(false)) return variable;
  return EnvVariable{from, std::nullopt, ""};
}

/// Returns the variable with the value of a key. Nothing if the ConfigMap does not contain the key.
std::optional<EnvVariable> ConfigMaps::FromConfigMap(const YamlValue& source,
                                                     const YamlValue& reference,
                                                     const std::string& key,
                                                     const YamlValue& object) {
  const std::string config_map = reference.Find("name").text();
  const Texts* data = Find(config_map, object);
  if (data == nullptr) return EnvVariable{source, std::nullopt, HintOnMissing(config_map, object)};
  const auto found = data->find(key);
  if (found == data->end()) return std::nullopt;
  return EnvVariable{source, found->second, ""};
}

Manifest::Argument ConfigMaps::Expand(const Manifest::Container& container,
                                      const YamlValue& argument, int depth) {
  Manifest::Argument expanded{.source = argument};
  std::string_view text = argument.text();
  for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$')) {
    expanded.text += text.substr(0, at);
    text.remove_prefix(at);
    const auto end = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    if (end == std::string_view::npos) {
      expanded.text.push_back('$');
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
      continue;
    }
    const std::string name(text.substr(2, end - 2));
    const auto variable = Variable(container, name, depth);
    if (variable && variable->value && variable->value->size() <= budget_.bytes) {
      expanded.text += *variable->value;
      budget_.bytes -= variable->value->size();
    } else {
      expanded.text += text.substr(0, end + 1);
      expanded.unknown = name;
      if (variable) expanded.hint = variable->hint;
    }
    text.remove_prefix(end + 1);
  }
  expanded.text += text;
  return expanded;
}

const ConfigMaps::Texts* ConfigMaps::Find(const std::string& config_map, const YamlValue& object) {
  if (config_map.empty()) return nullptr;
  const std::string space = NamespaceOf(object);
  const auto [known, is_new] = config_maps_.try_emplace({space, config_map});
  std::optional<Texts>& data = known->second;
  if (!is_new) return data ? &*data : nullptr;
  for (const YamlValue& other : manifest_.objects) {
    const bool is_it = other.Find("kind").text() == "ConfigMap" &&
                       other.Find("metadata").Find("name").text() == config_map &&
                       CanShareNamespace(space, NamespaceOf(other));
    if (!is_it) continue;
    data.emplace();  // the last one applies
    for (const YamlEntry& entry : other.Find("data").entries()) {
      const bool is_text = entry.value.IsScalar() || entry.value.IsNull();
      if (is_text) data->emplace(entry.key.text(), entry.value.text());
    }
  }
  return data ? &*data : nullptr;
}

Manifest::File ConfigMaps::FileAt(const Manifest::Container& container, const std::string& path) {
  Manifest::File file{.path = path};
  const auto mounts = MountsOf(container);
  const Mount* found = DeepestMount(mounts, path);
  file.is_mounted = found != nullptr;
  const Mount mount = found != nullptr ? *found : Mount{.path = path};
  std::string inside = mount.sub_path;
  const std::string below = path.substr(mount.path.size());
  inside += inside.empty() && !below.empty() ? below.substr(1) : below;
  file.key = inside;
  if (!mount.host_path.empty()) {
    file.host_path = mount.host_path + (inside.empty() ? "" : "/") + inside;
  }
  file.hint = Format("pass {} too, behind a line `---`", NameOf(file));
  for (const YamlValue& config_map : mount.config_maps) {
    const std::string key = KeyAt(inside, config_map);
    const std::string name = config_map.Find("name").text();
    const Texts* data = Find(name, container.object);
    const bool is_known = data != nullptr && data->contains(key);
    // Of the sources of a projected volume, one that is not in the input can have the file.
    if (key.empty() || (!is_known && (file.text || (data && !file.config_map.empty())))) continue;
    file.config_map = name;
    file.key = key;
    file.text = is_known ? std::optional(data->at(key)) : std::nullopt;
    file.hint = data == nullptr ? HintOnMissing(name, container.object)
                                : Format("add the key `{}` to the ConfigMap {}", Truncate(key, 100),
                                         Truncate(name, 100));
  }
  const YamlValue of_chart = PodSetting(container, "configMaps").Find(mount.identifier);
  const YamlValue text = of_chart.Find("data").Find(inside);
  if (!mount.identifier.empty() && text.IsScalar()) file.text = text.text();
  return file;
}

std::string NameOf(const Manifest::File& file) {
  if (!file.config_map.empty()) {
    return Format("`{}` in the ConfigMap {}", Truncate(file.key, 100),
                  Truncate(file.config_map, 100));
  }
  return file.host_path.empty() ? Format("the file {}", Truncate(file.path, 100))
                                : Format("the file {} of the host", Truncate(file.host_path, 100));
}

std::string HintOnMissing(const std::string& config_map, const YamlValue& object) {
  if (config_map.empty()) return "";
  if (auto hint = HintOnTemplate(config_map); !hint.empty()) return hint;
  const std::string name = Truncate(config_map, 253);
  const std::string space = Truncate(NamespaceOf(object), 63);
  return Format("pass the ConfigMap {} too (`kubectl get configmap {}{} -o yaml`)", name,
                QuoteShell(name), space.empty() ? "" : " -n " + QuoteShell(space));
}

}  // namespace patchbay
