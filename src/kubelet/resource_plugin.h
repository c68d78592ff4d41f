#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "inventory/hook_runner.h"
#include "inventory/observer.h"
#include "inventory/rate_limiter.h"
#include "inventory/snapshot_cell.h"
#include "kubelet/calls.h"
#include "kubelet/plugin_server.h"
#include "kubelet/registration.h"
#include "kubelet/sockets.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// Serves one resource to the kubelet: keeps it registered, whatever the kubelet does, and sends
/// its list when it changes. The decisions are those of Registration and RateLimiter; this is their
/// hands.
///
/// Belongs to the loop thread. Servers are started and stopped in the pool: a server that does not
/// come to its end holds up its own resource and no other.
class ResourcePlugin {
 public:
  /// What it works with; all of it outlives the plugin.
  struct World {
    Loop& loop;
    ThreadPool& servers_pool;  ///< starts and stops servers
    Log& log;
    AllocationHost allocation;
    std::string kubelet_dir;
    std::string run;                                  ///< of this process, see NewRun
    std::uint64_t& servers;                           ///< how many all plugins have made
    std::shared_ptr<SharedConnection> kubelet;        ///< of all plugins
    std::shared_ptr<PendingCalls> pending = nullptr;  ///< of all plugins; may be null
  };

  /// What its owner is told, on the loop where nothing else is said.
  struct Events {
    std::function<void()> on_stale;    ///< the kubelet asked for a device not as listed: look again
    std::function<void()> on_granted;  ///< see PluginBackend::on_granted; on any thread
    /// See PluginBackend::before_start.
    std::function<void(std::set<std::string> devices, std::function<void()> then)> before_start;
    /// A new socket exists, and may already have been deleted again: a check of the kubelet's
    /// directory is to begin.
    std::function<void()> on_serving;
    std::function<void(bool)> on_registered;
    std::function<void(bool)> on_kubelet_answers;  ///< at the end of every registration
  };

  ResourcePlugin(const World& world, std::string resource,
                 std::shared_ptr<ResourceObserver> observer, std::shared_ptr<HookRunner> hooks,
                 Events events);
  /// A server that is still there is stopped in the pool; End first, to know when it is gone.
  ~ResourcePlugin();
  ResourcePlugin(const ResourcePlugin&) = delete;
  ResourcePlugin& operator=(const ResourcePlugin&) = delete;

  /// The newest snapshot: at once the one that calls are answered from, and sent to the kubelet as
  /// soon as the pace allows.
  /// Registers again where the options of the entry are others now.
  void Publish(std::shared_ptr<const Snapshot> snapshot);

  void OnKubelet(std::uint64_t epoch) { Step(KubeletSeen{epoch}); }
  void OnKubeletLost() { Step(KubeletLost{}); }
  /// Registers again if the socket file is missing. `asked` is when the check of the directory
  /// began: a socket that is newer may be missing in `sockets`.
  void CheckSocket(const PluginSockets& sockets, Loop::Time asked);

  /// Ends streams and server, then calls `done`, once.
  void End(std::function<void()> done);

  /// The same for a resource that is no more: a kubelet that knows it is told first that there are
  /// no devices, and has two seconds to take that in.
  void Retire(std::function<void()> done);

  bool registered() const { return registration_.phase() == RegistrationPhase::kRegistered; }
  const std::string& resource() const { return resource_; }

 private:
  void Step(const RegistrationEvent& event);
  void OnPhase(RegistrationPhase before, const RegistrationEvent& event);
  void LogPhase(RegistrationPhase before, const RegistrationEvent& event);
  RegistrationStatus CurrentStatus() const;
  void OnStreams(int open, bool first_ended);
  void EndRetreat();
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

  const World world_;
  const std::string resource_;
  const std::shared_ptr<ResourceObserver> observer_;
  const std::shared_ptr<HookRunner> hooks_;
  const Events events_;
  Registration registration_;
  RateLimiter rate_limiter_;
  const std::shared_ptr<SnapshotCell> cell_ = std::make_shared<SnapshotCell>();
  const std::shared_ptr<HostLookups> lookups_;
  std::shared_ptr<const Snapshot> announced_;
  std::size_t left_out_ = 0;  ///< units of that list which did not fit
  bool many_units_ = false;   ///< as far as was told
  std::unique_ptr<PluginServer> server_;
  PendingCall call_;
  std::optional<v1beta1::DevicePluginOptions> options_;  ///< as last registered
  int streams_ = 0;
  bool is_retiring_ = false;   ///< until the kubelet has taken the last list
  Subscription retreat_;       ///< the end of its time for that
  Loop::Time serves_since_{};  ///< its socket was there by then
  std::uint64_t serial_ = 0;   ///< of the server, or 0; what earlier ones still say is not heard
  std::string last_failure_;   ///< since it was registered
  std::set<std::string> logged_failures_;  ///< since the last registration
  std::function<void()> on_ended_;
  Subscription timer_;
  Subscription announcement_;
  Lifetime lifetime_;
};

}  // namespace patchbay
