#include "convert/smarter_device_manager.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "config/reporter.h"
#include "convert/directories.h"
#include "convert/fields.h"
#include "convert/names.h"
#include "convert/patterns.h"
#include "model/resource_name.h"
#include "model/text_pattern.h"

namespace patchbay {
namespace {

constexpr std::string_view kSmarter = "smarter-device-manager";
constexpr std::string_view kSmarterKeys[] = {"devicematch", "nummaxdevices"};
constexpr std::string_view kGpus = "nvidia-gpu";
constexpr int kMaxUnits = 10'000;

/// The entries of a file, one after the other.
class SmarterConversion {
 public:
  SmarterConversion(const ConvertHints& hints, Findings& findings)
      : hints_(hints),
        domain_(hints.domain.value_or("smarter-devices")),
        findings_(findings),
        directories_(hints.dev) {}

  void Document(const YamlValue& document);
  bool found() const { return found_; }
  NewFile Take() && {
    directories_.TellWhatWasAssumed(file_.notes);
    return std::move(file_);
  }

 private:
  void Entry(const YamlValue& value);
  std::vector<SeenName> NamesFor(const std::string& match, const SourceLocation& place,
                                 Notes& notes);
  std::vector<SeenName> SeenNamesFor(const std::string& match, const SourceLocation& place);
  NewResource ResourceFor(const SeenName& seen) const;
  void Add(NewResource resource, const SourceLocation& place);

