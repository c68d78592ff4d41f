// One walk goes through all values of all documents. It collects containers, which are maps with an
// image or arguments, and configurations, as the caller recognizes them. A text that may be YAML
// with a configuration is parsed, and its documents are walked in the same way: the chart of a
// HelmRelease, for example, has ConfigMaps with such texts in its values.
//
// A container has the maps that contain it as its scope. The volumes and the settings of its pod
// are next to the list of containers, or above it in the values of a chart.
//
// Texts of arguments are read with the flags. Annotations are skipped, because kubectl keeps a copy
// of the object in one of them.

#include "convert/manifest.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "convert/command_line.h"
#include "convert/config_maps.h"
#include "convert/convert.h"
#include "convert/readers.h"

namespace patchbay {
namespace {

using Scope = Manifest::Scope;
using Container = Manifest::Container;

constexpr int kMaxTextDepth = 4;  // of texts in texts
constexpr std::size_t kMaxVolumes = 100;
constexpr std::size_t kMaxConfigMapName = 253;  // as in Kubernetes
constexpr std::string_view kNoConfiguration[] = {"annotations", "args", "command", "env"};

std::vector<YamlValue> OneOrItems(const YamlValue& value) {
  return value.IsScalar() ? std::vector<YamlValue>{value} : value.items();
}

/// Returns "repository:tag" of an image, which is a map in the values of charts.
std::string ImageOf(const YamlValue& image) {
  if (!image.IsMap()) return image.text();
  const std::string tag = image.Find("tag").text();
  return image.Find("repository").text() + (tag.empty() ? "" : ":" + tag);
}

/// Returns the volume that a mount of a container refers to by its name.
YamlValue VolumeOf(const YamlValue& mount, const Scope* scope) {
  const std::string name = mount.Find("name").text();
  for (; scope != nullptr; scope = scope->outer.get()) {
    const auto volume = scope->volumes.find(name);
    if (volume != scope->volumes.end()) return volume->second;
  }
  return {};
}

/// Returns the volumes in the values of the chart app-template.
std::vector<YamlValue> ChartVolumes(const Scope* scope) {
  std::vector<YamlValue> volumes;
  for (; scope != nullptr; scope = scope->outer.get()) {
    volumes.insert(volumes.end(), scope->chart_volumes.begin(), scope->chart_volumes.end());
  }
  return volumes;
}

std::string WithoutFinalSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.starts_with('/') ? path : "";
}

/// Returns a mount of a volume of a pod, or in the values of the chart app-template, without its
/// paths in the container.
Mount MountOf(const YamlValue& volume) {
  const YamlValue host = volume.Find("hostPath");
  Mount mount{.host_path = WithoutFinalSlash(host.text() + host.Find("path").text()),
              .identifier = volume.Find("identifier").text()};
  std::vector<YamlValue> maps = {volume.Find("configMap")};
  if (volume.Find("type").text() == "configMap") maps.push_back(volume);
  for (const YamlValue& source : volume.Find("projected").Find("sources").items()) {
    if (maps.size() < kMaxVolumes) maps.push_back(source.Find("configMap"));
  }
  for (const YamlValue& map : maps) {
    const std::size_t size = map.Find("name").text().size();
    if (size > 0 && size <= kMaxConfigMapName) mount.config_maps.push_back(map);
  }
  return mount;
}

/// Adds a mount with the paths in a map.
void AddMount(Mount mount, const YamlValue& paths, const char* key, std::vector<Mount>& mounts) {
  mount.path = WithoutFinalSlash(paths.Find(key).text());
  mount.sub_path = paths.Find("subPath").text() + paths.Find("subPathExpr").text();
  mounts.push_back(std::move(mount));
}

/// Adds the mounts of a volume in the values of a chart, which are at any depth.
void AddChartMounts(const Mount& volume, const YamlValue& value, std::vector<Mount>& mounts) {
  for (const char* key : {"path", "mountPath"}) {
    if (value.Find(key)) AddMount(volume, value, key, mounts);
  }
  for (const YamlEntry& entry : value.entries()) AddChartMounts(volume, entry.value, mounts);
  for (const YamlValue& item : value.items()) AddChartMounts(volume, item, mounts);
}

/// Returns whether a text may be YAML with a configuration. Others are not parsed.
bool MayBeConfiguration(const std::string& text) {
  return text.find(':') != std::string::npos &&
         (text.find("device") != std::string::npos || text.find("group") != std::string::npos);
}

class Walk {
 public:
  Walk(const Recognizer& recognizer, Manifest& manifest)
      : recognizer_(recognizer), manifest_(manifest) {}

  /// Walks a document of the file.
  void Root(const YamlValue& document) {
    const std::string kind = document.Find("kind").text();
    const YamlValue items = document.Find("items");
    if (kind.ends_with("List") && items) {
      for (const YamlValue& item : OneOrItems(items)) Root(item);
      return;
    }
    manifest_.objects.push_back(document);
    object_ = document;
    const bool is_config_map = kind == "ConfigMap";
    config_map_ = is_config_map ? document.Find("metadata").Find("name").text() : "";
    data_ = is_config_map ? document.Find("data") : YamlValue();
    Value(document, nullptr, "", true, 0);
  }

