#include "convert/manifest.h"

#include <utility>

namespace patchbay {
namespace {

std::string TextOf(const YamlValue* value) {
  return value != nullptr && value->IsScalar() ? value->text : "";
}

/// Every map that has arguments, wherever it stands: in a DaemonSet, a pod, the values of a chart.
void FindContainers(const YamlValue& value, std::vector<Manifest::Container>& containers) {
  Manifest::Container container{{}, TextOf(value.Find("image")), value.place};
  for (const std::string_view key : {"command", "args"}) {
    const YamlValue* list = value.Find(key);
    if (list == nullptr || !list->IsList()) continue;
    container.arguments.insert(container.arguments.end(), list->items.begin(), list->items.end());
  }
  if (!container.arguments.empty()) containers.push_back(std::move(container));
  for (const YamlEntry& entry : value.entries) FindContainers(entry.value, containers);
  for (const YamlValue& item : value.items) FindContainers(item, containers);
}

/// The data of ConfigMaps; those of a List too.
void FindData(const YamlValue& value, std::vector<const YamlValue*>& texts) {
  if (TextOf(value.Find("kind")) == "ConfigMap") {
    const YamlValue* data = value.Find("data");
    if (data == nullptr) return;
    for (const YamlEntry& entry : data->entries) {
      if (entry.value.IsScalar()) texts.push_back(&entry.value);
    }
    return;
  }
  if (const YamlValue* items = value.Find("items"); items != nullptr) {
    for (const YamlValue& item : items->items) FindData(item, texts);
  }
}

}  // namespace

Manifest ReadManifest(const std::string& file, const std::string& text, Findings& findings) {
  Manifest manifest;
  manifest.text = text;
  manifest.documents = ReadYaml(
      text,
      [&](int line, int column) {
        return Place{file, line, column};
      },
      findings);
  std::vector<const YamlValue*> texts;
  for (const YamlValue& document : manifest.documents) {
    FindContainers(document, manifest.containers);
    FindData(document, texts);
  }
  std::vector<YamlValue> inner;
  for (const YamlValue* scalar : texts) {
    Diagnostics of_text;
    Findings findings_of_text(of_text);
    auto documents = ReadYaml(scalar->text, PlacesIn(*scalar, text), findings_of_text);
    // What is in a ConfigMap need not be ours; a list or map with a mistake in it may be.
    if (of_text.HasErrors() && scalar->text.find("device") == std::string::npos) continue;
    for (const Diagnostic& d : of_text.Sorted()) findings.Malformed(d.place, d.message, d.hint);
    std::move(documents.begin(), documents.end(), std::back_inserter(inner));
  }
  std::move(inner.begin(), inner.end(), std::back_inserter(manifest.documents));
  return manifest;
}

std::vector<YamlValue> FlagValues(const Manifest::Container& container, std::string_view flag) {
  std::vector<YamlValue> values;
  const auto& arguments = container.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view text = arguments[i].text;
    if (!arguments[i].IsScalar() || !text.starts_with('-')) continue;
    text.remove_prefix(text.starts_with("--") ? 2 : 1);
    if (text == flag) {
      if (i + 1 < arguments.size()) values.push_back(arguments[++i]);
    } else if (text.starts_with(flag) && text.substr(flag.size()).starts_with('=')) {
      YamlValue value = arguments[i];
      value.text = std::string(text.substr(flag.size() + 1));
      values.push_back(std::move(value));
    }
  }
  return values;
}

}  // namespace patchbay
