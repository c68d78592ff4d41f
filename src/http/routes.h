#pragma once

#include <functional>
#include <string>

#include "http/loop_heartbeat.h"
#include "http/server.h"
#include "status/node_status.h"

namespace patchbay {

/// The result of a health check.
struct CheckResult {
  bool ok = false;
  std::string body;  ///< one line per problem; empty if there is none
};

/// Returns whether a loop is alive, for Routes::alive.
CheckResult CheckLoop(LoopHeartbeat& heartbeat);

/// The sources of the responses; all must be set, except suggestions. Those called on the HTTP
/// thread must not block.
struct Routes {
  std::function<std::string()> metrics;  ///< Prometheus text format; called on the slow thread
  std::function<CheckResult()> alive;    ///< called on the HTTP thread
  /// The configuration is loaded and all resources are registered; called on the HTTP thread.
  std::function<CheckResult()> ready;
  std::function<NodeStatus()> status;  ///< the current status; called on both threads
  /// The devices of this node in JSON, if NodeStatus::suggest_page; called on the HTTP thread.
  std::function<std::string()> suggestions = {};
};

/// "/metrics", "/healthz" and "/readyz" (200 or 503), "/api/v1/status", "/api/v1/suggestions" if
/// the page shows them, "/" and the files of that page; otherwise 404. A client that already has
/// the newest status or file gets 304.
///
/// Metrics and the status are slow responses, rendered for each request.
HttpHandler MakeRoutes(Routes routes);

}  // namespace patchbay