 private:
  void Value(const YamlValue& value, const std::shared_ptr<const Scope>& outer,
             const std::string& key, bool is_root, int depth);
  void Text(const YamlValue& text, const std::shared_ptr<const Scope>& outer,
            const std::string& key, bool is_root, int depth);
  void AddContainer(const std::shared_ptr<const Scope>& scope);
  void AddUnreadable(const SourceLocation& place, std::string message, std::string hint) {
    manifest_.unreadable.push_back(
        {Severity::kError, "", place, std::move(message), std::move(hint)});
  }

  const Recognizer& recognizer_;
  Manifest& manifest_;
  YamlValue object_;
  YamlValue data_;  ///< the texts of the object, if it is a ConfigMap
  std::string config_map_;
};

void Walk::Value(const YamlValue& value, const std::shared_ptr<const Scope>& outer,
                 const std::string& key, bool is_root, int depth) {
  if (value.IsScalar()) {
    Text(value, outer, key, is_root, depth);
    return;
  }
  if (!is_root && value.Find("enabled").AsBool() == false) return;  // in the values of charts
  if (recognizer_.is_configuration(value, is_root)) {
    manifest_.documents.push_back({value, object_, outer, key, config_map_, is_root});
  } else if (const auto misspelled = recognizer_.find_misspelled(value)) {
    const std::string& name = misspelled->key.text();
    const std::string message =
        ToLower(name) == "data"
            ? "`data` is a list; it must be a map, with this list as its `devices`"
            : Format(
                  "this is not a configuration of the plugin, because it has the key `{}`; did "
                  "you mean `{}`?",
                  Truncate(name, 60), misspelled->meant);
    AddUnreadable(misspelled->key.place(), message, "correct the key");
  } else if (value.IsSameAs(object_) && data_.IsList()) {
    AddUnreadable(data_.place(), "`data` is a list; it must be a map of file names and texts",
                  "write `config.yaml: |` in front of the text of the file");
  }
  for (const YamlValue& item : value.items()) Value(item, outer, key, false, depth);
  if (!value.IsMap()) return;
  const auto scope = ScopeOf(value, outer);
  AddContainer(scope);
  const bool is_data = value.IsSameAs(data_);
  for (const YamlEntry& entry : value.entries()) {
    const std::string& name = entry.key.text();
    if (!IsAmong(name, kNoConfiguration)) Value(entry.value, scope, name, is_data, depth);
  }
}

void Walk::AddContainer(const std::shared_ptr<const Scope>& scope) {
  const YamlValue& value = scope->map;
  Container container{.value = value, .object = object_, .scope = scope};
  container.image = ImageOf(value.Find("image"));
  const auto command = OneOrItems(value.Find("command"));
  const auto args = OneOrItems(value.Find("args"));
  if (command.empty() && args.empty() && container.image.empty()) return;
  container.command_size = command.size();
  for (const auto& arguments : {command, args}) {
    for (const YamlValue& argument : arguments) {
      container.arguments.push_back({argument, argument.text()});
    }
  }
  container.runs_program = RunsProgram(container, recognizer_.program);
  manifest_.containers.push_back(std::move(container));
}

/// Errors in a text are only recorded, because it may belong to another program.
void Walk::Text(const YamlValue& text, const std::shared_ptr<const Scope>& outer,
                const std::string& key, bool is_root, int depth) {
  if (depth == kMaxTextDepth || !MayBeConfiguration(text.text())) return;
  Diagnostics of_text;
  Findings findings(of_text);
  const auto documents = ReadYaml(text.text(), PlacesIn(text.text(), text.place(), manifest_.lines),
                                  manifest_.budget, findings);
  if (of_text.HasErrors()) {
    for (Diagnostic& d : of_text.Sorted()) manifest_.unreadable.push_back(std::move(d));
    return;
  }
  const auto found = [&] { return manifest_.documents.size() + manifest_.unreadable.size(); };
  const std::size_t known = found();
  bool seems_to_be_one = text.text().find("devicematch") != std::string::npos;
  for (const YamlValue& document : documents) {
    if (document.IsScalar()) continue;  // no YAML, or a text in a text, which no plugin reads
    if (!document.IsSameAs(documents.front()) && recognizer_.is_configuration(document, is_root)) {
      AddUnreadable(document.place(), "the plugin reads only the first YAML document of a text",
                    "combine the documents");
      continue;
    }
    seems_to_be_one = seems_to_be_one || document.Find("devices");
    Value(document, outer, key, is_root, depth + 1);
  }
  if (found() == known && seems_to_be_one) {
    AddUnreadable(text.place(), "this text is not a configuration of the plugin",
                  "a configuration is a list of `devices` with `groups`, or of `devicematch` "
                  "entries");
  }
}

/// Removes the containers of other programs. The image of the plugin can have any name.
void KeepPlugin(Manifest& manifest, const Recognizer& recognizer) {
  auto& containers = manifest.containers;
  const auto may_be_it = [&](const Container& container) {
    return NamesDevices(container) ||
           std::ranges::any_of(manifest.documents,
                               [&](const auto& document) { return Reads(container, document); });
  };
  const bool has_named = std::ranges::any_of(containers, &Container::runs_program);
  for (Container& container : containers) {  // a device of generic-device-plugin identifies it, too
    if (!has_named || recognizer.program != kForeignPrograms[0]) break;
    container.runs_program |=
        NamesDevices(container) && std::ranges::any_of(container.arguments, [](const auto& word) {
          return word.text.find("groups") != std::string::npos;
        });
  }
  if (has_named) std::erase_if(containers, std::not_fn(&Container::runs_program));
  ConfigMaps config_maps(manifest, manifest.budget);
  for (Container& container : containers) {
    for (Manifest::Argument& argument : container.arguments) {
      argument = config_maps.Expand(container, argument.source);
    }
    KeepArguments(container, recognizer.program);
    for (const Mount& mount : MountsOf(container)) {
      for (const YamlValue& map : mount.config_maps) {
        const std::string name = map.Find("name").text();
        container.config_maps[name] = config_maps.Find(name, container.object) != nullptr;
      }
    }
    if (container.script) continue;
    const auto flag = ConfigFlag(container);
    container.file =
        config_maps.FileAt(container, flag ? flag->text : std::string(recognizer.config_path));
    container.file.place = (flag ? flag->source : container.value).place();
    if (!flag && !container.file.is_mounted) container.file = {};
  }
  if (!has_named && containers.size() > 1) std::erase_if(containers, std::not_fn(may_be_it));
}

}  // namespace

