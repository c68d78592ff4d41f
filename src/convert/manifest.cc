// One walk goes through all values of all documents. It collects containers, which are maps with an
// image or arguments, and configurations, as the caller recognizes them. A text that may be YAML
// with a configuration is parsed, and its documents are walked in the same way: the chart of a
// HelmRelease, for example, has ConfigMaps with such texts in its values.
//
// On the way down, the walk remembers the volumes and the nodes of the pod, which are next to the
// list of its containers, or above it in the values of a chart.
//
// Texts of arguments are read with the flags. Annotations are skipped, because kubectl keeps a copy
// of the object in one of them.

#include "convert/manifest.h"

#include <linux/limits.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

constexpr int kMaxTextDepth = 4;  // of texts in texts
constexpr std::size_t kMaxVolumes = 100;
constexpr std::string_view kPodKeys[] = {
    "affinity", "defaultPodOptions", "nodeSelector", "persistence",
    "pod",      "tolerations",       "volumes"};
constexpr std::string_view kNoConfiguration[] = {"annotations", "args", "command", "env"};

std::string TextOf(const YamlValue* value) {
  return value != nullptr && value->IsScalar() ? value->text : "";
}

std::string TextOf(const YamlValue& map, std::string_view key) { return TextOf(map.Find(key)); }

std::span<const YamlValue> ItemsOf(const YamlValue* value) {
  if (value == nullptr) return {};
  if (value->IsScalar()) return {value, 1};
  return value->items;
}

/// Returns "repository:tag" of an image, which is a map in the values of charts.
std::string ImageOf(const YamlValue* image) {
  if (image == nullptr || !image->IsMap()) return TextOf(image);
  const std::string tag = TextOf(*image, "tag");
  return TextOf(*image, "repository") + (tag.empty() ? "" : ":" + tag);
}

/// Adds the paths of the mounts of a volume in the values of a chart, which are at any depth.
void AddMountPaths(const YamlValue& value, std::vector<std::string>& paths) {
  for (const char* key : {"path", "mountPath"}) {
    if (auto path = TextOf(value, key); !path.empty()) paths.push_back(std::move(path));
  }
  for (const YamlEntry& entry : value.entries) AddMountPaths(entry.value, paths);
  for (const YamlValue& item : value.items) AddMountPaths(item, paths);
}

/// The volumes and the nodes of a pod.
struct Pod {
  using Names = std::map<std::string, std::string>;
  Names config_maps = {};   ///< volume → name of the ConfigMap
  Names host_volumes = {};  ///< volume → path on the host
  Names host_paths = {};    ///< path in all containers → path on the host
  const YamlValue* node_selector = nullptr;
  const YamlValue* affinity = nullptr;
  const YamlValue* tolerations = nullptr;

  void Add(const YamlValue& value);
  void AddNodes(const YamlValue& value);
};

void Insert(Pod::Names& names, const std::string& name, std::string value) {
  const bool is_usable = !value.empty() && name.size() < PATH_MAX && value.size() < PATH_MAX;
  if (is_usable && names.size() < kMaxVolumes) names[name] = std::move(value);
}

/// Returns the size of names in memory.
std::size_t SizeOf(const Pod::Names& names) {
  std::size_t size = 0;
  for (const auto& [name, value] : names) {
    size += sizeof(Pod::Names::value_type) + name.size() + value.size();
  }
  return size;
}

/// Adds a mount of a directory of the host. Both paths are absolute, without a final slash.
void InsertMount(Pod::Names& mounts, std::string inside, std::string host) {
  if (!inside.starts_with('/') || !host.starts_with('/')) return;
  for (std::string* path : {&inside, &host}) {
    while (path->size() > 1 && path->ends_with('/')) path->pop_back();
  }
  Insert(mounts, inside, std::move(host));
}

