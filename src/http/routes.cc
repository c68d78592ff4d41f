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

/// The content type by file extension.
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

/// All routes. Answer runs on the HTTP thread, the responses it returns on the slow thread.
class Pages : public std::enable_shared_from_this<Pages> {
 public:
  explicit Pages(Routes routes) : routes_(std::move(routes)) {}

  HttpAnswer Answer(const HttpRequest& request) {
    const auto recent = RecentMetrics();  // at any request, to free an old one
    if (request.path == "/metrics") {
      if (recent && request.takes_gzip) return MetricsResponse(recent, true);
      return AnswerMetrics(request.takes_gzip);
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
    return HttpResponse{404, kPlainText, "not found; see / for the status page\n"};
  }

 private:
  /// A text shared by the requests that arrived before its rendering began.
  struct Batch {
    std::atomic<bool> begun = false;
    std::shared_ptr<const std::string> text = {};  ///< belongs to the slow thread
  };

  /// Compressed metrics and their expiry.
  struct Recent {
    std::shared_ptr<const std::string> text;
    std::chrono::steady_clock::time_point until;
  };

  /// A rendered status and its serial.
  struct Made {
    std::shared_ptr<const std::string> text;
    std::uint64_t covers = 0;
  };

  std::string StatusTag(std::uint64_t serial) const {
    return format("\"{:x}-{:x}\"", run_, serial);
  }

  static HttpResponse MetricsResponse(std::shared_ptr<const std::string> text, bool gzip) {
    return {.content_type = kPrometheus, .gzip = gzip, .shared = std::move(text)};
  }

  HttpAnswer AnswerMetrics(bool gzip) {
    std::weak_ptr<Batch>& last = gzip ? gzip_batch_ : plain_batch_;
    std::shared_ptr<Batch> batch = last.lock();
    if (!batch || batch->begun) last = batch = std::make_shared<Batch>();
    return [pages = shared_from_this(), batch, gzip] {
      if (!batch->text) {
        batch->begun = true;
        batch->text = gzip ? pages->CompressedMetrics()
                           : std::make_shared<const std::string>(pages->routes_.metrics());
      }
      return MetricsResponse(batch->text, gzip);
    };
  }

  std::shared_ptr<const std::string> CompressedMetrics() {
    if (auto recent = RecentMetrics()) return recent;
    const auto begun = routes_.now();
    auto text = std::make_shared<const std::string>(Gzip(routes_.metrics()));
    const std::lock_guard lock(mutex_);
    recent_ = {text, begun + kCompressedMetricsAge};
    return text;
  }

  /// Returns the compressed metrics unless they expired; frees expired ones.
  std::shared_ptr<const std::string> RecentMetrics() {
    std::shared_ptr<const std::string> old;  // destroyed after the lock
    const std::lock_guard lock(mutex_);
    if (recent_.text && routes_.now() > recent_.until) recent_.text.swap(old);
    return recent_.text;
  }

  /// Returns the status of this serial, or a newer one, if it is rendered.
  std::optional<HttpResponse> KnownStatus(std::uint64_t serial) const {
    const Made status = GetStatus();
    if (!status.text || status.covers < serial) return std::nullopt;
    return HttpResponse{.content_type = kJson,
                        .body = StatusOpening(std::chrono::system_clock::now()),
                        .etag = StatusTag(status.covers),
                        .shared = status.text};
  }

  HttpResponse Status(std::uint64_t serial) {
    if (auto known = KnownStatus(serial)) return *std::move(known);
    const NodeStatus newest = routes_.status();
    SetStatus({});  // never keep two
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
  /// Distinguishes this process from an earlier one at the same address.
  const std::int64_t run_ = std::chrono::system_clock::now().time_since_epoch().count();
  std::weak_ptr<Batch> plain_batch_, gzip_batch_;  ///< the last of each; belong to the HTTP thread
  mutable std::mutex mutex_;
  Recent recent_;  ///< under `mutex_`
  Made status_;    ///< under `mutex_`
};

}  // namespace

std::function<Verdict()> AliveWith(LoopHeartbeat& heartbeat) {
  return [&heartbeat] {
    const bool alive = heartbeat.IsAlive(Loop::Clock::now());
    return Verdict{alive, alive ? "" : "the main loop is stalled\n"};
  };
}

HttpHandler MakeRoutes(Routes routes) {
  return [pages = std::make_shared<Pages>(std::move(routes))](const HttpRequest& request) {
    return pages->Answer(request);
  };
}

}  // namespace patchbay
