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
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"

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

/// Returns the variables with a value in the `env` of a container: a list, or a map in the values
/// of charts.
std::map<std::string, std::string> VariablesOf(const YamlValue& container) {
  std::map<std::string, std::string> variables;
  const auto add = [&](const std::string& name, const YamlValue& value) {
    const YamlValue text = value.IsMap() ? value.Find("value") : value;
    if (text.IsScalar()) variables[name] = text.text();
  };
  const YamlValue env = container.Find("env");
  for (const YamlEntry& entry : env.entries()) add(entry.key.text(), entry.value);
  for (const YamlValue& item : env.items()) add(item.Find("name").text(), item);
  return variables;
}

/// Replaces $(NAME) in an argument as Kubernetes does: a variable without a value remains, and $$
/// is a dollar sign.
std::string Expanded(const std::map<std::string, std::string>& variables, std::string_view text,
                     std::size_t& budget) {
  std::string expanded;
  for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$')) {
    expanded += text.substr(0, at);
    text.remove_prefix(at);
    const auto end = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    const auto known = end == std::string_view::npos
                           ? variables.end()
                           : variables.find(std::string(text.substr(2, end - 2)));
    if (known != variables.end() && known->second.size() <= budget) {
      expanded += known->second;
      budget -= known->second.size();
      text.remove_prefix(end + 1);
    } else {
      expanded.push_back('$');
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
    }
  }
  return expanded.append(text);
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

std::set<std::string> ConfigMapsOf(const Container& container) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && name.size() <= kMaxConfigMapName) names.insert(name);
  };
  for (const YamlValue& mount : container.value.Find("volumeMounts").items()) {
    add(VolumeOf(mount, container.scope.get()).Find("configMap").Find("name").text());
  }
  for (const YamlValue& volume : ChartVolumes(container.scope.get())) {
    if (volume.Find("type").text() == "configMap") add(volume.Find("name").text());
  }
  return names;
}

/// Adds the paths of the mounts of a volume in the values of a chart, which are at any depth.
void AddMountPaths(const YamlValue& value, std::vector<std::string>& paths) {
  for (const char* key : {"path", "mountPath"}) paths.push_back(value.Find(key).text());
  for (const YamlEntry& entry : value.entries()) AddMountPaths(entry.value, paths);
  for (const YamlValue& item : value.items()) AddMountPaths(item, paths);
}

/// Returns whether a text may be YAML with a configuration. Others are not parsed.
bool MayBeConfiguration(const std::string& text) {
  return text.find(':') != std::string::npos &&
         (text.find("device") != std::string::npos || text.find("group") != std::string::npos);
}

bool RunsProgram(const Container& container, std::string_view program) {
  const auto is_it = [&](std::string_view text) {
    return text.find(program) != std::string_view::npos;
  };
  // After tini or a shell, the program is not the first word.
  const std::size_t words = std::max<std::size_t>(container.command_size, 1);
  const auto command =
      std::span(container.arguments).first(std::min(words, container.arguments.size()));
  return is_it(container.name) || is_it(container.image) ||
         std::any_of(command.begin(), command.end(), [&](const Manifest::Argument& word) {
           return !word.text.starts_with('-') && is_it(word.text);
         });
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
  if (recognizer_.is_configuration(value, is_root)) {
    manifest_.documents.push_back({value, object_, key, config_map_, is_root});
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
  container.name = value.Find("name").text();
  const auto variables = VariablesOf(value);
  container.command_size = command.size();
  for (const auto& arguments : {command, args}) {
    for (const YamlValue& argument : arguments) {
      container.arguments.push_back(
          {argument, Expanded(variables, argument.text(), manifest_.budget.bytes)});
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
    seems_to_be_one = seems_to_be_one || document.Find("devices");
    Value(document, outer, key, is_root, depth + 1);
  }
  if (found() == known && seems_to_be_one) {
    AddUnreadable(text.place(), "this text is not a configuration of the plugin",
                  "a configuration is a list of `devices` with `groups`, or of `devicematch` "
                  "entries");
  }
}

bool Mounts(const Container& container, const Manifest::Document& document) {
  return container.config_maps.contains(document.config_map);
}

/// Removes the containers of other programs. The image of the plugin can have any name.
void KeepPlugin(Manifest& manifest) {
  auto& containers = manifest.containers;
  const auto is_named = [](const Container& container) { return container.runs_program; };
  const auto may_be_it = [&](const Container& container) {
    return NamesDevices(container) ||
           std::any_of(manifest.documents.begin(), manifest.documents.end(),
                       [&](const auto& document) { return Mounts(container, document); });
  };
  const bool has_named = std::any_of(containers.begin(), containers.end(), is_named);
  if (has_named) std::erase_if(containers, std::not_fn(is_named));
  for (Container& container : containers) container.config_maps = ConfigMapsOf(container);
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
  KeepPlugin(manifest);
  return manifest;
}

bool NamesDevices(const Container& container) {
  return std::any_of(container.arguments.begin(), container.arguments.end(),
                     [](const Manifest::Argument& argument) {
                       const std::string flag = argument.text.substr(0, argument.text.find('='));
                       return flag == "--device" || flag == "-device";
                     });
}

std::shared_ptr<const Scope> ScopeOf(const YamlValue& map, std::shared_ptr<const Scope> outer) {
  const auto scope = std::make_shared<Scope>(Scope{map, std::move(outer)});
  for (const YamlValue& volume : map.Find("volumes").items()) {
    if (scope->volumes.size() == kMaxVolumes) break;
    scope->volumes.emplace(volume.Find("name").text(), volume);
  }
  for (const YamlEntry& volume : map.Find("persistence").entries()) {
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

std::map<std::string, std::string> HostPathsOf(const Container& container) {
  std::map<std::string, std::string> host_paths;
  const auto add = [&](std::string inside, std::string host) {
    if (!inside.starts_with('/') || !host.starts_with('/')) return;
    for (std::string* path : {&inside, &host}) {
      while (path->size() > 1 && path->ends_with('/')) path->pop_back();
    }
    host_paths.emplace(std::move(inside), std::move(host));
  };
  for (const YamlValue& mount : container.value.Find("volumeMounts").items()) {
    add(mount.Find("mountPath").text(),
        VolumeOf(mount, container.scope.get()).Find("hostPath").Find("path").text());
  }
  for (const YamlValue& volume : ChartVolumes(container.scope.get())) {
    std::vector<std::string> paths;
    AddMountPaths(volume, paths);
    for (std::string& path : paths) add(std::move(path), volume.Find("hostPath").text());
  }
  return host_paths;
}

std::vector<const Container*> ReadersOf(const Manifest::Document& document,
                                        const Manifest& manifest) {
  std::vector<const Container*> mounting, named, inside;
  for (const Container& container : manifest.containers) {
    if (Mounts(container, document)) mounting.push_back(&container);
    if (container.runs_program) named.push_back(&container);
  }
  const auto& readers = mounting.empty() ? named : mounting;
  // The values of a chart are read by its own container.
  std::copy_if(readers.begin(), readers.end(), std::back_inserter(inside),
               [&](const Container* reader) { return reader->object.IsSameAs(document.object); });
  return inside.empty() ? readers : inside;
}

}  // namespace patchbay
