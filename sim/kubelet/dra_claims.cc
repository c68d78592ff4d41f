// The kubelet finds a claim by namespace and name; its UID distinguishes it from an old one of the
// same name. A pod keeps its reference to a claim until the driver has unprepared it, so that a
// failed call is repeated. The checkpoint has all of an entry but `prepared`.

#include "sim/kubelet/dra_claims.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace patchbay {
namespace {

using DraJson = nlohmann::json;

DraJson ToJson(const SimPreparedDevice& device) {
  DraJson json = {{"RequestNames", device.requests},
                  {"PoolName", device.pool},
                  {"DeviceName", device.device},
                  {"CDIDeviceIDs", device.cdi_devices}};
  if (device.share_id) json["ShareID"] = *device.share_id;
  return json;
}

/// Throws an exception of the library for another shape.
SimPreparedDevice DeviceFromJson(const DraJson& json) {
  SimPreparedDevice device;
  json.at("RequestNames").get_to(device.requests);
  json.at("PoolName").get_to(device.pool);
  json.at("DeviceName").get_to(device.device);
  json.at("CDIDeviceIDs").get_to(device.cdi_devices);
  if (json.contains("ShareID")) device.share_id = json.at("ShareID").get<std::string>();
  return device;
}

DraJson ToJson(const DraClaims::Entry& entry) {
  DraJson devices = DraJson::array();
  for (const SimPreparedDevice& device : entry.devices) devices.push_back(ToJson(device));
  return {{"Namespace", entry.claim.namespace_name},
          {"ClaimName", entry.claim.name},
          {"ClaimUID", entry.claim.uid},
          {"PodUIDs", entry.pods},
          {"Driver", entry.claim.driver},
          {"Devices", std::move(devices)}};
}

/// Throws like DeviceFromJson.
DraClaims::Entry EntryFromJson(const DraJson& json) {
  DraClaims::Entry entry;
  json.at("Namespace").get_to(entry.claim.namespace_name);
  json.at("ClaimName").get_to(entry.claim.name);
  json.at("ClaimUID").get_to(entry.claim.uid);
  json.at("PodUIDs").get_to(entry.pods);
  json.at("Driver").get_to(entry.claim.driver);
  for (const DraJson& device : json.at("Devices")) entry.devices.push_back(DeviceFromJson(device));
  return entry;
}

}  // namespace

std::vector<std::string> CdiDevicesOf(const std::vector<SimPreparedDevice>& devices,
                                      const std::string& request) {
  std::vector<std::string> names;
  for (const SimPreparedDevice& device : devices) {
    const auto& requests = device.requests;
    if (request.empty() || requests.empty() ||
        std::find(requests.begin(), requests.end(), request) != requests.end()) {
      names.insert(names.end(), device.cdi_devices.begin(), device.cdi_devices.end());
    }
  }
  return names;
}

Status CheckClaimAnswers(const std::string& rpc, const std::vector<SimClaim>& claims,
                         const SimClaimAnswers& answers) {
  for (const auto& [uid, answer] : answers) {
    const auto claim = std::find_if(claims.begin(), claims.end(),
                                    [&uid = uid](const SimClaim& c) { return c.uid == uid; });
    if (claim == claims.end()) {
      return Fail(ErrorKind::kUnavailable,
                  Format("{} returned result for unknown claim UID {}", rpc, uid));
    }
    if (!answer.error.empty()) {
      return Fail(ErrorKind::kUnavailable,
                  Format("{} failed for ResourceClaim {}: {}", rpc, claim->name, answer.error));
    }
  }
  if (answers.size() < claims.size()) {
    return Fail(ErrorKind::kUnavailable,
                Format("{} skipped {} ResourceClaims", rpc, claims.size() - answers.size()));
  }
  return {};
}

Result<std::vector<SimClaim>> DraClaims::BeginPrepare(const std::string& pod,
                                                      const std::vector<SimClaim>& claims) {
  for (const SimClaim& claim : claims) {
    const auto old = entries_.find(KeyOf(claim));
    if (old == entries_.end() || old->second.claim.uid == claim.uid) continue;
    return Fail(ErrorKind::kPrecondition,
                Format("old ResourceClaim with same name {} and different UID {} still exists",
                       claim.name, old->second.claim.uid));
  }
  std::vector<SimClaim> unprepared;
  for (const SimClaim& claim : claims) {
    Entry& entry = entries_.try_emplace(KeyOf(claim), Entry{claim, {}, false, {}}).first->second;
    entry.pods.insert(pod);
    if (!entry.prepared) unprepared.push_back(claim);
  }
  return unprepared;
}

DraClaims::Entry* DraClaims::Find(const SimClaim& claim) {
  const auto entry = entries_.find(KeyOf(claim));
  return entry != entries_.end() && entry->second.claim.uid == claim.uid ? &entry->second : nullptr;
}

void DraClaims::SetDevices(const SimClaim& claim, std::vector<SimPreparedDevice> devices) {
  if (Entry* const entry = Find(claim)) entry->devices = std::move(devices);
}

void DraClaims::SetPrepared(const SimClaim& claim) {
  if (Entry* const entry = Find(claim)) entry->prepared = true;
}

SimPreparedClaims DraClaims::Devices(const std::vector<SimClaim>& claims) const {
  SimPreparedClaims devices;
  for (const SimClaim& claim : claims) {
    const auto entry = entries_.find(KeyOf(claim));
    if (entry != entries_.end()) devices[claim.uid] = entry->second.devices;
  }
  return devices;
}

std::vector<SimClaim> DraClaims::BeginUnprepare(const std::string& pod) {
  std::vector<SimClaim> last;
  for (auto& [key, entry] : entries_) {
    if (!entry.pods.contains(pod)) continue;
    if (entry.pods.size() > 1) {
      entry.pods.erase(pod);
    } else {
      last.push_back(entry.claim);
    }
  }
  return last;
}

void DraClaims::Remove(const SimClaim& claim) {
  if (Find(claim) != nullptr) entries_.erase(KeyOf(claim));
}

std::set<std::string> DraClaims::Pods() const {
  std::set<std::string> pods;
  for (const auto& [key, entry] : entries_) pods.insert(entry.pods.begin(), entry.pods.end());
  return pods;
}

std::vector<DraClaims::Entry> DraClaims::List() const {
  std::vector<Entry> list;
  list.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) list.push_back(entry);
  return list;
}

std::string DraClaims::Encode() const {
  DraJson entries = DraJson::array();
  for (const auto& [key, entry] : entries_) entries.push_back(ToJson(entry));
  return DraJson{{"Entries", std::move(entries)}}.dump(-1, ' ', false,
                                                       DraJson::error_handler_t::replace);
}

Result<DraClaims> DraClaims::Decode(const std::string& text) {
  try {
    DraClaims claims;
    const DraJson state = DraJson::parse(text);
    for (const DraJson& json : state.at("Entries")) {
      Entry entry = EntryFromJson(json);
      const Key key = KeyOf(entry.claim);
      claims.entries_.insert_or_assign(key, std::move(entry));
    }
    return claims;
  } catch (const DraJson::exception& error) {
    return Fail(ErrorKind::kInvalid, Format("the checkpoint is corrupt: {}", error.what()));
  }
}

}  // namespace patchbay
