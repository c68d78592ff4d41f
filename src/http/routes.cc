#include "http/routes.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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

/// By how the name of a file ends.
constexpr std::pair<std::string_view, const char*> kFileTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

HttpResponse AnswerVerdict(Verdict verdict) {
  if (verdict.body.empty()) verdict.body = verdict.ok ? "ok" : "not ok";
  if (!verdict.body.ends_with('\n')) verdict.body += '\n';
  return {verdict.ok ? 200 : 503, kPlainText, std::move(verdict.body)};
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

/// All that is served. Answer is for the HTTP thread, and what it returns for the slow one.
class Pages : public std::enable_shared_from_this<Pages> {
 public:
  explicit Pages(Routes routes) : routes_(std::move(routes)) {}

  HttpAnswer Answer(const HttpRequest& request) {
    if (request.path == "/metrics") {
      if (request.takes_gzip) return AnswerCompressedMetrics();
      return [pages = shared_from_this(), number = ++scrapes_] { return pages->Metrics(number); };
    }
    if (request.path == "/healthz") return AnswerVerdict(routes_.alive());
    if (request.path == "/readyz") return AnswerVerdict(routes_.ready());
    if (request.path == "/api/v1/status") {
      const std::uint64_t serial = routes_.status().serial;
      std::string etag = StatusTag(serial);
      if (HasIt(request, etag)) return HttpResponse{304, kJson, "", std::move(etag)};
      if (auto known = KnownStatus(serial)) return *std::move(known);
      return [pages = shared_from_this(), serial] { return pages->Status(serial); };
    }
    if (const PageFile* file = FindFile(request.path)) return AnswerFile(request, *file);
    return HttpResponse{404, kPlainText, "not found; / shows what there is\n"};
  }

 private:
  /// A text, and the last number of a request or serial of a status for which it is new enough.
  struct Made {
    std::shared_ptr<const std::string> text;
    std::uint64_t covers = 0;
  };

  struct Compressed {
    std::shared_ptr<const std::string> text;
    std::chrono::steady_clock::time_point until{};
  };

  std::string StatusTag(std::uint64_t serial) const {
    return format("\"{:x}-{:x}\"", run_, serial);
  }

  HttpResponse Metrics(std::uint64_t number) {
    if (!metrics_.text || metrics_.covers < number) {
      const std::uint64_t covers = scrapes_;
      metrics_.text = nullptr;  // not two at a time
      metrics_ = {std::make_shared<const std::string>(routes_.metrics()), covers};
    }
    HttpResponse response{200, kPrometheus, "", "", false, metrics_.text};
    if (number == scrapes_) metrics_.text = nullptr;  // the next scrape wants a newer one
    return response;
  }

  HttpAnswer AnswerCompressedMetrics() {
    if (auto known = KnownCompressedMetrics()) return *std::move(known);
    return [pages = shared_from_this()] { return pages->CompressedMetrics(); };
  }

  std::optional<HttpResponse> KnownCompressedMetrics() const {
    const std::lock_guard lock(mutex_);
    if (!compressed_.text || routes_.now() > compressed_.until) return std::nullopt;
    return HttpResponse{200, kPrometheus, "", "", true, compressed_.text};
  }

  HttpResponse CompressedMetrics() {
    if (auto known = KnownCompressedMetrics()) return *std::move(known);
    auto text = std::make_shared<const std::string>(Gzip(routes_.metrics()));
    HttpResponse response{200, kPrometheus, "", "", true, text};
    const std::lock_guard lock(mutex_);
    compressed_ = {std::move(text), routes_.now() + kCompressedMetricsAge};
    return response;
  }

  /// The status of this serial, or a newer one, if it is made.
  std::optional<HttpResponse> KnownStatus(std::uint64_t serial) const {
    const Made status = GetStatus();
    if (!status.text || status.covers < serial) return std::nullopt;
    return HttpResponse{200,
                        kJson,
                        StatusOpening(std::chrono::system_clock::now()),
                        StatusTag(status.covers),
                        false,
                        status.text};
  }

  HttpResponse Status(std::uint64_t serial) {
    if (auto known = KnownStatus(serial)) return *std::move(known);
    const NodeStatus newest = routes_.status();
    SetStatus({});  // not two at a time
    SetStatus({std::make_shared<const std::string>(StatusRest(newest)), newest.serial});
    return *KnownStatus(newest.serial);
  }

  Made GetStatus() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  void SetStatus(Made status) {
    const std::lock_guard lock(mutex_);
    std::swap(status_, status);
  }

  const Routes routes_;
  /// Tells what this process says from what another one at the same address said.
  const std::int64_t run_ = std::chrono::system_clock::now().time_since_epoch().count();
  std::atomic<std::uint64_t> scrapes_ = 0;  ///< asked for so far
  Made metrics_;                            ///< of the slow thread
  mutable std::mutex mutex_;
  Made status_;            ///< under `mutex_`
  Compressed compressed_;  ///< under `mutex_`
};

}  // namespace

std::function<Verdict()> AliveWith(LoopPulse& pulse) {
  return [&pulse] {
    const bool alive = pulse.Alive(Loop::Clock::now());
    return Verdict{alive, alive ? "" : "the loop does not turn\n"};
  };
}

HttpHandler MakeRoutes(Routes routes) {
  return [pages = std::make_shared<Pages>(std::move(routes))](const HttpRequest& request) {
    return pages->Answer(request);
  };
}

}  // namespace patchbay
