// Run is the whole life of a request that has a connection slot; TryOnce is one attempt. What
// suspends them is either a socket, or a job in the pool: then they wait for the timer `wake`,
// because a job that hangs must not own a coroutine. Drop ends a call at any time: it closes the
// connection and cancels the timer, so the coroutine continues soon, and finds `has_ended`. Nothing
// of the client may be used then, as it may be destroyed.
//
// Finish is the only place that calls the last function of the user, as its last statement.

#include "kube/api_client.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "base/format.h"
#include "kube/api_status.h"

namespace patchbay {
namespace {

namespace asio = boost::asio;

/// Indexed by ApiVerb.
constexpr std::string_view kMethods[] = {"GET", "GET", "GET", "POST", "PUT", "DELETE"};

/// The activity that a timeout interrupted and its probable cause. Indexed by ApiClient::Stage.
constexpr std::string_view kTimeouts[] = {
    "waiting for a free connection; the API server is slow",
    "reading the credentials; check the file system that they are on",
    "resolving the name of the API server; check the DNS of this node",
    "connecting; check that the API server can be reached from this node",
    "waiting for the response; check the load of the API server",
    "receiving the watch; it is started again",
};

std::string RequestText(const ApiRequest& request, const ClusterConfig& config,
                        const Credentials& credentials) {
  const auto verb = static_cast<std::size_t>(request.verb);
  std::string text =
      Format("{} {} HTTP/1.1\r\nHost: {}\r\n", kMethods[verb], request.target, HostAndPort(config));
  text += "User-Agent: patchbay\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n";
  if (!credentials.token.empty()) {
    text += Format("Authorization: Bearer {}\r\n", credentials.token);
  }
  if (!request.body.empty()) {
    text += Format("Content-Type: application/json\r\nContent-Length: {}\r\n", request.body.size());
  }
  return text + "\r\n" + request.body;
}

}  // namespace

ApiClient::ApiClient(ClusterConfig config, Loop& loop, boost::asio::io_context& io,
                     ThreadPool& pool)
    : config_(std::move(config)),
      loop_(loop),
      io_(io),
      pool_(pool),
      credentials_(config_, loop, pool) {}

ApiClient::~ApiClient() {
  waiting_.clear();
  while (!calls_.empty()) {
    const CallPtr call = *calls_.begin();
    Drop(call);
  }
}

template <class F>
auto ApiClient::Bind(const CallPtr& call, F f) {
  return [weak = std::weak_ptr(call), f = std::move(f)](auto&&... args) mutable {
    const CallPtr locked = weak.lock();
    if (locked && !locked->has_ended) f(locked, std::forward<decltype(args)>(args)...);
  };
}

Subscription ApiClient::Send(ApiRequest request, Done done) {
  return Start(std::move(request), {nullptr, nullptr, std::move(done)});
}

Subscription ApiClient::Watch(ApiRequest request, WatchFunctions functions) {
  request.verb = ApiVerb::kWatch;
  return Start(std::move(request), std::move(functions));
}

Subscription ApiClient::Start(ApiRequest request, WatchFunctions functions) {
  using Timer = asio::steady_timer;
  const auto call = std::make_shared<Call>(
      Call{.request = std::move(request),
           .functions = std::make_shared<const WatchFunctions>(std::move(functions)),
           .wake = Timer(io_, Timer::time_point::max())});
  calls_.insert(call);
  std::string problem;
  if (!IsApiTarget(call->request.target)) problem = "the path of the request is not valid";
  if (call->request.body.size() > kMaxRequestBytes) {
    problem = Format("the request is longer than {} bytes", kMaxRequestBytes);
  }
  if (calls_.size() > kMaxPending) problem = "too many requests are pending; retry later";
  if (!problem.empty()) {
    loop_.Post(Bind(call, [this, problem](const CallPtr& refused) {
      Finish(refused, ApiFail(ApiErrorKind::kRequest, problem));
    }));
  } else {
    call->deadline = loop_.After(call->request.deadline,
                                 Bind(call, [this](const CallPtr& late) { OnDeadline(late); }));
    waiting_.push_back(call);
    StartWaiting();
  }
  return Subscription(Bind(call, [this](const CallPtr& canceled) { Drop(canceled); }));
}

void ApiClient::StartWaiting() {
  const auto may_start = [this](const CallPtr& call) {
    const ApiVerb verb = call->request.verb;
    // Many objects can be read at once, and lists and writes must not wait for them.
    const std::size_t kept = verb == ApiVerb::kGet ? 1 : 0;
    return verb == ApiVerb::kWatch || used_slots_ + kept < kMaxConnections;
  };
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    if (!may_start(*next)) {
      ++next;
      continue;
    }
    const CallPtr call = *next;
    next = waiting_.erase(next);
    call->has_connection_slot = call->request.verb != ApiVerb::kWatch;
    used_slots_ += call->has_connection_slot ? 1 : 0;
    asio::co_spawn(io_, Run(call), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
}

/// Calls `start` with a function that receives a Result later, and waits for it. Fails if the call
/// has ended.
template <class T>
asio::awaitable<Result<T>> ApiClient::Await(CallPtr call, Starter<T> start) {
  const auto result = std::make_shared<Result<T>>();
  start(Bind(call, [result](const CallPtr& current, Result<T> received) {
    *result = std::move(received);
    current->wake.cancel();
  }));
  boost::system::error_code ignored;
  co_await call->wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (call->has_ended) co_return Fail(ErrorKind::kUnavailable, "canceled");
  co_return std::move(*result);
}

asio::awaitable<void> ApiClient::Run(CallPtr call) {
  bool may_resend = true;  // after the end of a reused connection
  bool may_reread = true;  // the credentials
  while (!call->has_ended) {
    ApiResult result = co_await TryOnce(call);
    if (call->has_ended) co_return;
    if (result) co_return Finish(call, std::move(result));
    const ApiError& error = result.error();
    if (call->may_repeat && call->is_reused && std::exchange(may_resend, false)) continue;
    // With TLS 1.3 a server rejects a client certificate after the handshake.
    const bool is_rejected =
        error.status == 401 || (error.kind == ApiErrorKind::kTls && call->may_repeat);
    if (is_rejected && std::exchange(may_reread, false)) {
      call->stage = Stage::kCredentials;
      auto read = Await<CredentialCache::Shared>(
          call, [this](auto done) { credentials_.GetAgain(std::move(done)); });
      const auto current = co_await std::move(read);
      if (call->has_ended) co_return;
      if (current && !(*current)->IsSameAs(*call->credentials)) continue;
    }
    co_return Finish(call, std::move(result));
  }
}

asio::awaitable<ApiResult> ApiClient::TryOnce(CallPtr call) {
  ReleaseConnection(*call);  // of the attempt before
  call->stage = Stage::kCredentials;
  call->may_repeat = true;
  auto read = Await<CredentialCache::Shared>(
      call, [this](auto done) { credentials_.Get(std::move(done)); });
  const auto credentials = co_await std::move(read);
  if (!credentials) {
    co_return ApiFail(ApiErrorKind::kCredentials, credentials.error().message);
  }
  call->credentials = *credentials;
  std::shared_ptr<ApiConnection> connection = TakeIdle(**credentials);
  call->is_reused = connection != nullptr;
  if (!connection) {
    call->stage = Stage::kResolving;
    Result<Endpoints> endpoints = Endpoints();
    if (config_.is_address) {
      endpoints->emplace_back(asio::ip::make_address(config_.host), config_.port);
    } else {
      auto resolved = Await<Endpoints>(call, [this](auto done) {
        pool_.Run([host = config_.host, port = config_.port] { return Resolve(host, port); },
                  std::move(done));
      });
      endpoints = co_await std::move(resolved);
    }
    if (!endpoints) co_return ApiFail(ApiErrorKind::kNetwork, endpoints.error().message);
    call->stage = Stage::kConnecting;
    connection = std::make_shared<ApiConnection>(io_, config_, *credentials);
    call->connection = connection;
    const auto opened = co_await connection->Open(*endpoints);
    if (!opened) co_return tl::unexpected(opened.error());
  }
  call->stage = Stage::kResponse;
  call->connection = connection;
  call->may_repeat = call->request.verb != ApiVerb::kCreate;
  connection->Send(RequestText(call->request, config_, **credentials), call->request.max_body);
  ResponseReader& response = connection->response();
  while (!response.is_done()) {
    const auto received = co_await connection->Read();
    call->may_repeat = call->may_repeat && !response.has_begun();
    if (!received) co_return tl::unexpected(received.error());
    const bool is_stream = call->request.verb == ApiVerb::kWatch && response.is_success();
    if (is_stream) OnPart(call, response.TakeBody());
  }
  if (response.is_success()) co_return ApiResponse{response.status(), response.TakeBody()};
  co_return tl::unexpected(
      ErrorOfResponse(response.status(), response.retry_after(), response.TakeBody()));
}

std::shared_ptr<ApiConnection> ApiClient::TakeIdle(const Credentials& credentials) {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->IsIdle() && connection->credentials().files == credentials.files) {
      return connection;
    }
  }
  return nullptr;
}

