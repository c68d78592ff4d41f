#include "daemon/waiting.h"

#include "base/format.h"
#include "http/routes.h"

namespace patchbay {

Result<std::unique_ptr<Waiting>> Waiting::Create(Loop& loop, Log& log, const Options& options) {
  std::unique_ptr<Waiting> waiting(new Waiting(loop, options));
  Routes routes;
  routes.metrics = [&metrics = waiting->metrics_] { return metrics.Text(); };
  routes.alive = AliveWith(waiting->pulse_);
  routes.ready =
      [text = format("there is no configuration without mistakes in {} yet\n", options.config)] {
        return Verdict{false, text};
      };
  waiting->http_ = TRY(HttpServer::Create(options.listen, MakeRoutes(std::move(routes)), log));
  waiting->OnRefused();
  log.Warning("waiting for a configuration without mistakes",
              {{"config", options.config}, {"address", waiting->http_->address()}});
  return waiting;
}

Waiting::Waiting(Loop& loop, const Options& options)
    : metrics_({.version = options.version, .revision = options.revision}), pulse_(loop) {}

void Waiting::OnRefused() { metrics_.ConfigLoaded(false, std::chrono::system_clock::now()); }

}  // namespace patchbay
