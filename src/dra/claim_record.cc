// A record is written again from what was read and compared, so that any change to it is noticed.

#include "dra/claim_record.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "base/json.h"

namespace patchbay {
namespace {

using RecordJson = nlohmann::ordered_json;

constexpr int kRecordVersion = 1;
constexpr std::size_t kMaxRecordText = 1024;
constexpr std::size_t kMaxRecordRequests = kMaxClaimDevices;

Failure NotARecord(std::string_view why) {
  return Fail(ErrorKind::kInvalid, Format("is not the record of a claim: {}", why));
}

RecordJson DevicesRecord(const std::vector<PreparedDevice>& of_request) {
  RecordJson devices = RecordJson::array();
  for (const PreparedDevice& device : of_request) {
    RecordJson json = {{"pool", device.pool}, {"device", device.device}, {"id", device.device_id}};
    if (!device.share_id.empty()) json["share"] = device.share_id;
    json["replicas"] = device.replicas;
    if (device.admin_access) json["admin"] = true;
    devices.push_back(std::move(json));
  }
  return devices;
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

Result<PreparedDevice> DeviceOfRecord(const nlohmann::json& json) {
  const auto is_replica = [](const nlohmann::json& replica) {
    return replica.is_number_unsigned() &&
           replica.get<std::uint64_t>() <= std::numeric_limits<int>::max();
  };
  PreparedDevice device;
  device.pool = TRY(TextMember(json, "pool", kMaxRecordText));
  device.device = TRY(TextMember(json, "device", kMaxRecordText));
  device.device_id = TRY(TextMember(json, "id", kMaxRecordText));
  device.share_id = TRY(TextMember(json, "share", kMaxRecordText));
  device.replicas = TRY(ElementsOf<int>(json, "replicas", is_replica));
  device.admin_access = TRY(BoolMember(json, "admin"));
  return device;
}

Result<std::map<std::string, std::string>> EnvOfRecord(const nlohmann::json& request) {
  std::map<std::string, std::string> env;
  const auto member = request.find("env");
  if (member == request.end()) return env;
  if (!member->is_object()) return NotARecord("\"env\" is not an object");
  for (const auto& [name, value] : member->items()) {
    if (!value.is_string()) return NotARecord("\"env\" has an invalid element");
    env.emplace(name, value);
  }
  return env;
}

Result<PreparedRequest> RequestOfRecord(const nlohmann::json& json) {
  const auto is_text = [](const nlohmann::json& element) { return element.is_string(); };
  PreparedRequest request;
  request.request = TRY(TextMember(json, "request", kMaxRecordText));
  request.subrequest = TRY(TextMember(json, "subrequest", kMaxRecordText));
  request.resource = TRY(TextMember(json, "resource", kMaxRecordText));
  const nlohmann::json* const devices = TRY(ObjectsMember(json, "devices", kMaxClaimDevices));
  if (devices == nullptr || devices->empty()) return NotARecord("it has no devices");
  request.devices.reserve(devices->size());
  for (const auto& device : *devices) request.devices.push_back(TRY(DeviceOfRecord(device)));
  request.first_slot = TRY(CountMember(json, "first_slot"));
  request.env = TRY(EnvOfRecord(json));
  request.cdi_devices = TRY(ElementsOf<std::string>(json, "cdi", is_text));
  request.nodes = TRY(ElementsOf<std::string>(json, "nodes", is_text));
  request.config = TRY(TextMember(json, "config", kMaxRecordText));
  request.values = TRY(TextMember(json, "values", kMaxRecordText));
  return request;
}

Result<std::vector<ClaimMetadata>> MetadataOfRecord(const nlohmann::json& record) {
  std::vector<ClaimMetadata> metadata;
  const nlohmann::json* const files = TRY(ObjectsMember(record, "metadata", kMaxRecordRequests));
  if (files == nullptr) return metadata;
  for (const auto& file : *files) {
    metadata.push_back({TRY(TextMember(file, "request", kMaxRecordText)),
                        TRY(TextMember(file, "text", kMaxRecordBytes))});
  }
  return metadata;
}

Result<PreparedClaim> ReadRecord(std::string_view text, std::string_view uid) {
  const nlohmann::json json = TRY(ParseJson(text, {.bytes = kMaxRecordBytes}));
  const std::int64_t version = TRY(CountMember(json, "version"));
  if (version > kRecordVersion) {
    return Fail(ErrorKind::kPrecondition,
                Format("has version {}, and this Patchbay reads version {}: install the Patchbay "
                       "that wrote it again, or drain the node and remove the file",
                       version, kRecordVersion));
  }
  const nlohmann::json* const requests = TRY(ObjectsMember(json, "requests", kMaxRecordRequests));
  if (requests == nullptr || requests->empty()) return NotARecord("it has no requests");
  PreparedClaim record;
  record.claim.uid = TRY(TextMember(json, "uid", kMaxRecordText));
  record.claim.namespace_name = TRY(TextMember(json, "namespace", kMaxRecordText));
  record.claim.name = TRY(TextMember(json, "name", kMaxRecordText));
  record.pod_claim_name = TRY(TextMember(json, "pod_claim", kMaxRecordText));
  record.boot = TRY(TextMember(json, "boot", kMaxRecordText));
  record.is_finished = TRY(BoolMember(json, "finished"));
  record.requests.reserve(requests->size());
  for (const auto& request : *requests) record.requests.push_back(TRY(RequestOfRecord(request)));
  record.metadata = TRY(MetadataOfRecord(json));
  record.cdi_file = TRY(TextMember(json, "file", kMaxRecordBytes));
  if (record.claim.uid != uid) return NotARecord("it is of another claim");
  if (RecordToJson(record) != text) return NotARecord("it was changed");
  return record;
}

}  // namespace

std::string RecordName(std::string_view uid) { return Format("claim_{}.json", uid); }

std::string RecordToJson(const PreparedClaim& record) {
  RecordJson requests = RecordJson::array();
  for (const PreparedRequest& request : record.requests) {
    requests.push_back({{"request", request.request},
                        {"subrequest", request.subrequest},
                        {"resource", request.resource},
                        {"devices", DevicesRecord(request.devices)},
                        {"first_slot", request.first_slot},
                        {"env", request.env},
                        {"cdi", request.cdi_devices},
                        {"nodes", request.nodes},
                        {"config", request.config},
                        {"values", request.values}});
  }
  RecordJson metadata = RecordJson::array();
  for (const ClaimMetadata& file : record.metadata) {
    metadata.push_back({{"request", file.request}, {"text", file.text}});
  }
  RecordJson json = {{"version", kRecordVersion},
                     {"uid", record.claim.uid},
                     {"namespace", record.claim.namespace_name},
                     {"name", record.claim.name},
                     {"pod_claim", record.pod_claim_name},
                     {"boot", record.boot},
                     {"finished", record.is_finished},
                     {"requests", std::move(requests)},
                     {"metadata", std::move(metadata)},
                     {"file", record.cdi_file}};
  // All of it is UTF-8; replacing is better than an exception if it ever is not.
  const auto text_of = [&] {
    return json.dump(-1, ' ', false, RecordJson::error_handler_t::replace) + "\n";
  };
  json["sum"] = Format("{:016x}", StableHash(text_of()));
  return text_of();
}

Result<PreparedClaim> RecordFromJson(std::string_view text, std::string_view uid) {
  auto record = ReadRecord(text, uid);
  if (!record && record.error().kind != ErrorKind::kPrecondition) {
    record.error().kind = ErrorKind::kInvalid;
  }
  return record;
}

std::vector<PreparedDevice> DevicesOf(const PreparedClaim& prepared) {
  std::vector<PreparedDevice> devices;
  for (const PreparedRequest& request : prepared.requests) {
    devices.insert(devices.end(), request.devices.begin(), request.devices.end());
  }
  return devices;
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
    for (const PreparedDevice& device : request.devices) {
      recorded.emplace_back(request.request, device.pool, device.device, device.share_id,
                            device.admin_access);
    }
  }
  // The record has the devices by request and resource.
  std::ranges::sort(allocated);
  std::ranges::sort(recorded);
  return allocated == recorded;
}

}  // namespace patchbay