void ApiClient::ReleaseConnection(Call& call) {
  const auto connection = std::exchange(call.connection, nullptr);
  if (!connection) return;
  if (connection->IsIdle() && idle_.size() < kMaxIdleConnections) {
    idle_.push_back(connection);
  } else {
    connection->Close();
  }
}

void ApiClient::OnPart(const CallPtr& call, std::string part) {
  const auto functions = call->functions;  // Drop releases them
  const bool begins = std::exchange(call->stage, Stage::kStream) != Stage::kStream;
  if (!begins && part.empty()) return;
  const auto on_deadline = [this](const CallPtr& late) { OnDeadline(late); };
  call->silence = loop_.After(call->request.max_silence, Bind(call, on_deadline));
  if (begins) {
    call->deadline = loop_.After(call->request.max_duration, Bind(call, on_deadline));
    Count(*call, "200", true);
    functions->on_begin();
  }
  if (!call->has_ended && !part.empty()) functions->on_part(std::move(part));
}

void ApiClient::OnDeadline(const CallPtr& call) {
  const auto stage = static_cast<std::size_t>(call->stage);
  Finish(call, ApiFail(ApiErrorKind::kTimeout,
                       Format("{}: timed out {}", UrlOf(config_), kTimeouts[stage])));
}

void ApiClient::Finish(const CallPtr& call, ApiResult result) {
  if (!result && result.error().kind != ApiErrorKind::kStatus) {
    Count(*call, std::string(kApiErrorKindNames[static_cast<std::size_t>(result.error().kind)]),
          false);
  } else if (!result || call->stage != Stage::kStream) {
    const unsigned status = result ? result->status : result.error().status;
    Count(*call, std::to_string(status), status < 500);
  }
  const auto functions = call->functions;  // Drop releases them
  Drop(call);
  functions->on_end(std::move(result));
}

void ApiClient::Drop(const CallPtr& call) {
  const auto dropped = std::exchange(call->functions, nullptr);  // destroyed last
  call->has_ended = true;
  calls_.erase(call);
  std::erase(waiting_, call);
  call->deadline = {};
  call->silence = {};
  call->wake.cancel();
  ReleaseConnection(*call);
  if (std::exchange(call->has_connection_slot, false)) --used_slots_;
  StartWaiting();
}

void ApiClient::Count(const Call& call, std::string outcome, bool up) {
  ++stats_.requests[{call.request.verb, std::move(outcome)}];
  stats_.up = up;
}

}  // namespace patchbay
