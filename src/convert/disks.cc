#include "convert/disks.h"

#include <algorithm>
#include <string_view>

namespace patchbay {
namespace {

/// Returns whether a path or regex can find a disk.
bool NamesDisks(std::string_view pattern) {
  constexpr std::string_view kNames[] = {"sd",  "hd",  "vd", "xvd",    "nvme",   "mmcblk", "md",
                                         "dm-", "nbd", "zd", "bcache", "mapper", "zvol",   "disk"};
  constexpr std::string_view kSeparators = "/|(){},>";
  if (pattern.starts_with("/dev/*")) return true;
  while (!pattern.empty()) {
    if (std::ranges::any_of(kNames, [&](std::string_view n) { return pattern.starts_with(n); })) {
      return true;
    }
    const auto end = pattern.find_first_of(kSeparators);
    pattern.remove_prefix(end == pattern.npos ? pattern.size() : end + 1);
  }
  return false;
}

}  // namespace

void AllowMountedDisks(NewResource& resource) {
  for (NewMatch& match : resource.matches) {
    match.allow_mounted = std::ranges::any_of(match.paths, NamesDisks) || NamesDisks(match.regex);
  }
}

}  // namespace patchbay
