#include "inventory/container_response.h"

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// An upper bound for the size of the serialized response in bytes.
std::size_t BytesOf(const ContainerResponse& response) {
  constexpr std::size_t kTags = 24;  // and lengths of an entry and its fields
  std::size_t bytes = 0;
  for (const auto* pairs : {&response.envs, &response.annotations}) {
    for (const auto& [key, value] : *pairs) bytes += key.size() + value.size() + kTags;
  }
  for (const auto& mount : response.mounts) {
    bytes += mount.container_path.size() + mount.host_path.size() + kTags;
  }
  for (const auto& device : response.devices) {
    bytes += device.container_path.size() + device.host_path.size() + kTags;
  }
  for (const std::string& name : response.cdi_devices) bytes += name.size() + kTags;
  return bytes;
}

}  // namespace

std::vector<ContainerPath> PathsOf(const ContainerResponse& response, std::string_view owner) {
  std::vector<ContainerPath> paths;
  paths.reserve(response.devices.size() + response.mounts.size());
  for (const auto& node : response.devices) {
    paths.push_back({node.container_path, PathKind::kNode, node.host_path, owner});
  }
  for (const auto& mount : response.mounts) {
    paths.push_back({mount.container_path, PathKind::kMount,
                     mount.real_path.empty() ? mount.host_path : mount.real_path, owner});
  }
  return paths;
}

Status CheckResponse(const ContainerResponse& response) {
  const std::vector<ContainerPath> paths = PathsOf(response);
  if (const auto clash = FindPathClash(paths)) {
    return Fail(ErrorKind::kInvalid, TextOf(*clash, paths));
  }
  constexpr std::string_view kCure =
      "set a lower max_per_container, or pass less data for each device";
  for (const auto& [name, value] : response.envs) {
    const std::size_t bytes = name.size() + 1 + value.size();
    if (bytes <= kMaxEnv) continue;
    return Fail(ErrorKind::kInvalid, Format("the environment variable \"{}\" would have {} bytes, "
                                            "and the limit of the kernel is {}; {}",
                                            Truncate(name, 100), bytes, kMaxEnv, kCure));
  }
  if (BytesOf(response) <= kMaxResponse) return {};
  return Fail(ErrorKind::kInvalid, Format("the container would get {} bytes of paths, env and "
                                          "annotations, and the kubelet accepts at most {}; {}",
                                          BytesOf(response), kMaxResponse, kCure));
}

}  // namespace patchbay
