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
#include "dra/published_pool.h"
#include "dra/server_features.h"
#include "dra/slice_json.h"
#include "dra/slice_plan.h"
#include "dra/slice_store.h"
#include "kube/api_client.h"
#include "kube/list_watch.h"
#include "kube/retry_policy.h"
#include "os/loop.h"

namespace patchbay {

/// Keeps the ResourceSlices of this node at the API server equal to the pools of the daemon. Writes
/// what PlanSlices returns, one request at a time, and nothing if nothing changed. A pool is
/// written at most once per kMinInterval. Slices of the driver and the node that others wrote are
/// deleted. What others change or delete is put right: at once, and
/// more and more slowly if they do it again, up to kMaxCorrection. Deletions count only after
/// kWipeLimit: the kubelet deletes all slices one by one when it starts.
///
/// Nothing is deleted at the end: a restart of the daemon must not disturb claims, and slices of a
/// deleted node are deleted with it, because the node owns them.
///
/// Belongs to the loop thread. Functions other than pool_of are not called before the method that
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
    /// features() has changed: compute the pools again. Nothing is written before it returns. It
    /// must not destroy the publisher.
    std::function<void()> on_features = [] {};
    /// Computes the current content of a pool that was set. The publisher keeps the content only
    /// until the API server has it, because it is large. Returns nothing if the pool is about to be
    /// removed. Called by any method, also before it returns.
    std::function<std::optional<PublishedPool>(const std::string& pool)> pool_of =
        [](const std::string&) { return std::optional<PublishedPool>(); };
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
    bool is_current = false;      ///< the API server has the pool as it was set last
  };

  SlicePublisher(const Dependencies& deps, Options options, Functions functions);
  SlicePublisher(const SlicePublisher&) = delete;
  SlicePublisher& operator=(const SlicePublisher&) = delete;

  /// Sets the names of all pools. Slices of pools that had been set are deleted, those of other
  /// pools after kUnknownPoolLimit. The slices of a pool that has no content yet stay as they are.
  /// Nothing is written before the first call.
  void SetNames(std::set<std::string> names);

  /// Sets the content of a pool whose name is set. A pool that is not served loses its slices.
  void SetPool(PublishedPool pool);

  /// The kubelet registered the driver, and may have deleted its slices before.
  void OnKubeletRegistered();

  /// Returns the features of the API server; nothing before they are known.
  const std::optional<ServerFeatures>& features() const { return features_; }
  PoolState StateOf(const std::string& pool) const;
  /// Returns the last error of a request that is not for a pool; empty after a success.
  const std::string& last_error() const {
    return !watch_error_.empty()     ? watch_error_
           : !request_error_.empty() ? request_error_
                                     : deletion_error_;
  }
  const ListWatchState& watch_state() const { return watch_.state(); }

 private:
  static constexpr std::string_view kSlicesPath = "/apis/resource.k8s.io/v1/resourceslices";
  /// Of events that wait for the end of a request. If there are more, the slices are listed again.
  static constexpr std::size_t kMaxHeldBytes = std::size_t{8} << 20U;

  /// An event of the watch about a slice of the driver and the node.
  struct SliceEvent {
    WatchEventType type = WatchEventType::kAdded;
    PublishedSlice slice;
  };
  struct Pool {
    explicit Pool(std::uint32_t seed) : policy(seed) {}

    std::optional<std::size_t> content;   ///< the hash of what was set last
    bool is_served = true;                ///< as set last
    std::optional<PublishedPool> wanted;  ///< until the API server has it
    bool is_dirty = false;                ///< differs from the API server, or may differ
    Loop::Time not_before{};              ///< of the next plan
    RetryPolicy policy;                   ///< after failed writes
    bool is_changed = false;              ///< by SetPool since the last plan
    bool is_foreign = false;              ///< another client changed slices since the last plan
    unsigned corrections = 0;  ///< plans only for such changes, without a quiet time in between
    Loop::Time correction_not_before{};  ///< of the next one
    Loop::Time last_foreign{};
    Loop::Time first_deletion{};  ///< by others, since a time without
    Loop::Time last_deletion{};
    std::uint64_t writes = 0;
    std::uint64_t failures = 0;
    std::string last_error = {};
  };
  /// The plan that is being executed.
  struct Execution {
    std::string pool;  ///< empty for slices of other pools
    SlicePlan plan;
    std::size_t next = 0;  ///< index in deletions, updates and creations together
    bool is_abandoned = false;
    bool needs_node = false;     ///< the UID of the node must be read first
    bool is_correction = false;  ///< of a change by another client
    bool is_change = false;      ///< of a pool that SetPool has changed
  };

  void NotifySoon();
  void OnPage(const ListedObjects& listed);
  void OnWatching();
  void OnEvents(const std::vector<WatchEvent>& events);
  void ApplyEvents();
  void OnForeignChange(const std::set<std::string>& edited, const std::set<std::string>& deleted);
  void Relist();
  void WakeAt(Loop::Time when);
  void Advance();
  bool StartPlan();
  std::vector<SliceKey> ObsoleteSlices(std::optional<Loop::Time>& next);
  bool StartPlanOf(const std::string& name, Pool& pool);
  void Begin(std::string pool, SlicePlan plan, bool needs_node);
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
  Pool* CurrentPool();
  void RetryLater(const ApiError& error);
  void LogError(const ApiError& error, std::string& last);

  const Dependencies deps_;
  const Options options_;
  const Functions functions_;
  SliceStore store_;
  std::map<std::string, Pool> pools_;
  std::set<std::string> removed_;                    ///< pools that this process had
  std::map<std::string, Loop::Time> unknown_since_;  ///< pools of others
  bool has_names_ = false;
  bool is_listed_ = false;  ///< the slices at the API server are known
  std::optional<ServerFeatures> features_;
  bool is_probe_due_ = true;
  bool is_computing_pools_ = false;  ///< on_features is due: the pools are for other features
  SliceOwner owner_;                 ///< with the UID of the node as last read
  std::optional<Execution> execution_;
  RetryPolicy policy_;                   ///< of reading the node and of samples
  Loop::Time retry_not_before_{};        ///< of these requests
  std::string request_error_;            ///< the last one of these requests, as logged
  std::string watch_error_;              ///< the last one of the list or the watch, as logged
  RetryPolicy deletion_policy_;          ///< of deletions of slices that no pool has
  Loop::Time deletion_not_before_{};     ///< of the next one
  std::string deletion_error_;           ///< the last one of these deletions, as logged
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
