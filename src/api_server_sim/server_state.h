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

#include "api_server_sim/api.h"
#include "api_server_sim/api_server_sim.h"
#include "api_server_sim/faults.h"

namespace patchbay::api_sim {

/// The reaction of a connection to a request.
struct Outcome {
  HttpResponse response = {};             ///< unless there is a watch
  std::optional<Fault> fault = {};        ///< how the response is damaged
  std::optional<WatchCursor> watch = {};  ///< the request starts a watch
  RequestOptions options = {};            ///< of the watch
};

/// The state that connections and the methods of ApiServerSim share: the Api with a lock, tokens,
/// faults, and the log of calls. Thread-safe.
class ServerState {
 public:
  /// Calls `on_change` without a lock, on the thread of the change, after objects have changed.
  ServerState(const ApiServerOptions& options, std::function<void()> on_change);

  /// Handles a request from a connection: authenticates it, takes a fault, performs it, and logs
  /// it. `authorization` is the header of that name.
  Outcome Serve(const HttpRequest& request, const std::string& authorization,
                bool has_client_certificate);
  /// Performs a request without authentication, faults and log.
  HttpResponse Call(const HttpRequest& request);
  WatchEvents Read(WatchCursor& cursor);

  void SetTokens(std::set<std::string> tokens);
  void SetFaults(std::vector<Fault> faults);
  int FaultsLeft() const;
  /// Runs `change` on the Api, and reports a change.
  void Change(const std::function<void(Api&)>& change);
  std::vector<ApiCall> Calls() const;
  /// See ApiServerSim::Await.
  bool Await(const std::function<bool()>& predicate, std::chrono::milliseconds timeout) const;
  /// Wakes Await, after a change of state elsewhere.
  void NotifyChange();

 private:
  bool IsAuthenticated(const std::string& authorization, bool has_client_certificate) const;
  Outcome Perform(const HttpRequest& request, const ApiResult<ObjectRequest>& parsed);
  void Log(const HttpRequest& request, const ApiResult<ObjectRequest>& parsed, int status);
  void Unlock(std::unique_lock<std::mutex> lock);

  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t generation_ = 0;  ///< increases with every change of anything
  Api api_;
  std::uint64_t notified_version_;  ///< of the store, when on_change_ was last called
  std::set<std::string> tokens_;
  FaultPlan faults_;
  std::deque<ApiCall> calls_;
};

}  // namespace patchbay::api_sim
