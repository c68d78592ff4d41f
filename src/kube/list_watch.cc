// `pending_` is the request or the delay that continues the chain; replacing it cancels the old
// one. `version_` decides what follows: a list if it is empty, otherwise a watch. Functions of the
// user are called as the last statement, because they may destroy the object; a page is therefore
// passed on after the next page or the watch was requested, whose functions are called later.

#include "kube/list_watch.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace patchbay {

using std::chrono::seconds;

ListWatch::ListWatch(ApiClient& client, Loop& loop, ListWatchSpec spec,
                     ListWatchFunctions functions, std::uint32_t seed)
    : client_(client),
      loop_(loop),
      spec_(std::move(spec)),
      functions_(std::move(functions)),
      random_(seed),
      list_policy_(seed),
      watch_policy_(seed),
      lines_(spec_.max_event_bytes) {
  Continue();
}

void ListWatch::Relist() {
  list_policy_.Reset();
  version_.clear();
  Continue();
}

void ListWatch::Continue() {
  state_.is_watching = false;
  state_.retry_at.reset();
  if (!version_.empty()) return Watch();
  page_objects_ = spec_.page_objects;
  listed_ = 0;
  List("");
}

void ListWatch::List(const std::string& token) {
  const std::string limit = std::to_string(page_objects_);
  ApiRequest request{.verb = ApiVerb::kList, .target = ApiTarget(spec_.path, {{"limit", limit}})};
  // A selector that is empty, and a token that is, are not sent.
  if (!spec_.field_selector.empty()) {
    request.target += "&fieldSelector=" + EncodeForUrl(spec_.field_selector);
  }
  if (!token.empty()) request.target += "&continue=" + EncodeForUrl(token);
  request.max_body = spec_.max_page_bytes;
  pending_ = client_.Send(std::move(request),
                          [this, token](ApiResult result) { OnPage(token, std::move(result)); });
}

void ListWatch::OnPage(const std::string& token, ApiResult result) {
  std::optional<ApiError> error;
  ListPage page;
  if (!result) {
    error = std::move(result).error();
  } else if (auto parsed = ParseListPage(result->body, spec_.max_objects)) {
    page = *std::move(parsed);
  } else {
    error = ApiError{ApiErrorKind::kResponse, parsed.error().message};
  }
  if (error && error->kind == ApiErrorKind::kResponse && page_objects_ > 1) {
    page_objects_ /= 2;
    return List(std::string(token));
  }
  if (error) return RetryAfter(*std::move(error), list_policy_);
  ListedObjects listed{.objects = std::move(page.objects), .is_first = listed_ == 0};
  // Pages without objects count as well: their number is bounded, too.
  listed_ += listed.objects.size() + 1;
  listed.is_cut = !page.next.empty() && listed_ >= spec_.max_objects;
  listed.is_last = page.next.empty() || listed.is_cut;
  if (listed.is_last) {
    list_policy_.Reset();
    version_ = std::move(page.resource_version);
    ++state_.lists;
    Watch();
  } else {
    List(page.next);
  }
  functions_.on_page(std::move(listed));
}

void ListWatch::Watch() {
  std::uniform_int_distribution<seconds::rep> distribution(spec_.watch_timeout.count(),
                                                           2 * spec_.watch_timeout.count());
  const seconds timeout(distribution(random_));
  ApiRequest request{
      .verb = ApiVerb::kWatch,
      .target = ApiTarget(spec_.path, {{"watch", "true"},
                                       {"allowWatchBookmarks", "true"},
                                       {"resourceVersion", version_},
                                       {"timeoutSeconds", std::to_string(timeout.count())}}),
      .max_body = spec_.max_watch_bytes,
      .max_duration = timeout + seconds(30)};
  if (!spec_.field_selector.empty()) {
    request.target += "&fieldSelector=" + EncodeForUrl(spec_.field_selector);
  }
  lines_ = JsonLines(spec_.max_event_bytes);
  watch_began_ = loop_.Now();
  pending_ = client_.Watch(std::move(request),
                           {.on_begin = [this] { OnWatchBegin(); },
                            .on_part = [this](const std::string& part) { OnPart(part); },
                            .on_end = [this](const ApiResult& result) { OnWatchEnd(result); }});
}

void ListWatch::OnWatchBegin() {
  state_.is_watching = true;
  state_.last_error.reset();
  ++state_.watches;
  functions_.on_begin();
}

void ListWatch::OnPart(const std::string& part) {
  const auto lines = lines_.Feed(part);
  std::optional<ApiError> error;
  if (!lines) error = ApiError{ApiErrorKind::kResponse, lines.error().message};
  std::vector<WatchEvent> events;
  for (std::size_t i = 0; !error && i < lines->size(); ++i) {
    auto line = ParseWatchLine((*lines)[i]);
    if (!line) {
      error = ApiError{ApiErrorKind::kResponse, line.error().message};
    } else if (auto* event = std::get_if<WatchEvent>(&*line)) {
      version_ = event->resource_version;
      events.push_back(std::move(*event));
    } else if (const auto* bookmark = std::get_if<WatchBookmark>(&*line)) {
      version_ = bookmark->resource_version;
    } else {
      error = std::get<ApiError>(*std::move(line));
    }
  }
  state_.events += events.size();
  if (error) OnWatchFailed(*std::move(error));
  if (!events.empty()) functions_.on_events(std::move(events));
}

void ListWatch::OnWatchEnd(const ApiResult& result) {
  if (!result) return OnWatchFailed(result.error());
  if (loop_.Now() - watch_began_ < kSettled) {
    return OnWatchFailed({ApiErrorKind::kNetwork,
                          "the API server ended the watch at once; check its "
                          "load and the proxies before it"});
  }
  watch_policy_.Reset();
  rejected_watches_ = 0;
  Continue();
}

void ListWatch::OnWatchFailed(ApiError error) {
  if (state_.is_watching && loop_.Now() - watch_began_ >= kSettled) {
    watch_policy_.Reset();
    rejected_watches_ = 0;
  }
  if (error.kind == ApiErrorKind::kStatus && ++rejected_watches_ >= kMaxRejectedWatches) {
    version_.clear();
  }
  RetryAfter(std::move(error), watch_policy_);
}

void ListWatch::RetryAfter(ApiError error, RetryPolicy& policy) {
  const bool is_stale =
      error.kind == ApiErrorKind::kResponse || RetryFor(error) == ApiRetry::kRelist;
  if (is_stale) version_.clear();
  state_.is_watching = false;
  const auto delay = policy.NextDelay(error);
  state_.retry_at = loop_.Now() + delay;
  pending_ = loop_.After(delay, [this] { Continue(); });
  state_.last_error = error;
  loop_.Post(lifetime_.Guard([this, error = std::move(error)] { functions_.on_error(error); }));
}

}  // namespace patchbay
