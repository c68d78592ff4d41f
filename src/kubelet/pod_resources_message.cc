#include "kubelet/pod_resources_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "model/object_name.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxResource = 317;  // a prefix of 253 bytes, a slash and a name of 63
constexpr std::size_t kMaxId = 253;
constexpr std::size_t kMaxDriver = 63;

bool Fits(const std::string& name, std::size_t longest) {
  return !name.empty() && name.size() <= longest;
}

/// Truncates a UTF-8 text at a character boundary.
std::string Cut(const std::string& name, std::size_t longest) {
  if (name.size() <= longest) return name;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end);
}

/// Collects the holders of devices, pod by pod.
class HolderCollector {
 public:
  void Add(const v1::PodResources& pod) {
    for (const v1::ContainerResources& container : pod.containers()) {
      const Holder holder{.pod_namespace = Cut(pod.namespace_(), kMaxLabel),
                          .pod = Cut(pod.name(), kMaxSubdomain),
                          .container = Cut(container.name(), kMaxLabel)};
      for (const v1::ContainerDevices& devices : container.devices()) {
        if (!Fits(devices.resource_name(), kMaxResource)) continue;
        for (const std::string& id : devices.device_ids()) Add(devices.resource_name(), id, holder);
      }
      for (const v1::DynamicResource& claim : container.dynamic_resources()) Add(claim, holder);
    }
  }
  ReportedHolders Take() { return std::move(reported_); }

 private:
  void Add(const std::string& resource, const std::string& id, const Holder& holder) {
    if (Fits(id, kMaxId) && HasRoom()) {
      kept_ += reported_.holders[resource][id].insert(holder).second ? 1 : 0;
    }
  }
  void Add(const v1::DynamicResource& claim, const Holder& holder) {
    const ClaimHolder user{.holder = holder, .claim = Cut(claim.claim_name(), kMaxSubdomain)};
    for (const v1::ClaimResource& device : claim.claim_resources()) {
      if (!Fits(device.driver_name(), kMaxDriver) || !Fits(device.pool_name(), kMaxSubdomain) ||
          !Fits(device.device_name(), kMaxLabel) || !HasRoom()) {
        continue;
      }
      DriverHolders& of_driver = reported_.claim_holders[device.driver_name()];
      kept_ += of_driver[{device.pool_name(), device.device_name()}].insert(user).second ? 1 : 0;
    }
  }
  bool HasRoom() {
    if (kept_ == kMaxHoldings) reported_.complete = false;
    return kept_ < kMaxHoldings;
  }

  ReportedHolders reported_;
  std::size_t kept_ = 0;
};

}  // namespace

ReportedHolders ReadHolders(const v1::ListPodResourcesResponse& message) {
  HolderCollector collector;
  for (const v1::PodResources& pod : message.pod_resources()) collector.Add(pod);
  return collector.Take();
}

std::optional<ReportedHolders> ReadHolders(google::protobuf::io::ZeroCopyInputStream& bytes) {
  using google::protobuf::internal::WireFormatLite;
  constexpr std::uint32_t kPodTag =
      WireFormatLite::MakeTag(v1::ListPodResourcesResponse::kPodResourcesFieldNumber,
                              WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  google::protobuf::io::CodedInputStream input(&bytes);
  HolderCollector collector;
  std::string text;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (tag != kPodTag) {
      if (!WireFormatLite::SkipField(&input, tag)) return std::nullopt;
      continue;
    }
    std::uint32_t size = 0;
    v1::PodResources pod;
    if (!input.ReadVarint32(&size) || !input.ReadString(&text, static_cast<int>(size)) ||
        !pod.ParseFromString(text)) {
      return std::nullopt;
    }
    collector.Add(pod);
  }
  if (!input.ConsumedEntireMessage()) return std::nullopt;
  return collector.Take();
}

}  // namespace patchbay
