#include "http/routes.h"

#include <string_view>
#include <utility>

namespace patchbay {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kPrometheus = "text/plain; version=0.0.4; charset=utf-8";

constexpr std::string_view kIndex =
    "patchbay\n"
    "\n"
    "/metrics   what happens here, for Prometheus\n"
    "/healthz   200 while the main loop turns\n"
    "/readyz    200 when the configuration is loaded and every resource is registered\n";

HttpResponse Answer(Verdict verdict) {
  if (verdict.body.empty()) verdict.body = verdict.ok ? "ok" : "not ok";
  if (!verdict.body.ends_with('\n')) verdict.body += '\n';
  return {verdict.ok ? 200 : 503, kPlain, std::move(verdict.body)};
}

}  // namespace

std::function<Verdict()> AliveWith(LoopPulse& pulse) {
  return [&pulse] {
    const bool alive = pulse.Alive(Loop::Clock::now());
    return Verdict{alive, alive ? "" : "the loop does not turn\n"};
  };
}

HttpHandler MakeRoutes(Routes routes) {
  return [routes = std::move(routes)](const HttpRequest& request) -> HttpResponse {
    if (request.path == "/metrics") return {200, kPrometheus, routes.metrics()};
    if (request.path == "/healthz") return Answer(routes.alive());
    if (request.path == "/readyz") return Answer(routes.ready());
    if (request.path == "/") return {200, kPlain, std::string(kIndex)};
    return {404, kPlain, "not found; / lists what there is\n"};
  };
}

}  // namespace patchbay