  const ConvertHints& hints_;
  std::string domain_;
  Findings& findings_;
  Directories directories_;
  NewFile file_;
  std::map<std::string, SourceLocation> names_;
  bool found_ = false;
};

void SmarterConversion::Document(const YamlValue& document) {
  if (!document.IsList()) return;
  const bool is_ours =
      std::any_of(document.items.begin(), document.items.end(), [](const YamlValue& item) {
        return item.Find("devicematch") != nullptr || item.Find("nummaxdevices") != nullptr;
      });
  if (!is_ours) return;
  found_ = true;
  for (const YamlValue& item : document.items) Entry(item);
}

/// Looked for anywhere in the names of a node, as the other program does. Ours match whole texts.
std::vector<SeenName> SmarterConversion::SeenNamesFor(const std::string& match,
                                                      const SourceLocation& place) {
  std::vector<SeenName> seen;
  const auto pattern = TextPattern::Compile(format("(?s:.*)(?:{})(?s:.*)", match));
  if (!pattern) {
    findings_.CannotSay(place, "`devicematch` cannot be looked for within names",
                        "write a shorter expression, without \\Q");
    return seen;
  }
  for (const SeenName& name : *hints_.dev) {
    if (pattern->Matches(name.name)) seen.push_back(name);
  }
  return seen;
}

std::vector<SeenName> SmarterConversion::NamesFor(const std::string& match,
                                                  const SourceLocation& place, Notes& notes) {
  if (const auto pattern = TextPattern::Compile(match); !pattern) {
    findings_.Malformed(
        place, format("`devicematch` is no regular expression: {}", pattern.error().message),
        "mend it; a bracket that is meant as such has a \\ in front");
    return {};
  }
  if (hints_.dev) {
    auto seen = SeenNamesFor(match, place);
    if (seen.empty()) notes.push_back("There is no such device in the /dev that was looked at.");
    return seen;
  }
  const auto written = WriteOut(match);
  if (!written) {
    findings_.CannotSay(place,
                        format("every name in /dev that this matches is a resource of its own, and "
                               "cannot be written out: {}",
                               written.error().message),
                        "convert on a node that has the devices, with --host-root /");
    return {};
  }
  if (written->has_numbers) {
    notes.push_back(
        "Differs: names of resources are fixed here, so the numbers 0 to 9 are written "
        "out. Add in the same way what your nodes have beyond them, or convert on a "
        "node, with --host-root /. Of a device that is not there the node shows 0.");
  }
  if (written->is_open || !written->is_anchored) {
    notes.push_back(
        "Differs: it matches more names than can be foreseen; each of them is a "
        "resource there. Add in the same way what your nodes have.");
    findings_.Assumed(place, "this matches more names than are written out",
                      "compare with the resources that the nodes have, or convert on a node, with "
                      "--host-root /");
  }
  std::vector<SeenName> names;
  for (const std::string& name : written->names) {
    names.push_back({name, directories_.Has("/dev/" + name)});
  }
  return names;
}

NewResource SmarterConversion::ResourceFor(const SeenName& seen) const {
  NewResource resource;
  std::string name = seen.name;
  std::replace(name.begin(), name.end(), '/', '_');
  resource.name = domain_ + "/" + name;
  const std::string path = "/dev/" + seen.name;
  resource.matches.push_back(seen.is_directory ? MatchOfDirectory(path, kSmarter)
                                               : NewMatch{.path = GlobOf(path)});
  resource.nodes.emplace_back();
  return resource;
}

/// The GPUs of Tegra boards are found in sysfs and handed over by a variable.
NewResource Gpu(const std::string& domain) {
  NewResource resource;
  resource.name = domain + "/nvidia-gpu0";
  resource.notes.push_back("Differs: of the GPUs in /sys/devices, gpu.0 is written out.");
  NewMatch match;
  match.path = "/sys/devices/gpu.0";
  match.type = "directory";
  resource.matches.push_back(std::move(match));
  resource.nodes.emplace_back();
  resource.env.emplace_back("NVIDIA_VISIBLE_DEVICES", "0");
  return resource;
}

void SmarterConversion::Add(NewResource resource, const SourceLocation& place) {
  if (const auto problem = ProblemWithResourceName(resource.name)) {
    findings_.Ignored(place,
                      format("{} cannot be a resource: {}", Truncate(resource.name, 120), *problem),
                      "the kubelet refuses it for smarter-device-manager as well");
    return;
  }
  const auto [known, is_new] = names_.emplace(resource.name, place);
  if (is_new) {
    file_.resources.push_back(std::move(resource));
    return;
  }
  findings_.Ignored(place,
                    format("{} is there already, at {}", resource.name, Where(known->second)));
}

void SmarterConversion::Entry(const YamlValue& value) {
  if (!ExpectMap(value, "an entry", findings_)) return;
  const Fields fields(value, kSmarter, kSmarterKeys, findings_);
  const auto match = fields.Text("devicematch");
  const SourceLocation place = fields.PlaceOfKey("devicematch");
  // A wrong number is told of once: it is not as if there were none.
  const bool has_number = fields.Find("nummaxdevices") != nullptr;
  const auto units =
      static_cast<int>(fields.Number("nummaxdevices", kMaxUnits, has_number ? 1 : 0));
  if (!match || match->empty()) {
    findings_.CannotSay(place, "an entry without `devicematch` makes a resource of everything",
                        "say which devices are meant");
    return;
  }
  if (units == 0) {
    findings_.Ignored(
        fields.PlaceOfKey("nummaxdevices"),
        format("{} there is none to be had; the entry is left out",
               has_number ? "with a `nummaxdevices` of 0" : "without `nummaxdevices`"));
    return;
  }
  Notes notes = {format("devicematch: {}", Truncate(*match, 120))};
  std::vector<NewResource> resources;
  if (*match == kGpus) {
    resources.push_back(Gpu(domain_));
  } else {
    for (const SeenName& name : NamesFor(*match, place, notes)) {
      resources.push_back(ResourceFor(name));
    }
  }
  if (resources.empty()) {
    file_.notes.insert(file_.notes.end(), notes.begin(), notes.end());
    return;
  }
  resources.front().notes.insert(resources.front().notes.begin(), notes.begin(), notes.end());
  for (NewResource& resource : resources) {
    resource.replicas = units;
    Add(std::move(resource), place);
  }
}

}  // namespace

NewFile ConvertSmarterDeviceManager(const Manifest& manifest, const std::string& file,
                                    const ConvertHints& hints, Findings& findings) {
  SmarterConversion conversion(hints, findings);
  for (const auto& document : manifest.documents) conversion.Document(document.value);
  // The values of its chart.
  for (const auto& document : manifest.documents) {
    const YamlValue* list = document.value.Find("config");
    if (list != nullptr) conversion.Document(*list);
  }
  if (!conversion.found()) {
    findings.Malformed({file, 0, 0}, "there is no list of `devicematch` in it",
                       "give conf.yaml, the ConfigMap that holds it, or the values of the chart; "
                       "without any the image's own conf.yaml is in force");
  }
  return std::move(conversion).Take();
}

}  // namespace patchbay
