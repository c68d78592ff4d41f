#include "daemon/config_wait.h"

#include <algorithm>

#include "base/format.h"
#include "http/host_check.h"
#include "http/routes.h"
#include "metrics/metrics_text.h"

namespace patchbay {
namespace {

std::string ReasonOf(const std::vector<Diagnostic>& diagnostics) {
  const bool has_errors = std::any_of(diagnostics.begin(), diagnostics.end(),
                                      [](const auto& d) { return d.severity == Severity::kError; });
  return has_errors ? "the configuration has errors" : "the configuration has no resources";
}

}  // namespace

Result<std::unique_ptr<ConfigWait>> ConfigWait::Create(Loop& loop, Log& log,
                                                       const Options& options) {
  std::unique_ptr<ConfigWait> waiting(new ConfigWait(loop, options));
  Routes routes;
  routes.metrics = [&log, status = waiting->status_] {
    return MetricsText(status->Read(), log.dropped());
  };
  routes.alive = AliveWith(waiting->heartbeat_);
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
  status_->SetConfigReading(
      {false, std::chrono::system_clock::now(), ReasonOf(diagnostics), std::move(diagnostics)});
}

}  // namespace patchbay
