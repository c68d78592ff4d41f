#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "dra/claim_files.h"
#include "dra/claim_lock.h"
#include "dra/claim_service.h"
#include "dra/served_resource.h"
#include "model/spec.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// Prepares claims: the CDI file of a claim gives containers the same device nodes, mounts and env
/// as Allocate of the device plugin API, and the hooks `allocate` and `pre_start` run once before
/// it is written, `release` once before it is removed. The files are the only record, so a
/// restarted process and the other instance of a rolling update continue where this one stopped. A
/// prepared claim is answered from its file, also while the API server does not respond. If it
/// responds, and has allocated other devices to the claim since the file was written, the claim
/// fails.
///
/// Only Unprepare releases a device: a container can use it after its claim was deleted at the API
/// server.
///
/// Claims are independent of each other, also those of one call. Two calls wait for each other only
/// if they have a claim in common, or a device that is not shared for administration; see
/// ClaimLock.
///
/// Created and destroyed on the loop thread, after the servers that use it. Prepare and Unprepare
/// can be called on any thread. Nothing blocks the loop.
class ClaimPreparer : public ClaimService {
 public:
  /// The limit for allocate and pre_start of a claim, from the beginning of the call.
  static constexpr std::chrono::seconds kHookLimit = kClaimHookLimit;
  /// The time before the deadline of the call that is kept for writing the file, or for the reason
  /// why the claim could not be locked.
  static constexpr std::chrono::seconds kReserve{3};
  /// The limit of each access to files.
  static constexpr std::chrono::seconds kFileLimit{5};
  /// The time for the API server to confirm the devices of a claim that is prepared already.
  static constexpr std::chrono::seconds kCheckLimit{1};
  /// The interval at which locked claims and devices are tried again.
  static constexpr std::chrono::milliseconds kLockRetry{100};
  /// The maximum number of claims that are processed at once; others fail.
  static constexpr std::size_t kMaxClaims = 256;

  enum class Action { kPrepare, kRelease };

  /// The end of one claim of a call, for metrics.
  struct ClaimEnd {
    Action action = Action::kPrepare;
    std::set<std::string> pools;  ///< of its devices; empty if they were not known yet
    bool success = false;
    std::chrono::nanoseconds duration{};
  };

  struct Dependencies {
    std::string driver;
    std::string cdi_dir;
    std::string lock_file;  ///< "<DriverSockets::data>/serialize.lock"
    /// Requests a ResourceClaim as JSON from the API server; kNotFound if there is none. Calls back
    /// on the loop after it has returned, unless the subscription is destroyed first.
    std::function<Subscription(const ClaimKey&, std::function<void(Result<std::string>)>)>
        get_claim;
    /// Returns whether the API server responds, see ApiClient::stats. Called on the loop.
    std::function<bool()> is_api_server_up = [] { return true; };
    std::function<ServedResources()> resources;  ///< called on the loop
    /// A claim of a call of the kubelet has ended. Called on the loop.
    std::function<void(const ClaimEnd&)> on_claim_end = [](const ClaimEnd&) {};
    /// A claim of any call has ended, also of a call that was canceled before: its file may have
    /// been written or removed. Called on the loop.
    std::function<void()> on_ended = [] {};
    std::chrono::milliseconds hook_limit = kHookLimit;
    std::chrono::milliseconds file_limit = kFileLimit;
  };

  ClaimPreparer(Dependencies dependencies, Loop& loop, Log& log);
  ~ClaimPreparer() override;

  /// The process ends: programs of hooks will be stopped, and calls fail. A claim whose release
  /// hook is stopped keeps its file, so that the hook runs again after the restart.
  void BeginEnd() { is_ending_ = true; }

  /// Calls `done` on the loop as soon as no call uses devices of the pool: at once, or when the
  /// last one has ended. Dropping the subscription cancels.
  Subscription AwaitUnused(const std::string& pool, std::function<void()> done);

  void Prepare(std::vector<ClaimKey> claims, ClaimCall call,
               std::function<void(PrepareResults)> done) override;
  void Unprepare(std::vector<ClaimKey> claims, ClaimCall call,
                 std::function<void(UnprepareResults)> done) override;

 private:
  using Id = std::uint64_t;
  using Answer = Result<std::vector<PreparedDevice>>;
  struct Task;
  /// The file of each claim of a call; null if it is not known.
  using Specs = std::vector<std::pair<ClaimKey, std::optional<CdiSpec>>>;

  Task& AddTask(Action action, const ClaimKey& claim, const ClaimCall& call,
                std::function<void(Answer)> done, std::shared_ptr<Specs> of_call);
  template <class Results>
  void Begin(Action action, const std::vector<ClaimKey>& claims, const ClaimCall& call,
             std::function<void(Results)> done);
  template <class Next>
  auto Resume(Id id, Next next);
  template <class Work, class Next>
  void InPool(Task& task, Work work, Next next);
  void Lock(Task& task, const std::vector<std::string>& names, std::function<void(Task&)> next);
  void LockClaim(Task& task, std::function<void(Task&, Result<std::optional<PreparedClaim>>)> next);
  void RunHooks(Task& task, std::vector<HookRun>&& runs, std::function<void(Task&, Status)> next);

  bool IsReleasing(const ClaimKey& claim) const;
  void StartPrepare(Task& task);
  void LockAndPrepare(Task& task);
  void AnswerFromFile(Task& task, const PreparedClaim& prepared, std::uint64_t releases);
  void Confirm(Task& task, PreparedClaim file);
  void OnChecked(Task& task, const PreparedClaim& prepared, std::uint64_t releases,
                 const Result<std::string>& json);
  bool IsReleasedSince(const ClaimKey& claim, std::uint64_t releases) const;
  void OnLocked(Task& task, Result<std::optional<PreparedClaim>> prepared);
  void OnClaim(Task& task, const Result<std::string>& json);
  void OnDevicesLocked(Task& task);
  Status CheckCall(const Task& task) const;
  void OnOthers(Task& task, const ClaimFiles::All& others);
  void Render(Task& task);
  void OnNotRendered(Task& task, std::size_t request, Error error);
  void OnRendered(Task& task);
  void RunPrepareHooks(Task& task);
  void Write(Task& task);

  void StartUnprepare(Task& task);
  void OnAllRead(Task& task, Result<ClaimFiles::All> all);
  void Remove(Task& task);

  void NotifyUnused();
  bool IsOver(const Task& task) const;
  Failure WhyOver(const Task& task) const;
  void Refuse(Task& task, Error error);
  void FailTask(Task& task, Error error);
  void Finish(Task& task, Answer answer);

  const Dependencies dependencies_;
  const ClaimFiles files_;
  Loop& loop_;
  Log& log_;
  bool is_ending_ = false;
  Id next_ = 0;
  std::map<Id, std::unique_ptr<Task>> tasks_;
  struct Waiter {
    std::string pool;
    std::function<void()> done;
  };
  std::map<Id, Waiter> unused_waiters_;
  /// Claims whose release hooks have run, and whose files were not removed yet.
  std::set<std::string> released_;
  std::uint64_t releases_ = 0;     ///< claims whose files were removed
  std::set<std::string> damaged_;  ///< files, as logged
  ThreadPool pool_;
  Lifetime lifetime_;
};

}  // namespace patchbay
