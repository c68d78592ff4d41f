#pragma once

#include <functional>
#include <string>

#include "inventory/allocation.h"
#include "os/host_root.h"

namespace patchbay {

/// The host on which devices are allocated.
struct AllocationHost {
  HostRoot host;
  std::string node_name;     ///< of the Kubernetes node
  std::string cdi_dir = {};  ///< for CDI files of groups; empty: no file is written
  NetHook net_hook = {};     ///< for net_device
};

/// Looks paths up on the host, which can hang with the file system. `on_lookup`, if not null, is
/// called with each path before its lookup.
AllocationContext AllocationOn(const AllocationHost& host,
                               std::function<void(const std::string& path)> on_lookup = nullptr);
/// The same without waiting for a file system. Sets `unknown` if the kernel does not have the
/// answer in its caches; then ignore the result of Allocate. Both arguments outlive the context.
AllocationContext CachedAllocationOn(const AllocationHost& host, bool& unknown);

}  // namespace patchbay
