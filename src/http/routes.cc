#include "http/routes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "http/gzip.h"
#include "http/page_files.h"
#include "http/status_json.h"

namespace patchbay {
namespace {

constexpr const char* kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kJson = "application/json";

/// The content type by file extension.
constexpr std::pair<std::string_view, const char*> kFileTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

HttpResponse ResponseFor(CheckResult result) {
  if (result.body.empty()) result.body = "ok\n";
  return {result.ok ? 200 : 503, kPlainText, std::move(result.body)};
}

bool HasIt(const HttpRequest& request, std::string_view etag) {
  return request.if_none_match.find(etag) != std::string::npos;
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
  const char* const name = type == std::end(kFileTypes) ? kPlainText : type->second;
  const std::string etag(file.etag);
  if (HasIt(request, etag)) return {304, name, "", etag};
  return {200, name, std::string(file.bytes), etag};
}

HttpResponse MetricsResponse(const Routes& routes, bool gzip) {
  std::string text = routes.metrics();
  return {.content_type = kPrometheus, .body = gzip ? Gzip(text) : std::move(text), .gzip = gzip};
}

/// `run` distinguishes this process from an earlier one at the same address.
std::string StatusTag(std::int64_t run, std::uint64_t serial) {
  return Format("\"{:x}-{:x}\"", run, serial);
}

HttpResponse StatusResponse(const Routes& routes, std::int64_t run) {
  const NodeStatus status = routes.status();
  return {.content_type = kJson,
          .body = StatusJson(status, std::chrono::system_clock::now()),
          .etag = StatusTag(run, status.serial)};
}

}  // namespace

CheckResult CheckLoop(LoopHeartbeat& heartbeat) {
  const bool alive = heartbeat.IsAlive(Loop::Clock::now());
  return {alive, alive ? "" : "the main loop is stalled\n"};
}

HttpHandler MakeRoutes(Routes given) {
  const auto routes = std::make_shared<const Routes>(std::move(given));
  const std::int64_t run = std::chrono::system_clock::now().time_since_epoch().count();
  return [routes, run](const HttpRequest& request) -> HttpAnswer {
    if (request.path == "/metrics") {
      return [routes, gzip = request.takes_gzip] { return MetricsResponse(*routes, gzip); };
    }
    if (request.path == "/healthz") return ResponseFor(routes->alive());
    if (request.path == "/readyz") return ResponseFor(routes->ready());
    if (request.path == "/api/v1/status") {
      std::string etag = StatusTag(run, routes->status().serial);
      if (HasIt(request, etag)) return HttpResponse{304, kJson, "", std::move(etag)};
      return [routes, run] { return StatusResponse(*routes, run); };
    }
    if (request.path == "/api/v1/suggestions" && routes->status().suggest_page) {
      return HttpResponse{.content_type = kJson, .body = routes->suggestions()};
    }
    if (const PageFile* file = FindFile(request.path)) return AnswerFile(request, *file);
    return HttpResponse{404, kPlainText, "not found; see / for the status page\n"};
  };
}

}  // namespace patchbay