void Pod::Add(const YamlValue& value) {
  for (const YamlValue& volume : ItemsOf(value.Find("volumes"))) {
    const std::string name = TextOf(volume, "name");
    const YamlValue* config_map = volume.Find("configMap");
    const YamlValue* host = volume.Find("hostPath");
    if (config_map != nullptr) Insert(config_maps, name, TextOf(*config_map, "name"));
    if (host != nullptr) Insert(host_volumes, name, TextOf(*host, "path"));
  }
  // The chart app-template.
  if (const YamlValue* volumes = value.Find("persistence")) {
    for (const YamlEntry& volume : volumes->entries) {
      std::vector<std::string> paths;
      AddMountPaths(volume.value, paths);
      for (const std::string& path : paths) {
        InsertMount(host_paths, path, TextOf(volume.value, "hostPath"));
      }
    }
  }
  AddNodes(value);
  // The chart app-template: options of all pods, and of a controller.
  for (const char* key : {"defaultPodOptions", "pod"}) {
    if (const YamlValue* options = value.Find(key)) AddNodes(*options);
  }
}

void Pod::AddNodes(const YamlValue& value) {
  const std::pair<std::string_view, const YamlValue*&> keys[] = {
      {"nodeSelector", node_selector}, {"affinity", affinity}, {"tolerations", tolerations}};
  for (const auto& [key, member] : keys) {
    const YamlValue* found = value.Find(key);
    if (found != nullptr && !(found->entries.empty() && found->items.empty())) member = found;
  }
}

bool HasPod(const YamlValue& value) {
  return std::any_of(value.entries.begin(), value.entries.end(),
                     [](const YamlEntry& entry) { return IsAmong(entry.key.text, kPodKeys); });
}

/// The variables in the `env` of a container: a list, or a map in the values of charts.
using Variables = std::map<std::string_view, std::string_view>;

Variables VariablesOf(const YamlValue& container) {
  Variables variables;
  const YamlValue* env = container.Find("env");
  if (env == nullptr) return variables;
  const auto add = [&](std::string_view name, const YamlValue* value) {
    if (value != nullptr && value->IsMap()) value = value->Find("value");
    if (value != nullptr && value->IsScalar()) variables[name] = value->text;
  };
  for (const YamlEntry& entry : env->entries) add(entry.key.text, &entry.value);
  for (const YamlValue& item : env->items) {
    const YamlValue* name = item.Find("name");
    if (name != nullptr) add(name->text, &item);
  }
  return variables;
}

/// Replaces $(NAME) in an argument as Kubernetes does: a variable without a value remains, and $$
/// is a dollar sign.
std::string Expanded(const Variables& variables, std::string_view text, std::size_t& budget) {
  std::string expanded;
  for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$')) {
    expanded += text.substr(0, at);
    text.remove_prefix(at);
    const auto end = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    const auto known =
        end == std::string_view::npos ? variables.end() : variables.find(text.substr(2, end - 2));
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

/// Returns whether a text may be YAML with a configuration. Others are not parsed.
bool MayBeConfiguration(const std::string& text) {
  static constexpr std::string_view kDevices[] = {"devices"};
  if (text.find(':') == std::string::npos) return false;
  if (text.find("device") != std::string::npos) return true;
  const auto lines = LinesOf(text);
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    const bool is_key = line.ends_with(':') && line.size() <= 10;
    return is_key && !Nearest(line.substr(0, line.size() - 1), kDevices).empty();
  });
}

bool RunsProgram(const Manifest::Container& container, std::string_view program) {
  const auto is_it = [&](std::string_view text) {
    return text.find(program) != std::string_view::npos;
  };
  // After tini or a shell, the program is not the first word.
  const std::size_t words = std::max<std::size_t>(container.command_size, 1);
  const auto command =
      std::span(container.arguments).first(std::min(words, container.arguments.size()));
  return is_it(container.name) || is_it(container.image) ||
         std::any_of(command.begin(), command.end(), [&](const YamlValue& word) {
           return !word.text.starts_with('-') && is_it(word.text);
         });
}

class Walk {
 public:
  Walk(const Recognizer& recognizer, Manifest& manifest)
      : recognizer_(recognizer), manifest_(manifest) {}

