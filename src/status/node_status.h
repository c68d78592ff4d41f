#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "model/hidden_resources.h"
#include "model/match_summary.h"
#include "model/pod_usage.h"
#include "model/snapshot.h"
#include "status/counters.h"
#include "status/dra_status.h"
#include "status/probe_results.h"
#include "status/registration_status.h"
#include "status/transitions.h"

namespace patchbay {

class DriverCounters;

using WallTime = std::chrono::system_clock::time_point;

/// The result of reading the configuration.
struct ConfigReading {
  bool accepted = false;
  WallTime at{};
  std::string reason = {};  ///< why it was rejected, in one line
  std::vector<Diagnostic> diagnostics = {};
};

struct ConfigStatus {
  std::string path;
  std::optional<WallTime> loaded_at = {};          ///< of the one in force; nothing if none is
  std::shared_ptr<const ConfigReading> last = {};  ///< null before the first
  std::uint64_t accepted = 0, rejected = 0;        ///< readings
};

struct KubeletStatus {
  bool up = false;
  WallTime up_changed_at{};  ///< when `up` got its value; at first, when the process started
  std::string socket = {};   ///< where the kubelet is expected
  std::uint64_t restarts = 0;
  bool uses_pod_resources = false;
  std::optional<bool> pod_resources_up = {};  ///< nothing: disabled, or no response yet
};

/// A scan of the host.
struct ScanStatus {
  WallTime at{};  ///< its end
  std::chrono::nanoseconds took{};
  bool complete = false;
};

/// One resource at this moment. Null fields are not known yet.
struct ResourceStatus {
  RegistrationStatus registration = {RegistrationState::kWaiting,
                                     "the first scan of the host has not completed"};
  std::optional<WallTime> registered_changed_at = {};  ///< when it was or ceased to be registered
  int streams = 0;
  std::optional<ScanStatus> last_scan = {};
  std::optional<WallTime> last_complete_scan = {};  ///< its end
  std::size_t shared_devices = 0;                   ///< that another resource lists as well
  std::shared_ptr<const Snapshot> snapshot = {};
  std::shared_ptr<const PodUsage> usage = {};
  std::shared_ptr<const MatchSummaries> explanation = {};  ///< why it has no devices
  std::shared_ptr<ProbeResults> probes = std::make_shared<ProbeResults>();
  std::shared_ptr<ResourceCounters> counters = {};
};
using ResourceStatuses = std::map<std::string, ResourceStatus>;

/// Everything that the page shows, at one moment. A value of shared immutable parts: copying it is
/// cheap, independent of the number of devices.
struct NodeStatus {
  std::string version = {};
  std::string revision = {};
  std::string node_name = {};  ///< of the Kubernetes node
  std::uint64_t serial = 0;    ///< grows with every change
  bool device_metrics = true;  ///< whether metrics have series of single devices
  bool suggest_page = false;   ///< whether the page shows all devices of the node
  ConfigStatus config = {};
  KubeletStatus kubelet = {};
  ResourceStatuses resources = {};
  std::shared_ptr<const HiddenResources> hidden = {};         ///< null: none
  std::shared_ptr<const TransitionHistory> transitions = {};  ///< null: none yet
  std::shared_ptr<const DraStatus> dra = {};                  ///< null: not in use
  std::shared_ptr<DriverCounters> driver = {};                ///< null: not in use
};

}  // namespace patchbay
