#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/path.h"
#include "convert/yaml.h"

namespace patchbay {

/// The parts of an input file that can configure a plugin.
struct Manifest {
  /// A map and the maps that contain it.
  struct Scope {
    YamlValue map;
    std::shared_ptr<const Scope> outer;             ///< null for a document
    std::map<std::string, YamlValue> volumes = {};  ///< of a pod, by name
    std::vector<YamlValue> chart_volumes = {};      ///< in the values of the chart app-template
  };
  /// An argument of a container.
  struct Argument {
    YamlValue source;
    std::string text = {};     ///< with the values of the variables that it refers to
    std::string unknown = {};  ///< a variable in it whose value is not in the input
    std::string hint = {};     ///< how to add this value to the input, if that is known
  };
  /// A file in a container.
  struct File {
    std::string path = {};                 ///< empty if there is no file
    SourceLocation place = {};             ///< of the argument that names it, or of the container
    bool is_mounted = false;               ///< a volume contains it
    std::string config_map = {};           ///< its name, if the volume has one with the file
    std::string key = {};                  ///< in the ConfigMap, or the path in another volume
    std::string host_path = {};            ///< of a file on the host
    std::string hint = {};                 ///< how to add it to the input
    std::optional<std::string> text = {};  ///< nothing if the input does not contain it

    std::string name() const { return key.empty() ? std::string(BaseName(path)) : key; }
  };
  /// A container and the arguments of its program, from `command` and `args`, or from the command
  /// line in them if they run a shell.
  struct Container {
    YamlValue value;   ///< its map
    YamlValue object;  ///< the object that contains it
    std::shared_ptr<const Scope> scope = {};
    std::string image = {};  ///< with its tag
    std::vector<Argument> arguments = {};
    std::size_t command_size = 0;         ///< number of words from `command`
    std::optional<Argument> script = {};  ///< a command line that needs a shell, so that its
                                          ///< words are not what the program gets
    std::map<std::string, bool> config_maps = {};  ///< those that it mounts; whether in the input
    File file = {};             ///< its configuration, if --config or a mount has it
    bool runs_program = false;  ///< its name, image or command identifies the plugin
  };
  /// A map or list that can be the configuration of the plugin.
  struct Document {
    YamlValue value;
    YamlValue object;                    ///< the object that contains it
    std::shared_ptr<const Scope> scope;  ///< of the map that contains it; null if it is the object
    std::string key;                     ///< of the map that contains it, if any
    std::string config_map;  ///< the name of its ConfigMap, if any; of a root, `key` is the file
    bool is_root;            ///< all content of a file, or of a text in a ConfigMap
  };
  std::vector<YamlValue> objects;  ///< the documents of the file; of a List, its items
  std::vector<Document> documents;
  /// Of the plugin, at any depth: those that are recognizably it, or else those that may be it.
  std::vector<Container> containers;
  std::vector<Diagnostic> unreadable;  ///< errors in values that seem to be a configuration
  TextLines lines;                     ///< of the file; refer to its text
  YamlBudget budget;                   ///< what is left for the texts in arguments
};

/// A key because of which a value is not a configuration of the plugin.
struct Misspelled {
  YamlValue key;
  std::string_view meant;  ///< refers to a constant
};

/// Recognizes a plugin and its configuration.
struct Recognizer {
  std::string_view program;
  std::string_view config_path;  ///< of the file that it reads without --config
  /// Returns whether a value is a configuration of the plugin. A root is recognized by less, so
  /// that errors in it are reported.
  bool (*is_configuration)(const YamlValue& value, bool is_root);
  std::optional<Misspelled> (*find_misspelled)(const YamlValue& value);
};

/// Reads a file with any number of YAML documents, and the YAML in the texts in them, except for
/// texts that the plugin does not read, which are findings. `file` is its name, for
/// diagnostics; `text` must outlive the result.
Manifest ReadManifest(const std::string& file, const std::string& text,
                      const Recognizer& recognizer, Findings& findings);

/// Returns the scope of a map in another one, with at most 100 volumes of each kind.
std::shared_ptr<const Manifest::Scope> ScopeOf(const YamlValue& map,
                                               std::shared_ptr<const Manifest::Scope> outer);

/// Returns a setting of the pod of a container, such as `nodeSelector`, from the innermost map that
/// has it, or from the options of pods there; false if none has it, or if it is empty there.
YamlValue PodSetting(const Manifest::Container& container, std::string_view key);

/// A mount of a container. Its paths are absolute and without a final slash, or empty if they are
/// not known or if the volume is not a directory of the host.
struct Mount {
  std::string path = {};      ///< in the container
  std::string sub_path = {};  ///< of the mounted part in the volume
  std::string host_path = {};
  std::vector<YamlValue> config_maps = {};  ///< references to those in the volume, with a `name`
  std::string identifier = {};  ///< of a ConfigMap in the values of the chart app-template
};
/// Returns the mounts of the volumes in the input.
std::vector<Mount> MountsOf(const Manifest::Container& container);
/// Returns the deepest mount that contains a path of the container; null if there is none.
const Mount* DeepestMount(const std::vector<Mount>& mounts, const std::string& path);

/// Returns the namespace of an object, or of the objects of a HelmRelease; "" if it is not known.
std::string NamespaceOf(const YamlValue& object);
/// Returns whether namespaces are the same, or not known.
bool CanShareNamespace(std::string_view a, std::string_view b);

}  // namespace patchbay
