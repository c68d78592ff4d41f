// smarter-device-manager searches the names in /dev with each `devicematch` and creates a resource
// for each name that it finds. A Patchbay configuration lists its resources, so each entry becomes
// one resource for each name. The names come from the given content of /dev, and otherwise from
// ListNames, with a warning if they are not all names. If an expression shows only how its names
// begin, one resource has all of their nodes.
//
// Each entry is converted independently. The last of several entries with the same name wins,
// because the kubelet uses the plugin that registered last.

#include "convert/smarter_device_manager.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "config/reporter.h"
#include "convert/directories.h"
#include "convert/disks.h"
#include "convert/fields.h"
#include "convert/listed_names.h"
#include "convert/patterns.h"
#include "model/glob.h"
#include "model/resource_name.h"
#include "model/text_pattern.h"

namespace patchbay {
namespace {

constexpr std::string_view kSmarter = "smarter-device-manager";
constexpr std::string_view kSmarterKeys[] = {"devicematch", "nummaxdevices"};
constexpr std::string_view kGpus = "nvidia-gpu";
constexpr std::size_t kMaxKey = 30;  // bytes of a key that may be misspelled
constexpr int kMaxUnits = 10'000;
/// A configuration with more resources is always too large for a file.
constexpr std::size_t kMaxDeviceNames = 20'000;
constexpr const char* kOnNode = "run convert on a node that has the devices, with --host-root /";
constexpr std::string_view kReplacesDots = "smarter-device-manager:v1.20.1";  // 10, 11 and 12

/// Returns the name of the resource of a path below /dev. In smarter-device-manager since v1.20.10,
/// each character other than letters, digits, "-" and "_" becomes "_".
std::string NameOfResource(std::string_view path) {
  std::string name;
  for (const char c : path) {
    const bool continues_a_character = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (!continues_a_character) name.push_back(IsAlnum(c) || c == '-' ? c : '_');
  }
  return name;
}

/// Converts the entries of a manifest one after the other and collects their resources.
class SmarterConversion {
 public:
  SmarterConversion(const Manifest& manifest, const ConvertHints& hints, Findings& findings)
      : replaces_dots_(std::ranges::any_of(
            manifest.containers,
            [](const auto& c) { return c.image.find(kReplacesDots) != std::string::npos; })),
        hints_(hints),
        domain_(hints.domain.value_or("smarter-devices")),
        findings_(findings),
        directories_(hints.dev) {}

  void List(const YamlValue& list);
  NewFile Take() && {
    directories_.AddAssumptions(file_.notes);
    return std::move(file_);
  }

 private:
  void Entry(const YamlValue& value);
  /// Returns the names that an expression matches. Adds notes and findings if they are not all.
  std::vector<ListedName> NamesFor(const std::string& match, const SourceLocation& place,
                                   Notes& notes);
  std::vector<ListedName> SeenNamesFor(const std::string& match, const SourceLocation& place);
  NewResource ResourceFor(const ListedName& listed, const SourceLocation& place);
  void Add(NewResource resource, const SourceLocation& place);

