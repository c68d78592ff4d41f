// The uevent file and the database are parsed here and not by libudev, because both contain text
// from devices. Only keys that the kernel sets are taken from a uevent file, up to the first other
// key. KernelFacts override what they know.

#include "discovery/udev_properties.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

constexpr std::string_view kSys = "/sys/";
constexpr std::size_t kMaxBytes = 64 * 1024;  // of a uevent file or an entry of the database
constexpr std::size_t kMaxValue = 4096;

bool IsForUdevAlone(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"ACTION", "CURRENT_TAGS", "SEQNUM",
                                                      "TAGS",   "SYNTH_UUID",   "USEC_INITIALIZED"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsPlain(std::string_view text) { return text.size() <= kMaxValue && IsPrintable(text); }

/// Sorts the properties: their order in libudev differs between processes.
std::string SortedLinks(std::string_view links) {
  std::set<std::string_view> words;
  while (!links.empty()) {
    const auto end = std::min(links.find(' '), links.size());
    if (end > 0) words.insert(links.substr(0, end));
    links.remove_prefix(std::min(end + 1, links.size()));
  }
  std::string sorted;
  for (const std::string_view word : words) sorted.append(sorted.empty() ? "" : " ").append(word);
  return sorted;
}

void Keep(std::string_view name, std::string_view value, Properties& properties) {
  if (name.empty() || IsForUdevAlone(name) || !IsPlain(name)) return;
  std::string& kept = properties[std::string(name)];
  kept = name == "DEVLINKS" ? SortedLinks(value) : value;
  if (!IsPlain(kept)) properties.erase(std::string(name));
}

/// Calls `f(left, right)` for each line with a `separator`.
template <class F>
void ForEachPair(std::string_view text, char separator, F f) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto at = line.find(separator);
    if (at != std::string_view::npos) f(line.substr(0, at), line.substr(at + 1));
  }
}

/// Returns the path of a node, whose name in the kernel is relative to /dev.
std::string NodePath(std::string_view name) {
  return name.starts_with("/dev/") ? std::string(name) : Format("/dev/{}", name);
}

/// Returns whether only the kernel sets this key, to a number or a name of its own. MODALIAS is not
/// included, because some buses copy text from the device into it.
bool IsFilledByKernel(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "BUSNUM",        "DEVGID",  "DEVMODE",   "DEVNAME",   "DEVNUM",  "DEVTYPE",
      "DEVUID",        "DISKSEQ", "DRIVER",    "HID_ID",    "IFINDEX", "INTERFACE",
      "MAJOR",         "MINOR",   "PARTN",     "PCI_CLASS", "PCI_ID",  "PCI_SLOT_NAME",
      "PCI_SUBSYS_ID", "PRODUCT", "SUBSYSTEM", "TYPE"};
  return name.starts_with("OF_") || IsForUdevAlone(name) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// The properties that KernelFacts override.
bool IsFact(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {"DEVNAME", "DEVPATH", "DEVTYPE",
                                                             "DRIVER",  "IFINDEX", "INTERFACE",
                                                             "MAJOR",   "MINOR",   "SUBSYSTEM"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Returns the name of the database entry of a device.
std::string DatabaseKey(const KernelFacts& facts) {
  if (facts.number) {
    return Format("{}{}:{}", facts.number->type == FileType::kBlock ? 'b' : 'c',
                  facts.number->major, facts.number->minor);
  }
  if (!facts.ifindex.empty()) return Format("n{}", facts.ifindex);
  return Format("+{}:{}", facts.subsystem, facts.name);
}

/// Overrides properties with the values of KernelFacts.
void AddFacts(const HostNode& directory, const KernelFacts& facts, Properties& properties) {
  const auto set = [&](const char* name, const std::string& value) {
    properties.erase(name);
    if (!value.empty()) Keep(name, value, properties);
  };
  set("DEVPATH", directory.path.substr(kSys.size() - 1));
  set("SUBSYSTEM", facts.subsystem);
  set("DRIVER", facts.driver);
  set("MAJOR", facts.number ? std::to_string(facts.number->major) : "");
  set("MINOR", facts.number ? std::to_string(facts.number->minor) : "");
  if (!facts.number) properties.erase("DEVNAME");
  if (!facts.devtype.empty()) set("DEVTYPE", facts.devtype);
  set("IFINDEX", facts.ifindex);
  if (facts.subsystem == "net") set("INTERFACE", facts.name);
}

/// Parses a database entry. "E:NAME=VALUE" is a property, "S:NAME" a link in /dev.
void AddDatabaseEntry(std::string_view text, Properties& properties) {
  std::string links;
  ForEachPair(text, ':', [&](std::string_view kind, std::string_view rest) {
    if (kind == "S") links += Format("{}/dev/{}", links.empty() ? "" : " ", rest);
    if (kind != "E") return;
    ForEachPair(rest, '=', [&](std::string_view name, std::string_view value) {
      if (IsFact(name)) return;
      if (value.empty())
        return void(properties.erase(std::string(name)));  // udev removed the property
      Keep(name, value, properties);
    });
  });
  if (!links.empty()) Keep("DEVLINKS", links, properties);
}

}  // namespace

Properties TrustedUevent(std::string_view text) {
  Properties properties;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) break;
    const std::string_view name = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (!seen.insert(name).second) break;
    if (name == "DEVNAME") {
      Keep(name, NodePath(value), properties);
    } else {
      Keep(name, value, properties);
    }
    if (!IsFilledByKernel(name)) break;
  }
  return properties;
}

UdevProperties::UdevProperties(HostRoot host)
    : host_(std::move(host)), database_(host_.Resolve("/run/udev/data")) {}

Result<Properties> UdevProperties::Of(const HostNode& directory, const KernelFacts& facts) const {
  if (!directory.path.starts_with(kSys)) {
    return Fail(ErrorKind::kInvalid, directory.path + " is not a device: it is not in /sys");
  }
  const auto uevent = host_.ReadFile(directory, "uevent", kMaxBytes);
  // A directory without read permission is still a device.
  if (!uevent && uevent.error().kind == ErrorKind::kNotFound) return Failure(uevent.error());
  Properties properties = TrustedUevent(uevent ? std::string_view(*uevent) : "");
  if (database_) {
    const auto entry = host_.ReadFile(*database_, DatabaseKey(facts), kMaxBytes);
    if (entry) AddDatabaseEntry(*entry, properties);
  }
  AddFacts(directory, facts, properties);
  return properties;
}

std::vector<std::string> UdevProperties::LinksOf(const DeviceNumber& number) const {
  std::vector<std::string> links;
  if (!database_) return links;
  KernelFacts facts;
  facts.number = number;
  const auto entry = host_.ReadFile(*database_, DatabaseKey(facts), kMaxBytes);
  if (!entry) return links;
  ForEachPair(*entry, ':', [&](std::string_view kind, std::string_view rest) {
    if (kind == "S") links.push_back(Format("/dev/{}", rest));
  });
  return links;
}

}  // namespace patchbay
