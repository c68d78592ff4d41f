#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "dra/claim_run.h"
#include "dra/claim_service.h"
#include "dra/claim_store.h"
#include "dra/served_resource.h"
#include "model/spec.h"
#include "os/loop.h"
#include "os/loop_port.h"
#include "os/threads.h"

namespace patchbay {

/// Prepares claims: the CDI file of a claim gives containers the same device nodes, mounts and env
/// as Allocate of the device plugin API, and the hooks `allocate` and `pre_start` run once before
/// it is there, `release` once when it has been removed. A record in the driver's directory has all
/// that is known about a claim, so a restarted process and the other instance of a rolling update
/// continue where this one stopped. After a reboot the hooks run again.
///
/// Only Unprepare releases a device: a container can use it after its claim was deleted at the API
/// server.
///
/// Each claim is a ClaimRun on a thread of its own. A call is answered when its runs have ended, or
/// shortly before its deadline. The run continues, and the next call for the claim joins it.
///
/// Created, closed and used on the loop thread, but for Prepare and Unprepare, which can be called
/// on any thread, as can the destructor after Close. Always in a shared_ptr.
class ClaimPreparer : public ClaimService, public std::enable_shared_from_this<ClaimPreparer> {
 public:
  /// The limit for allocate and pre_start of a claim, from the beginning of its run.
  static constexpr std::chrono::seconds kHookLimit = kClaimHookLimit;
  /// The time before the deadline of a call at which it is answered.
  static constexpr std::chrono::seconds kReserve{3};
  /// The limit for the locks of a run, from its beginning.
  static constexpr std::chrono::seconds kLockLimit{42};
  /// The maximum number of runs at once, without those that release; more wait. A release can wait
  /// for minutes until its hook has ended, so each has a thread.
  static constexpr std::size_t kMaxThreads = 32;
  /// The maximum number of claims that run or wait; others fail.
  static constexpr std::size_t kMaxClaims = 256;

  enum class Action { kPrepare, kRelease, kRefresh };

  /// The end of one claim of a call, for metrics.
  struct ClaimEnd {
    Action action = Action::kPrepare;
    std::set<std::string> pools;  ///< of its devices; empty if they were not known yet
    bool success = false;
    std::chrono::nanoseconds duration{};
  };

  struct Dependencies {
    std::string driver;
    std::string directory;  ///< of the driver, for locks and records
    std::string cdi_dir;
    /// Requests a ResourceClaim as JSON from the API server; kNotFound if there is none. Calls back
    /// on the loop after it has returned, unless the subscription is destroyed first.
    std::function<Subscription(const ClaimKey&, std::function<void(Result<std::string>)>)>
        get_claim;
    /// Returns whether the API server responds, see ApiClient::stats. Called on the loop.
    std::function<bool()> is_api_server_up = [] { return true; };
    std::function<ServedResources()> resources;  ///< called on the loop
    /// A claim of a call of the kubelet has ended. Called on the loop.
    std::function<void(const ClaimEnd&)> on_claim_end = [](const ClaimEnd&) {};
    /// A run has ended: records or moved() may have changed. Called on the loop.
    std::function<void(Action)> on_ended = [](Action) {};
    std::chrono::milliseconds hook_limit = kHookLimit;
    std::chrono::milliseconds lock_limit = kLockLimit;
    std::string boot = CurrentBoot();
    bool writes_metadata = true;                                   ///< see claim_metadata.h
    std::function<bool(std::string_view step)> on_step = nullptr;  ///< see ClaimEnvironment
  };

  ClaimPreparer(Dependencies dependencies, Loop& loop, Log& log);
  ~ClaimPreparer() override;

  /// The process ends: programs of hooks will be stopped, and calls fail. A claim whose hooks are
  /// stopped keeps its record, so that they run again after the restart.
  void BeginEnd() { environment_->is_ending = true; }

  /// Fails all calls, also later ones, and calls no function of Dependencies any more.
  void Close();

  /// Calls `done` on the loop as soon as no run uses devices of the pool: at once, or when the last
  /// one has ended. Dropping the subscription cancels.
  Subscription AwaitUnused(const std::string& pool, std::function<void()> done);

  void Prepare(std::vector<ClaimKey> claims, ClaimCall call,
               std::function<void(ClaimResults)> done) override;
  void Unprepare(std::vector<ClaimKey> claims, ClaimCall call,
                 std::function<void(ClaimResults)> done) override;

  /// Compares these prepared claims with their devices, see ClaimRun::Refresh.
  void Refresh(const std::vector<ClaimKey>& claims);

  /// Returns why prepared claims do not have the devices that their containers were given, by UID.
  const std::map<std::string, std::string>& moved() const { return moved_; }

  /// The number of runs.
  std::size_t running() const { return runs_.size(); }

  const std::shared_ptr<ClaimStore>& store() const { return environment_->store; }

 private:
  using Id = std::uint64_t;
  using Answer = ClaimResults::mapped_type;
  /// One call of the kubelet, while some of its claims have not ended.
  struct Call {
    ClaimResults answers;
    std::vector<ClaimKey> claims;
    std::function<void(ClaimResults)> done;
    std::vector<std::pair<ClaimKey, CdiSpec>> files;  ///< of its claims, as far as known
  };
  /// A call that waits for a run.
  struct Caller {
    std::shared_ptr<Call> call;
    Subscription limit;
    Loop::Time began;
  };
  struct Run {
    Action action = Action::kPrepare;
    ClaimKey claim = {};
    std::shared_ptr<ClaimRun> run = nullptr;
    std::vector<Caller> callers = {};
    std::set<std::string> pools = {};  ///< of the devices, as soon as they are known
    std::optional<CdiSpec> file = {};  ///< as soon as it is known
    bool again = false;                ///< something changed since it began
    Subscription request = {};         ///< to the API server
  };

  void Begin(Action action, const std::vector<ClaimKey>& claims, const ClaimCall& limits,
             std::function<void(ClaimResults)> done);
  Id Start(Action action, const ClaimKey& claim);
  void Launch(Id id);
  template <class F>
  auto Guard(F f);
  ClaimRun::OnLoop FunctionsOf(Id id);
  Status CheckCall(Run& run, CdiSpec file, const ClaimRecords* records);
  void OnLate(Id id, std::shared_ptr<Call> call);
  void OnEnd(Id id, Answer answer);
  void Reply(const Run& run, Caller caller, Answer answer);
  void CompareLater(const ClaimKey& claim);
  void NotifyUnused();

  const Dependencies dependencies_;
  const std::shared_ptr<ClaimEnvironment> environment_;
  Loop& loop_;
  Log& log_;
  bool is_closed_ = false;
  Id next_ = 0;
  std::map<Id, Run> runs_;
  struct Waiter {
    std::string pool;
    std::function<void()> done;
  };
  std::map<Id, Waiter> unused_waiters_;
  std::map<std::string, std::string> moved_;
  std::vector<ClaimKey> unknown_;  ///< claims that could not be compared
  Subscription compare_;           ///< those again
  std::deque<Id> waiting_;         ///< runs for which all threads are taken
  std::size_t running_ = 0;        ///< runs with a thread, without those that release
  JobThreads threads_;
};

}  // namespace patchbay
