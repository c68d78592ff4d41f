#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/log.h"
#include "http/loop_heartbeat.h"
#include "http/metrics.h"
#include "http/server.h"

namespace patchbay {

/// What is served while there is no configuration that could be: /healthz, so that nobody restarts
/// the process, /readyz, which says what is missing, /metrics, and the page with what was refused.
///
/// Belongs to the loop thread. It has the port of the daemon, so it goes before that comes.
class Waiting {
 public:
  struct Options {
    std::string listen;
    std::string config;  ///< where the configuration is looked for
    std::string version;
    std::string revision;
    std::string node_name;                     ///< of the Kubernetes node
    std::uint64_t watchdog_kills = 0;          ///< of the processes before this one
    std::vector<Diagnostic> diagnostics = {};  ///< of what was refused
  };

  /// Fails when the port cannot be had.
  static Result<std::unique_ptr<Waiting>> Create(Loop& loop, Log& log, const Options& options);
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// What was loaded is of no use either.
  void OnRefused(std::vector<Diagnostic> diagnostics);

 private:
  Waiting(Loop& loop, Log& log, const Options& options);

  Metrics metrics_;
  LoopHeartbeat heartbeat_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace patchbay
