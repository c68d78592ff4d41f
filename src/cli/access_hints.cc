#include "cli/access_hints.h"

#include <algorithm>

#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

/// The parts of a host that a container mounts as a whole. If an entry directly below one of them
/// is missing, the mount is missing; entries further down may appear later.
enum class HostArea { kAny, kDev, kBelowDev, kSys, kUdev };

HostArea AreaOf(const std::string& path) {
  if (path == "/dev") return HostArea::kDev;
  if (path.starts_with("/dev/")) return HostArea::kBelowDev;
  if (path == "/sys" || DirectoryOf(path) == "/sys") return HostArea::kSys;
  if (path == "/run" || path == "/run/udev" || path.starts_with("/run/udev/"))
    return HostArea::kUdev;
  return HostArea::kAny;
}

/// A row of the table of hints; the first that applies is used. In the text, {path} is the path of
/// the obstacle, {above} its directory, and {place} where to mount the host's part in this process.
struct Hint {
  Barrier barrier;
  HostArea part;  ///< kAny applies to each part
  std::string_view text;
};

constexpr Hint kHints[] = {
    {Barrier::kMissing, HostArea::kDev,
     "in a container, mount the host's /dev {place} (a hostPath volume; read-only is enough)"},
    {Barrier::kMissing, HostArea::kBelowDev,
     "udev creates it with the first such device; check the spelling and compare with the host's "
     "own /dev"},
    {Barrier::kMissing, HostArea::kSys,
     "in a container, mount the host's /sys {place} (a hostPath volume; read-only is enough)"},
    {Barrier::kMissing, HostArea::kUdev,
     "in a container, mount the host's /run/udev {place} (a hostPath volume; read-only is enough); "
     "if the host has no udev, match by usb, pci or attributes instead of properties"},
    {Barrier::kMissing, HostArea::kAny,
     "wait for it, or fix the pattern; if the host has it, mount it {place}"},
    {Barrier::kNoDirectory, HostArea::kAny,
     "{path} is not a directory: fix the pattern, or remove it"},
    {Barrier::kNoRight, HostArea::kAny,
     "run as root, with CAP_DAC_READ_SEARCH if capabilities are dropped, or allow this user to "
     "read {path}; if root has no access, a policy such as SELinux denies it"},
    {Barrier::kForbidden, HostArea::kAny,
     "the mode of {path} is not what forbids it: allow it in the policy of the container "
     "(SELinux, AppArmor, seccomp, device cgroup)"},
    {Barrier::kWriteOnly, HostArea::kAny, "no user can read {path}: match by something else"},
    {Barrier::kTooManyLinks, HostArea::kAny,
     "fix the link {path}: it is a loop, or a chain of more than 40 links"},
    {Barrier::kFailure, HostArea::kAny,
     "this is not a mount or permission problem; if it persists, check the kernel log (dmesg)"},
};

constexpr std::string_view kMisspelt =
    "{above} has {neighbors}, but no {name}: fix the path, or wait for the device";

std::string MountOf(HostArea part, const std::string& path) {
  switch (part) {
    case HostArea::kDev:
    case HostArea::kBelowDev: return "/dev";
    case HostArea::kSys: return "/sys";
    case HostArea::kUdev: return "/run/udev";
    case HostArea::kAny: break;
  }
  return path;
}

std::string PlaceOf(const std::string& path, const HostRoot& host) {
  const std::string local = host.Local(path);
  return local == path ? "at the same path, or set --host-root" : "at " + local;
}

}  // namespace

std::string AccessHint(const Obstacle& obstacle, const HostRoot& host) {
  const HostArea part = AreaOf(obstacle.path);
  const bool is_misspelt =
      !obstacle.neighbors.empty() && (part == HostArea::kBelowDev || part == HostArea::kAny);
  const auto* hint = std::find_if(std::begin(kHints), std::end(kHints), [&](const Hint& m) {
    return m.barrier == obstacle.barrier && (m.part == part || m.part == HostArea::kAny);
  });
  if (hint == std::end(kHints)) return "";
  return Format(fmt::runtime(is_misspelt ? kMisspelt : hint->text), fmt::arg("path", obstacle.path),
                fmt::arg("above", DirectoryOf(obstacle.path)),
                fmt::arg("name", BaseName(obstacle.path)),
                fmt::arg("neighbors", fmt::join(obstacle.neighbors, ", ")),
                fmt::arg("place", PlaceOf(MountOf(part, obstacle.path), host)));
}

}  // namespace patchbay
