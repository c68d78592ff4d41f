#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "model/pod_usage.h"
#include "model/snapshot.h"
#include "status/probe_results.h"
#include "status/registration_status.h"

namespace patchbay {

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
};

struct KubeletStatus {
  bool up = false;
  std::uint64_t restarts = 0;
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
  int streams = 0;
  std::optional<ScanStatus> last_scan = {};
  std::shared_ptr<const Snapshot> snapshot = {};
  std::shared_ptr<const PodUsage> usage = {};
  std::shared_ptr<ProbeResults> probes = std::make_shared<ProbeResults>();
};
using ResourceStatuses = std::map<std::string, ResourceStatus>;

/// Everything that the page shows, at one moment. A value of shared immutable parts: copying it is
/// cheap, independent of the number of devices.
struct NodeStatus {
  std::string version = {};
  std::string revision = {};
  std::string node_name = {};  ///< of the Kubernetes node
  std::uint64_t serial = 0;    ///< grows with every change
  ConfigStatus config = {};
  KubeletStatus kubelet = {};
  ResourceStatuses resources = {};
};

}  // namespace patchbay
