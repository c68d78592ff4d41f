#include "model/snapshot.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/number.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxAdvertisedId = 63;  // as the comment of Device.ID in api.proto requires
constexpr std::string_view kReplicaSeparator = "::";

bool HasDigit(std::string_view text, std::size_t at) {
  return at < text.size() && IsDigit(text[at]);
}

/// Compares the numbers that begin at `i` and `j`, and sets both to the ends. Returns a negative
/// value, 0 or a positive one.
int CompareNumbers(std::string_view a, std::size_t& i, std::string_view b, std::size_t& j) {
  while (i < a.size() && a[i] == '0') ++i;
  while (j < b.size() && b[j] == '0') ++j;
  int order = 0;  // of the first digits that differ; counts if both numbers have the same length
  for (; HasDigit(a, i) && HasDigit(b, j); ++i, ++j) {
    if (order == 0) order = a[i] - b[j];
  }
  if (HasDigit(a, i) != HasDigit(b, j)) return HasDigit(a, i) ? 1 : -1;
  return order;
}

/// Returns the first index at which the texts can differ: of a byte, or of the number that it is
/// in.
std::size_t NumberOrCharAt(std::string_view a, std::string_view b) {
  const std::size_t both = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at < both && a[at] == b[at]) ++at;
  while (at > 0 && IsDigit(a[at - 1])) --at;
  return at;
}

}  // namespace

std::string_view Name(RejectReason reason) {
  switch (reason) {
    case RejectReason::kUnreadable: return "unreadable";
    case RejectReason::kBadName: return "bad_name";
    case RejectReason::kDanglingLink: return "dangling_link";
    case RejectReason::kMissingVariable: return "missing_variable";
    case RejectReason::kBadTemplate: return "bad_template";
    case RejectReason::kDuplicateId: return "duplicate_id";
    case RejectReason::kDuplicateNode: return "duplicate_node";
    case RejectReason::kWrongNumber: return "wrong_number";
    case RejectReason::kIncomplete: return "incomplete";
    case RejectReason::kTaken: return "taken";
    case RejectReason::kMounted: return "mounted";
    case RejectReason::kNotMovable: return "not_movable";
    case RejectReason::kMissingExclude: return "missing_exclude";
    case RejectReason::kCommandFailed: return "command_failed";
    case RejectReason::kLimit: return "limit";
  }
  return "";
}

bool IdLess(std::string_view a, std::string_view b) {
  std::size_t i = NumberOrCharAt(a, b), j = i;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      if (const int order = CompareNumbers(a, i, b, j); order != 0) return order < 0;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
    }
  }
  const std::size_t rest_a = a.size() - i, rest_b = b.size() - j;
  if (rest_a != rest_b) return rest_a < rest_b;
  return a < b;  // they differ only in leading zeros
}

std::string AdvertisedId(const ResourceSpec& spec, std::string_view device_id, int replica) {
  std::string id(device_id);
  if (spec.replicas > 1) id.append(kReplicaSeparator).append(std::to_string(replica));
  return id;
}

std::size_t LongestDeviceId(const ResourceSpec& spec) {
  return kMaxAdvertisedId - AdvertisedId(spec, "", spec.replicas - 1).size();
}

std::optional<AdvertisedUnit> ParseReplica(std::string_view advertised_id) {
  const auto separator = advertised_id.rfind(kReplicaSeparator);
  if (separator == 0 || separator == std::string_view::npos) return std::nullopt;
  AdvertisedUnit unit{advertised_id.substr(0, separator)};
  const std::string_view digits = advertised_id.substr(separator + kReplicaSeparator.size());
  const auto replica = ParseNumber<int>(digits);
  if (!replica || !IsDigit(digits[0]) || (digits.size() > 1 && digits[0] == '0')) {
    return std::nullopt;
  }
  unit.replica = *replica;
  return unit;
}

std::optional<AdvertisedUnit> ParseAdvertised(const ResourceSpec& spec,
                                              std::string_view advertised_id) {
  if (spec.replicas <= 1) return AdvertisedUnit{advertised_id, 0};
  const auto unit = ParseReplica(advertised_id);
  return unit && unit->replica < spec.replicas ? unit : std::nullopt;
}

const ListedDevice* FindDevice(const Snapshot& snapshot, std::string_view device_id) {
  const auto& devices = snapshot.devices;
  const auto at = std::lower_bound(
      devices.begin(), devices.end(), device_id,
      [](const ListedDevice& d, std::string_view id) { return IdLess(d.device->id, id); });
  return at == devices.end() || at->device->id != device_id ? nullptr : &*at;
}

FoundDevice FindAdvertised(const Snapshot& snapshot, std::string_view advertised_id) {
  const auto unit = ParseAdvertised(*snapshot.spec, advertised_id);
  const ListedDevice* listed = unit ? FindDevice(snapshot, unit->device_id) : nullptr;
  if (listed == nullptr) return {};
  return {listed, listed - snapshot.devices.data(), unit->replica};
}

}  // namespace patchbay
