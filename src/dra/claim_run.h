#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "dra/claim_lock.h"
#include "dra/claim_service.h"
#include "dra/claim_spec.h"
#include "dra/claim_store.h"
#include "dra/served_resource.h"
#include "os/loop_port.h"

namespace patchbay {

/// The objects that all runs of a process share. It can outlive the loop.
struct ClaimEnvironment {
  std::shared_ptr<ClaimStore> store;
  std::string lock_file;
  std::shared_ptr<LoopPort> port;
  Log* log;  ///< used on the loop only
  std::chrono::milliseconds hook_limit{};
  std::chrono::milliseconds lock_limit{};
  bool writes_metadata = true;
  /// Called before each step that changes something; false stops the run as a kill would. For
  /// tests.
  std::function<bool(std::string_view step)> on_step = nullptr;
  const std::shared_ptr<ClaimLock::Table> locks = std::make_shared<ClaimLock::Table>();
  std::atomic<bool> is_ending = false;  ///< the process ends
  std::mutex mutex = {};
  /// Claims whose release hooks have run, and whose records were not removed yet.
  std::set<std::string> released = {};
  std::set<std::string> logged = {};  ///< messages that are logged once
};

/// One run of Prepare or Release for one claim: a straight function, on a thread where it can wait
/// for files, locks, the API server and hooks.
class ClaimRun {
 public:
  /// Functions that are called on the loop.
  struct OnLoop {
    /// Requests the claim from the API server, if it responds or `always`.
    std::function<void(bool always, std::function<void(Result<std::string>)> done)> get_claim;
    std::function<ServedResources()> resources;
    /// The pools of the devices are known.
    std::function<void(std::set<std::string>)> on_pools;
    /// Fails if a container cannot have the other claims of the call as well: those that were
    /// prepared before, by their records, which may be null, and those that came here first.
    std::function<Status(CdiSpec, std::shared_ptr<const ClaimRecords>)> check_call;
  };

  static constexpr std::chrono::seconds kGetLimit{10};
  /// The time for the API server to confirm the devices of a claim that is prepared already.
  static constexpr std::chrono::seconds kCheckLimit{1};
  static constexpr std::chrono::milliseconds kRetry{50};
  /// The time for another process to end what it does with a claim that is compared.
  static constexpr std::chrono::seconds kRefreshLockLimit{1};

  ClaimRun(std::shared_ptr<ClaimEnvironment> environment, ClaimKey claim, OnLoop on_loop);

  /// Each is called once, on any thread; only one of them. Errors do not name the claim.
  Result<std::vector<PreparedRequest>> Prepare();
  Status Release();
  /// Compares a prepared claim with its devices: its CDI file is there if and only if they are
  /// where they were. Fails with kPrecondition and the reason if they moved or are gone. Another
  /// error means that this is not known yet.
  Status Refresh();

  /// Returns whether the claim was compared as by Refresh. After the others.
  bool has_compared() const { return has_compared_; }

  /// Another run of the claim can begin. After the others, on the same thread.
  void Unlock() { lock_.reset(); }

  /// Returns what the run does at the moment; from any thread.
  std::string step() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Records = std::shared_ptr<const ClaimRecords>;

  static Failure ShutsDown();
  Status Step(std::string_view step);
  Status Lock(const std::vector<std::string>& names, std::chrono::milliseconds limit);
  template <class Devices>
  void ReportPools(const Devices& devices);
  template <class Devices>
  Status LockDevices(const Devices& devices);
  void WriteLog(LogLevel level, std::string message, std::string reason);
  std::vector<const PreparedClaim*> HeldClaims(const ClaimRecords& records);
  Result<const PreparedClaim*> FindRecord(const Records& records);
  Result<ResourceClaim> Get(bool is_prepared);
  Result<ServedResources> Resources();
  Result<std::vector<PreparedRequest>> Keep(const PreparedClaim& record);
  Result<PreparedClaim> Plan(const Result<ResourceClaim>& claim, const ServedResources& resources);
  Result<std::vector<ContainerResponse>> Render(std::span<const PreparedRequest> requests,
                                                const ServedResources& resources);
  Result<ClaimSpec> Render(const PreparedClaim& plan, const ServedResources& resources);
  Result<std::string> FindMoved(const PreparedClaim& record, const ServedResources& resources);
  Result<PreparedClaim> RunPrepareHooks(const PreparedClaim& plan, const ServedResources& before,
                                        PreparedClaim record, std::string& temporary);
  Status RunHooks(std::vector<HookRun> runs);
  void WarnAboutOwners(const PreparedClaim& plan, const CdiSpec& file,
                       const ServedResources& resources);

  const std::shared_ptr<ClaimEnvironment> environment_;
  ClaimStore& store_;
  LoopPort& port_;
  const ClaimKey claim_;
  const OnLoop on_loop_;
  const Time began_ = std::chrono::steady_clock::now();
  std::shared_ptr<ClaimLock> lock_;
  bool has_compared_ = false;
  std::vector<HookRun> hooks_[2];  ///< allocate and pre_start
  mutable std::mutex mutex_;
  std::string step_ = "waiting for a thread";
};

}  // namespace patchbay
