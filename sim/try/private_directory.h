#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace patchbay {

/// The paths of the built-in kubelet. As on a real node, the kubelet creates further directories
/// next to `kubelet_dir`.
struct KubeletPaths {
  std::string root;           ///< replaces /var/lib/kubelet
  std::string kubelet_dir;    ///< replaces /var/lib/kubelet/device-plugins
  std::string pod_resources;  ///< the socket of the PodResources API
  std::string cdi_dir;
};

/// A temporary directory for the files of the built-in kubelet, removed by the destructor.
class PrivateDirectory {
 public:
  /// Creates it in TMPDIR, or in /tmp if paths of sockets would be too long.
  static Result<std::unique_ptr<PrivateDirectory>> Create();
  ~PrivateDirectory() { Remove(path_); }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  /// Removes the directory and everything in it. Errors are ignored.
  static void Remove(const std::string& path);

  const std::string& path() const { return path_; }
  KubeletPaths Paths() const;

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace patchbay