Manifest ReadManifest(const std::string& file, const std::string& text,
                      const Recognizer& recognizer, Findings& findings) {
  Manifest manifest;
  manifest.lines = LinesOf(text);
  const auto place_of = [file](int line, int column) { return SourceLocation{file, line, column}; };
  Walk walk(recognizer, manifest);
  for (const YamlValue& document : ReadYaml(text, place_of, manifest.budget, findings)) {
    walk.Root(document);
  }
  KeepPlugin(manifest, recognizer);
  RemoveUnreadFiles(manifest, findings);
  return manifest;
}

std::shared_ptr<const Scope> ScopeOf(const YamlValue& map, std::shared_ptr<const Scope> outer) {
  const auto scope = std::make_shared<Scope>(Scope{map, std::move(outer)});
  for (const YamlValue& volume : map.Find("volumes").items()) {
    if (scope->volumes.size() == kMaxVolumes) break;
    scope->volumes.emplace(volume.Find("name").text(), volume);
  }
  for (const YamlEntry& volume : map.Find("persistence").entries()) {
    if (volume.value.Find("enabled").AsBool() == false) continue;
    if (scope->chart_volumes.size() < kMaxVolumes) scope->chart_volumes.push_back(volume.value);
  }
  return scope;
}

YamlValue PodSetting(const Container& container, std::string_view key) {
  for (const Scope* scope = container.scope.get(); scope != nullptr; scope = scope->outer.get()) {
    // The chart app-template has options for the pods of a controller, and for all pods.
    const YamlValue& map = scope->map;
    for (const YamlValue& options : {map.Find("pod"), map.Find("defaultPodOptions"), map}) {
      const YamlValue found = options.Find(key);
      if (!found.IsEmpty()) return found;
    }
  }
  return {};
}

std::vector<Mount> MountsOf(const Container& container) {
  std::vector<Mount> mounts;
  for (const YamlValue& mount : container.value.Find("volumeMounts").items()) {
    const YamlValue volume = VolumeOf(mount, container.scope.get());
    if (volume) AddMount(MountOf(volume), mount, "mountPath", mounts);
  }
  for (const YamlValue& volume : ChartVolumes(container.scope.get())) {
    mounts.push_back(MountOf(volume));  // the paths can be the default of the chart
    AddChartMounts(Mount(mounts.back()), volume, mounts);
  }
  return mounts;
}

const Mount* DeepestMount(const std::vector<Mount>& mounts, const std::string& path) {
  const Mount* deepest = nullptr;
  for (const Mount& mount : mounts) {
    const bool contains = !mount.path.empty() && (path + "/").starts_with(mount.path + "/");
    if (contains && (!deepest || mount.path.size() >= deepest->path.size())) deepest = &mount;
  }
  return deepest;
}

std::string NamespaceOf(const YamlValue& object) {
  const YamlValue target = object.Find("spec").Find("targetNamespace");  // of a HelmRelease
  return (target ? target : object.Find("metadata").Find("namespace")).text();
}

bool CanShareNamespace(std::string_view a, std::string_view b) {
  return a.empty() || b.empty() || a == b;
}

}  // namespace patchbay
