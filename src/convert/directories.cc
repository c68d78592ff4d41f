#include "convert/directories.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "convert/patterns.h"
#include "convert/yaml.h"

namespace patchbay {
namespace {

/// Paths that are directories on every host that has them.
constexpr std::string_view kUsualDirectories[] = {
    "/dev/accel",       "/dev/bus/usb",   "/dev/cpu",  "/dev/disk/by-id",   "/dev/disk/by-path",
    "/dev/dma_heap",    "/dev/dri",       "/dev/dvb",  "/dev/infiniband",   "/dev/input",
    "/dev/net",         "/dev/serial",    "/dev/snd",  "/dev/serial/by-id", "/dev/serial/by-path",
    "/dev/v4l/by-path", "/dev/v4l/by-id", "/dev/vfio", "/dev/usb",          "/dev/xfpga"};
/// Names below /dev that are not directories, and what such names begin with.
constexpr std::string_view kUsualNodes[] = {
    "btrfs-control", "console", "cuse",           "full",      "fuse",         "gpiomem", "hpet",
    "hwrng",         "kfd",     "kmsg",           "kvm",       "loop-control", "mali",    "mem",
    "mpp_service",   "null",    "nvidia-modeset", "nvidiactl", "nvram",        "port",    "ppp",
    "ptmx",          "random",  "rfkill",         "rga",       "rknpu",        "rtc",     "sev",
    "uhid",          "uinput",  "urandom",        "vsock",     "watchdog",     "zero",    "zfs"};
constexpr std::string_view kUsualPrefixes[] = {
    "dri/", "hd",   "input/", "mapper/", "md/", "net/",  "nvidia-uvm", "pts/", "sd",
    "sgx_", "snd/", "tty",    "vc",      "vd",  "vfio/", "vhost-",     "xvd"};

/// Returns whether the name cannot be that of a directory: it is a usual one, has an extension, or
/// is a link, as in /dev/serial/by-id.
bool IsNodeName(std::string_view path) {
  const std::string_view name = path.substr(kDev.size());
  if (BaseName(path).starts_with("by-")) return false;
  return IsAmong(name, kUsualNodes) ||
         std::ranges::any_of(kUsualPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         BaseName(path).find('.') != std::string_view::npos ||
         DirectoryOf(path).find("/by-") != std::string::npos;
}

bool IsNumber(std::string_view name) { return std::ranges::all_of(name, IsDigit); }

/// A name with a number, such as video0, is usually that of a device node. Some are directories:
/// /dev/cpu/0, /dev/dvb/adapter0 and those of LVM. What is in a directory with a number is a node.
bool IsNumbered(std::string_view path) {
  const std::string_view name = BaseName(path);
  return IsNumber(BaseName(DirectoryOf(path))) ||
         (std::ranges::any_of(name, IsDigit) && !IsNumber(name) && !name.starts_with("adapter") &&
          !name.starts_with("vg"));
}

}  // namespace

Directories::Directories(const std::optional<std::vector<SeenName>>& dev) {
  if (!dev) return;
  for (const SeenName& seen : *dev) seen_.emplace(std::string(kDev) + seen.name, seen.is_directory);
}

bool Directories::Has(const std::string& path, const SourceLocation& place, Findings& findings) {
  if (const auto seen = seen_.find(path); seen != seen_.end()) return seen->second;
  if (IsAmong(path, kUsualDirectories)) return true;
  if (path.starts_with(kDev) && !IsNumbered(path) && !IsNodeName(path) &&
      assumed_nodes_.insert(path).second) {
    findings.Assumed(
        place, Format("{} is converted as a device; it may be a directory", Truncate(path, 100)),
        "if it is one, run convert on a node that has it, with --host-root /");
  }
  return false;
}

void Directories::AddAssumptions(Notes& notes) const {
  if (assumed_nodes_.empty()) return;
  notes.push_back(Format(
      "Assumed to be devices: {}. If one of them is a directory, its match finds nothing. To group "
      "the nodes in it into one device, run convert on a node that has it, with --host-root /.",
      fmt::join(assumed_nodes_, ", ")));
}

std::string NoteOnBelow() {
  return Format(
      "{} matches all nodes in the directory without the directories by-id, by-path and the like.",
      kBelow);
}

NewMatch MatchOfDirectory(const std::string& path, std::string_view program,
                          std::string_view group) {
  NewMatch match;
  match.notes.push_back(Format(
      "{} is a directory: with {}, the container runtime adds the nodes in it; in Patchbay, they "
      "form one device.",
      path, program));
  match.notes.push_back(NoteOnBelow());
  const std::string below =
      group.empty() ? std::string(kBelow) : Format("(?P<{}>{})", group, kBelow);
  match.regex = Format("{}(?P<group>{})/{}", kDev, RegexOf(path.substr(kDev.size())), below);
  match.group_by = "group";
  return match;
}

}  // namespace patchbay
