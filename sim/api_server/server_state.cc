// One mutex protects everything, and no method holds it while it calls a function of the outside. A
// request is authenticated first, then it gets its fault, so that a fault is not spent on a request
// that is refused anyway. Unlock ends each change: it wakes Await, and notifies the connections
// only if the version of the store has changed.

#include "sim/api_server/server_state.h"

#include <numeric>
#include <utility>

namespace patchbay::api_sim {
namespace {

/// The number of calls that are remembered.
constexpr std::size_t kMaxCalls = 10'000;

}  // namespace

void ServerState::Unlock(std::unique_lock<std::mutex> lock) {
  ++generation_;
  const std::uint64_t version = api_.store().version();
  const bool has_changed = std::exchange(notified_version_, version) != version;
  lock.unlock();
  changed_.notify_all();
  if (has_changed) OnChange();
}

bool ServerState::IsAuthenticated(const std::string& authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  if (tokens_.empty()) return true;
  return authorization.starts_with(kScheme) &&
         tokens_.contains(authorization.substr(kScheme.size()));
}

Outcome ServerState::Serve(const HttpRequest& request, const std::string& authorization) {
  const auto parsed = ParseRequest(request);
  std::unique_lock lock(mutex_);
  Outcome outcome;
  if (!IsAuthenticated(authorization)) {
    outcome.response = ErrorResponse(ErrorFor(401, "Unauthorized"));
  } else {
    std::optional<Fault> fault;
    if (parsed) fault = TakeFault(faults_, parsed->verb);
    if (fault && fault->type == FaultType::kError) {
      outcome.response = ErrorResponse(ErrorOf(*fault));
    } else if (!fault || IsPerformed(fault->type)) {
      outcome = Perform(request, parsed);
    }
    outcome.fault = fault;
  }
  Log(request, parsed, outcome.response.status);
  Unlock(std::move(lock));
  return outcome;
}

Outcome ServerState::Perform(const HttpRequest& request, const ApiResult<ObjectRequest>& parsed) {
  const auto now = std::chrono::system_clock::now();
  if (!parsed || parsed->verb != Verb::kWatch) return {.response = api_.Handle(request, now)};
  auto watch = api_.OpenWatch(*parsed);
  if (!watch) return {.response = ErrorResponse(watch.error())};
  return {.watch = *std::move(watch)};
}

void ServerState::Log(const HttpRequest& request, const ApiResult<ObjectRequest>& parsed,
                      int status) {
  ApiCall call{.method = request.method,
               .path = request.target.substr(0, request.target.find('?')),
               .status = status};
  if (parsed) {
    call.verb = parsed->verb;
    call.kind = parsed->kind->kind;
    call.is_dry_run = parsed->is_dry_run;
  }
  calls_.push_back(std::move(call));
  if (calls_.size() > kMaxCalls) calls_.pop_front();
}

HttpResponse ServerState::Call(const std::string& method, const std::string& target,
                               const Json& body) {
  const HttpRequest request{
      .method = method, .target = target, .body = body.is_null() ? "" : Dump(body)};
  std::unique_lock lock(mutex_);
  const std::uint64_t version = api_.store().version();
  HttpResponse response = api_.Handle(request, std::chrono::system_clock::now());
  // Predicates of Await read objects by this method, which must not wake them again.
  if (api_.store().version() != version) Unlock(std::move(lock));
  return response;
}

Status ServerState::Allocate(const std::string& namespace_name, const std::string& claim,
                             const std::string& node) {
  std::unique_lock lock(mutex_);
  Status allocated = api_.AllocateClaim(namespace_name, claim, node);
  Unlock(std::move(lock));
  return allocated;
}

std::vector<std::string> ServerState::Read(WatchCursor& cursor) const {
  const std::lock_guard lock(mutex_);
  return api_.Read(cursor);
}

void ServerState::SetTokens(std::set<std::string> tokens) {
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(tokens);
}

void ServerState::SetFaults(std::vector<Fault> faults) {
  const std::lock_guard lock(mutex_);
  faults_ = std::move(faults);
}

int ServerState::FaultsLeft() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(faults_.begin(), faults_.end(), 0,
                         [](int sum, const Fault& fault) { return sum + fault.times; });
}

void ServerState::SetProfile(ApiProfile profile) {
  const std::lock_guard lock(mutex_);
  api_.SetProfile(profile);
}

void ServerState::Compact(ExpiredWatch form) {
  const std::lock_guard lock(mutex_);
  api_.Compact();
  api_.SetExpiredWatch(form);
}

std::vector<ApiCall> ServerState::Calls() const {
  const std::lock_guard lock(mutex_);
  return {calls_.begin(), calls_.end()};
}

bool ServerState::Await(const std::function<bool()>& predicate,
                        std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    std::unique_lock lock(mutex_);
    const std::uint64_t seen = generation_;
    lock.unlock();
    if (predicate()) return true;
    lock.lock();
    if (!changed_.wait_until(lock, deadline, [&] { return generation_ != seen; })) return false;
  }
}

void ServerState::NotifyChange() {
  const std::lock_guard lock(mutex_);
  ++generation_;
  changed_.notify_all();
}

}  // namespace patchbay::api_sim