  bool replaces_dots_;  ///< the version is known to be v1.20.10 or later
  const ConvertHints& hints_;
  std::string domain_;
  Findings& findings_;
  Directories directories_;
  NewFile file_;
  std::map<std::string, std::size_t> names_;  ///< indices in the resources of file_
  std::size_t list_ = 0;                      ///< the index of the first one of the list
  std::size_t added_ = 0;                     ///< names, also those that were known
};

void SmarterConversion::List(const YamlValue& list) {
  list_ = file_.resources.size();
  for (const YamlValue& item : list.items()) {
    Entry(item);
    if (added_ > kMaxDeviceNames) {
      findings_.CannotConvert(
          item.place(), Format("the entries have more than {} names of devices", kMaxDeviceNames),
          "convert the input in parts; Patchbay combines all files of a directory");
      findings_.TakeErrors();
      file_ = {};
      return;
    }
    auto errors = findings_.TakeErrors();
    if (errors.empty()) continue;
    file_.refused.push_back(
        {"an entry", std::move(errors), Truncate(ToJson(item), kMaxRefusedText)});
  }
}

/// smarter-device-manager searches within a name; TextPattern matches the whole name.
std::vector<ListedName> SmarterConversion::SeenNamesFor(const std::string& match,
                                                        const SourceLocation& place) {
  std::vector<ListedName> seen;
  const auto pattern = TextPattern::Compile(Format("(?s:.*)(?:{})(?s:.*)", match));
  if (!pattern) {
    findings_.CannotConvert(place, "`devicematch` cannot be searched for in names",
                            "use a shorter expression, without \\Q");
    return seen;
  }
  for (const SeenName& in_dev : *hints_.dev) {
    if (pattern->Matches(in_dev.name)) seen.push_back({in_dev.name});
  }
  return seen;
}

std::vector<ListedName> SmarterConversion::NamesFor(const std::string& match,
                                                    const SourceLocation& place, Notes& notes) {
  if (const auto pattern = TextPattern::Compile(match); !pattern) {
    findings_.Malformed(
        place,
        Format("`devicematch` is not a valid regular expression: {}", pattern.error().message),
        "fix the expression; put a \\ before a literal bracket");
    return {};
  }
  if (hints_.dev) {
    auto seen = SeenNamesFor(match, place);
    if (seen.empty()) {
      constexpr const char* kNone = "no name in the scanned /dev matches this expression";
      notes.push_back(
          findings_.Differs(place, kNone, "run convert when all devices are plugged in"));
    }
    return seen;
  }
  auto listed = ListNames(match);
  if (!listed) {
    findings_.CannotConvert(place,
                            "smarter-device-manager creates a resource for each matching name in "
                            "/dev, and this expression does not show these names",
                            kOnNode);
    return {};
  }
  const auto add_difference = [&](const std::string& difference) {
    notes.push_back(findings_.Differs(place, difference, kOnNode));
  };
  if (listed->has_numbers) add_difference("of the numbers in these names, only 0 to 9 are listed");
  if (!listed->is_anchored) add_difference("the expression matches more names than are listed");
  const auto is_open = [](const ListedName& name) { return !name.glob.empty(); };
  if (std::ranges::any_of(listed->names, is_open)) {
    add_difference("names with the same beginning become the devices of one resource");
  }
  return std::move(listed->names);
}

NewResource SmarterConversion::ResourceFor(const ListedName& listed, const SourceLocation& place) {
  NewResource resource{.name = domain_ + "/" + NameOfResource(listed.name)};
  const std::string path = "/dev/" + listed.name;
  if (!listed.glob.empty()) {
    resource.matches.push_back({.paths = {listed.glob}});
  } else if (directories_.Has(path, place, findings_)) {
    resource.matches.push_back(MatchOfDirectory(path, kSmarter));
  } else {
    resource.matches.push_back({.paths = {EscapedForGlob(path)}});
  }
  resource.nodes.emplace_back();
  return resource;
}

/// Tegra boards have their GPUs in sysfs. The container runtime passes the ones that are named in
/// an environment variable.
NewResource Gpu(const std::string& domain, const SourceLocation& place, Findings& findings) {
  NewResource resource;
  resource.name = domain + "/nvidia-gpu0";
  resource.notes.push_back(findings.Differs(place,
                                            "of the GPUs in /sys/devices, only gpu.0 is converted",
                                            "write a resource for each other GPU"));
  resource.matches.push_back({.paths = {"/sys/devices/gpu.0"}, .type = "directory"});
  resource.nodes.emplace_back();
  resource.env.emplace_back("NVIDIA_VISIBLE_DEVICES", "0");
  return resource;
}

void SmarterConversion::Add(NewResource resource, const SourceLocation& place) {
  if (const auto problem = ProblemWithResourceName(resource.name)) {
    findings_.Ignored(
        place,
        Format("{} is not a valid resource name: {}", Truncate(resource.name, 120), *problem),
        "the kubelet also rejects it from smarter-device-manager");
    return;
  }
  for (NewMatch& match : resource.matches) match.place = place;
  AllowMountedDisks(resource);
  const auto [known, is_new] = names_.emplace(resource.name, file_.resources.size());
  if (is_new) {
    file_.resources.push_back(std::move(resource));
    return;
  }
  NewResource& first = file_.resources[known->second];
  if (known->second < list_) {  // of another configuration, and therefore probably of other nodes
    if (first.replicas == resource.replicas) return;
    findings_.Assumed(place,
                      Format("{} differs from the one at {}, which is converted", resource.name,
                             Where(first.matches.front().place)),
                      "use --output helm if they are for different nodes, or convert each file");
    return;
  }
  findings_.Ignored(first.matches.front().place,
                    Format("duplicate resource {}; smarter-device-manager uses the last one, at {}",
                           resource.name, Where(place)));
  resource.notes.insert(resource.notes.begin(), first.notes.begin(), first.notes.end());
  first = std::move(resource);
}

void SmarterConversion::Entry(const YamlValue& value) {
  if (!ExpectMap(value, "an entry", findings_)) return;
  const Fields fields(value, kSmarter, kSmarterKeys, findings_);
  const auto match = fields.Text("devicematch");
  const SourceLocation place = fields.PlaceOfKey("devicematch");
  // An invalid number has its own finding, so it must not count as a missing one.
  const bool has_number = static_cast<bool>(fields.Find("nummaxdevices"));
  const auto units =
      static_cast<int>(fields.Number("nummaxdevices", kMaxUnits, has_number ? 1 : 0));
  if (findings_.HasNewErrors()) return;
  if (!match || match->empty()) {
    findings_.CannotConvert(place,
                            "an entry without `devicematch` creates a resource for every device",
                            "set `devicematch` to the devices that you need");
    return;
  }
  if (units == 0) {
    findings_.Ignored(fields.PlaceOfKey("nummaxdevices"),
                      Format("an entry {} provides no devices; it is not converted",
                             has_number ? "with `nummaxdevices: 0`" : "without `nummaxdevices`"));
    return;
  }
  Notes notes = {Format("devicematch: {}", Truncate(*match, 120))};
  std::vector<NewResource> resources;
  if (*match == kGpus) {
    resources.push_back(Gpu(domain_, place, findings_));
  } else {
    bool has_dots = false;
    for (const ListedName& name : NamesFor(*match, place, notes)) {
      has_dots = has_dots || name.name.find('.') != std::string::npos;
      resources.push_back(ResourceFor(name, place));
    }
    if (has_dots && !replaces_dots_) {
      notes.push_back(findings_.Differs(
          place, "smarter-device-manager before v1.20.10 keeps the dots in these names",
          "compare them with `kubectl describe node`"));
    }
  }
  if (resources.empty()) {
    file_.notes.insert(file_.notes.end(), notes.begin(), notes.end());
    return;
  }
  resources.front().notes.insert(resources.front().notes.begin(), notes.begin(), notes.end());
  added_ += resources.size();
  for (NewResource& resource : resources) {
    resource.replicas = units;
    Add(std::move(resource), place);
  }
}

}  // namespace

bool IsSmarterConfiguration(const YamlValue& value, bool) {
  return std::ranges::any_of(value.items(), [](const YamlValue& item) {
    return item.Find("devicematch") || item.Find("nummaxdevices");
  });
}

std::optional<Misspelled> FindMisspelledSmarter(const YamlValue& value) {
  for (const YamlValue& item : value.items()) {
    // Both keys, because other programs have keys such as devicePath.
    std::optional<Misspelled> first;
    for (const YamlEntry& entry : item.entries()) {
      const std::string& key = entry.key.text();
      const bool may_be_meant = entry.value.IsScalar() && key.size() <= kMaxKey;
      const std::string_view meant = may_be_meant ? Nearest(key, kSmarterKeys) : "";
      if (meant.empty()) continue;
      if (first && first->meant != meant) return first;
      first = Misspelled{entry.key, meant};
    }
  }
  return std::nullopt;
}

std::optional<NewFile> ConvertSmarterDeviceManager(const Manifest& manifest,
                                                   const ConvertHints& hints, Findings& findings) {
  if (manifest.documents.empty()) return std::nullopt;
  SmarterConversion conversion(manifest, hints, findings);
  for (const auto& document : manifest.documents) conversion.List(document.value);
  return std::move(conversion).Take();
}

}  // namespace patchbay
