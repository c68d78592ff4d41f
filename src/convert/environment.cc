#include "convert/environment.h"

#include <vector>

namespace patchbay {

std::optional<EnvVariable> Environments::Find(const Manifest::Container& container,
                                              const std::string& name) {
  const YamlValue env = container.value.Find("env");
  std::vector<YamlValue> entries;
  for (const YamlEntry& entry : env.entries()) {  // in the values of charts
    if (entry.key.text() == name && !entry.value.IsNull()) entries.push_back(entry.value);
  }
  for (const YamlValue& item : env.items()) {
    if (item.Find("name").text() == name) entries.push_back(item);
  }
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (auto variable = FromEnv(*entry, container.object)) return variable;
  }
  const auto sources = container.value.Find("envFrom").items();
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
std::optional<EnvVariable> Environments::FromEnv(const YamlValue& entry, const YamlValue& object) {
  if (entry.IsScalar()) return EnvVariable{entry, entry.text(), ""};
  const YamlValue value = entry.Find("value");
  const YamlValue given = entry.Find("valueFrom");
  // In the values of the chart app-template, a map without either is a `valueFrom`.
  const YamlValue from = value || given || entry.Find("name") ? given : entry;
  if (from.IsNull() || !value.text().empty()) return EnvVariable{entry, value.text(), ""};
  const YamlValue reference = from.Find("configMapKeyRef");
  auto variable = FromConfigMap(from, reference, reference.Find("key").text(), object);
  if (variable || reference.Find("optional").AsBool().value_or(false)) return variable;
  return EnvVariable{from, std::nullopt, ""};
}

/// Returns the variable with the value of a key. Nothing if the ConfigMap does not contain the key.
std::optional<EnvVariable> Environments::FromConfigMap(const YamlValue& source,
                                                       const YamlValue& reference,
                                                       const std::string& key,
                                                       const YamlValue& object) {
  const std::string config_map = reference.Find("name").text();
  const Texts* data = DataOf(config_map, object);
  if (data == nullptr) return EnvVariable{source, std::nullopt, config_map};
  const auto found = data->find(key);
  if (found == data->end()) return std::nullopt;
  return EnvVariable{source, found->second, ""};
}

/// Returns the data of a ConfigMap in the namespace of an object; null if the input has none.
const Environments::Texts* Environments::DataOf(const std::string& config_map,
                                                const YamlValue& object) {
  if (config_map.empty()) return nullptr;
  const YamlValue target = object.Find("spec").Find("targetNamespace");  // of a HelmRelease
  const std::string space = (target ? target : object.Find("metadata").Find("namespace")).text();
  const auto [known, is_new] = config_maps_.try_emplace({space, config_map});
  std::optional<Texts>& data = known->second;
  if (!is_new) return data ? &*data : nullptr;
  for (const YamlValue& other : manifest_.objects) {
    const YamlValue metadata = other.Find("metadata");
    const std::string other_space = metadata.Find("namespace").text();
    const bool is_it = other.Find("kind").text() == "ConfigMap" &&
                       metadata.Find("name").text() == config_map &&
                       (space.empty() || other_space.empty() || space == other_space);
    if (!is_it) continue;
    data.emplace();  // the last one applies
    for (const YamlEntry& entry : other.Find("data").entries()) {
      const bool is_text = entry.value.IsScalar() || entry.value.IsNull();
      if (is_text) data->emplace(entry.key.text(), entry.value.text());
    }
  }
  return data ? &*data : nullptr;
}

}  // namespace patchbay
