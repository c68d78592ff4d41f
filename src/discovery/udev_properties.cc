#include "discovery/udev_properties.h"

#include <libudev.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string_view>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

constexpr std::string_view kSys = "/sys/";
constexpr std::size_t kMostBytes = 64 * 1024;  // of a uevent file or an entry of the database
constexpr std::size_t kLongestValue = 4096;

bool IsForUdevAlone(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"ACTION", "CURRENT_TAGS", "SEQNUM",
                                                      "TAGS",   "SYNTH_UUID",   "USEC_INITIALIZED"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsPlain(std::string_view text) { return text.size() <= kLongestValue && IsPrintable(text); }

/// libudev gives them in an order that changes from one process to the next.
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

/// Calls `f` with the two sides of `separator` for each line that has one.
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

/// The kernel names a node relative to /dev.
std::string NodePath(std::string_view name) {
  return name.starts_with("/dev/") ? std::string(name) : format("/dev/{}", name);
}

void AddUevent(std::string_view text, Properties& properties) {
  ForEachPair(text, '=', [&](std::string_view name, std::string_view value) {
    if (name == "DEVNAME") return Keep(name, NodePath(value), properties);
    Keep(name, value, properties);
  });
}

/// Under which name udev files what it knows of a device.
std::string DatabaseKey(const std::string& syspath, const Properties& properties) {
  const auto value = [&](std::string_view name) {
    const auto property = properties.find(name);
    return property == properties.end() ? std::string_view() : std::string_view(property->second);
  };
  const std::string_view subsystem = value("SUBSYSTEM");
  if (!value("MAJOR").empty()) {
    return format("{}{}:{}", subsystem == "block" ? 'b' : 'c', value("MAJOR"), value("MINOR"));
  }
  if (!value("IFINDEX").empty()) return format("n{}", value("IFINDEX"));
  return format("+{}:{}", subsystem, BaseName(syspath));
}

/// Lines are "E:NAME=VALUE" for a property and "S:NAME" for a link below /dev.
void AddDatabaseEntry(std::string_view text, Properties& properties) {
  std::string links;
  ForEachPair(text, ':', [&](std::string_view kind, std::string_view rest) {
    if (kind == "S") links += format("{}/dev/{}", links.empty() ? "" : " ", rest);
    if (kind != "E") return;
    ForEachPair(rest, '=', [&](std::string_view name, std::string_view value) {
      if (value.empty()) return void(properties.erase(std::string(name)));  // udev took it away
      Keep(name, value, properties);
    });
  });
  if (!links.empty()) Keep("DEVLINKS", links, properties);
}

Result<Properties> ByLibrary(udev* context, const std::string& syspath) {
  const std::unique_ptr<udev_device, UdevFree> device(
      udev_device_new_from_syspath(context, syspath.c_str()));
  if (!device) {
    const int error = errno == ENODEV ? ENOENT : errno;
    return FailErrno("cannot read the device " + syspath, error);
  }
  Properties properties;
  udev_list_entry* entry = nullptr;
  udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(device.get())) {
    const char* value = udev_list_entry_get_value(entry);
    Keep(udev_list_entry_get_name(entry), value == nullptr ? "" : value, properties);
  }
  return properties;
}

}  // namespace

UdevProperties::UdevProperties(HostRoot host)
    : host_(std::move(host)),
      database_(host_.Resolve("/run/udev/data")),
      context_(host_.Local("/") == "/" ? udev_new() : nullptr) {}

Result<Properties> UdevProperties::Of(const HostNode& directory) const {
  if (!directory.path.starts_with(kSys)) {
    return Fail(ErrorKind::kInvalid, directory.path + " is no device: it is not in /sys");
  }
  return context_ ? ByLibrary(context_.get(), directory.path) : BelowRoot(directory);
}

Result<Properties> UdevProperties::BelowRoot(const HostNode& directory) const {
  const auto uevent = host_.ReadFile(directory, "uevent", kMostBytes);
  // One that may not be read belongs to a device all the same.
  if (!uevent && uevent.error().kind == ErrorKind::kNotFound) return Failure(uevent.error());
  Properties properties;
  if (uevent) AddUevent(*uevent, properties);
  Keep("DEVPATH", std::string_view(directory.path).substr(kSys.size() - 1), properties);
  const auto subsystem = host_.ReadLink(directory, "subsystem");
  if (subsystem) Keep("SUBSYSTEM", BaseName(*subsystem), properties);

  if (!database_) return properties;
  const std::string key = DatabaseKey(directory.path, properties);
  const auto entry = host_.ReadFile(*database_, key, kMostBytes);
  if (entry) AddDatabaseEntry(*entry, properties);
  return properties;
}

}  // namespace patchbay
