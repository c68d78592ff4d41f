// The plugin takes its devices from --device flags, or otherwise from a file. Arguments are read
// from containers that are recognizably the plugin. If there is no such container, they are read
// from every container with --device, because the image may have a different name. The
// documents of the file and its ConfigMaps are converted only if no such container has --device.
//
// The domain of a document is the first of: the one from the caller, the --domain flag of the
// container that reads the document, the one in the document, the default of the version in the tag
// of the container's image, and an assumed default with a warning.

#include "convert/generic_device_plugin.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "config/reporter.h"
#include "convert/directories.h"
#include "convert/fields.h"
#include "convert/generic_flags.h"
#include "convert/patterns.h"

namespace patchbay {
namespace {

constexpr std::string_view kProgram = "generic-device-plugin";
constexpr std::string_view kOldDomain = "squat.ai";
constexpr std::string_view kNewDomain = "devic.es";
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

/// Returns whether the name, image or command of a container identifies the plugin.
bool IsNamed(const Container& container) {
  const auto is_it = [](std::string_view text) {
    return text.find(kProgram) != std::string_view::npos;
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

/// Returns the container that reads a document: preferably one that mounts its ConfigMap, with any
/// image, and otherwise one that runs the plugin. Returns null if there is none.
const Container* ReaderOf(const Manifest::Document& document, const Manifest& manifest) {
  const Container* reader = nullptr;
  int likeliest = 0;
  for (const Container& container : manifest.containers) {
    const bool has_mounted =
        !document.config_map.empty() && container.config_maps.contains(document.config_map);
    const int likely = (has_mounted ? 2 : 0) + (IsNamed(container) ? 1 : 0);
    if (likely <= likeliest) continue;
    likeliest = likely;
    reader = &container;
  }
  return reader;
}

/// Converts the devices of a manifest one after the other and collects their resources.
class GenericConversion {
 public:
  GenericConversion(const Manifest& manifest, const ConvertHints& hints, Findings& findings)
      : manifest_(manifest), hints_(hints), findings_(findings), directories_(hints.dev) {}

  void AllFlags();
  void Document(const YamlValue& document, const Container* reader);

  NewFile Take() &&;
  bool found() const { return found_; }

 private:
  void Flags(const Container& container);
  const GenericFlags& FlagsOf(const Container& container);
  std::optional<std::string> DomainFlag(const Container* container);
  std::string Domain(const std::optional<std::string>& said, const Container* container,
                     const SourceLocation& place);
  void Add(GenericDevice device, const std::string& domain);
  void NotTaken(std::string_view key, std::string_view value);

  const Manifest& manifest_;
  const ConvertHints& hints_;
  Findings& findings_;
  Directories directories_;
  NewFile file_;
  std::map<const Container*, GenericFlags> flags_;
  std::map<std::string, SourceLocation> names_;
  bool found_ = false;
  bool has_assumed_ = false;
};

/// The flags are read once, so that errors in them are reported once.
const GenericFlags& GenericConversion::FlagsOf(const Container& container) {
  const auto known = flags_.find(&container);
  if (known != flags_.end()) return known->second;
  return flags_.emplace(&container, ReadGenericFlags(container, findings_)).first->second;
}

/// The --domain flag of a container, if any. It overrides the domain in the file.
std::optional<std::string> GenericConversion::DomainFlag(const Container* container) {
  return container == nullptr ? std::nullopt : FlagsOf(*container).domain;
}

std::string GenericConversion::Domain(const std::optional<std::string>& said,
                                      const Container* container, const SourceLocation& place) {
  if (hints_.domain) return *hints_.domain;
  if (said) return *said;
  const auto of_image = DomainOfImage(container == nullptr ? "" : container->image);
  if (of_image) return std::string(*of_image);
  if (!std::exchange(has_assumed_, true)) {
    findings_.Assumed(
        place, format("no domain specified; assuming {}", kOldDomain),
        format("this is the default of generic-device-plugin up to 0.1; from 0.2.0 on "
               "it is {}. Check the resources of the nodes, and use --domain {} if needed",
               kNewDomain, kNewDomain));
    file_.notes.push_back(format(
        "The file specifies no domain. {} is the default of generic-device-plugin up to 0.1. If "
        "the nodes have {}/…, convert again with --domain {}.",
        kOldDomain, kNewDomain, kNewDomain));
  }
  return std::string(kOldDomain);
}

void GenericConversion::Add(GenericDevice device, const std::string& domain) {
  found_ = true;
  const std::string name = domain + "/" + device.name;
  const auto [known, is_new] = names_.emplace(name, device.place);
  if (!is_new) {
    findings_.CannotConvert(device.place,
                            format("duplicate device {}, first defined at {}", Truncate(name, 120),
                                   Where(known->second)),
                            "combine the groups of both in one device");
    return;
  }
  for (GenericGroup& group : device.groups) {
    for (GenericPath& path : group.paths) {
      const auto literal = FromGo(path.path).path;
      path.is_directory = !path.is_mount && literal && directories_.Has(*literal);
    }
  }
  file_.resources.push_back(ResourceOf(device, name, findings_));
}

void GenericConversion::NotTaken(std::string_view key, std::string_view value) {
  file_.notes.push_back(
      format("Not converted: {} = {}. See [daemon] in docs/configuration.md.", key, value));
}

void GenericConversion::Flags(const Container& container) {
  const GenericFlags& flags = FlagsOf(container);
  found_ = found_ || flags.names_devices;
  if (flags.devices.empty()) return;
  const std::string domain = Domain(flags.domain, &container, flags.devices.front().place);
  for (const auto& [flag, value] : flags.settings) NotTaken(flag, value);
  for (const YamlValue& value : flags.devices) {
    if (!value.IsScalar()) {
      findings_.Malformed(value.place, "--device must be followed by a string");
      continue;
    }
    const auto parts = ReadYaml(value.text, PlacesIn(value, manifest_.lines), findings_);
    if (parts.size() == 1 && parts[0].IsScalar() && parts[0].text.find(',') != std::string::npos) {
      Add(ReadGenericList(value), domain);
    } else if (parts.size() == 1) {
      Add(ReadGenericDevice(parts[0], false, findings_), domain);
    } else if (parts.size() > 1 || Trimmed(value.text).empty()) {
      findings_.Malformed(value.place, "--device must be followed by one device");
    }
  }
}

/// Other programs have a --device flag too. If a container is recognizably the plugin, containers
/// that are not are ignored. If none is, the plugin's image may have a different name.
void GenericConversion::AllFlags() {
  const auto& containers = manifest_.containers;
  const bool has_named = std::any_of(containers.begin(), containers.end(), IsNamed);
  for (const Container& container : containers) {
    if (has_named ? IsNamed(container) : NamesDevices(container)) Flags(container);
  }
}

void GenericConversion::Document(const YamlValue& document, const Container* reader) {
  if (!document.IsMap()) return;
  if (document.Find("groups") != nullptr && document.Find("kind") == nullptr) {
    Add(ReadGenericDevice(document, false, findings_),
        Domain(DomainFlag(reader), reader, document.place));
    return;
  }
  if (document.Find("devices") == nullptr && document.Find("device") == nullptr) return;
  found_ = true;
  const Fields fields(document, kProgram, kFileKeys, findings_);
  auto said = fields.Text("domain");
  if (auto flag = DomainFlag(reader)) said = std::move(flag);
  const std::string domain = Domain(said, reader, document.place);
  for (const std::string_view key : {"listen", "log-level", "plugin-directory"}) {
    if (const auto value = fields.Text(key)) NotTaken(key, Truncate(*value, 80));
  }
  for (const std::string_view key : {"devices", "device"}) {
    for (const YamlValue& value : fields.List(key)) {
      Add(ReadGenericDevice(value, true, findings_), domain);
    }
  }
}

NewFile GenericConversion::Take() && {
  directories_.TellWhatWasAssumed(file_.notes);
  return std::move(file_);
}

}  // namespace

NewFile ConvertGenericDevicePlugin(const Manifest& manifest, const std::string& file,
                                   const ConvertHints& hints, Findings& findings) {
  GenericConversion conversion(manifest, hints, findings);
  conversion.AllFlags();
  // The plugin ignores the devices in its file if there are devices in its arguments.
  if (!conversion.found()) {
    for (const auto& document : manifest.documents) {
      conversion.Document(document.value, ReaderOf(document, manifest));
    }
  }
  if (!conversion.found()) {
    findings.Malformed({file, 0, 0}, "no configuration of generic-device-plugin found",
                       "pass its configuration file, or a manifest with its --device arguments or "
                       "its ConfigMap; render a chart first, with `helm template`");
  }
  return std::move(conversion).Take();
}

}  // namespace patchbay
