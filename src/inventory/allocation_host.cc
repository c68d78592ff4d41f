#include "inventory/allocation_host.h"

#include <cstdint>
#include <utility>

#include "cdi/group_device.h"

namespace patchbay {

AllocationContext AllocationOn(const AllocationHost& host,
                               std::function<void(const std::string& path)> on_lookup) {
  return {[host = host.host, on_lookup](const std::string& path) {
            if (on_lookup) on_lookup(path);
            return host.Resolve(path);
          },
          [host = host.host, on_lookup](const HostNode& node) {
            if (on_lookup) on_lookup(node.path);
            return host.Holds(node);
          },
          [host = host.host](const std::string& path) { return host.CanSee(path); },
          [directory = CdiDirectory(host.cdi_dir), on_lookup](std::uint32_t gid) -> Status {
            if (directory.path().empty()) return {};
            if (on_lookup) on_lookup(directory.path());
            return WriteGroupDevice(directory, gid);
          },
          host.node_name,
          host.net_hook};
}

AllocationContext CachedAllocationOn(const AllocationHost& host, bool& unknown) {
  return {[&host, &unknown](const std::string& path) -> Result<HostNode> {
            auto node = host.host.ResolveCached(path);
            if (node) return *std::move(node);
            unknown = true;
            return Fail(ErrorKind::kUnavailable, "not in the kernel's caches");
          },
          [&host](const HostNode& node) { return host.host.HoldsCached(node); },
          [&host](const std::string& path) { return host.host.CanSee(path); },
          [&unknown](std::uint32_t) -> Status {
            unknown = true;
            return {};
          },
          host.node_name,
          host.net_hook};
}

}  // namespace patchbay
