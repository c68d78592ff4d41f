#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "http/loop_heartbeat.h"
#include "http/server.h"
#include "status/node_status.h"

namespace patchbay {

/// The result of a health check.
struct Verdict {
  bool ok = false;
  std::string body;  ///< one line per problem; empty: "ok" or "not ok" is sent
};

/// Returns a liveness check of a loop for Routes::alive. The heartbeat outlives it.
std::function<Verdict()> AliveWith(LoopHeartbeat& heartbeat);

/// The sources of the responses; all must be set. Those called on the HTTP thread must not block.
struct Routes {
  std::function<std::string()> metrics;  ///< Prometheus text format; called on the slow thread
  std::function<Verdict()> alive;        ///< called on the HTTP thread
  std::function<Verdict()>
      ready;  ///< configuration loaded, all registered; called on the HTTP thread
  std::function<NodeStatus()> status;  ///< the current status; called on both threads
  /// The clock for the age of a text; called on both threads.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// The time for which compressed metrics are reused, from when their rendering began; short enough
/// for a scrape every second.
inline constexpr std::chrono::milliseconds kCompressedMetricsAge(900);

/// "/metrics", "/healthz" and "/readyz" (200 or 503), "/api/v1/status", "/" and the files of that
/// page; otherwise 404. A client that already has the newest status or file gets 304.
///
/// Metrics, and a status that is not rendered yet, are slow responses. Requests share a text whose
/// rendering began after they arrived, and a status also while nothing has changed since.
/// Compressed metrics are reused for kCompressedMetricsAge, so that their cost hardly depends on
/// the number of scrapes, and are freed by the first request after that.
HttpHandler MakeRoutes(Routes routes);

}  // namespace patchbay
