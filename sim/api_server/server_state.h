#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/api_server/api.h"
#include "sim/api_server/faults.h"

namespace patchbay::api_sim {

/// A request that a connection received.
struct ApiCall {
  std::string method;
  std::string path;               ///< without the query
  std::optional<Verb> verb = {};  ///< unset: not a request for objects
  std::optional<Kind> kind = {};  ///< unset: not a request for objects
  bool is_dry_run = false;
  int status = 0;  ///< that the request would have without a fault that damages the response
};

/// The reaction of a connection to a request.
struct Outcome {
  HttpResponse response = {};             ///< unless there is a watch
  std::optional<Fault> fault = {};        ///< how the response is damaged
  std::optional<WatchCursor> watch = {};  ///< the request starts a watch
};

/// The part of an ApiServerSim without connections: the Api with a lock, tokens, faults, and the
/// log of calls. Thread-safe.
class ServerState {
 public:
  virtual ~ServerState() = default;
  /// Handles a request except a watch, without authentication, faults and the log of calls.
  HttpResponse Call(const std::string& method, const std::string& target, const Json& body = {});
  /// See Api::AllocateClaim.
  Status Allocate(const std::string& namespace_name, const std::string& claim,
                  const std::string& node);
  /// Returns the last calls, at most 10,000.
  std::vector<ApiCall> Calls() const;
  /// Waits until `predicate` is true, for at most `timeout`. Returns whether it is. The predicate
  /// is evaluated on the calling thread, without a lock, at once and after every change and every
  /// request of a client. It can read objects with Call.
  bool Await(const std::function<bool()>& predicate, std::chrono::milliseconds timeout) const;

  /// Replaces the accepted bearer tokens; without one, all requests are accepted. Open watches
  /// continue, as with the real server.
  void SetTokens(std::set<std::string> tokens);
  /// Replaces the faults that are still to come.
  void SetFaults(std::vector<Fault> faults);
  /// Returns how many faults of a limited number are still to come.
  int FaultsLeft() const;
  void SetProfile(ApiProfile profile);
  /// Drops the history of changes: watches that are behind, and those that start from an older
  /// version, end with 410 in the given form.
  void Compact(ExpiredWatch form = ExpiredWatch::kErrorEvent);

  /// For connections: handles a request. Authenticates it by the header `authorization`, takes a
  /// fault, performs it, and logs it.
  Outcome Serve(const HttpRequest& request, const std::string& authorization);
  std::vector<std::string> Read(WatchCursor& cursor) const;
  /// Wakes Await, after a change of state elsewhere.
  void NotifyChange();

 protected:
  ServerState(ApiProfile profile, std::set<std::string> tokens)
      : api_(profile), tokens_(std::move(tokens)) {}

  /// Is called without a lock, on the thread of the change, after objects have changed.
  virtual void OnChange() = 0;

 private:
  bool IsAuthenticated(const std::string& authorization) const;
  Outcome Perform(const HttpRequest& request, const ApiResult<ObjectRequest>& parsed);
  void Log(const HttpRequest& request, const ApiResult<ObjectRequest>& parsed, int status);
  void Unlock(std::unique_lock<std::mutex> lock);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t generation_ = 0;  ///< increases with every change of anything
  Api api_;
  std::uint64_t notified_version_ = 1;  ///< of the store, when OnChange was last called
  std::set<std::string> tokens_;
  std::vector<Fault> faults_;
  std::deque<ApiCall> calls_;
};

}  // namespace patchbay::api_sim
