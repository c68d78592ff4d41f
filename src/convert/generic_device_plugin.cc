// The plugin takes its devices from --device flags, or otherwise from a file. Arguments are read
// from containers that are recognizably the plugin. If there is no such container, they are read
// from every container with --device, because the image may have a different name. The
// configurations elsewhere in the input are converted only if no such container has --device.
//
// The domain of a document is the first of: the one from the caller, the --domain flag of the
// container that reads the document, the one in the document, the default of the version in the tag
// of the container's image, and an assumed default with a warning.

#include "convert/generic_device_plugin.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "convert/directories.h"
#include "convert/fields.h"
#include "convert/generic_flags.h"
#include "convert/patterns.h"
#include "convert/resource_set.h"
#include "convert/yaml_json.h"
#include "model/resource_name.h"

namespace patchbay {
namespace {

constexpr std::string_view kProgram = "generic-device-plugin";
constexpr std::string_view kOldDomain = "squat.ai";
constexpr std::string_view kNewDomain = "devic.es";
constexpr std::string_view kMicroShift = "genericDevicePlugin";  // key in its config.yaml
constexpr std::string_view kMicroShiftDomain = "device.microshift.io";
constexpr std::string_view kFileKeys[] = {"devices",   "device",           "domain", "listen",
                                          "log-level", "plugin-directory", "config"};

/// Returns the default domain of the plugin version in the tag of an image, or nothing if the tag
/// is not a version.
std::optional<std::string_view> DomainOfImage(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::string_view last = BaseName(image);
  const auto colon = last.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view tag = last.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  int major = 0, minor = 0;
  const auto first = std::from_chars(tag.data(), tag.data() + tag.size(), major);
  if (first.ec != std::errc() || first.ptr == tag.data() + tag.size() || *first.ptr != '.') {
    return std::nullopt;
  }
  const auto second = std::from_chars(first.ptr + 1, tag.data() + tag.size(), minor);
  if (second.ec != std::errc()) return std::nullopt;
  return std::pair(major, minor) >= std::pair(0, 2) ? kNewDomain : kOldDomain;
}

using Container = Manifest::Container;

/// Converts the devices of a manifest one after the other and collects their resources.
class GenericConversion {
 public:
  GenericConversion(const Manifest& manifest, const ConvertHints& hints, Findings& findings)
      : manifest_(manifest),
        hints_(hints),
        findings_(findings),
        resources_(findings),
        directories_(hints.dev),
        budget_(manifest.budget) {}

  void AllFlags();
  /// Converts a document that `reader` reads; null if no container is known to read it.
  void Document(const Manifest::Document& document, const Container* reader);

  NewFile Take() &&;
  bool found() const { return found_; }

 private:
  void Flags(const Container& container);
  const GenericFlags& FlagsOf(const Container& container);
  std::optional<std::string> DomainFlag(const Container* container);
  std::string Domain(const std::optional<std::string>& said, const Container* container,
                     const SourceLocation& place);
  void Add(GenericDevice device, const std::string& domain, const Container* container);
  void TakePaths(GenericDevice& device, const Container* container);
  void RefusePending(std::string what, std::string text);
  void Refuse(std::string what, std::string text, std::vector<Diagnostic> earlier = {});
  void ReportNotApplied(std::string_view key, std::string_view value);

