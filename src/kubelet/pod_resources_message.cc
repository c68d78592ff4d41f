#include "kubelet/pod_resources_message.h"

#include <string>
#include <string_view>

namespace patchbay {
namespace {

constexpr std::size_t kLongestResource = 317;  // a prefix of 253 bytes, a slash and a name of 63
constexpr std::size_t kLongestId = 253;
constexpr std::size_t kLongestPod = 253;
constexpr std::size_t kLongestLabel = 63;

bool Fits(const std::string& name, std::size_t longest) {
  return !name.empty() && name.size() <= longest;
}

/// The message holds UTF-8 only; no character is cut in two.
std::string Cut(const std::string& name, std::size_t longest) {
  if (name.size() <= longest) return name;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace

ReportedHolders ReadHolders(const v1::ListPodResourcesResponse& message) {
  ReportedHolders reported;
  std::size_t kept = 0;
  const auto add = [&](const std::string& resource, const std::string& id, const Holder& holder) {
    if (!Fits(id, kLongestId)) return;
    if (kept == kMostHoldings) {
      reported.complete = false;
    } else if (reported.holders[resource][id].insert(holder).second) {
      ++kept;
    }
  };
  for (const v1::PodResources& pod : message.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      const Holder holder{.pod_namespace = Cut(pod.namespace_(), kLongestLabel),
                          .pod = Cut(pod.name(), kLongestPod),
                          .container = Cut(container.name(), kLongestLabel)};
      for (const v1::ContainerDevices& devices : container.devices()) {
        if (!Fits(devices.resource_name(), kLongestResource)) continue;
        for (const std::string& id : devices.device_ids()) add(devices.resource_name(), id, holder);
      }
    }
  }
  return reported;
}

}  // namespace patchbay
