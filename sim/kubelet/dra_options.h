#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace patchbay {

/// The services of DRA drivers that a kubelet uses, by its version.
enum class DraProfile {
  kBeta,            ///< 1.32 and 1.33: v1beta1, without the health of devices
  kStable,          ///< 1.34 to 1.36: v1 and v1beta1, health in v1alpha1
  kStableHealthV1,  ///< later: health in v1 too
};

/// The defaults are the values of the kubelet.
struct DraSimOptions {
  /// Replaces /var/lib/kubelet. Contains the directory plugins_registry, which is created if it is
  /// absent, and the file dra_manager_state.
  std::string kubelet_root = {};
  DraProfile profile = DraProfile::kStableHealthV1;
  std::chrono::milliseconds dial_timeout{10'000};
  std::chrono::milliseconds info_timeout{1'000};
  std::chrono::milliseconds notify_timeout{5'000};
  std::chrono::milliseconds call_timeout{45'000};  ///< of prepare and unprepare calls
  /// The time between the first two attempts to register a driver. It doubles up to two minutes.
  std::chrono::milliseconds retry_delay{500};
  std::chrono::milliseconds health_reopen_delay{5'000};
  /// The time that all instances of a driver are disconnected before its slices are deleted.
  std::chrono::milliseconds wipe_delay{30'000};
  /// The clock that ends the validity of the health of a device. Called on any thread.
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
  /// Deletes the ResourceSlices of the node: of one driver, or of all if `driver` is empty. Called
  /// without a lock, during Start for all drivers, and later on a thread of the kubelet.
  std::function<void(const std::string& driver)> on_wipe = [](const std::string&) {};
};

}  // namespace patchbay
