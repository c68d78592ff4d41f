// Input: the answer of the kubelet's PodResources API, as it comes over the socket.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include "base/escape.h"
#include "fuzz.h"
#include "inventory/usage.h"
#include "kubelet/pod_resources_message.h"

using namespace patchbay;

namespace {

void RequireName(const std::string& name, std::size_t longest) {
  fuzz::Require(name.size() <= longest && IsUtf8(name));
}

void RequireUsage(const DeviceHolders& units, int replicas) {
  ResourceSpec spec;
  spec.replicas = replicas;
  const Usage usage = UsageOf(spec, units);
  fuzz::Require(usage.units <= units.size());
  fuzz::Require(usage.holders.size() <= units.size());
  fuzz::Require(usage.holders.empty() == units.empty());
  for (const auto& [device, holders] : usage.holders) {
    fuzz::Require(!device.empty() && !holders.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  v1::ListPodResourcesResponse message;
  const bool valid = message.ParseFromArray(data, static_cast<int>(size));
  // In pieces, as gRPC has them.
  google::protobuf::io::ArrayInputStream bytes(data, static_cast<int>(size), 7);
  const auto streamed = ReadHolders(bytes);
  fuzz::Require(streamed.has_value() == valid);
  if (!valid) return 0;
  const ReportedHolders reported = ReadHolders(message);
  fuzz::Require(*streamed == reported);
  fuzz::Require(reported.complete);
  for (const auto& [resource, units] : reported.holders) {
    fuzz::Require(!resource.empty() && !units.empty());
    RequireName(resource, 317);
    for (const auto& [id, holders] : units) {
      fuzz::Require(!id.empty() && !holders.empty());
      RequireName(id, 253);
      for (const Holder& holder : holders) {
        RequireName(holder.pod_namespace, 63);
        RequireName(holder.pod, 253);
        RequireName(holder.container, 63);
      }
    }
    RequireUsage(units, 1);
    RequireUsage(units, 7);
  }
  return 0;
}
