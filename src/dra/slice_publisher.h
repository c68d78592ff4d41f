#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "dra/slice_json.h"
#include "dra/slice_plan.h"
#include "dra/slice_store.h"
#include "dra/wanted_pool.h"
#include "kube/api_client.h"
#include "kube/list_watch.h"
#include "kube/retry_policy.h"
#include "os/loop.h"

namespace patchbay {

/// Keeps the ResourceSlices of this node at the API server equal to the pools of the daemon. Asks
/// for the wanted pool whenever it plans, writes what PlanSlices returns, one request at a time,
/// and nothing if nothing changed. A pool is written at most once per kMinInterval. Slices of the
/// driver and the node that others wrote are deleted. What others change or delete is put right: at
/// once, and more and more slowly if they do it again, up to kMaxCorrection, for which a change of
/// the daemon waits as well. Deletions count only after kWipeLimit: the kubelet deletes all slices
/// one by one when it starts.
///
/// Nothing is deleted at the end: a restart of the daemon must not disturb claims, and slices of a
/// deleted node are deleted with it, because the node owns them.
///
/// Belongs to the loop thread. Functions other than `wanted` are not called before the method that
/// causes them returns.
class SlicePublisher {
 public:
  static constexpr std::chrono::seconds kMinInterval{1};
  static constexpr std::chrono::seconds kMaxCorrection{30};
  /// Longer than the kubelet needs to delete the slices.
  static constexpr std::chrono::seconds kWipeLimit{20};
  /// Slices of pools that this process never had are deleted after this time.
  static constexpr std::chrono::seconds kUnknownPoolLimit{30};
  /// The features of the API server are determined again after each list, and after this time.
  static constexpr std::chrono::hours kProbeInterval{1};

  /// All references must outlive the publisher.
  struct Dependencies {
    ApiClient& client;
    Loop& loop;
    Log& log;
  };
  struct Options {
    std::string driver;
    std::string node_name;
    std::uint32_t seed = 0;  ///< of random delays
  };
  struct Functions {
    /// features() has changed. It must not destroy the publisher.
    std::function<void()> on_features = [] {};
    /// Returns the pool as it shall be, for the current features(). Returns nothing if that is not
    /// known yet; Changed follows. Called by any method, also before it returns.
    std::function<std::optional<WantedPool>(const std::string& pool)> wanted =
        [](const std::string&) { return std::optional<WantedPool>(); };
    /// StateOf or watch_state() may have changed.
    std::function<void()> on_state = [] {};
  };

  /// The state of one pool, for metrics and the status page.
  struct PoolState {
    std::size_t slices = 0;  ///< at the API server
    std::int64_t generation = 0;
    std::uint64_t writes = 0;  ///< requests that succeeded
    std::uint64_t failures = 0;
    std::string last_error = {};  ///< since the last success
    bool is_current = false;      ///< the API server has the wanted pool
  };

  SlicePublisher(const Dependencies& deps, Options options, Functions functions);
  SlicePublisher(const SlicePublisher&) = delete;
  SlicePublisher& operator=(const SlicePublisher&) = delete;

  /// Sets the names of all pools. Slices of pools that had been set are deleted, those of other
  /// pools after kUnknownPoolLimit. The slices of a pool whose content is not known yet stay as
  /// they are. Nothing is written before the first call.
  void SetNames(const std::set<std::string>& names);

  /// The wanted pool has changed. One that is not served loses its slices.
  void Changed(const std::string& pool);

  /// The kubelet registered the driver, and may have deleted its slices before.
  void OnKubeletRegistered();

  /// Returns the features of the API server; nothing before they are known.
  const std::optional<ServerFeatures>& features() const { return features_; }
  PoolState StateOf(const std::string& pool) const;
  /// Returns the last error of a request that is not for a pool; empty after a success.
  const std::string& last_error() const {
    return !watch_error_.empty()     ? watch_error_
           : !request_error_.empty() ? request_error_
                                     : other_pools_.state.last_error;
  }
  const ListWatchState& watch_state() const { return watch_.state(); }

 private:
  static constexpr std::string_view kSlicesPath = "/apis/resource.k8s.io/v1/resourceslices";
  /// Of a plan.
  static constexpr std::size_t kMaxDeletions = 200;
  /// Of events that wait for the end of a request. If there are more, the slices are listed again.
  static constexpr std::size_t kMaxHeldBytes = std::size_t{8} << 20U;

