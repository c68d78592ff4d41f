#include "sim/kubelet/plugin_directory.h"

#include <filesystem>
#include <system_error>

#include "base/format.h"
#include "sim/kubelet/checkpoint.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

bool Goes(const fs::directory_entry& entry, KubeletCleanup cleanup) {
  std::error_code ignored;
  if (entry.path().filename() == kCheckpointName) return false;
  // Only kSocketsOnly follows links: it removes a link to a socket, and keeps a dangling link and a
  // link to a directory.
  if (cleanup == KubeletCleanup::kSocketsOnly) return fs::is_socket(entry.status(ignored));
  return !fs::is_directory(entry.symlink_status(ignored));
}

}  // namespace

Status PreparePluginDirectory(const std::string& directory, KubeletCleanup cleanup) {
  std::error_code error;
  fs::create_directories(directory, error);
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (!Goes(*it, cleanup)) continue;
    std::error_code failed;
    fs::remove(it->path(), failed);
    if (failed) error = failed;
  }
  if (error) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot prepare {}: {}", directory, error.message()));
  }
  return {};
}

}  // namespace patchbay