  const Manifest& manifest_;
  const ConvertHints& hints_;
  Findings& findings_;
  ResourceSet resources_;
  Directories directories_;
  NewFile file_;
  std::map<const Container*, GenericFlags> flags_;
  std::map<std::string, Diagnostic> unknown_domains_;  ///< with a template, and their errors
  YamlBudget budget_;
  bool found_ = false;
  bool has_assumed_ = false;
};

/// The flags are read once, so that errors in them are reported once.
const GenericFlags& GenericConversion::FlagsOf(const Container& container) {
  const auto known = flags_.find(&container);
  if (known != flags_.end()) return known->second;
  const auto& flags =
      flags_.emplace(&container, ReadGenericFlags(container, findings_)).first->second;
  RefusePending("arguments of a container", "");
  return flags;
}

/// The --domain flag of a container, if any. It overrides the domain in the file.
std::optional<std::string> GenericConversion::DomainFlag(const Container* container) {
  return container == nullptr ? std::nullopt : FlagsOf(*container).domain;
}

std::string GenericConversion::Domain(const std::optional<std::string>& said,
                                      const Container* container, const SourceLocation& place) {
  if (hints_.domain) return *hints_.domain;
  if (said && !HintOnTemplate(*said).empty() && !unknown_domains_.contains(*said)) {
    Diagnostic error{Severity::kError, "", place,
                     Format("the domain is not known: {}", Truncate(*said, 100)),
                     HintOnTemplate(*said) + ", or use --domain"};
    findings_.CannotConvert(error.place, error.message, error.hint);
    findings_.TakeErrors();  // it is the reason for each device, see Add
    unknown_domains_.emplace(*said, std::move(error));
  }
  if (said) return *said;
  const auto of_image = DomainOfImage(container == nullptr ? "" : container->image);
  if (of_image) return std::string(*of_image);
  if (!std::exchange(has_assumed_, true)) {
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
  return std::string(kOldDomain);
}

/// Adds the errors since the last refusal, and earlier ones, as the reasons of a new one.
void GenericConversion::Refuse(std::string what, std::string text,
                               std::vector<Diagnostic> earlier) {
  for (Diagnostic& error : findings_.TakeErrors()) earlier.push_back(std::move(error));
  file_.refused.push_back({std::move(what), std::move(earlier), std::move(text)});
}

void GenericConversion::RefusePending(std::string what, std::string text) {
  auto errors = findings_.TakeErrors();
  if (!errors.empty()) Refuse(std::move(what), std::move(text), std::move(errors));
}

/// Replaces paths in the container of the plugin by those on the host, and warns of paths that
/// probably match nothing.
void GenericConversion::TakePaths(GenericDevice& device, const Container* container) {
  const auto host_paths =
      container == nullptr ? std::map<std::string, std::string>() : HostPathsOf(*container);
  for (GenericGroup& group : device.groups) {
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
      if (path.is_mount) continue;
      if (!path.path.starts_with("/dev/") && path.path.starts_with('/')) {
        findings_.Assumed(
            path.place,
            Format("{} is not below /dev, so it probably matches nothing",
                   Truncate(path.path, 100)),
            "write the path of the device node on the host; for files, use `type: Mount`");
      }
      const auto literal = FromGo(path.path).path;
      path.is_directory = literal && directories_.Has(*literal, path.place, findings_);
    }
  }
}

void GenericConversion::Add(GenericDevice device, const std::string& domain,
                            const Container* container) {
  found_ = true;
  const std::string name = domain + "/" + device.name;
  const auto problem = ProblemWithResourceName(name);
  const auto unknown = unknown_domains_.find(domain);
  if (unknown != unknown_domains_.end()) {
    device.errors.push_back(unknown->second);
  } else if (device.errors.empty() && problem) {
    findings_.CannotConvert(device.place,
                            Format("invalid resource name {}: {}", Truncate(name, 120), *problem),
                            "correct the name or the domain");
  }
  if (!device.errors.empty() || problem) {
    for (const GenericGroup& group : device.groups) {
      device.errors.insert(device.errors.end(), group.errors.begin(), group.errors.end());
    }
    Refuse(Truncate(name, 200), device.source, std::move(device.errors));
    return;
  }
  TakePaths(device, container);
  const NewResource resource = ResourceOf(device, name, findings_, file_.refused);
  if (resource.matches.empty()) return;
  if (!resources_.Add(resource, device.place, container)) {
    Refuse(name, WriteToml({{}, {resource}, {}}));
  }
}

void GenericConversion::ReportNotApplied(std::string_view key, std::string_view value) {
  file_.notes.push_back(
      Format("Not converted: {} = {}. See [daemon] in docs/configuration.md.", key, value));
}

void GenericConversion::Flags(const Container& container) {
  const GenericFlags& flags = FlagsOf(container);
  found_ = found_ || flags.names_devices;
  if (flags.devices.empty()) return;
  const std::string domain = Domain(flags.domain, &container, flags.devices.front().source.place());
  for (const auto& [flag, value] : flags.settings) ReportNotApplied(flag, value);
  for (const auto& [source, text] : flags.devices) {
    const SourceLocation place = source.place();
    if (!source.IsScalar()) {
      findings_.Malformed(place, "--device must be followed by a string");
      RefusePending("an argument", ToJson(source, kMaxRefusedText));
      continue;
    }
    const auto parts = ReadYaml(text, PlacesIn(text, place, manifest_.lines), budget_, findings_);
    if (parts.size() == 1 && parts[0].text().find(',') != std::string::npos) {
      Add(ReadGenericList(text, place), domain, &container);
    } else if (parts.size() == 1) {
      Add(ReadGenericDevice(parts[0], false, findings_), domain, &container);
    } else if (parts.size() > 1 || Trimmed(text).empty()) {
      findings_.Malformed(place, "--device must be followed by one device");
    }
    RefusePending("an argument", text.substr(0, kMaxRefusedText));
  }
}

/// Other programs have a --device flag too. If a container is recognizably the plugin, containers
/// that are not are ignored. If none is, the plugin's image may have a different name.
void GenericConversion::AllFlags() {
  const auto& containers = manifest_.containers;
  const bool has_named =
      std::any_of(containers.begin(), containers.end(),
                  [](const Container& container) { return container.runs_program; });
  for (const Container& container : containers) {
    if (has_named ? container.runs_program : NamesDevices(container)) Flags(container);
  }
}

void GenericConversion::Document(const Manifest::Document& document, const Container* reader) {
  const YamlValue& value = document.value;
  if (value.Find("groups")) {
    Add(ReadGenericDevice(value, false, findings_),
        Domain(DomainFlag(reader), reader, value.place()), reader);
    return;
  }
  found_ = true;
  // Other maps with `devices` can have keys of other programs.
  const Fields fields(value, kProgram, kFileKeys, findings_, document.is_root);
  // A template in the domain is reported by Domain, unless the caller has a domain.
  const YamlValue in_file = fields.Find("domain");
  auto said = in_file.IsScalar() ? std::optional(in_file.text()) : fields.Text("domain");
  if (document.key == kMicroShift) {
    if (!said) said = kMicroShiftDomain;
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
  if (auto flag = DomainFlag(reader)) said = std::move(flag);
  for (const std::string_view key : {"listen", "log-level", "plugin-directory"}) {
    const YamlValue setting = document.is_root ? fields.Find(key) : YamlValue();
    if (setting) ReportNotApplied(key, Truncate(setting.text(), 80));
  }
  RefusePending("a file", "");
  const std::string domain = Domain(said, reader, fields.PlaceOfKey("domain"));
  for (const std::string_view key : {"devices", "device"}) {
    for (const YamlValue& device : fields.List(key)) {
      Add(ReadGenericDevice(device, true, findings_), domain, reader);
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
  if (is_root && !value.Find("kind"))
    return devices || value.Find("device") || value.Find("groups");
  const auto items = devices.items();
  return std::any_of(items.begin(), items.end(),
                     [](const YamlValue& device) { return bool(device.Find("groups")); });
}

std::optional<NewFile> ConvertGenericDevicePlugin(const Manifest& manifest,
                                                  const ConvertHints& hints, Findings& findings) {
  GenericConversion conversion(manifest, hints, findings);
  conversion.AllFlags();
  const bool has_arguments = conversion.found();
  for (const auto& document : manifest.documents) {
    // The plugin ignores the devices in its file if there are devices in its arguments.
    const auto readers = ReadersOf(document, manifest);
    const Container* reader = readers.empty() ? nullptr : readers.front();
    if (has_arguments && (reader == nullptr || NamesDevices(*reader))) {
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