  /// An event of the watch about a slice of the driver and the node.
  struct SliceEvent {
    WatchEventType type = WatchEventType::kAdded;
    PublishedSlice slice;
  };
  struct Pool {
    explicit Pool(std::uint32_t seed) : policy(seed) {}

    bool is_dirty = true;         ///< may differ from the wanted pool since the last plan
    bool is_complete = false;     ///< the last plan was executed, and others changed nothing since
    Loop::Time not_before{};      ///< of the next plan
    RetryPolicy policy;           ///< after failed writes
    unsigned corrections = 0;     ///< of changes by others, without a quiet time in between
    Loop::Time last_foreign{};    ///< change by others
    Loop::Time first_deletion{};  ///< by others, since a time without
    Loop::Time last_deletion{};
    PoolState state = {};  ///< what only writes change
  };
  /// The plan that is being executed.
  struct Execution {
    std::string pool;  ///< empty for slices of other pools
    SlicePlan plan;
    std::size_t next = 0;  ///< index in deletions, updates and creations together
    bool is_abandoned = false;
    bool is_disputed = false;  ///< others have changed the pool meanwhile
  };

  void NotifySoon();
  void OnPage(const ListedObjects& listed);
  std::optional<PublishedSlice> Read(const nlohmann::json& object);
  void OnWatching();
  void OnEvents(const std::vector<WatchEvent>& events);
  void ApplyEvents();
  void Relist();
  void WakeAt(Loop::Time when);
  void Advance();
  static bool Shorten(SlicePlan& plan);
  bool StartPlan();
  SlicePlan PlanOtherPools(const std::function<bool(Loop::Time)>& is_due);
  std::optional<SlicePlan> PlanOf(const std::string& name);
  bool NeedsNode(const std::string& pool, const SlicePlan& plan) const;
  void Begin(std::string pool, SlicePlan plan);
  void Abandon(const std::string& pool);
  void DropExecution();
  void Send(ApiRequest request, std::function<void(const ApiResult&)> done);
  void ReadNode();
  void OnNode(const ApiResult& result);
  void Probe();
  void OnProbed(const ResourceSlice& sample, const ApiResult& result);
  void SetFeatures(const ServerFeatures& features);
  void WriteNext();
  void OnWritten(const ResourceSlice& sent, const ApiResult& result);
  void OnDeleted(const SliceKey& key, const ApiResult& result);
  void OnWriteSucceeded();
  void OnWriteFailed(const ApiError& error);
  void Finish();
  void OnDispute(Pool& pool);
  static void CountCorrection(Pool& pool);
  Pool& CurrentPool();
  void RetryLater(const ApiError& error);
  void LogError(const ApiError& error, std::string& last);

  const Dependencies deps_;
  const Options options_;
  const Functions functions_;
  SliceStore store_;
  std::map<std::string, Pool> pools_;
  /// When to delete the slices of other pools: of a removed one at once, see kUnknownPoolLimit.
  std::map<std::string, Loop::Time> delete_at_;
  Pool other_pools_;  ///< the deletion of their slices
  bool has_names_ = false;
  bool is_listed_ = false;  ///< the slices at the API server are known
  /// Above the generations of own slices that the last list did not have because it was cut off.
  std::int64_t min_generation_ = 0;
  std::optional<ServerFeatures> features_;
  bool is_probe_due_ = true;
  SliceOwner owner_;              ///< with the UID of the node as last read
  bool is_node_current_ = false;  ///< it was read for the next plan
  std::optional<Execution> execution_;
  RetryPolicy policy_;                   ///< of reading the node and of samples
  Loop::Time retry_not_before_{};        ///< of these requests
  std::string request_error_;            ///< the last one of these requests, as logged
  std::string watch_error_;              ///< the last one of the list or the watch, as logged
  std::vector<SliceEvent> held_events_;  ///< that arrived during a request
  std::size_t held_bytes_ = 0;           ///< the memory of their slices
  bool has_deleted_ = false;             ///< slices, since the last list
  Subscription request_;
  bool is_requesting_ = false;
  bool must_relist_ = false;   ///< when the pending request has ended
  bool is_notifying_ = false;  ///< on_state will be called
  Subscription wake_;
  Subscription probe_timer_;
  ListWatch watch_;
  Lifetime lifetime_;
};

}  // namespace patchbay
