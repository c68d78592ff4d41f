#include "daemon/config_wait.h"

#include "base/format.h"
#include "http/host_check.h"
#include "http/routes.h"
#include "metrics/metrics_text.h"

namespace patchbay {

Result<std::unique_ptr<ConfigWait>> ConfigWait::Create(Loop& loop, Log& log,
                                                       const Options& options) {
  std::unique_ptr<ConfigWait> waiting(new ConfigWait(loop, options));
  Routes routes;
  routes.metrics = [&log, status = waiting->status_] {
    return MetricsText(status->Read(), log.dropped());
  };
  routes.alive = [raw = waiting.get()] { return CheckLoop(raw->heartbeat_); };
  routes.ready = [text = Format("no valid configuration in {} yet\n", options.config)] {
    return CheckResult{false, text};
  };
  routes.status = [status = waiting->status_] { return status->Read(); };
  waiting->http_ = TRY(HttpServer::Create(
      options.listen,
      CheckHost(MakeRoutes(std::move(routes)), options.node_name, DaemonSpec().hosts), log));
  waiting->OnRefused(options.diagnostics);
  log.Warning("waiting for a valid configuration",
              {{"path", options.config}, {"address", waiting->http_->address()}});
  return waiting;
}

ConfigWait::ConfigWait(Loop& loop, const Options& options)
    : status_(std::make_shared<StatusStore>(NodeStatus{.version = options.version,
                                                       .revision = options.revision,
                                                       .node_name = options.node_name,
                                                       .config = {options.config}})),
      heartbeat_(loop) {}

void ConfigWait::OnRefused(std::vector<Diagnostic> diagnostics) {
  status_->SetConfigReading({false, std::chrono::system_clock::now(),
                             "the configuration has errors", std::move(diagnostics)});
}

}  // namespace patchbay
