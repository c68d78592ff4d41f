#include "http/routes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "http/page_files.h"
#include "http/status_json.h"

namespace patchbay {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kJson = "application/json";

/// By how the name of a file ends.
constexpr std::pair<std::string_view, const char*> kFileTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

HttpResponse Answer(Verdict verdict) {
  if (verdict.body.empty()) verdict.body = verdict.ok ? "ok" : "not ok";
  if (!verdict.body.ends_with('\n')) verdict.body += '\n';
  return {verdict.ok ? 200 : 503, kPlain, std::move(verdict.body)};
}

/// What `make` makes, unless the client has it already.
template <class Make>
HttpResponse Tagged(const HttpRequest& request, const char* type, std::string etag, Make make) {
  const bool has_it = request.if_none_match.find(etag) != std::string::npos;
  return {has_it ? 304 : 200, type, has_it ? "" : std::string(make()), std::move(etag)};
}

const PageFile* FindFile(std::string_view path) {
  const std::string_view name = path == "/" ? "index.html" : path.substr(1);
  const auto files = PageFiles();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const PageFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

HttpResponse AnswerFile(const HttpRequest& request, const PageFile& file) {
  const auto type = std::find_if(std::begin(kFileTypes), std::end(kFileTypes),
                                 [&](const auto& t) { return file.name.ends_with(t.first); });
  return Tagged(request, type == std::end(kFileTypes) ? kPlain : type->second,
                std::string(file.etag), [&] { return file.bytes; });
}

}  // namespace

std::function<Verdict()> AliveWith(LoopPulse& pulse) {
  return [&pulse] {
    const bool alive = pulse.Alive(Loop::Clock::now());
    return Verdict{alive, alive ? "" : "the loop does not turn\n"};
  };
}

HttpHandler MakeRoutes(Routes routes) {
  // Tells what this process says from what another one at the same address said.
  const auto run = std::chrono::system_clock::now().time_since_epoch().count();
  return [routes = std::move(routes), run](const HttpRequest& request) -> HttpResponse {
    if (request.path == "/metrics") return {200, kPrometheus, routes.metrics()};
    if (request.path == "/healthz") return Answer(routes.alive());
    if (request.path == "/readyz") return Answer(routes.ready());
    if (request.path == "/api/v1/status") {
      const NodeStatus status = routes.status();
      return Tagged(request, kJson, format("\"{:x}-{:x}\"", run, status.serial),
                    [&] { return StatusJson(status, std::chrono::system_clock::now()); });
    }
    if (const PageFile* file = FindFile(request.path)) return AnswerFile(request, *file);
    return {404, kPlain, "not found; / shows what there is\n"};
  };
}

}  // namespace patchbay
