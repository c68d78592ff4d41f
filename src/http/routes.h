#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "http/loop_heartbeat.h"
#include "http/server.h"
#include "status/node_status.h"

namespace patchbay {

/// The answer to a yes-or-no question, with words for whoever asked.
struct Verdict {
  bool ok = false;
  std::string body;  ///< one line for each thing that is missing; empty: "ok" or "not ok" is sent
};

/// Whether a loop turns, for Routes::alive. The heartbeat outlives it.
std::function<Verdict()> AliveWith(LoopHeartbeat& heartbeat);

/// What the pages show. All must be set. Those that are called on the HTTP thread must not wait.
struct Routes {
  std::function<std::string()> metrics;  ///< Prometheus' text format; called on the slow thread
  std::function<Verdict()> alive;        ///< the loop turns; called on the HTTP thread
  std::function<Verdict()> ready;        ///< config loaded and all registered; on the HTTP thread
  std::function<NodeStatus()> status;    ///< how all is now; called on both
  /// The age of a text; called on both.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// How long compressed metrics serve whoever asks, from when their making began. Whoever scrapes
/// each second sees what was so in each.
inline constexpr std::chrono::milliseconds kCompressedMetricsAge(900);

/// "/metrics", "/healthz" and "/readyz" (200 or 503), "/api/v1/status", "/" and the files of that
/// page; else 404. A client that has the newest status or file already is told just that (304).
///
/// Metrics, and a status that is not made yet, are slow responses. Each text is made once for all
/// who may have the same: one whose making began after the request came, and a status also while
/// nothing has changed since. Metrics for those who take them compressed, as Prometheus does, serve
/// for kCompressedMetricsAge, so that what they cost hardly grows with the scrapes, and go with the
/// first request after that.
HttpHandler MakeRoutes(Routes routes);

}  // namespace patchbay
