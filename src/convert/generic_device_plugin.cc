#include "convert/generic_device_plugin.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "config/reporter.h"
#include "convert/fields.h"
#include "convert/patterns.h"

namespace patchbay {
namespace {

constexpr std::string_view kOldDomain = "squat.ai";
constexpr std::string_view kNewDomain = "devic.es";
constexpr std::string_view kFileKeys[] = {"devices",   "device",           "domain", "listen",
                                          "log-level", "plugin-directory", "config"};

/// The domain by default of the version that an image is of; nothing where its tag does not tell.
std::optional<std::string_view> DomainOfImage(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::string_view last = BaseOf(image);
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

/// One after the other the devices of a file.
class GenericConversion {
 public:
  GenericConversion(const Manifest& manifest, const ConvertHints& hints, Findings& findings,
                    std::string image = "")
      : manifest_(manifest), hints_(hints), findings_(findings), image_(std::move(image)) {}

  void Flags(const Manifest::Container& container);
  void Document(const YamlValue& document);

  NewFile Take() && { return std::move(file_); }
  bool found() const { return found_; }

 private:
  std::string Domain(const std::optional<std::string>& said, const std::string& image,
                     const Place& place);
  void Add(const GenericDevice& device, const std::string& domain);
  void NotTaken(std::string_view key, std::string_view value);

  const Manifest& manifest_;
  const ConvertHints& hints_;
  Findings& findings_;
  std::string image_;  ///< of the container that reads the documents
  NewFile file_;
  std::map<std::string, Place> names_;
  bool found_ = false;
  bool has_assumed_ = false;
};

std::string GenericConversion::Domain(const std::optional<std::string>& said,
                                      const std::string& image, const Place& place) {
  if (hints_.domain) return *hints_.domain;
  if (said) return *said;
  if (const auto domain = DomainOfImage(image)) return std::string(*domain);
  if (!std::exchange(has_assumed_, true)) {
    findings_.Assumed(place, format("no domain is given; {} is assumed", kOldDomain),
                      format("it is that of generic-device-plugin up to 0.1; from 0.2.0 on it is "
                             "{}: see what the nodes have, and give --domain {} where it is that",
                             kNewDomain, kNewDomain));
    file_.notes.push_back(
        format("The file names no domain. {} is that of generic-device-plugin up to 0.1; if the "
               "nodes have {}/…, convert again with --domain {}.",
               kOldDomain, kNewDomain, kNewDomain));
  }
  return std::string(kOldDomain);
}

void GenericConversion::Add(const GenericDevice& device, const std::string& domain) {
  found_ = true;
  const std::string name = domain + "/" + device.name;
  const auto [known, is_new] = names_.emplace(name, device.place);
  if (!is_new) {
    findings_.CannotSay(
        device.place,
        format("{} is there already, at {}", Excerpt(name, 120), Where(known->second)),
        "make one device of the groups of both");
    return;
  }
  file_.resources.push_back(ResourceOf(device, name, findings_));
}

void GenericConversion::NotTaken(std::string_view key, std::string_view value) {
  file_.notes.push_back(
      format("Not taken over: {} = {}. See [daemon] in docs/configuration.md.", key, value));
}

void GenericConversion::Flags(const Manifest::Container& container) {
  const auto devices = FlagValues(container, "device");
  if (devices.empty()) return;
  found_ = true;
  std::optional<std::string> said;
  for (const YamlValue& value : FlagValues(container, "domain")) said = value.text;
  const std::string domain = Domain(said, container.image, devices.front().place);
  for (const std::string_view flag : {"listen", "log-level", "plugin-directory"}) {
    for (const YamlValue& value : FlagValues(container, flag)) {
      NotTaken(format("--{}", flag), Excerpt(value.text, 80));
    }
  }
  for (const YamlValue& value : devices) {
    if (!value.IsScalar()) {
      findings_.Malformed(value.place, "--device must be followed by a text");
      continue;
    }
    const auto parts = ReadYaml(value.text, PlacesIn(value, manifest_.text), findings_);
    if (parts.size() == 1 && parts[0].IsScalar() && parts[0].text.find(',') != std::string::npos) {
      Add(ReadGenericList(value), domain);
    } else if (parts.size() == 1) {
      Add(ReadGenericDevice(parts[0], false, findings_), domain);
    } else if (parts.size() > 1 || Trimmed(value.text).empty()) {
      findings_.Malformed(value.place, "--device must be followed by one device");
    }
  }
}

void GenericConversion::Document(const YamlValue& document) {
  if (!document.IsMap()) return;
  if (document.Find("groups") != nullptr && document.Find("kind") == nullptr) {
    Add(ReadGenericDevice(document, false, findings_), Domain({}, image_, document.place));
    return;
  }
  if (document.Find("devices") == nullptr && document.Find("device") == nullptr) return;
  found_ = true;
  const Fields fields(document, "generic-device-plugin", kFileKeys, findings_);
  const std::string domain = Domain(fields.Text("domain"), image_, document.place);
  for (const std::string_view key : {"listen", "log-level", "plugin-directory"}) {
    if (const auto value = fields.Text(key)) NotTaken(key, Excerpt(*value, 80));
  }
  for (const std::string_view key : {"devices", "device"}) {
    for (const YamlValue& value : fields.List(key)) {
      Add(ReadGenericDevice(value, true, findings_), domain);
    }
  }
}

}  // namespace

NewFile ConvertGenericDevicePlugin(const Manifest& manifest, const std::string& file,
                                   const ConvertHints& hints, Findings& findings) {
  // A domain among the arguments holds for the file that the same container reads.
  ConvertHints with_flags = hints;
  std::string image;
  for (const Manifest::Container& container : manifest.containers) {
    if (FlagValues(container, "config").empty()) continue;
    image = container.image;
    for (const YamlValue& value : FlagValues(container, "domain")) {
      if (!hints.domain) with_flags.domain = value.text;
    }
  }
  GenericConversion flags(manifest, hints, findings);
  for (const auto& container : manifest.containers) flags.Flags(container);
  if (flags.found()) return std::move(flags).Take();
  GenericConversion documents(manifest, with_flags, findings, image);
  for (const YamlValue& document : manifest.documents) documents.Document(document);
  if (!documents.found()) {
    findings.Malformed({file, 0, 0}, "nothing of generic-device-plugin is in it",
                       "give its configuration file, or the manifest with its --device arguments "
                       "or its ConfigMap; a chart has to be rendered first");
  }
  return std::move(documents).Take();
}

}  // namespace patchbay
