#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/file_directory.h"
#include "cdi/net_hook.h"
#include "discovery/interface_record.h"
#include "os/host_root.h"

namespace patchbay {

/// The directory of the host with the program patchbay-net, a record of each interface that can
/// move, and the results that the program writes. It has the same path in this process, in the
/// container runtime and on the host.
///
/// Thread-safe, also with other processes; stateless. All methods access the file system: call them
/// in a pool.
class NetDirectory {
 public:
  /// The time for which the failure of a move is reported. After that a pod can try again.
  static constexpr std::chrono::minutes kFailureAge{10};
  /// The maximum number of interfaces of a host.
  static constexpr std::size_t kMaxInterfaces = 4096;

  explicit NetDirectory(const std::string& path);

  /// Makes the program available to the container runtime. Fails with kUnavailable if it cannot be
  /// written or would not run there; the message says what to do.
  Status Install() const;

  /// Returns the interfaces of which there are records. A record that cannot be read, or is not
  /// valid, is left out. A missing directory is empty.
  std::vector<KnownInterface> Read(std::chrono::system_clock::time_point now) const;

  /// Writes the records of interfaces on the host, and removes those of interfaces whose bus device
  /// or driver is gone.
  Status Update(const std::vector<KnownInterface>& known, const std::vector<InterfaceRecord>& found,
                const HostRoot& host) const;

  /// Returns the hook for moves on a node with these addresses.
  NetHook HookFor(std::vector<std::string> node_addresses) const;

  /// The directory that changes when a container starts or fails to.
  const std::string& results() const { return results_.path(); }

 private:
  FileDirectory programs_;
  FileDirectory records_;
  FileDirectory results_;
};

/// Returns the directory for a kubelet whose directory of device plugins is `kubelet_dir`.
std::string NetDirectoryFor(const std::string& kubelet_dir);

}  // namespace patchbay
