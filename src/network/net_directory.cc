#include "network/net_directory.h"

#include <sys/statvfs.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/json.h"
#include "base/number.h"
#include "base/path.h"
#include "net/net_result.h"
#include "network/net_program.h"

namespace patchbay {
namespace {

constexpr std::string_view kProgram = "patchbay-net";
constexpr std::string_view kRecordEnd = ".json";
constexpr std::size_t kMaxRecord = 256 << 10;  // bytes
constexpr std::size_t kMaxResult = 512;
constexpr std::string_view kCure =
    "; interfaces need this directory of the host, at the same path and writable: enable the "
    "component \"net-devices\"";

using Json = nlohmann::ordered_json;

std::string RecordName(const NetInterface& interface) {
  return Format("{}{}", InterfaceFileName(interface), kRecordEnd);
}

std::string RecordText(const InterfaceRecord& record) {
  const NetInterface& interface = record.interface;
  Json json = {{"bus_device", interface.bus_device},
               {"dev_port", interface.dev_port},
               {"dev_id", interface.dev_id},
               {"address", interface.address},
               {"name", record.name},
               {"attributes", record.attributes},
               {"properties", record.properties}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Returns nothing for a text that RecordText does not make.
std::optional<InterfaceRecord> ParseRecord(std::string_view text) {
  const auto json = ParseJson(text, {.bytes = kMaxRecord, .values = 4096, .depth = 4});
  if (!json) return std::nullopt;
  InterfaceRecord record;
  try {
    record.interface = {.bus_device = json->at("bus_device"),
                        .dev_port = json->at("dev_port"),
                        .dev_id = json->at("dev_id"),
                        .address = json->at("address")};
    record.name = json->at("name");
    for (const auto& [name, value] : json->at("attributes").items()) {
      record.attributes.emplace(name, value);
    }
    for (const auto& [name, value] : json->at("properties").items()) {
      record.properties.emplace(name, value);
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  const std::string& device = record.interface.bus_device;
  const bool is_valid = device.starts_with("/sys/devices/") && IsShortestPath(device);
  return is_valid ? std::optional(std::move(record)) : std::nullopt;
}

/// Returns whether a move that ended so has the reason that the host uses the interface.
bool IsOfHost(NetResult result) {
  switch (result) {
    case NetResult::kAmbiguous:
    case NetResult::kOtherHardware:
    case NetResult::kVirtual:
    case NetResult::kWireless:
    case NetResult::kMember:
    case NetResult::kDefaultRoute:
    case NetResult::kNodeAddress: return true;
    default: return false;
  }
}

/// Returns whether the container was refused before anything was read, so that the interface
/// can be in the pod since an earlier start.
bool IsOfContainer(NetResult result) {
  return result == NetResult::kNoContainer || result == NetResult::kNoPermission ||
         result == NetResult::kHostNetwork;
}

/// Reads the status file of an interface, "RESULT ERRNO NAMESPACE CONTAINER"; see net/main.cc.
void AddResult(std::string_view text, bool is_recent, KnownInterface& known) {
  const std::string_view word = text.substr(0, text.find(' '));
  const auto code = ParseNumber<int>(word);
  const auto result = static_cast<NetResult>(code.value_or(0));
  known.is_moved =
      word == "moving" || (code && (result == NetResult::kDone || result == NetResult::kAway ||
                                    result == NetResult::kNotReturned || IsOfContainer(result)));
  if (!code || result == NetResult::kDone || !is_recent) return;
  known.failure = TextOf(result);
  known.host_needs_it = IsOfHost(result);
}

}  // namespace

NetDirectory::NetDirectory(const std::string& path)
    : programs_(path, {.mode = 0755, .cure = kCure}),
      records_(path + "/interfaces", {.cure = kCure}),
      results_(path + "/results", {.cure = kCure}) {}

Status NetDirectory::Install() const {
  std::error_code error;
  std::filesystem::create_directories(results_.path(), error);
  // A process that can open it can hold the lock of all moves.
  std::filesystem::permissions(results_.path(), std::filesystem::perms::owner_all, error);
  TRY(programs_.WriteText(std::string(kProgram), NetProgram(), true));
  struct statvfs info {};
  if (statvfs(programs_.path().c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0) {
    return Fail(ErrorKind::kUnavailable,
                Format("{} is on a file system that is mounted noexec, so the container runtime "
                       "cannot run {} there; mount it without noexec",
                       programs_.path(), kProgram));
  }
  return {};
}

std::vector<KnownInterface> NetDirectory::Read(std::chrono::system_clock::time_point now) const {
  std::vector<KnownInterface> known;
  const auto listing = records_.List("", kRecordEnd);
  const auto results = results_.List("", "");
  if (!listing) return known;
  for (const auto& [name, stamp] : listing->files) {
    if (known.size() == kMaxInterfaces) break;
    const auto text = records_.ReadText(name, kMaxRecord);
    auto record = text ? ParseRecord(*text) : std::nullopt;
    if (!record || RecordName(record->interface) != name) continue;
    KnownInterface& one = known.emplace_back(KnownInterface{*std::move(record)});
    // Only root can read them: what is away is then not called an error.
    one.is_moved = !results;
    if (!results) continue;
    const auto result = results->files.find(InterfaceFileName(one.record.interface));
    if (result == results->files.end()) continue;
    const std::chrono::system_clock::time_point at{std::chrono::seconds(result->second.modified_s)};
    AddResult(results_.ReadText(result->first, kMaxResult).value_or(""), now - at < kFailureAge,
              one);
  }
  return known;
}

Status NetDirectory::Update(const std::vector<KnownInterface>& known,
                            const std::vector<InterfaceRecord>& found, const HostRoot& host) const {
  Status first;
  const auto keep_first = [&](Status status) {
    if (first) first = std::move(status);
  };
  for (InterfaceRecord record : found) {
    const KnownInterface* before = FindKnown(known, record.interface);
    if (before != nullptr) {
      // Those that only other resources compare.
      record.attributes.insert(before->record.attributes.begin(), before->record.attributes.end());
      if (before->record == record) continue;
    }
    // Not durable: without power, no container has an interface.
    keep_first(records_.WriteText(RecordName(record.interface), RecordText(record), false));
  }
  if (!host.Resolve("/sys/devices")) return first;  // nothing is known about the host
  for (const KnownInterface& one : known) {
    const std::string directory = one.record.interface.bus_device + "/net";
    const auto entries = host.Resolve(directory);
    if (entries || entries.error().kind != ErrorKind::kNotFound) continue;
    keep_first(records_.Remove(RecordName(one.record.interface)));
    keep_first(results_.Remove(InterfaceFileName(one.record.interface)));
  }
  return first;
}

NetHook NetDirectory::HookFor(std::vector<std::string> node_addresses) const {
  return {programs_.PathOf(kProgram), results_.path(), std::move(node_addresses)};
}

std::string NetDirectoryFor(const std::string& kubelet_dir) {
  return DirectoryOf(kubelet_dir) + "/plugins/patchbay.dev/net";
}

}  // namespace patchbay
