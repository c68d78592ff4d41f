// The claim is read from a bounded tree, member by member. Each member is a statement of its own: a
// TRY that returns from within a braced initializer would leak the members before it.
//
// Parameters are the only part that people write by hand, in claims and device classes. They are
// checked completely, as the configuration file is, and never rendered as templates.

#include "dra/claim_json.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/json.h"
#include "dra/resource_slice.h"
#include "model/object_name.h"
#include "model/quantity.h"
#include "model/template_shape.h"
#include "model/validators.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

/// The limits of the API are 32 results and 64 configurations.
constexpr std::size_t kMaxClaimEntries = 256;
constexpr std::size_t kMaxTolerationsRead = 64;
constexpr std::size_t kMaxClaimText = 512;
constexpr char kPodClaimName[] = "resource.kubernetes.io/pod-claim-name";
constexpr std::string_view kConfigKeys[] = {"env"};
/// The kubelet waits 45 seconds for all of a call, of which hooks can need 40.
constexpr std::chrono::seconds kClaimDeadline{10};

bool ToleratesUnhealthy(const std::string& key, const std::string& op, const std::string& value) {
  if (key.empty()) return op == "Exists";
  return key == kUnhealthyTaint && (op == "Exists" || value.empty());
}

/// Reads whether the claim can have the device although it is unhealthy.
Result<bool> ReadTolerations(const Json& result) {
  const Json* const tolerations = TRY(ObjectsMember(result, "tolerations", kMaxTolerationsRead));
  if (tolerations == nullptr) return false;
  bool tolerates = false;
  for (const Json& toleration : *tolerations) {
    const std::string key = TRY(TextMember(toleration, "key", kMaxClaimText));
    const std::string op = TRY(TextMember(toleration, "operator", kMaxClaimText));
    const std::string value = TRY(TextMember(toleration, "value", kMaxClaimText));
    tolerates = tolerates || ToleratesUnhealthy(key, op, value);
  }
  return tolerates;
}

Result<std::int64_t> ReadConsumedSlots(const Json& result) {
  const Json* const consumed = TRY(ObjectMember(result, "consumedCapacity"));
  if (consumed == nullptr || !HasMember(*consumed, "slots")) return 1;
  const auto slots = ParseQuantity(TRY(TextMember(*consumed, "slots", kMaxClaimText)));
  if (const auto count = CountOf(slots.value_or(0))) return *count;
  return Fail(ErrorKind::kInvalid, "\"slots\" of \"consumedCapacity\" must be a positive integer");
}

Result<AllocatedDevice> ReadAllocatedDevice(const Json& result) {
  AllocatedDevice device;
  device.request = TRY(TextMember(result, "request", kMaxClaimText));
  device.pool = TRY(TextMember(result, "pool", kMaxClaimText));
  device.device = TRY(TextMember(result, "device", kMaxClaimText));
  device.share_id = TRY(TextMember(result, "shareID", kMaxClaimText));
  device.admin_access = TRY(BoolMember(result, "adminAccess"));
  device.tolerates_unhealthy = TRY(ReadTolerations(result));
  device.slots = TRY(ReadConsumedSlots(result));
  if (device.request.empty() || device.pool.empty() || device.device.empty()) {
    return Fail(ErrorKind::kInvalid, "\"request\", \"pool\" and \"device\" must not be empty");
  }
  return device;
}

/// Returns the problem of a variable that a claim defines, with a fix; "" if there is none.
std::string ProblemWithConfigEnv(const std::string& name, const Json& value) {
  const std::string quoted = Truncate(name, 100);
  if (const auto problem = ProblemWithEnvName(LiteralShape(name))) {
    return Format("\"{}\" is not a valid name of a variable: {}", quoted, problem->message);
  }
  if (IsReservedEnv(name)) {
    return Format("\"{}\" is reserved, because it selects programs or libraries; remove it",
                  quoted);
  }
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr) return Format("\"{}\" must be a string; write it in quotes", quoted);
  if (text->size() > kMaxConfigEnvValue) {
    return Format("\"{}\" has {} bytes; shorten it to {}", quoted, text->size(),
                  kMaxConfigEnvValue);
  }
  if (text->find('\0') != std::string::npos) {
    return Format("\"{}\" contains a NUL; remove it", quoted);
  }
  return "";
}

Result<std::map<std::string, std::string>> ReadParameters(const Json& parameters) {
  for (const auto& [key, value] : parameters.items()) {
    if (std::ranges::count(kConfigKeys, key) > 0) continue;
    const std::string_view near = Nearest(key, kConfigKeys);
    return Fail(ErrorKind::kInvalid,
                Format("unknown key \"{}\"; {}", Truncate(key, 100),
                       near.empty() ? "the only key is \"env\", an object of strings"
                                    : Format("did you mean \"{}\"?", near)));
  }
  std::map<std::string, std::string> variables;
  const Json* const env = TRY(ObjectMember(parameters, "env"));
  if (env == nullptr) return variables;
  if (env->size() > kMaxConfigEnv) {
    return Fail(ErrorKind::kInvalid,
                Format("\"env\" has {} variables; define at most {}", env->size(), kMaxConfigEnv));
  }
  for (const auto& [name, value] : env->items()) {
    if (std::string problem = ProblemWithConfigEnv(name, value); !problem.empty()) {
      return Fail(ErrorKind::kInvalid, "in \"env\", " + problem);
    }
    variables.emplace(name, value.get<std::string>());
  }
  return variables;
}

