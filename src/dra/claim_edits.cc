// Each request and resource of a claim is one CDI device, with one annotation: a JSON object that
// records its devices. The annotation is written again from what was read and compared, so that any
// change to it is noticed. The answer to the kubelet is always made from the record, so that the
// first and every later one are the same.
//
// Runtimes reject a file in which a device has no edits. A device whose resource gives a container
// nothing therefore has a variable in the file, and is not named in the answer.

#include "dra/claim_edits.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "cdi/cdi_directory.h"
#include "dra/json_fields.h"

namespace patchbay {
namespace {

using RecordJson = nlohmann::ordered_json;

constexpr std::string_view kRecordKey = "patchbay.dev/claim";
constexpr std::string_view kPlaceholderEnv = "PATCHBAY_CLAIM";
constexpr std::size_t kMaxRecordText = 1024;

Failure NotARecord(std::string_view why) {
  return Fail(ErrorKind::kInvalid, Format("is not the file of a claim: {}", why));
}

/// Counts the resources of each request of a claim in order.
class RequestNumbers {
 public:
  int Next(const std::string& request) { return ++used_[request]; }

 private:
  std::map<std::string, int> used_;
};

RecordJson DevicesRecord(const std::vector<PlannedDevice>& of_request) {
  RecordJson devices = RecordJson::array();
  for (const PlannedDevice& device : of_request) {
    RecordJson json = {{"pool", device.pool}, {"device", device.device}, {"id", device.device_id}};
    if (!device.share_id.empty()) json["share"] = device.share_id;
    json["replicas"] = device.replicas;
    if (device.admin_access) json["admin"] = true;
    devices.push_back(std::move(json));
  }
  return devices;
}

/// All of it is UTF-8; replacing is better than an exception if it ever is not.
std::string TextOf(const RecordJson& record) {
  return record.dump(-1, ' ', false, RecordJson::error_handler_t::replace);
}

std::string RecordOf(const ClaimKey& claim, const PreparedRequest& request) {
  return TextOf({{"namespace", claim.namespace_name},
                 {"name", claim.name},
                 {"request", request.request},
                 {"resource", request.resource},
                 {"devices", DevicesRecord(request.devices)},
                 {"cdi", request.cdi_devices}});
}

/// Returns the beginning of the name of a CDI device. The names of requests have no dots, so no two
/// devices of a claim get the same name.
std::string CdiNamePrefix(std::string_view uid, std::string_view request, int number) {
  return number == 1 ? Format("{}-{}-", uid, request) : Format("{}-{}.{}-", uid, request, number);
}

/// Returns the end of the name. Runtimes cache devices by name, so a claim that is prepared again
/// in another way gets other names.
Result<std::string> CdiNameSuffix(const std::vector<PlannedDevice>& devices,
                                  const CdiEdits& edits) {
  const std::string text = TRY(
      CdiToJson({.kind = "patchbay.dev/edits", .devices = {{.name = "edits", .edits = edits}}}));
  return Format("{:08x}", ShortHash(TextOf(DevicesRecord(devices)) + text));
}

/// Returns the elements of an array, none if it is absent, after checking each with `is_valid`.
template <class T, class IsValid>
Result<std::vector<T>> ElementsOf(const nlohmann::json& object, const char* key, IsValid is_valid) {
  std::vector<T> elements;
  const auto member = object.find(key);
  if (member == object.end()) return elements;
  if (!member->is_array()) return NotARecord(Format("\"{}\" is not an array", key));
  elements.reserve(member->size());
  for (const auto& element : *member) {
    if (!is_valid(element)) return NotARecord(Format("\"{}\" has an invalid element", key));
    elements.push_back(element.template get<T>());
  }
  return elements;
}

Result<PlannedDevice> DeviceOfRecord(const nlohmann::json& json) {
  const auto is_replica = [](const nlohmann::json& replica) {
    return replica.is_number_unsigned() &&
           replica.get<std::uint64_t>() <= std::numeric_limits<int>::max();
  };
  PlannedDevice device;
  device.pool = TRY(TextMember(json, "pool", kMaxRecordText));
  device.device = TRY(TextMember(json, "device", kMaxRecordText));
  device.device_id = TRY(TextMember(json, "id", kMaxRecordText));
  device.share_id = TRY(TextMember(json, "share", kMaxRecordText));
  device.replicas = TRY(ElementsOf<int>(json, "replicas", is_replica));
  device.admin_access = TRY(BoolMember(json, "admin"));
  return device;
}

Result<PreparedRequest> RequestOfRecord(const std::string& text, ClaimKey& claim) {
  const nlohmann::json json = TRY(ParseJson(text));
  claim.namespace_name = TRY(TextMember(json, "namespace", kMaxRecordText));
  claim.name = TRY(TextMember(json, "name", kMaxRecordText));
  const auto is_text = [](const nlohmann::json& element) { return element.is_string(); };
  PreparedRequest request;
  request.request = TRY(TextMember(json, "request", kMaxRecordText));
  request.resource = TRY(TextMember(json, "resource", kMaxRecordText));
  request.cdi_devices = TRY(ElementsOf<std::string>(json, "cdi", is_text));
  const nlohmann::json* const devices = TRY(ObjectsMember(json, "devices", kMaxClaimDevices));
  if (devices == nullptr || devices->empty()) return NotARecord("it has no devices");
  request.devices.reserve(devices->size());
  for (const auto& device : *devices) request.devices.push_back(TRY(DeviceOfRecord(device)));
  return request;
}

/// Adds the variables of the parameters of a claim.
Status AddEnv(const PlannedRequest& request, CdiEdits& edits) {
  for (const auto& [name, value] : request.env) {
    if (edits.env.emplace(name, value).second) continue;
    return Fail(ErrorKind::kInvalid,
                Format("the parameters of the claim set the environment variable \"{}\", which "
                       "the resource \"{}\" sets; remove it from the parameters of the claim or "
                       "the device class",
                       name, request.resource));
  }
  return {};
}

}  // namespace

std::string ClaimKind(std::string_view driver) { return Format("{}/claim", driver); }

std::string ClaimFileName(std::string_view driver, std::string_view uid) {
  return CdiFileName(ClaimKind(driver), uid);
}

CdiEdits EditsOf(const ContainerResponse& response) {
  CdiEdits edits{.env = response.envs};
  edits.device_nodes.reserve(response.devices.size());
  for (const auto& device : response.devices) {
    const bool is_same = device.host_path == device.container_path;
    CdiDeviceNode node{device.container_path, is_same ? "" : device.host_path, device.permissions};
    if (device.node) {
      node.type = device.node->type == FileType::kBlock ? 'b' : 'c';
      node.major = device.node->major;
      node.minor = device.node->minor;
      node.mode = device.node->mode;
      node.uid = device.node->uid;
      node.gid = device.node->gid;
    }
    edits.device_nodes.push_back(std::move(node));
  }
  edits.mounts.reserve(response.mounts.size());
  for (const auto& mount : response.mounts) {
    edits.mounts.push_back(
        {mount.host_path, mount.container_path, {"rbind", mount.read_only ? "ro" : "rw"}});
  }
  return edits;
}

std::string ClashOf(const CdiEdits& a, const CdiEdits& b) {
  for (const auto& [name, value] : a.env) {
    const auto other = b.env.find(name);
    if (other != b.env.end() && other->second != value && name != kPlaceholderEnv) {
      return "the environment variable " + name;
    }
  }
  for (const CdiDeviceNode& node : a.device_nodes) {
    for (const CdiDeviceNode& other : b.device_nodes) {
      if (other.path == node.path && other != node) return "the path " + node.path;
    }
    for (const CdiMount& mount : b.mounts) {
      if (mount.container_path == node.path) return "the path " + node.path;
    }
  }
  for (const CdiMount& mount : a.mounts) {
    for (const CdiMount& other : b.mounts) {
      if (other.container_path == mount.container_path && other != mount) {
        return "the path " + mount.container_path;
      }
    }
    for (const CdiDeviceNode& node : b.device_nodes) {
      if (node.path == mount.container_path) return "the path " + node.path;
    }
  }
  return "";
}

Status CheckTogether(const ClaimKey& a, const CdiSpec& edits_of_a, const ClaimKey& b,
                     const CdiSpec& edits_of_b) {
  for (const CdiDevice& device : edits_of_a.devices) {
    for (const CdiDevice& other : edits_of_b.devices) {
      const std::string clash = ClashOf(device.edits, other.edits);
      if (clash.empty()) continue;
      return Fail(ErrorKind::kInvalid,
                  Format("the claims {}/{} and {}/{} of the pod both have {}, with different "
                         "content; use a variable in its name that differs between devices, such "
                         "as {{id}}, because {{slot}} counts the devices of one claim; or use one "
                         "claim",
                         a.namespace_name, a.name, b.namespace_name, b.name, clash));
    }
  }
  return {};
}

Result<CdiSpec> ClaimSpec(std::string_view driver, const ClaimPlan& plan,
                          std::span<const ContainerResponse> responses) {
  CdiSpec spec{.kind = ClaimKind(driver), .devices = {}};
  spec.devices.reserve(plan.requests.size());
  RequestNumbers numbers;
  for (std::size_t i = 0; i < plan.requests.size(); ++i) {
    const PlannedRequest& planned = plan.requests[i];
    CdiDevice device{
        .name = CdiNamePrefix(plan.claim.uid, planned.request, numbers.Next(planned.request)),
        .edits = EditsOf(responses[i])};
    TRY(AddEnv(planned, device.edits));
    for (std::size_t j = 0; j < i; ++j) {
      const std::string clash = ClashOf(spec.devices[j].edits, device.edits);
      if (clash.empty()) continue;
      return Fail(
          ErrorKind::kInvalid,
          Format("its requests \"{}\" and \"{}\" both have {}, with different content; use a "
                 "variable in its name that differs between devices, such as {{slot}} or "
                 "{{id}}",
                 plan.requests[j].request, planned.request, clash));
    }
    PreparedRequest prepared{planned.request, planned.resource, planned.devices, {}};
    const bool has_edits = device.edits != CdiEdits();
    if (!has_edits) device.edits.env.emplace(kPlaceholderEnv, plan.claim.uid);
    device.name += TRY(CdiNameSuffix(planned.devices, device.edits));
    if (has_edits) {
      prepared.cdi_devices.push_back(QualifiedCdiName(spec.kind, device.name));
    }
    const auto& more = responses[i].cdi_devices;
    prepared.cdi_devices.insert(prepared.cdi_devices.end(), more.begin(), more.end());
    device.annotations.emplace(kRecordKey, RecordOf(plan.claim, prepared));
    spec.devices.push_back(std::move(device));
  }
  TRY(CheckCdiSpec(spec));
  return spec;
}

Result<PreparedClaim> ReadClaimSpec(const CdiSpec& spec, std::string_view driver,
                                    std::string_view uid) {
  if (spec.kind != ClaimKind(driver)) return NotARecord("it is of another kind");
  PreparedClaim prepared;
  RequestNumbers numbers;
  for (const CdiDevice& device : spec.devices) {
    const auto record = device.annotations.find(std::string(kRecordKey));
    if (record == device.annotations.end()) return NotARecord("a device has no record");
    ClaimKey claim{.uid = std::string(uid), .namespace_name = {}, .name = {}};
    PreparedRequest request = TRY(RequestOfRecord(record->second, claim));
    if (record->second != RecordOf(claim, request)) return NotARecord("a record was changed");
    if (!device.name.starts_with(
            CdiNamePrefix(uid, request.request, numbers.Next(request.request)))) {
      return NotARecord("a device is of another claim");
    }
    prepared.claim = std::move(claim);
    prepared.requests.push_back(std::move(request));
  }
  return prepared;
}

std::vector<PreparedDevice> AnswerFor(const PreparedClaim& prepared) {
  std::vector<PreparedDevice> answer;
  for (const PreparedRequest& request : prepared.requests) {
    for (const PlannedDevice& device : request.devices) {
      PreparedDevice out{.requests = {request.request},
                         .pool = device.pool,
                         .device = device.device,
                         .cdi_devices = {}};
      if (&device == &request.devices.front()) out.cdi_devices = request.cdi_devices;
      if (!device.share_id.empty()) out.share_id = device.share_id;
      answer.push_back(std::move(out));  // NOLINT(performance-inefficient-vector-operation)
    }
  }
  return answer;
}

std::vector<PreparedUse> UsesOf(const PreparedClaim& prepared) {
  std::vector<PreparedUse> uses;
  for (const PreparedRequest& request : prepared.requests) {
    for (const PlannedDevice& device : request.devices) uses.push_back({prepared.claim, device});
  }
  return uses;
}

bool IsAllocatedAsPrepared(const ResourceClaim& claim, const PreparedClaim& prepared) {
  using Use =
      std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, bool>;
  std::vector<Use> allocated;
  for (const AllocatedDevice& device : claim.devices) {
    allocated.emplace_back(MainRequest(device.request), device.pool, device.device, device.share_id,
                           device.admin_access);
  }
  std::vector<Use> recorded;
  for (const PreparedRequest& request : prepared.requests) {
    for (const PlannedDevice& device : request.devices) {
      recorded.emplace_back(request.request, device.pool, device.device, device.share_id,
                            device.admin_access);
    }
  }
  // The file has the devices by request and resource.
  std::ranges::sort(allocated);
  std::ranges::sort(recorded);
  return allocated == recorded;
}

}  // namespace patchbay