  /// Walks a document of the file.
  void Root(const YamlValue& document) {
    if (TextOf(document, "kind").ends_with("List") && document.Find("items") != nullptr) {
      for (const YamlValue& item : ItemsOf(document.Find("items"))) Root(item);
      return;
    }
    manifest_.objects.push_back(&document);
    object_ = &document;
    const bool is_config_map = TextOf(document, "kind") == "ConfigMap";
    const YamlValue* metadata = document.Find("metadata");
    config_map_ = is_config_map && metadata != nullptr ? TextOf(*metadata, "name") : "";
    data_ = is_config_map ? document.Find("data") : nullptr;
    Value(document, {}, "", true, 0);
  }

  /// The value at which the budget was used up; null if it was enough.
  const YamlValue* end() const { return end_; }

 private:
  /// Charges a copy of names to the budget. Returns false if it is used up.
  bool Charge(const YamlValue& value, std::size_t size);
  void Value(const YamlValue& value, const Pod& outer, const std::string& key, bool is_root,
             int depth);
  void Text(const YamlValue& text, const Pod& pod, const std::string& key, bool is_root, int depth);
  void AddContainer(const YamlValue& value, const Pod& pod);

  const Recognizer& recognizer_;
  Manifest& manifest_;
  const YamlValue* object_ = nullptr;
  const YamlValue* data_ = nullptr;  ///< the texts of the object, if it is a ConfigMap
  std::string config_map_;
  const YamlValue* end_ = nullptr;
};

bool Walk::Charge(const YamlValue& value, std::size_t size) {
  if (size > manifest_.budget.bytes) {
    end_ = &value;
    return false;
  }
  manifest_.budget.bytes -= size;
  return true;
}

void Walk::Value(const YamlValue& value, const Pod& outer, const std::string& key, bool is_root,
                 int depth) {
  if (end_ != nullptr) return;
  if (value.IsScalar()) {
    Text(value, outer, key, is_root, depth);
    return;
  }
  if (recognizer_.is_configuration(value, is_root)) {
    manifest_.documents.push_back({&value, object_, key, config_map_, is_root});
  } else if (const auto misspelled = recognizer_.find_misspelled(value)) {
    manifest_.unreadable.push_back(
        {Severity::kError, "", misspelled->place,
         Format("this is not a configuration of the plugin, because it has the key `{}`; did you "
                "mean `{}`?",
                Truncate(misspelled->key, 60), misspelled->meant),
         "correct the key"});
  }
  for (const YamlValue& item : value.items) Value(item, outer, key, false, depth);
  if (value.entries.empty()) return;
  Pod inner;
  const bool has_pod = HasPod(value);
  if (has_pod) {
    const std::size_t size =
        SizeOf(outer.config_maps) + SizeOf(outer.host_volumes) + SizeOf(outer.host_paths);
    if (!Charge(value, size)) return;
    (inner = outer).Add(value);
  }
  const Pod& pod = has_pod ? inner : outer;
  AddContainer(value, pod);
  for (const YamlEntry& entry : value.entries) {
    if (!IsAmong(entry.key.text, kNoConfiguration)) {
      Value(entry.value, pod, entry.key.text, &value == data_, depth);
    }
  }
}

void Walk::AddContainer(const YamlValue& value, const Pod& pod) {
  Manifest::Container container{.arguments = {},
                                .name = TextOf(value, "name"),
                                .image = ImageOf(value.Find("image")),
                                .config_maps = {},
                                .host_paths = {},
                                .node_selector = pod.node_selector,
                                .affinity = pod.affinity,
                                .tolerations = pod.tolerations,
                                .value = &value,
                                .object = object_};
  const auto command = ItemsOf(value.Find("command"));
  container.command_size = command.size();
  for (const auto items : {command, ItemsOf(value.Find("args"))}) {
    container.arguments.insert(container.arguments.end(), items.begin(), items.end());
  }
  if (container.arguments.empty() && container.image.empty()) return;
  container.host_paths = pod.host_paths;
  const Variables variables = VariablesOf(value);
  for (YamlValue& argument : container.arguments) {
    argument.text = Expanded(variables, argument.text, manifest_.budget.bytes);
  }
  for (const YamlValue& mount : ItemsOf(value.Find("volumeMounts"))) {
    const std::string name = TextOf(mount, "name");
    const auto config_map = pod.config_maps.find(name);
    if (config_map != pod.config_maps.end()) container.config_maps.insert(config_map->second);
    const auto host = pod.host_volumes.find(name);
    if (host != pod.host_volumes.end()) {
      InsertMount(container.host_paths, TextOf(mount, "mountPath"), host->second);
    }
  }
  std::size_t size = SizeOf(container.host_paths);
  for (const std::string& name : container.config_maps) size += sizeof name + name.size();
  if (!Charge(value, size)) return;
  container.runs_program = RunsProgram(container, recognizer_.program);
  manifest_.containers.push_back(std::move(container));
}

