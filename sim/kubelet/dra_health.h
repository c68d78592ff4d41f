#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace patchbay {

enum class SimHealth { kUnknown, kHealthy, kUnhealthy };

/// The health of a device, as it appears in the status of a pod.
struct SimDeviceHealth {
  std::string pool;
  std::string device;
  SimHealth health = SimHealth::kUnknown;
  std::string message = {};
  std::chrono::seconds timeout{30};  ///< unknown this long after the last report

  bool operator==(const SimDeviceHealth&) const = default;
};

/// Returns the timeout that the kubelet uses for health_check_timeout_seconds.
std::chrono::seconds HealthTimeout(std::int64_t reported);
/// Returns a message as the kubelet truncates it: at most 1024 bytes.
std::string HealthMessageOfKubelet(const std::string& message);

/// The health of all devices, by driver, with what the kubelet derives from the time of the last
/// report (healthinfo.go). Pure, not thread-safe.
class DraHealth {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Adds a report received at `now`. Devices that are not in it keep their health until its
  /// timeout.
  void Update(const std::string& driver, const std::vector<SimDeviceHealth>& devices, Time now);
  void Clear(const std::string& driver) { drivers_.erase(driver); }

  /// Returns the devices of a driver, ordered by pool and name. Those whose timeout has passed are
  /// unknown, without a message.
  std::vector<SimDeviceHealth> List(const std::string& driver, Time now) const;

 private:
  struct Entry {
    SimDeviceHealth reported;
    Time at;
  };

  std::map<std::string, std::map<std::pair<std::string, std::string>, Entry>> drivers_;
};

}  // namespace patchbay
