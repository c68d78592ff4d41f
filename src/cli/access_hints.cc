#include "cli/access_hints.h"

#include <algorithm>

#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

/// The parts of a host that a container mounts as a whole. If an entry directly below one of them
/// is missing, the mount is missing; entries further down may appear later.
enum class Part { kAny, kDev, kBelowDev, kSys, kUdev };

Part PartOf(const std::string& path) {
  if (path == "/dev") return Part::kDev;
  if (path.starts_with("/dev/")) return Part::kBelowDev;
  if (path == "/sys" || DirectoryOf(path) == "/sys") return Part::kSys;
  if (path == "/run" || path == "/run/udev" || path.starts_with("/run/udev/")) return Part::kUdev;
  return Part::kAny;
}

/// A row of the table of hints; the first that applies is used. In the text, {path} is the path of
/// the obstacle, {above} its directory, and {place} where to mount the host's part in this process.
struct Hint {
  Barrier barrier;
  Part part;  ///< kAny applies to each part
  std::string_view text;
};

constexpr Hint kHints[] = {
    {Barrier::kMissing, Part::kDev,
     "in a container, mount the host's /dev {place} (a hostPath volume; read-only is enough)"},
    {Barrier::kMissing, Part::kBelowDev,
     "udev creates it with the first such device; check the spelling and compare with the host's "
     "own /dev"},
    {Barrier::kMissing, Part::kSys,
     "in a container, mount the host's /sys {place} (a hostPath volume; read-only is enough)"},
    {Barrier::kMissing, Part::kUdev,
     "in a container, mount the host's /run/udev {place} (a hostPath volume; read-only is enough); "
     "if the host has no udev, match by usb, pci or attributes instead of properties"},
    {Barrier::kMissing, Part::kAny,
     "wait for it, or fix the pattern; if the host has it, mount it {place}"},
    {Barrier::kNoDirectory, Part::kAny, "{path} is not a directory: fix the pattern, or remove it"},
    {Barrier::kNoRight, Part::kAny,
     "run as root, with CAP_DAC_READ_SEARCH if capabilities are dropped, or allow this user to "
     "read {path}; if root has no access, a policy such as SELinux denies it"},
    {Barrier::kForbidden, Part::kAny,
     "the mode of {path} is not what forbids it: allow it in the policy of the container "
     "(SELinux, AppArmor, seccomp, device cgroup)"},
    {Barrier::kWriteOnly, Part::kAny, "no user can read {path}: match by something else"},
    {Barrier::kTooManyLinks, Part::kAny,
     "fix the link {path}: it is a loop, or a chain of more than 40 links"},
    {Barrier::kFailure, Part::kAny,
     "this is not a mount or permission problem; if it persists, check the kernel log (dmesg)"},
};

constexpr std::string_view kMisspelt =
    "{above} has {neighbors}, but no {name}: fix the path, or wait for the device";

std::string MountOf(Part part, const std::string& path) {
  switch (part) {
    case Part::kDev:
    case Part::kBelowDev: return "/dev";
    case Part::kSys: return "/sys";
    case Part::kUdev: return "/run/udev";
    case Part::kAny: break;
  }
  return path;
}

std::string PlaceOf(const std::string& path, const HostRoot& host) {
  const std::string local = host.Local(path);
  return local == path ? "at the same path, or set --host-root" : "at " + local;
}

}  // namespace

std::string AccessHint(const Obstacle& obstacle, const HostRoot& host) {
  const Part part = PartOf(obstacle.path);
  const bool is_misspelt =
      !obstacle.neighbors.empty() && (part == Part::kBelowDev || part == Part::kAny);
  const auto* hint = std::find_if(std::begin(kHints), std::end(kHints), [&](const Hint& m) {
    return m.barrier == obstacle.barrier && (m.part == part || m.part == Part::kAny);
  });
  if (hint == std::end(kHints)) return "";
  return format(fmt::runtime(is_misspelt ? kMisspelt : hint->text), fmt::arg("path", obstacle.path),
                fmt::arg("above", DirectoryOf(obstacle.path)),
                fmt::arg("name", BaseName(obstacle.path)),
                fmt::arg("neighbors", fmt::join(obstacle.neighbors, ", ")),
                fmt::arg("place", PlaceOf(MountOf(part, obstacle.path), host)));
}

}  // namespace patchbay
