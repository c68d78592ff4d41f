#include "sim/kubelet/dra_health.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace patchbay {
namespace {

constexpr std::chrono::seconds kDefaultHealthTimeout{30};
/// Thirty years, so that it fits into the nanoseconds of a clock.
constexpr std::int64_t kMaxHealthTimeout = 1'000'000'000;
constexpr std::size_t kMaxKubeletMessage = 1024;
constexpr std::string_view kTruncated = "...";

}  // namespace

std::chrono::seconds HealthTimeout(std::int64_t reported) {
  if (reported <= 0) return kDefaultHealthTimeout;
  return std::chrono::seconds(std::min(reported, kMaxHealthTimeout));
}

std::string HealthMessageOfKubelet(const std::string& message) {
  if (message.size() <= kMaxKubeletMessage) return message;
  return message.substr(0, kMaxKubeletMessage - kTruncated.size()).append(kTruncated);
}

void DraHealth::Update(const std::string& driver, const std::vector<SimDeviceHealth>& devices,
                       Time now) {
  auto& entries = drivers_[driver];
  for (const SimDeviceHealth& device : devices) {
    entries[{device.pool, device.device}] = {device, now};
  }
}

std::vector<SimDeviceHealth> DraHealth::List(const std::string& driver, Time now) const {
  std::vector<SimDeviceHealth> list;
  const auto found = drivers_.find(driver);
  if (found == drivers_.end()) return list;
  list.reserve(found->second.size());
  for (const auto& [name, entry] : found->second) {
    SimDeviceHealth& device = list.emplace_back(entry.reported);
    if (now - entry.at <= device.timeout) continue;
    device.health = SimHealth::kUnknown;
    device.message.clear();
  }
  return list;
}

}  // namespace patchbay
