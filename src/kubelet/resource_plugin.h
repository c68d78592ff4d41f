#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "hooks/hook_runner.h"
#include "inventory/snapshot_cell.h"
#include "kubelet/device_usage.h"
#include "kubelet/kubelet_client.h"
#include "kubelet/plugin_server.h"
#include "kubelet/plugin_sockets.h"
#include "kubelet/rate_limiter.h"
#include "kubelet/registration.h"
#include "os/loop.h"
#include "os/thread_pool.h"
#include "status/observer.h"

namespace patchbay {

/// Serves one resource to the kubelet: keeps it registered across restarts of the kubelet, and
/// sends the device list when it changes. Registration and RateLimiter decide; this class acts.
///
/// Belongs to the loop thread. Servers start and stop in the pool: a server that does not stop
/// delays only its own resource.
class ResourcePlugin {
 public:
  /// All references must outlive the plugin.
  struct Dependencies {
    Loop& loop;
    ThreadPool& servers_pool;        ///< starts and stops servers
    std::shared_ptr<RpcServer> rpc;  ///< serves their sockets
    Log& log;
    AllocationHost allocation;
    std::string kubelet_dir;
    std::string run;             ///< of this process, see NewRun
    std::uint64_t& servers;      ///< the number of servers that all plugins have started
    const std::string& kubelet;  ///< the SocketIdentity of the current kubelet
    std::shared_ptr<PendingCalls> pending = nullptr;  ///< of all plugins; may be null
  };

  /// Called on the loop.
  struct Events {
    std::function<void()> on_stale;  ///< an allocated device is not as listed: scan again
    /// Requests a check of the kubelet's directory, which may have changed since the last one.
    std::function<void()> check_directory;
    std::function<void()> on_registered;           ///< registered() has changed
    std::function<void(bool)> on_kubelet_answers;  ///< at the end of every call of Register
  };

  ResourcePlugin(const Dependencies& deps, std::string resource,
                 std::shared_ptr<ResourceObserver> observer, std::shared_ptr<HookRunner> hooks,
                 std::shared_ptr<const DeviceUsage> usage, Events events);
  /// Stops a running server in the pool. To know when it has stopped, call End first.
  ~ResourcePlugin();
  ResourcePlugin(const ResourcePlugin&) = delete;
  ResourcePlugin& operator=(const ResourcePlugin&) = delete;

  /// Sets the snapshot. Calls are answered from it immediately, and the device list is sent as soon
  /// as the rate limit allows. Registers again if the options of the resource changed.
  void Publish(std::shared_ptr<const Snapshot> snapshot);

  void OnKubelet(std::uint64_t epoch) { Step(KubeletSeen{epoch}); }
  void OnKubeletLost() { Step(KubeletLost{}); }
  /// Registers again if the socket file is missing. Sockets that are newer than `check_start`, the
  /// beginning of the check of the directory, may be missing in `sockets`.
  void CheckSocket(const PluginSockets& sockets, Loop::Time check_start);

  /// Ends the streams, stops the server, then calls `done` once.
  void End(std::function<void()> done);

  /// Like End, for a resource that was removed: first sends an empty device list, and gives the
  /// kubelet two seconds to receive it.
  void Drain(std::function<void()> done);

  bool registered() const { return registration_.phase() == RegistrationPhase::kRegistered; }
  const std::string& resource() const { return resource_; }

 private:
  void Step(const RegistrationEvent& event);
  void OnPhase(RegistrationPhase before, const RegistrationEvent& event);
  void LogPhase(RegistrationPhase before, const RegistrationEvent& event);
  RegistrationStatus CurrentStatus() const;
  void OnStreams(int open, bool first_ended);
  void FinishDrain();
  void Act(RegistrationAction action);
  void StartServer();
  void StopServer();
  void OnServer(Result<std::unique_ptr<PluginServer>> server);
  void DropServer(std::function<void()> then);
  void OnStaleList();
  void Register();
  void OnRegistered(const Status& status);
  void ReportFailure(std::string_view what, const std::string& reason);
  void ScheduleAnnouncement();
  void Announce();

  const Dependencies deps_;
  const std::string resource_;
  const std::shared_ptr<ResourceObserver> observer_;
  const std::shared_ptr<HookRunner> hooks_;
  const std::shared_ptr<const DeviceUsage> usage_;
  const Events events_;
  Registration registration_;
  RateLimiter rate_limiter_;
  const std::shared_ptr<SnapshotCell> cell_ = std::make_shared<SnapshotCell>();
  const std::shared_ptr<HostLookups> lookups_;
  std::shared_ptr<const Snapshot> announced_;
  std::size_t left_out_ = 0;  ///< units that did not fit into that list
  bool many_units_ = false;   ///< as last logged
  std::unique_ptr<PluginServer> server_;
  PendingCall call_;
  std::optional<v1beta1::DevicePluginOptions> options_;  ///< as last registered
  int streams_ = 0;
  bool is_draining_ = false;    ///< until the kubelet has received the last list
  Subscription drain_timeout_;  ///< pending while is_draining_
  Loop::Time serves_since_{};   ///< its socket existed by then
  std::uint64_t serial_ = 0;    ///< of the server, or 0; events of previous servers are ignored
  std::string last_failure_;    ///< since it was registered
  std::set<std::string> logged_failures_;  ///< since the last registration
  std::function<void()> on_ended_;
  Subscription timer_;
  Subscription announcement_;
  Lifetime lifetime_;
};

}  // namespace patchbay
