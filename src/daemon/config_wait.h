#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/log.h"
#include "http/loop_heartbeat.h"
#include "http/server.h"
#include "status/status_store.h"

namespace patchbay {

/// Serves HTTP while there is no valid configuration: /healthz, so that the process is not
/// restarted, /readyz with the reason, /metrics, and the page with the diagnostics.
///
/// Belongs to the loop thread. It uses the port of the daemon: destroy it before the daemon starts.
class ConfigWait {
 public:
  struct Options {
    std::string listen;
    std::string config;  ///< the path of the configuration
    std::string version;
    std::string revision;
    std::string node_name;                     ///< of the Kubernetes node
    std::vector<Diagnostic> diagnostics = {};  ///< of the rejected configuration
  };

  /// Fails if the port is in use.
  static Result<std::unique_ptr<ConfigWait>> Create(Loop& loop, Log& log, const Options& options);
  ConfigWait(const ConfigWait&) = delete;
  ConfigWait& operator=(const ConfigWait&) = delete;

  /// A newly loaded configuration was rejected.
  void OnRefused(std::vector<Diagnostic> diagnostics);

 private:
  ConfigWait(Loop& loop, const Options& options);

  const std::shared_ptr<StatusStore> status_;
  LoopHeartbeat heartbeat_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace patchbay
