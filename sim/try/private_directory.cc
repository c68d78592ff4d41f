#include "sim/try/private_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "model/spec.h"

namespace patchbay {
namespace {

constexpr std::string_view kPrivateName = "/patchbay-try-XXXXXX";
/// Shorter than the kubelet's name, because the path is limited to kMaxKubeletDir.
constexpr std::string_view kKubeletDirName = "/kubelet";

}  // namespace

Result<std::unique_ptr<PrivateDirectory>> PrivateDirectory::Create() {
  std::error_code none;
  std::string pattern = std::filesystem::temp_directory_path(none).string().append(kPrivateName);
  if (none || pattern.size() + kKubeletDirName.size() > kMaxKubeletDir) {
    pattern = "/tmp" + std::string(kPrivateName);
  }
  if (mkdtemp(pattern.data()) == nullptr) return FailErrno("cannot create " + pattern, errno);
  std::filesystem::create_directory(pattern + "/plugins_registry", none);  // as the kubelet does
  return std::unique_ptr<PrivateDirectory>(new PrivateDirectory(std::move(pattern)));
}

void PrivateDirectory::Remove(const std::string& path) {
  // A thread that ends late may still create or remove a file there, which makes an attempt fail.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (!error) return;
  }
}

KubeletPaths PrivateDirectory::Paths() const {
  return {.root = path_,
          .kubelet_dir = path_ + std::string(kKubeletDirName),
          .pod_resources = path_ + "/pod-resources/kubelet.sock",
          .cdi_dir = path_ + "/cdi"};
}

}  // namespace patchbay
