#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/api_request.h"
#include "kube/connection.h"
#include "kube/credentials.h"
#include "model/cluster_config.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// The counts for metrics.
struct ApiStats {
  /// The last request got a response with a status below 500; false before the first one.
  bool up = false;
  /// Requests by verb and outcome: an HTTP status, or one of kApiErrorKindNames. A watch is counted
  /// when its response begins, and again if it ends with an error.
  std::map<std::pair<ApiVerb, std::string>, std::uint64_t> requests;
};

/// The functions that receive a watch.
struct WatchFunctions {
  std::function<void()> on_begin;            ///< the API server accepted the watch
  std::function<void(std::string)> on_part;  ///< bytes of the body, in order
  std::function<void(ApiResult)> on_end;     ///< the watch has ended; last call
};

/// A client of the API server. Connects with the first request, never before.
///
/// Up to kMaxConnections requests run at once, each on a connection of its own, which later
/// requests use again; more wait in order. One connection is kept free of kGet, and a watch has an
/// additional one. A request is sent a second time in two cases, each once: its reused connection
/// ended before a byte of the response arrived (not for a POST, which may have been executed), and
/// the server was not verified or responded with 401, and the files with credentials have changed.
/// Everything else is an error for the caller, see RetryFor.
///
/// Belongs to the loop thread, which must also run `io`; the loop is the clock of all deadlines.
/// Nothing blocks: files are read and names are resolved in the pool. Functions are called on the
/// loop thread, never before the method that they are passed to returns, and may destroy the
/// client. Destroying a Subscription or the client cancels: the functions are dropped without a
/// call. A canceled request may have been executed.
class ApiClient {
 public:
  using Done = std::function<void(ApiResult)>;

  static constexpr std::size_t kMaxConnections = 4;
  static constexpr std::size_t kMaxIdleConnections = 2;
  static constexpr std::size_t kMaxPending = 1024;          ///< requests; one more is refused
  static constexpr std::size_t kMaxRequestBytes = 3 << 20;  ///< the limit of the API server

  ApiClient(ClusterConfig config, Loop& loop, boost::asio::io_context& io, ThreadPool& pool);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  /// Sends a request of any verb but kWatch.
  Subscription Send(ApiRequest request, Done done);
  /// Starts a watch. The bounds of its duration are in the request.
  Subscription Watch(ApiRequest request, WatchFunctions functions);

  const ApiStats& stats() const { return stats_; }
  /// Returns the number of requests that have not ended, watches included.
  std::size_t pending() const { return calls_.size(); }

 private:
  enum class Stage { kWaiting, kCredentials, kResolving, kConnecting, kResponse, kStream };
  /// A pending request. Shared with its coroutine, which may continue after the call, and even the
  /// client, has ended.
  struct Call {
    ApiRequest request;
    std::shared_ptr<const WatchFunctions> functions;
    boost::asio::steady_timer wake;  ///< never expires; canceled to continue the coroutine
    Stage stage = Stage::kWaiting;
    Subscription deadline = {};
    Subscription silence = {};
    std::shared_ptr<ApiConnection> connection = {};
    CredentialCache::Shared credentials = {};
    bool is_reused = false;   ///< the connection
    bool may_repeat = false;  ///< the request was not executed, or it may be executed twice
    bool has_connection_slot = false;
    bool has_ended = false;
  };
  using CallPtr = std::shared_ptr<Call>;

  /// Returns a function that calls `f` with the call, unless the call has ended.
  template <class F>
  static auto Bind(const CallPtr& call, F f);
  template <class T>
  using Starter = std::function<void(std::function<void(Result<T>)> done)>;
  template <class T>
  static boost::asio::awaitable<Result<T>> Await(CallPtr call, Starter<T> start);

  Subscription Start(ApiRequest request, WatchFunctions functions);
  void StartWaiting();
  boost::asio::awaitable<void> Run(CallPtr call);
  boost::asio::awaitable<ApiResult> TryOnce(CallPtr call);
  std::shared_ptr<ApiConnection> TakeIdle(const Credentials& credentials);
  void ReleaseConnection(Call& call);
  void OnPart(const CallPtr& call, std::string part);
  void OnDeadline(const CallPtr& call);
  void Finish(const CallPtr& call, ApiResult result);
  void Drop(const CallPtr& call);
  void Count(const Call& call, std::string outcome, bool up);

  const ClusterConfig config_;
  Loop& loop_;
  boost::asio::io_context& io_;
  ThreadPool& pool_;
  CredentialCache credentials_;
  ApiStats stats_;
  std::set<CallPtr> calls_;
  std::deque<CallPtr> waiting_;
  std::size_t used_slots_ = 0;
  std::vector<std::shared_ptr<ApiConnection>> idle_;
};

}  // namespace patchbay
