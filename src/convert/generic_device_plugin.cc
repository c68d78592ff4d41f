// The plugin takes its devices from --device flags, or otherwise from a file: a file that a
// container reads is converted only if the container has no --device.
//
// The domain of a device is the first of: the one from the caller, the --domain flag of the
// container that reads the device, its variable DOMAIN, the one in the file that it reads, the
// default of the version in the tag of its image, and an assumed default with a warning. A variable
// whose value is not in the input is a warning too.

#include "convert/generic_device_plugin.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "convert/directories.h"
#include "convert/environment.h"
#include "convert/fields.h"
#include "convert/generic_flags.h"
#include "convert/generic_resource.h"
#include "convert/patterns.h"
#include "convert/resource_set.h"
#include "model/glob.h"
#include "model/resource_name.h"

namespace patchbay {
namespace {

using Container = Manifest::Container;

constexpr std::string_view kProgram = "generic-device-plugin";
constexpr std::string_view kMicroShift = "genericDevicePlugin";  // key in its config.yaml
constexpr std::string_view kMicroShiftDomain = "device.microshift.io";
constexpr std::string_view kDeviceKeys[] = {"name", "groups"};
constexpr std::string_view kFileKeys[] = {"devices",   "device",           "domain", "listen",
                                          "log-level", "plugin-directory", "config"};

/// Returns whether a value has no text at any depth, as a placeholder.
bool IsBlank(const YamlValue& value) {
  const auto items = value.items();
  const auto entries = value.entries();
  return value.text().empty() && std::all_of(items.begin(), items.end(), IsBlank) &&
         std::all_of(entries.begin(), entries.end(),
                     [](const YamlEntry& entry) { return IsBlank(entry.value); });
}

/// Returns the YAML of a device from the old form of --device: name,path,path. Each path is a
/// group.
std::string YamlOfList(std::string_view text) {
  std::string yaml;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string part = QuoteJson(Trimmed(text.substr(0, comma)));
    yaml += yaml.empty() ? Format("name: {}\ngroups:\n", part)
                         : Format("- paths: [{{path: {}}}]\n", part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return yaml;
}

/// The domain of devices, and where it comes from.
struct Domain {
  std::string name;
  SourceLocation place;
};

/// Converts the devices of a manifest one after the other and collects their resources.
class GenericConversion {
 public:
  GenericConversion(const Manifest& manifest, const ConvertHints& hints, Findings& findings)
      : manifest_(manifest),
        hints_(hints),
        findings_(findings),
        resources_(findings),
        directories_(hints.dev),
        environments_(manifest),
        budget_(manifest.budget) {}

  /// Converts the arguments of a container.
  void Flags(const Container& container);
  /// Converts a document that `reader` reads, or an empty container if none is known to read it.
  void Document(const Manifest::Document& document, const Container& reader);

  NewFile Take() &&;
  bool found() const { return found_; }

 private:
  const GenericFlags& FlagsOf(const Container& container);
  std::optional<std::string> DomainInFile(const Container& container);
  Domain DomainOf(const Container& container, const std::optional<std::string>& in_file,
                  const SourceLocation& place);
  void NoteUnknown(const EnvVariable& variable, std::string_view domain);
  void Device(const YamlValue& value, bool is_file, const Domain& domain,
              const Container& container);
  void TakePaths(GenericGroup& group, const Container& container);
  void Refuse(std::string what, std::string text);
  void NoteSetting(std::string_view key, std::string_view value);

  const Manifest& manifest_;
  const ConvertHints& hints_;
  Findings& findings_;
  ResourceSet resources_;
  Directories directories_;
  NewFile file_;
  std::map<const Container*, GenericFlags> flags_;
  Environments environments_;
  YamlBudget budget_;
  bool found_ = false;
  bool has_assumed_ = false;           ///< a default as the domain
  bool has_unknown_variable_ = false;  ///< DOMAIN, of some container
};

/// The flags are read once, so that errors in them are reported once.
const GenericFlags& GenericConversion::FlagsOf(const Container& container) {
  const auto known = flags_.find(&container);
  if (known != flags_.end()) return known->second;
  const auto& flags =
      flags_.emplace(&container, ReadGenericFlags(container, findings_)).first->second;
  if (findings_.HasNewErrors()) Refuse("arguments of a container", "");
  return flags;
}

/// Returns the domain in the file of a container: in the values of its chart, or in a ConfigMap
/// that it mounts, also if that has no devices.
std::optional<std::string> GenericConversion::DomainInFile(const Container& container) {
  for (const Manifest::Document& document : manifest_.documents) {
    const YamlValue domain = document.value.Find("domain");
    if (domain.IsScalar() && document.object.IsSameAs(container.object)) return domain.text();
  }
  for (const YamlValue& object : manifest_.objects) {
    const std::string name = object.Find("metadata").Find("name").text();
    const bool is_config_map = object.Find("kind").text() == "ConfigMap";
    if (!is_config_map || !container.config_maps.contains(name)) continue;
    for (const YamlEntry& file : object.Find("data").entries()) {
      Diagnostics ignored;
      Findings findings(ignored);
      const std::string& text = file.value.text();
      const auto places = PlacesIn(text, file.value.place(), manifest_.lines);
      for (const YamlValue& document : ReadYaml(text, places, budget_, findings)) {
        const YamlValue domain = document.Find("domain");
        if (domain.IsScalar()) return domain.text();
      }
    }
  }
  return std::nullopt;
}

/// Returns the domain of the devices of a container. `in_file` is the one in its file, if any.
Domain GenericConversion::DomainOf(const Container& container,
                                   const std::optional<std::string>& in_file,
                                   const SourceLocation& place) {
  if (hints_.domain) return {*hints_.domain, place};
  if (const auto& flag = FlagsOf(container).domain) return {*flag, place};
  const auto variable = environments_.Find(container, "DOMAIN");
  const bool is_unknown = variable && !variable->value;
  // The plugin ignores an empty variable.
  if (variable && !variable->value.value_or("").empty()) {
    return {*variable->value, variable->source.place()};
  }
  const auto of_image = DomainOfImage(container.image);
  const std::string otherwise = in_file.value_or(std::string(of_image.value_or(kOldDomain)));
  if (is_unknown) {
    NoteUnknown(*variable, otherwise);
  } else if (!in_file && !of_image && !std::exchange(has_assumed_, true)) {
    findings_.Assumed(
        place, Format("no domain specified; assuming {}", kOldDomain),
        Format("this is the default of generic-device-plugin up to 0.1; from 0.2.0 on "
               "it is {}. Check the resources of the nodes, and use --domain {} if needed",
               kNewDomain, kNewDomain));
    file_.notes.push_back(Format(
        "The file specifies no domain. {} is the default of generic-device-plugin up to 0.1. If "
        "the nodes have {}/…, convert again with --domain {}.",
        kOldDomain, kNewDomain, kNewDomain));
  }
  return {otherwise, place};
}

/// Reports that the input does not contain the value of DOMAIN, so that `domain` is assumed.
void GenericConversion::NoteUnknown(const EnvVariable& variable, std::string_view domain) {
  const std::string& config_map = variable.missing_config_map;
  findings_.Assumed(
      variable.source.place(),
      Format("the variable DOMAIN can come from {}, which is not in the input; assuming {}",
             Truncate(ToJson(variable.source), 200), Truncate(domain, 100)),
      Format("{}use --domain with the domain of the resources that `kubectl describe node` shows",
             config_map.empty()
                 ? ""
                 : Format("pass the ConfigMap {} too, or ", Truncate(config_map, 100))));
  if (!std::exchange(has_unknown_variable_, true)) {
    file_.notes.push_back(
        "A domain is assumed, because the variable DOMAIN of the container is not in the input. If "
        "the nodes have other resources, convert again with --domain.");
  }
}

/// Adds a part that was not converted. The errors since the last one are its reasons.
void GenericConversion::Refuse(std::string what, std::string text) {
  file_.refused.push_back({std::move(what), findings_.TakeErrors(), std::move(text)});
}

/// Replaces paths in the container of the plugin by those on the host, and reports paths that are
/// invalid or probably match nothing.
void GenericConversion::TakePaths(GenericGroup& group, const Container& container) {
  const auto host_paths = HostPathsOf(container);
  for (GenericPath& path : group.paths) {
    // The longest path of a mount is the last one in the order of the map.
    for (auto mount = host_paths.rbegin(); mount != host_paths.rend(); ++mount) {
      const auto& [inside, host] = *mount;
      if (!(path.path + "/").starts_with(inside + "/")) continue;
      if (inside == host) break;
      std::string on_host = (host == "/" ? "" : host) + path.path.substr(inside.size());
      findings_.Assumed(
          path.place,
          Format("{} is {} on the host", Truncate(path.path, 100), Truncate(on_host, 100)),
          Format("the pod mounts {} at {}; check that the path exists on the nodes",
                 Truncate(host, 100), Truncate(inside, 100)));
      path.path = std::move(on_host);
      break;
    }
    path.pattern = FromGo(path.path);
    if (const auto glob = Glob::Compile(path.pattern.glob); !glob) {
      findings_.CannotConvert(path.place, glob.error().message,
                              "correct the pattern; a backslash escapes the next character");
      continue;
    }
    if (path.is_mount) continue;
    if (!path.path.starts_with(kDev)) {
      findings_.Assumed(
          path.place,
          Format("{} is not below /dev, so it probably matches nothing", Truncate(path.path, 100)),
          "write the path of the device node on the host; for files, use `type: Mount`");
    }
    path.is_directory =
        path.is_literal() && directories_.Has(*path.pattern.path, path.place, findings_);
  }
}

/// Converts one device. Its groups are converted independently, unless the whole device is refused.
void GenericConversion::Device(const YamlValue& value, bool is_file, const Domain& domain,
                               const Container& container) {
  found_ = true;
  ExpectMap(value, "a device", findings_);
  const Fields fields(value, kProgram, kDeviceKeys, findings_);
  const std::string own_name(Trimmed(fields.Text("name").value_or("")));
  const SourceLocation place = fields.PlaceOfKey("name");
  if (own_name.empty() && !findings_.HasNewErrors()) {
    findings_.Malformed(place, "the device has no `name`");
  }
  const auto groups = fields.List("groups");
  if (groups.empty() && !findings_.HasNewErrors()) {
    findings_.CannotConvert(
        place, Format("\"{}\" has no groups, so it has no devices", Truncate(own_name, 60)),
        "remove it, or add `groups`");
  }
  const std::string name = domain.name + "/" + own_name;
  const auto problem = ProblemWithResourceName(name);
  if (const auto hint = HintOnTemplate(domain.name); !hint.empty()) {
    findings_.CannotConvert(domain.place,
                            Format("the domain is not known: {}", Truncate(domain.name, 100)),
                            hint + ", or use --domain");
  } else if (problem && !findings_.HasNewErrors()) {
    findings_.CannotConvert(place,
                            Format("invalid resource name {}: {}", Truncate(name, 120), *problem),
                            "correct the name or the domain");
  }
  const bool is_refused = findings_.HasNewErrors();
  Notes notes;
  PlannedGroups planned;
  for (const YamlValue& item : groups) {
    GenericGroup group = ReadGenericGroup(item, is_file, notes, findings_);
    if (is_refused) continue;
    if (!findings_.HasNewErrors()) TakePaths(group, container);
    auto plan = findings_.HasNewErrors() ? std::nullopt : PlanOfGroup(group, findings_);
    if (!plan || !AddGroup(std::move(group), std::move(*plan), planned, findings_)) {
      Refuse(Format("a group of {}", Truncate(name, 200)), Truncate(ToJson(item), kMaxRefusedText));
    }
  }
  if (is_refused) Refuse(Truncate(name, 200), Truncate(ToJson(value), kMaxRefusedText));
  if (planned.empty()) return;
  const NewResource resource = ResourceOf(name, std::move(notes), std::move(planned));
  if (!resources_.Add(resource, place, container)) {
    Refuse(name, WriteToml({{}, {resource}, {}}));
  }
}

void GenericConversion::NoteSetting(std::string_view key, std::string_view value) {
  file_.notes.push_back(
      Format("Not converted: {} = {}. See [daemon] in docs/configuration.md.", key, value));
}

void GenericConversion::Flags(const Container& container) {
  // Another program that can read the file has flags of its own.
  if (!container.runs_program && !NamesDevices(container)) return;
  const GenericFlags& flags = FlagsOf(container);
  found_ = found_ || NamesDevices(container);
  if (flags.devices.empty()) return;
  const Domain domain =
      DomainOf(container, DomainInFile(container), flags.devices.front().source.place());
  for (const auto& [flag, value] : flags.settings) NoteSetting(flag, value);
  for (const auto& [source, text] : flags.devices) {
    const SourceLocation place = source.place();
    auto parts = ReadYaml(text, PlacesIn(text, place, manifest_.lines), budget_, findings_);
    if (parts.size() == 1 && parts[0].text().find(',') != std::string::npos) {
      const auto same_place = [at = source.place()](int, int) { return at; };
      parts = ReadYaml(YamlOfList(parts[0].text()), same_place, budget_, findings_);
    }
    if (!source.IsScalar()) {
      findings_.Malformed(place, "--device must be followed by a string");
    } else if (parts.size() == 1) {
      Device(parts[0], false, domain, container);
    } else if (!findings_.HasNewErrors()) {
      findings_.Malformed(place, "--device must be followed by one device");
    }
    if (findings_.HasNewErrors()) {
      Refuse("an argument", source.IsScalar() ? text.substr(0, kMaxRefusedText)
                                              : Truncate(ToJson(source), kMaxRefusedText));
    }
  }
}

void GenericConversion::Document(const Manifest::Document& document, const Container& reader) {
  const YamlValue& value = document.value;
  if (value.Find("groups")) {
    Device(value, false, DomainOf(reader, std::nullopt, value.place()), reader);
    return;
  }
  found_ = true;
  if (IsBlank(value.Find("devices")) && IsBlank(value.Find("device"))) {
    findings_.Ignored(value.place(), "the configuration has no devices");
    file_.notes.push_back("The configuration has no devices.");
    return;
  }
  // Other maps with `devices` can have keys of other programs.
  const Fields fields(value, kProgram, kFileKeys, findings_, document.is_root);
  // A template in the domain is reported by Device, unless the caller has a domain.
  const YamlValue given = fields.Find("domain");
  auto in_file = given.IsScalar() ? std::optional(given.text()) : fields.Text("domain");
  if (document.key == kMicroShift) {
    if (!in_file) in_file = kMicroShiftDomain;
    if (file_.end_notes.empty()) {
      file_.end_notes.push_back(
          "When you deploy this file, disable the plugin of MicroShift in its config.yaml: "
          "genericDevicePlugin, status: Disabled.");
    }
    if (fields.Text("status").value_or("") != "Enabled") {
      findings_.Assumed(value.place(), "the plugin is not enabled in MicroShift; it is converted",
                        "check whether the nodes have its resources");
    }
  }
  for (const std::string_view key : {"listen", "log-level", "plugin-directory"}) {
    const YamlValue setting = document.is_root ? fields.Find(key) : YamlValue();
    if (setting) NoteSetting(key, Truncate(setting.text(), 80));
  }
  if (findings_.HasNewErrors()) Refuse("a file", "");
  const Domain domain = DomainOf(reader, in_file, fields.PlaceOfKey("domain"));
  for (const std::string_view key : {"devices", "device"}) {
    for (const YamlValue& device : fields.List(key)) {
      Device(device, true, domain, reader);
    }
  }
}

NewFile GenericConversion::Take() && {
  file_.resources = std::move(resources_).Take();
  directories_.AddAssumptions(file_.notes);
  return std::move(file_);
}

}  // namespace

bool IsGenericConfiguration(const YamlValue& value, bool is_root) {
  const YamlValue devices = value.Find("devices");
  if (is_root && !value.Find("kind")) {
    return devices || value.Find("device") || value.Find("groups");
  }
  const auto items = devices.items();
  return std::any_of(items.begin(), items.end(),
                     [](const YamlValue& device) { return bool(device.Find("groups")); });
}

std::optional<Misspelled> FindMisspelledGeneric(const YamlValue& value) {
  for (const YamlEntry& entry : value.entries()) {
    for (const YamlValue& device : entry.value.items()) {
      for (const YamlEntry& part : device.entries()) {
        if (!AreGenericGroups(part.value) || !device.Find("name")) continue;
        if (ToLower(entry.key.text()) != "devices") return Misspelled{entry.key, "devices"};
        if (ToLower(part.key.text()) != "groups") return Misspelled{part.key, "groups"};
      }
    }
  }
  return std::nullopt;
}

std::optional<NewFile> ConvertGenericDevicePlugin(const Manifest& manifest,
                                                  const ConvertHints& hints, Findings& findings) {
  GenericConversion conversion(manifest, hints, findings);
  for (const Container& container : manifest.containers) conversion.Flags(container);
  const bool has_arguments = conversion.found();
  const Container unknown;
  for (const auto& document : manifest.documents) {
    // The plugin ignores the devices in its file if there are devices in its arguments.
    const auto readers = ReadersOf(document, manifest);
    const Container& reader = readers.empty() ? unknown : *readers.front();
    if (has_arguments && (readers.empty() || NamesDevices(reader))) {
      findings.Ignored(document.value.place(),
                       "the devices in this configuration are not converted",
                       "the plugin reads only the devices of its --device arguments; convert the "
                       "configuration alone if another plugin reads it");
      continue;
    }
    conversion.Document(document, reader);
  }
  if (!conversion.found()) return std::nullopt;
  return std::move(conversion).Take();
}

}  // namespace patchbay
