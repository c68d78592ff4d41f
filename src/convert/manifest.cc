#include "convert/manifest.h"

#include <map>
#include <span>
#include <utility>

namespace patchbay {
namespace {

std::string TextOf(const YamlValue* value) {
  return value != nullptr && value->IsScalar() ? value->text : "";
}

std::span<const YamlValue> ItemsOf(const YamlValue* value) {
  return value == nullptr ? std::span<const YamlValue>() : value->items;
}

/// Maps the name of a volume to the name of its ConfigMap.
using ConfigMapVolumes = std::map<std::string, std::string>;

ConfigMapVolumes VolumesOf(const YamlValue& pod) {
  ConfigMapVolumes volumes;
  for (const YamlValue& volume : ItemsOf(pod.Find("volumes"))) {
    const YamlValue* config_map = volume.Find("configMap");
    if (config_map != nullptr) {
      volumes[TextOf(volume.Find("name"))] = TextOf(config_map->Find("name"));
    }
  }
  return volumes;
}

/// Adds every map with an image or arguments, at any depth: in a DaemonSet, a pod, or the values of
/// a chart. The map that contains the list of containers also contains the volumes of the pod.
void FindContainers(const YamlValue& value, const ConfigMapVolumes& volumes,
                    std::vector<Manifest::Container>& containers) {
  Manifest::Container container{{}, TextOf(value.Find("name")), TextOf(value.Find("image")), {}, 0};
  const auto command = ItemsOf(value.Find("command"));
  container.command_size = command.size();
  for (const auto items : {command, ItemsOf(value.Find("args"))}) {
    container.arguments.insert(container.arguments.end(), items.begin(), items.end());
  }
  if (!container.arguments.empty() || !container.image.empty()) {
    for (const YamlValue& mount : ItemsOf(value.Find("volumeMounts"))) {
      const auto volume = volumes.find(TextOf(mount.Find("name")));
      if (volume != volumes.end()) container.config_maps.insert(volume->second);
    }
    containers.push_back(std::move(container));
  }
  const bool is_pod = value.Find("volumes") != nullptr;
  const ConfigMapVolumes inner = is_pod ? VolumesOf(value) : ConfigMapVolumes();
  for (const YamlEntry& entry : value.entries) {
    FindContainers(entry.value, is_pod ? inner : volumes, containers);
  }
  for (const YamlValue& item : value.items) FindContainers(item, volumes, containers);
}

/// A text in the data of a ConfigMap, and the name of the ConfigMap.
struct ConfigMapText {
  const YamlValue* text;
  std::string config_map;
};

/// Adds the data of a ConfigMap, or of all ConfigMaps in a List.
void FindData(const YamlValue& value, std::vector<ConfigMapText>& texts) {
  if (TextOf(value.Find("kind")) == "ConfigMap") {
    const YamlValue* metadata = value.Find("metadata");
    const std::string name = metadata == nullptr ? "" : TextOf(metadata->Find("name"));
    const YamlValue* data = value.Find("data");
    if (data == nullptr) return;
    for (const YamlEntry& entry : data->entries) {
      if (entry.value.IsScalar()) texts.push_back({&entry.value, name});
    }
    return;
  }
  for (const YamlValue& item : ItemsOf(value.Find("items"))) FindData(item, texts);
}

/// Reads the documents in a text of a ConfigMap. Errors in it are only recorded, because it may
/// belong to another program, and only if it contains the word "device".
void ReadData(const ConfigMapText& data, Manifest& manifest) {
  Diagnostics of_text;
  Findings findings(of_text);
  auto documents = ReadYaml(data.text->text, PlacesIn(*data.text, manifest.lines), findings);
  if (!of_text.HasErrors()) {
    for (YamlValue& document : documents) {
      manifest.documents.push_back({std::move(document), data.config_map});
    }
  } else if (data.text->text.find("device") != std::string::npos) {
    for (Diagnostic& d : of_text.Sorted()) manifest.unreadable.push_back(std::move(d));
  }
}

}  // namespace

Manifest ReadManifest(const std::string& file, const std::string& text, Findings& findings) {
  Manifest manifest;
  manifest.lines = LinesOf(text);
  const auto documents = ReadYaml(
      text,
      [&](int line, int column) {
        return SourceLocation{file, line, column};
      },
      findings);
  std::vector<ConfigMapText> texts;
  for (const YamlValue& document : documents) {
    FindContainers(document, {}, manifest.containers);
    FindData(document, texts);
    manifest.documents.push_back({document, ""});
  }
  for (const ConfigMapText& data : texts) ReadData(data, manifest);
  return manifest;
}

}  // namespace patchbay