Result<std::vector<std::string>> ReadRequests(const Json& config) {
  std::vector<std::string> names;
  const auto requests = config.find("requests");
  if (requests == config.end() || requests->is_null()) return names;
  const auto is_name = [](const Json& name) {
    const auto* text = name.get_ptr<const std::string*>();
    return text != nullptr && text->size() <= kMaxClaimText;
  };
  if (!requests->is_array() || requests->size() > kMaxClaimEntries ||
      !std::ranges::all_of(*requests, is_name)) {
    return Fail(ErrorKind::kInvalid, "\"requests\" must be an array of names");
  }
  return requests->get<std::vector<std::string>>();
}

/// Reads a configuration of the driver.
Result<DeviceConfig> ReadConfig(const Json& config, const Json& opaque) {
  DeviceConfig read;
  read.requests = TRY(ReadRequests(config));
  const Json* const parameters = TRY(ObjectMember(opaque, "parameters"));
  if (parameters != nullptr) read.env = TRY(ReadParameters(*parameters));
  return read;
}

Status ReadConfigs(const Json& allocation, std::string_view driver, ResourceClaim& claim) {
  const Json* const configs = TRY(ObjectsMember(allocation, "config", kMaxClaimEntries));
  if (configs == nullptr) return {};
  std::vector<DeviceConfig> of_claim;
  for (const Json& config : *configs) {
    const Json* const opaque = TRY(ObjectMember(config, "opaque"));
    if (opaque == nullptr || TRY(TextMember(*opaque, "driver", kMaxClaimText)) != driver) continue;
    const bool is_of_class = TRY(TextMember(config, "source", kMaxClaimText)) == "FromClass";
    auto read = ReadConfig(config, *opaque);
    if (!read) {
      return Within(Format("the parameters of {} for the driver {}",
                           is_of_class ? "its device class" : "the claim", driver),
                    std::move(read).error());
    }
    (is_of_class ? claim.configs : of_claim).push_back(std::move(*read));
  }
  std::ranges::move(of_claim, std::back_inserter(claim.configs));
  return {};
}

Status ReadAllocation(const Json& allocation, std::string_view driver, ResourceClaim& claim) {
  const Json* const devices = TRY(ObjectMember(allocation, "devices"));
  if (devices == nullptr) return {};
  const Json* const results = TRY(ObjectsMember(*devices, "results", kMaxClaimDevices));
  if (results != nullptr) {
    for (std::size_t i = 0; i < results->size(); ++i) {
      const Json& result = (*results)[i];
      if (TRY(TextMember(result, "driver", kMaxClaimText)) != driver) continue;
      auto device = ReadAllocatedDevice(result);
      if (!device) return Within(Format("results[{}]", i), std::move(device).error());
      claim.devices.push_back(std::move(*device));
    }
  }
  return ReadConfigs(*devices, driver, claim);
}

Result<ResourceClaim> ReadClaim(std::string_view text, std::string_view driver) {
  const Json object = TRY(ParseJson(text));
  const std::string kind = TRY(TextMember(object, "kind", kMaxClaimText));
  const std::string version = TRY(TextMember(object, "apiVersion", kMaxClaimText));
  if (kind != "ResourceClaim" || version != "resource.k8s.io/v1") {
    return Fail(ErrorKind::kInvalid, "the object is not a resource.k8s.io/v1 ResourceClaim");
  }
  const Json* const metadata = TRY(ObjectMember(object, "metadata"));
  if (metadata == nullptr) return Fail(ErrorKind::kInvalid, "\"metadata\" must be an object");
  ResourceClaim claim;
  claim.key.uid = TRY(TextMember(*metadata, "uid", kMaxClaimText));
  claim.key.namespace_name = TRY(TextMember(*metadata, "namespace", kMaxClaimText));
  claim.key.name = TRY(TextMember(*metadata, "name", kMaxClaimText));
  const Json* const annotations = TRY(ObjectMember(*metadata, "annotations"));
  if (annotations != nullptr) {
    claim.pod_claim_name = TRY(TextMember(*annotations, kPodClaimName, kMaxClaimText));
    if (!claim.pod_claim_name.empty() && !IsDnsLabel(claim.pod_claim_name)) {
      return Fail(ErrorKind::kInvalid, Format("the annotation {} is not valid", kPodClaimName));
    }
  }
  const Json* const status = TRY(ObjectMember(object, "status"));
  if (status == nullptr) return claim;
  const Json* const allocation = TRY(ObjectMember(*status, "allocation"));
  if (allocation == nullptr) return claim;
  claim.is_allocated = true;
  TRY(ReadAllocation(*allocation, driver, claim));
  return claim;
}

}  // namespace

ApiRequest RequestForClaim(const ClaimKey& claim) {
  return {.verb = ApiVerb::kGet,
          .target = Format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}",
                           EncodeForUrl(claim.namespace_name), EncodeForUrl(claim.name)),
          .deadline = kClaimDeadline};
}

Result<std::string> ClaimTextOf(const ApiResult& result) {
  if (result) return result->body;
  const ApiError& error = result.error();
  return Fail(IsNotFound(error) ? ErrorKind::kNotFound : ErrorKind::kUnavailable, error.message);
}

Result<ResourceClaim> ParseClaim(std::string_view json, std::string_view driver) {
  auto claim = ReadClaim(json, driver);
  if (!claim) claim.error().message = Printable(claim.error().message);
  return claim;
}

}  // namespace patchbay
