#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// One process that serves a driver.
struct DriverInstance {
  std::string kubelet_root = "/var/lib/kubelet";  ///< the same path inside the pod and outside
  std::string driver = {};
  /// Two pods of a rolling update serve the driver at the same time and need sockets of their own.
  /// Empty on a host without pods; then only one process can serve the driver.
  std::string pod_uid = {};
};

/// The paths of an instance. Names are those of the library that Kubernetes has for drivers
/// (k8s.io/dynamic-resource-allocation, kubeletplugin/draplugin.go), with hashes where a path would
/// be longer than the 107 bytes that fit into a socket address.
struct DriverSockets {
  /// Or why no socket can be created: `dra` and `registration` are not used then.
  Status usable = {};
  std::string registry;  ///< the directory that the kubelet watches; it creates it
  std::string data;      ///< the directory of the driver, which the driver creates
  std::string dra;       ///< in `data`: "dra.sock" or "dra-<pod UID>.sock"
  std::string
      registration;  ///< in `registry`: "<driver>-reg.sock" or "<driver>-<pod UID>-reg.sock"
};

/// Returns the paths for a driver with a valid name. They are not usable, with kInvalid, if the pod
/// UID is not valid, or if a path is too long even with hashes.
DriverSockets SocketsOf(const DriverInstance& instance);

/// Returns whether a socket with this name in DriverSockets::registry is of `driver`, of any
/// instance. A name without the driver in it, the shortest form, is not recognized.
bool IsRegistrationSocketOf(std::string_view driver, std::string_view name);

/// Removes the sockets of the driver that killed runs of this or another instance have left: those
/// that no process has bound. Sockets of running instances and of other drivers remain. Returns the
/// removed paths. Looks up paths, which can hang.
std::vector<std::string> SweepStaleSockets(std::string_view driver, const DriverSockets& sockets);

}  // namespace patchbay
