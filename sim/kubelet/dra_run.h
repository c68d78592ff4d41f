#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/dra_claims.h"
#include "sim/kubelet/dra_drivers.h"
#include "sim/kubelet/dra_health.h"
#include "sim/kubelet/dra_manager.h"
#include "sim/kubelet/plugin_channel.h"
#include "sim/kubelet/plugin_watcher.h"
#include "sim/kubelet/thread_group.h"

namespace patchbay {

/// The state that is kept across restarts of DraManager.
struct DraState {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t version = 0;  ///< increases with every change
  std::vector<DraRegistration> registrations;
  DraHealth health;
  DraRegistrationFault fault = DraRegistrationFault::kNone;
  std::string fault_text;
  std::uint64_t fault_version = 0;  ///< increases with every change of the fault

  /// Called with `mutex` held.
  void Changed() {
    ++version;
    changed.notify_all();
  }
};

/// One run of the kubelet's DRA side, from its start until it stops. It performs the calls;
/// DraDrivers, DraClaims, DraHealth and CheckPluginInfo decide. All members are protected by the
/// mutex of the DraState, which is never held during I/O or a call.
///
/// The functions are those of DraManager of the same names.
class DraRun {
 public:
  /// Fails like DraManager::Start.
  static Result<std::shared_ptr<DraRun>> Begin(const DraSimOptions& options,
                                               std::shared_ptr<DraState> state);
  ~DraRun();

  /// Stops everything and waits until it has stopped.
  void End();

  // Called with the mutex of the state held.
  std::vector<DraInstanceView> Instances(const std::string& driver) const;
  std::vector<std::string> Sockets() const;
  std::vector<DraClaims::Entry> Claims() const { return claims_.List(); }

  // Called without it.
  Result<SimPreparedClaims> PrepareClaims(const std::string& pod,
                                          const std::vector<SimClaim>& claims);
  Status UnprepareClaims(const std::string& pod);
  Status Reconcile(const std::set<std::string>& running);
  void CancelCalls(const std::string& driver);

 private:
  using Channel = std::shared_ptr<PluginChannel>;

  /// A registration socket, from when it is found until it is removed.
  struct Plugin {
    std::string socket;
    bool removed = false;
    Channel registration;  ///< the connection to `socket`; null before the first attempt
    // Set when the plugin is registered:
    std::string driver;
    DraInstanceId id = 0;  ///< 0: not registered
    DraServices services;
    Channel channel;  ///< the connection to the endpoint
  };
  using PluginPtr = std::shared_ptr<Plugin>;

  /// The end of an attempt to register.
  struct Attempt {
    std::string error;
    bool retry = false;
  };

  /// The connection to the instance that is in use.
  struct Target {
    Channel channel;
    DraApi api = DraApi::kV1;
  };
  using Rpc = Result<SimClaimAnswers> (*)(PluginChannel&, DraApi, const std::vector<SimClaim>&,
                                          std::chrono::milliseconds);
  using Batches = std::map<std::string, std::vector<SimClaim>>;  ///< by driver

  DraRun(const DraSimOptions& options, std::shared_ptr<DraState> state);

  // On the thread of the watcher.
  void OnFound(const std::string& socket);
  void OnRemoved(const std::string& socket);

  // On the thread of a plugin.
  void RunPlugin(const PluginPtr& plugin);
  bool AwaitDial(const PluginPtr& plugin);
  Attempt Register(const PluginPtr& plugin);
  std::string Connect(const PluginPtr& plugin, const SimPluginInfo& info, DraServices services);
  void WatchConnection(const PluginPtr& plugin);
  void RunHealth(const PluginPtr& plugin);
  void WatchHealthOnce(const PluginPtr& plugin);
  void RunWipes();

  /// Waits for `delay`, or until `wake` is true. Returns false if the plugin is removed or the
  /// kubelet stops.
  bool Pause(const PluginPtr& plugin, std::chrono::milliseconds delay,
             const std::function<bool()>& wake);

  // With the mutex held.
  bool Ended(const Plugin& plugin) const { return ending_ || plugin.removed; }
  bool IsConnected(const Plugin& plugin) const;
  Result<Target> TargetOf(const std::string& driver) const;

  Result<SimPreparedClaims> Prepare(const std::string& pod, const std::vector<SimClaim>& claims);
  Status Unprepare(const std::string& pod);
  /// Calls `rpc` for claims of one driver and checks the response.
  Result<SimClaimAnswers> CallDriver(const char* name, Rpc rpc, const std::string& driver,
                                     const std::vector<SimClaim>& claims);
  /// Writes dra_manager_state. Fails with kUnavailable after the end of the run.
  Status Save();

  const DraSimOptions options_;
  const std::shared_ptr<DraState> state_;

  bool ending_ = false;
  DraDrivers drivers_;
  DraClaims claims_;
  std::map<std::string, PluginPtr> plugins_;  ///< by socket
  DraInstanceId last_id_ = 0;

  std::mutex one_save_;  ///< taken before the state's
  ThreadGroup threads_;
  std::unique_ptr<PluginWatcher> watcher_;
};

}  // namespace patchbay
