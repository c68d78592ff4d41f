// The plugin takes its devices from --device flags, or otherwise from a file: a file that a
// container reads is converted only if the container has no --device.

#include "convert/generic_device_plugin.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "convert/command_line.h"
#include "convert/directories.h"
#include "convert/fields.h"
#include "convert/generic_domain.h"
#include "convert/generic_flags.h"
#include "convert/generic_resource.h"
#include "convert/patterns.h"
#include "convert/readers.h"
#include "convert/resource_set.h"
#include "model/glob.h"
#include "model/resource_name.h"

namespace patchbay {
namespace {

using Container = Manifest::Container;

constexpr std::string_view kProgram = "generic-device-plugin";
constexpr std::string_view kDeviceKeys[] = {"name", "groups"};
constexpr std::string_view kFileKeys[] = {"devices",   "device",           "domain", "listen",
                                          "log-level", "plugin-directory", "config"};

/// Returns whether a value has no text at any depth, as a placeholder.
bool IsBlank(const YamlValue& value) {
  return value.text().empty() && std::ranges::all_of(value.items(), IsBlank) &&
         std::ranges::all_of(value.entries(), IsBlank, &YamlEntry::value);
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

/// Converts the devices of a manifest one after the other and collects their resources.
class GenericConversion {
 public:
  GenericConversion(const Manifest& manifest, const ConvertHints& hints, Findings& findings)
      : manifest_(manifest),
        hints_(hints),
        findings_(findings),
        resources_(findings),
        directories_(hints.dev),
        budget_(manifest.budget),
        domains_(manifest, budget_, findings) {}

  /// Converts the arguments of a container.
  void Flags(const Container& container);
  /// Converts a document for each domain of its readers; an empty container if none is known.
  void Document(const Manifest::Document& document, const std::vector<const Container*>& readers);

  NewFile Take() &&;
  bool found() const { return found_; }

 private:
  const GenericFlags& FlagsOf(const Container& container);
  Domain DomainOf(const Container& container, const Manifest::Document* document,
                  const SourceLocation& place);
  void Device(const YamlValue& value, bool is_file, const Domain& domain,
              const Container& container);
  void TakePaths(GenericGroup& group, const Container& container);
  void Refuse(std::string what, std::string text);
  void NoteSetting(std::string_view key, std::string_view value, const SourceLocation& place);

  const Manifest& manifest_;
  const ConvertHints& hints_;
  Findings& findings_;
  ResourceSet resources_;
  Directories directories_;
  NewFile file_;
  std::map<const Container*, GenericFlags> flags_;
  YamlBudget budget_;
  GenericDomains domains_;
  bool found_ = false;
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

Domain GenericConversion::DomainOf(const Container& container, const Manifest::Document* document,
                                   const SourceLocation& place) {
  if (hints_.domain) return {*hints_.domain, place};
  if (const auto& flag = FlagsOf(container).domain) return *flag;
  return domains_.Find(container, document, place, file_.notes);
}

/// Adds a part that was not converted. The errors since the last one are its reasons.
void GenericConversion::Refuse(std::string what, std::string text) {
  file_.refused.push_back({std::move(what), findings_.TakeErrors(), std::move(text)});
}

/// Replaces paths in the container of the plugin by those on the host, and reports paths that are
/// invalid or probably match nothing.
void GenericConversion::TakePaths(GenericGroup& group, const Container& container) {
  const auto mounts = MountsOf(container);
  for (GenericPath& path : group.paths) {
    const Mount* mount = DeepestMount(mounts, path.path);
    const bool is_of_host = mount != nullptr && !mount->host_path.empty();
    if (is_of_host && mount->path != mount->host_path) {
      const std::string& host = mount->host_path;
      std::string on_host = (host == "/" ? "" : host) + path.path.substr(mount->path.size());
      findings_.Assumed(
          path.place,
          Format("{} is {} on the host", Truncate(path.path, 100), Truncate(on_host, 100)),
          Format("the pod mounts {} at {}; check that the path exists on the nodes",
                 Truncate(host, 100), Truncate(mount->path, 100)));
      path.path = std::move(on_host);
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
  if (!domain.hint.empty()) {
    findings_.CannotConvert(domain.place,
                            Format("the domain is not known: {}", Truncate(domain.name, 100)),
                            domain.hint + ", or use --domain");
  } else if (problem && !findings_.HasNewErrors()) {
    findings_.CannotConvert(place,
                            Format("invalid resource name {}: {}", Truncate(name, 120), *problem),
                            "correct the name or the domain");
  }
  const bool is_refused = findings_.HasNewErrors();
  NewResource resource{.name = name};
  for (const YamlValue& item : groups) {
    GenericGroup group = ReadGenericGroup(item, is_file, resource.notes, findings_);
    if (is_refused) continue;
    if (!findings_.HasNewErrors()) TakePaths(group, container);
    auto converted = findings_.HasNewErrors() ? std::nullopt : ResourceOfGroup(group, findings_);
    if (!converted || !AddGroup(std::move(*converted), resource, findings_)) {
      Refuse(Format("a group of {}", Truncate(name, 200)), Truncate(ToJson(item), kMaxRefusedText));
    }
  }
  if (is_refused) Refuse(Truncate(name, 200), Truncate(ToJson(value), kMaxRefusedText));
  if (resource.matches.empty()) return;
  CompleteResource(resource, findings_);
  if (!resources_.Add(resource, place, container)) {
    Refuse(name, WriteToml({{}, {resource}, {}}));
  }
}

/// Notes a setting of the plugin itself. A warning shows one that is not a default and has an
/// effect outside the pod.
void GenericConversion::NoteSetting(std::string_view key, std::string_view value,
                                    const SourceLocation& place) {
  static constexpr std::string_view kDefaults[] = {":8080", "/var/lib/kubelet/device-plugins",
                                                   "/var/lib/kubelet/device-plugins/"};
  if (!key.ends_with("log-level") && !IsAmong(value, kDefaults)) {
    findings_.Ignored(
        place, Format("not converted: {} = {}", key, Truncate(value, 80)),
        key.ends_with("listen") ? "set `listen` in [daemon]" : "set `kubelet_dir` in [daemon]");
  }
  AddOnce(Format("Not converted: {} = {}. See [daemon] in docs/configuration.md.", key,
                 Truncate(value, 80)),
          file_.notes);
}

void GenericConversion::Flags(const Container& container) {
  // Another program that can read the file has flags of its own.
  if (!container.runs_program && !NamesDevices(container)) return;
  const GenericFlags& flags = FlagsOf(container);
  found_ = found_ || NamesDevices(container);
  for (const auto& [flag, value] : flags.settings) {
    NoteSetting(flag, value.text, value.source.place());
  }
  if (flags.devices.empty()) return;
  const Domain domain = DomainOf(container, nullptr, flags.devices.front().source.place());
  for (const Manifest::Argument& argument : flags.devices) {
    const YamlValue& source = argument.source;
    const std::string& text = argument.text;
    const SourceLocation place = source.place();
    auto parts = ReadYaml(text, PlacesIn(text, place, manifest_.lines), budget_, findings_);
    if (parts.size() == 1 && parts[0].text().find(',') != std::string::npos) {
      const auto same_place = [&](int, int) { return source.place(); };
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

void GenericConversion::Document(const Manifest::Document& document,
                                 const std::vector<const Container*>& readers) {
  const YamlValue& value = document.value;
  const Container& first = *readers.front();
  if (value.Find("groups")) {
    Device(value, false, DomainOf(first, &document, value.place()), first);
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
  if (!fields.Find("domain").IsScalar()) fields.Text("domain");
  if (document.key == kMicroShift) {
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
    if (setting) NoteSetting(key, setting.text(), setting.place());
  }
  if (findings_.HasNewErrors()) Refuse("a file", "");
  std::set<std::string> domains;
  for (const Container* reader : readers) {
    if (reader != &first && !reader->runs_program) continue;
    const Domain domain = DomainOf(*reader, &document, fields.PlaceOfKey("domain"));
    if (!domains.insert(domain.name).second) continue;
    for (const std::string_view key : {"devices", "device"}) {
      for (const YamlValue& device : fields.List(key)) Device(device, true, domain, *reader);
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
  return std::ranges::any_of(devices.items(),
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
    auto readers = ReadersOf(document, manifest);
    const bool is_read = !readers.empty();
    std::erase_if(readers, [](const Container* reader) { return NamesDevices(*reader); });
    if (readers.empty() && (is_read || has_arguments)) {
      findings.Ignored(document.value.place(),
                       "the devices in this configuration are not converted",
                       "the plugin reads only the devices of its --device arguments; convert the "
                       "configuration alone if another plugin reads it");
      continue;
    }
    if (readers.empty()) readers.push_back(&unknown);
    conversion.Document(document, readers);
  }
  if (!conversion.found()) return std::nullopt;
  return std::move(conversion).Take();
}

}  // namespace patchbay
