// Input: a ResourceClaim of the API server.
#include <nlohmann/json.hpp>

#include "dra/claim_json.h"
#include "dra/claim_plan.h"
#include "fuzz.h"

using namespace patchbay;

namespace {

constexpr char kPool[] = "node-1/example.com/fuse";

/// A resource with two shared devices.
std::shared_ptr<const Snapshot> Fuses() {
  auto spec = std::make_shared<ResourceSpec>();
  spec->name = "example.com/fuse";
  spec->replicas = 3;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->spec = std::move(spec);
  for (const char* id : {"a", "b"}) {
    Device device;
    device.id = id;
    snapshot->devices.push_back(
        {std::make_shared<const Device>(std::move(device)), Health::kHealthy, ""});
  }
  return snapshot;
}

void RequirePlan(const PreparedClaim& plan) {
  std::set<std::pair<std::string, int>> taken;
  for (const PreparedRequest& request : plan.requests) {
    fuzz::Require(!request.devices.empty() && request.request.find('/') == std::string::npos);
    for (const PreparedDevice& device : request.devices) {
      fuzz::Require(device.pool == kPool && !device.replicas.empty());
      for (const int replica : device.replicas) {
        fuzz::Require(replica >= 0 && replica < 3);
        fuzz::Require(device.admin_access || taken.emplace(device.device, replica).second);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  const auto claim = ParseClaim(text, "patchbay.dev");
  if (!claim) {
    fuzz::RequireMessage(claim.error().message);
    return 0;
  }
  fuzz::Require(nlohmann::json::accept(text));
  fuzz::Require(claim->is_allocated || (claim->devices.empty() && claim->configs.empty()));
  for (const DeviceConfig& config : claim->configs) {
    fuzz::Require(config.env.size() <= kMaxConfigEnv);
    for (const auto& [name, value] : config.env) {
      fuzz::Require(!name.empty() && name.find('=') == std::string::npos);
      fuzz::Require(value.size() <= kMaxConfigEnvValue && IsUtf8(value));
      fuzz::Require(value.find('\0') == std::string::npos);
    }
  }
  static const NamedDevices fuses(Fuses());
  static const ServedPools pools = {{kPool, &fuses}};
  if (const auto plan = PlanClaim(claim->key, *claim, {"patchbay.dev", pools})) {
    RequirePlan(*plan);
  } else {
    fuzz::RequireMessage(plan.error().message);
  }
  return 0;
}