/// Errors in a text are only recorded, because it may belong to another program.
void Walk::Text(const YamlValue& text, const Pod& pod, const std::string& key, bool is_root,
                int depth) {
  if (depth == kMaxTextDepth || !MayBeConfiguration(text.text)) return;
  Diagnostics of_text;
  Findings findings(of_text);
  auto documents = ReadYaml(text.text, PlacesIn(text, manifest_.lines), manifest_.budget, findings);
  if (of_text.HasErrors()) {
    for (Diagnostic& d : of_text.Sorted()) manifest_.unreadable.push_back(std::move(d));
    return;
  }
  const auto found = [&] { return manifest_.documents.size() + manifest_.unreadable.size(); };
  const std::size_t known = found();
  bool seems_to_be_one = text.text.find("devicematch") != std::string::npos;
  for (YamlValue& document : documents) {
    if (document.IsScalar()) continue;  // no YAML, or a text in a text, which no plugin reads
    seems_to_be_one = seems_to_be_one || document.Find("devices") != nullptr;
    manifest_.values.push_back(std::move(document));
    Value(manifest_.values.back(), pod, key, is_root, depth + 1);
  }
  if (found() == known && seems_to_be_one) {
    manifest_.unreadable.push_back({Severity::kError, "", text.place,
                                    "this text is not a configuration of the plugin",
                                    "a configuration is a list of `devices` with `groups`, or of "
                                    "`devicematch` entries"});
  }
}

}  // namespace

std::vector<const Manifest::Container*> ReadersOf(const Manifest::Document& document,
                                                  const Manifest& manifest) {
  std::vector<const Manifest::Container*> readers;
  int likeliest = 1;
  for (const Manifest::Container& container : manifest.containers) {
    const bool mounts =
        !document.config_map.empty() && container.config_maps.contains(document.config_map);
    const int likely = (mounts ? 4 : 0) + (container.runs_program ? 2 : 0);
    if (likely < 2 || likely < likeliest) continue;
    if (likely > likeliest) readers.clear();
    likeliest = likely;
    readers.push_back(&container);
  }
  const auto in_object = [&](const auto* reader) { return reader->object == document.object; };
  // The values of a chart are read by its own container.
  if (std::any_of(readers.begin(), readers.end(), in_object)) {
    std::erase_if(readers, [&](const auto* reader) { return !in_object(reader); });
  }
  return readers;
}

bool IsMisspelled(const YamlValue& key, std::span<const std::string_view> keys) {
  if (!key.IsScalar() || key.text.size() > 30) return false;
  return !IsAmong(key.text, keys) && !Nearest(key.text, keys).empty();
}

Manifest ReadManifest(const std::string& file, const std::string& text,
                      const Recognizer& recognizer, Findings& findings) {
  Manifest manifest;
  manifest.lines = LinesOf(text);
  auto documents = ReadYaml(
      text,
      [&](int line, int column) {
        return SourceLocation{file, line, column};
      },
      manifest.budget, findings);
  Walk walk(recognizer, manifest);
  for (YamlValue& document : documents) {
    manifest.values.push_back(std::move(document));
    walk.Root(manifest.values.back());
  }
  if (walk.end() != nullptr) {
    findings.Malformed(walk.end()->place, "too many values, or too much text in the paths of pods",
                       "pass only the objects of the plugin");
  }
  return manifest;
}

}  // namespace patchbay
