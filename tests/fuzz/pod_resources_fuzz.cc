// Input: a serialized response of the kubelet's PodResources API.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/escape.h"
#include "fuzz.h"
#include "inventory/pod_usage.h"
#include "kubelet/pod_resources_message.h"
#include "quiet_protobuf.h"

using namespace patchbay;

namespace {

void RequireName(const std::string& name, std::size_t longest) {
  fuzz::Require(name.size() <= longest && IsUtf8(name));
}

void RequireUsage(const DeviceHolders& units, int replicas) {
  ResourceSpec spec;
  spec.replicas = replicas;
  const PodUsage usage = PodUsageOf(spec, units);
  fuzz::Require(usage.units <= units.size());
  fuzz::Require(usage.holders.size() <= units.size());
  fuzz::Require(usage.holders.empty() == units.empty());
  for (const auto& [device, holders] : usage.holders) {
    fuzz::Require(!device.empty() && !holders.empty());
  }
}

void RequireHolder(const Holder& holder) {
  RequireName(holder.pod_namespace, 63);
  RequireName(holder.pod, 253);
  RequireName(holder.container, 63);
}

void RequireClaimHolders(const std::string& driver, const DriverHolders& devices) {
  fuzz::Require(!driver.empty() && !devices.empty());
  RequireName(driver, 63);
  for (const auto& [device, holders] : devices) {
    fuzz::Require(!device.pool.empty() && !device.device.empty() && !holders.empty());
    RequireName(device.pool, 253);
    RequireName(device.device, 63);
    for (const ClaimHolder& user : holders) {
      RequireHolder(user.holder);
      RequireName(user.claim, 253);
    }
  }
}

void RequireReport(const ReportedHolders& reported) {
  fuzz::Require(reported.complete);
  for (const auto& [resource, units] : reported.holders) {
    fuzz::Require(!resource.empty() && !units.empty());
    RequireName(resource, 317);
    for (const auto& [id, holders] : units) {
      fuzz::Require(!id.empty() && !holders.empty());
      RequireName(id, 253);
      for (const Holder& holder : holders) RequireHolder(holder);
    }
    RequireUsage(units, 1);
    RequireUsage(units, 7);
  }
  for (const auto& [driver, devices] : reported.claim_holders) RequireClaimHolders(driver, devices);
}

/// Reads a response in small buffers, as gRPC delivers it.
std::optional<ReportedHolders> ReadInPieces(std::string_view bytes) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 7);
  return ReadHolders(stream);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  v1::ListPodResourcesResponse message;
  const bool valid = message.ParseFromArray(data, static_cast<int>(size));
  const auto streamed = ReadInPieces(fuzz::Text(data, size));
  if (streamed) RequireReport(*streamed);
  // ReadHolders may accept a message that ParseFromArray rejects: the two parsers of protobuf
  // disagree about tags and lengths with more bytes than necessary.
  if (!valid) return 0;
  fuzz::Require(streamed == ReadHolders(message));

  // For messages written by protobuf, also truncated ones, both must agree.
  message.DiscardUnknownFields();
  std::string written = message.SerializeAsString();
  if (!written.empty()) written.resize(written.size() - data[size - 1] % written.size());
  fuzz::Require(ReadInPieces(written).has_value() == message.ParseFromString(written));
  return 0;
}
