#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kube/api_client.h"
#include "kube/json_lines.h"
#include "kube/retry_policy.h"
#include "kube/watch_event.h"
#include "os/loop.h"

namespace patchbay {

/// The objects that a ListWatch follows.
struct ListWatchSpec {
  std::string path;                  ///< "/apis/resource.k8s.io/v1/resourceslices"
  std::string field_selector = {};   ///< "spec.nodeName=node-1"; empty for all objects
  std::size_t page_objects = 25;     ///< requested in a page; fewer after one that is too large
  std::size_t max_objects = 10'000;  ///< a longer list is cut off
  /// Of the JSON: etcd stores objects of up to 1.5 MiB, in which an escape is one byte.
  std::size_t max_page_bytes = 8 << 20;
  std::size_t max_event_bytes = 8 << 20;
  std::size_t max_watch_bytes = 256 << 20;  ///< of one watch
  /// The API server ends a watch after a random time between once and twice this.
  std::chrono::seconds watch_timeout{300};
};

/// Objects of a list. Those of all pages replace what was known before the first one. A list can
/// begin again before its last page.
struct ListedObjects {
  std::vector<nlohmann::json> objects;  ///< untrusted
  bool is_first = false;
  bool is_last = false;
  bool is_cut = false;  ///< of the last page: there are more objects
};

struct ListWatchFunctions {
  std::function<void(ListedObjects)> on_page;
  /// Changes since then, in order.
  std::function<void(std::vector<WatchEvent>)> on_events;
  /// A list or a watch failed, and is tried again later.
  std::function<void(const ApiError&)> on_error = [](const ApiError&) {};
  /// The API server accepted a watch: state() has changed.
  std::function<void()> on_begin = [] {};
};

/// The state for metrics and the status page.
struct ListWatchState {
  bool is_watching = false;                 ///< changes are received now
  std::optional<ApiError> last_error = {};  ///< since is_watching was last true
  std::optional<Loop::Time> retry_at = {};  ///< of the next attempt, after an error
  std::uint64_t lists = 0;                  ///< completed
  std::uint64_t watches = 0;                ///< accepted by the API server
  std::uint64_t events = 0;
};

/// Follows a list of objects: LIST page by page, so that only one page is in memory, then WATCH
/// from the resource version of the list. A page that exceeds a bound is requested again with half
/// the objects, down to one. A watch that ends continues from the last resource version. After 410,
/// and after an event that is not valid, the objects are listed again. RetryPolicy computes the
/// delay after a failure, for lists and watches separately: a list that fails after another one
/// succeeded is repeated soon. A watch that ended within kSettled counts as a failure, so that a
/// server that ends every watch causes no busy loop.
///
/// Belongs to the loop thread. Functions are never called before the constructor or Relist returns,
/// and may destroy this object. After its destruction they are not called.
class ListWatch {
 public:
  static constexpr std::chrono::seconds kSettled{10};
  /// After the server rejected this number of watches in a row, each further one follows a list: it
  /// may not know the version, or not permit watches.
  static constexpr unsigned kMaxRejectedWatches = 3;

  /// Starts with the list. The client and the loop must outlive it.
  ListWatch(ApiClient& client, Loop& loop, ListWatchSpec spec, ListWatchFunctions functions,
            std::uint32_t seed);
  ListWatch(const ListWatch&) = delete;
  ListWatch& operator=(const ListWatch&) = delete;

  /// Lists again now, also during a delay, and soon again if that fails.
  void Relist();

  const ListWatchState& state() const { return state_; }

 private:
  void Continue();
  void List(const std::string& token);
  void OnPage(const std::string& token, ApiResult result);
  void Watch();
  void OnWatchBegin();
  void OnPart(const std::string& part);
  void OnWatchEnd(const ApiResult& result);
  void OnWatchFailed(ApiError error);
  void RetryAfter(ApiError error, RetryPolicy& policy);

  ApiClient& client_;
  Loop& loop_;
  const ListWatchSpec spec_;
  const ListWatchFunctions functions_;
  std::mt19937 random_;
  RetryPolicy list_policy_;
  RetryPolicy watch_policy_;
  ListWatchState state_;
  std::string version_;           ///< to watch from; empty: list first
  std::size_t page_objects_ = 0;  ///< to request in the next page
  std::size_t listed_ = 0;        ///< the pages so far and their objects
  JsonLines lines_;
  Loop::Time watch_began_{};
  unsigned rejected_watches_ = 0;  ///< in a row
  Subscription pending_;           ///< the request or the delay
  Lifetime lifetime_;
};

}  // namespace patchbay
