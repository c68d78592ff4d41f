#include "discovery/numa.h"

#include <string_view>

#include "base/number.h"
#include "base/path.h"
#include "discovery/sysfs.h"
#include "model/device.h"

namespace patchbay {
namespace {

constexpr std::string_view kVirtual = "/sys/devices/virtual/";

std::optional<int> Parse(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto node = ParseNumber<int>(text);
  return node && *node >= 0 && *node <= kLastNumaNode ? node : std::nullopt;
}

}  // namespace

std::optional<int> NumaNode(const HostRoot& host, const std::string& syspath) {
  if (syspath.starts_with(kVirtual)) return std::nullopt;
  auto directory = host.Resolve(syspath);
  if (!directory) return std::nullopt;
  while (directory->path.starts_with(kSysDevices)) {
    const auto text = host.ReadFile(*directory, "numa_node", 64);
    // A device inherits the NUMA node of its parent, so the nearest value is final.
    if (text) return Parse(*text);
    directory->path = DirectoryOf(directory->path);
  }
  return std::nullopt;
}

std::optional<int> NumaNodes::Of(FileType type, unsigned major, unsigned minor) {
  const auto syspath = sysfs_.OfNode(type, major, minor);
  if (!syspath || syspath->starts_with(kVirtual)) return std::nullopt;
  const auto [known, is_new] = by_directory_.try_emplace(DirectoryOf(*syspath));
  if (is_new) known->second = NumaNode(sysfs_.host(), known->first);
  return known->second;
}

}  // namespace patchbay
