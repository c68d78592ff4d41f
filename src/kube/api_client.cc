// A Call passes through the stages in their order: wait for a free connection, read credentials,
// take an idle connection or resolve and connect, send, receive. A second attempt begins again with
// the credentials. All functions that continue a call are made by Bind, so a call that has ended,
// by its deadline or by cancelation, is not continued: Drop removes it from `calls_` first.
//
// Finish is the only place that calls the function of the user, as its last statement.

#include "kube/api_client.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <iterator>

#include "base/format.h"
#include "kube/api_status.h"
#include "kube/resolve.h"

namespace patchbay {
namespace {

using boost::asio::ip::tcp;

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

bool IsIdempotent(ApiVerb verb) { return verb != ApiVerb::kCreate; }

}  // namespace

ApiClient::ApiClient(ClusterConfig config, Loop& loop, boost::asio::io_context& io,
                     ThreadPool& pool)
    : config_(std::move(config)),
      loop_(loop),
      io_(io),
      pool_(pool),
      credentials_(config_, loop, pool) {}

ApiClient::~ApiClient() {
  for (const CallPtr& call : calls_) {
    if (call->connection) call->connection->Close();
  }
  for (const auto& connection : idle_) connection->Close();
}

template <class F>
auto ApiClient::Bind(const CallPtr& call, F f) {
  return lifetime_.Guard(
      [this, weak = std::weak_ptr(call), f = std::move(f)](auto&&... args) mutable {
        const CallPtr locked = weak.lock();
        if (locked && calls_.contains(locked)) f(locked, std::forward<decltype(args)>(args)...);
      });
}

Subscription ApiClient::Send(ApiRequest request, Done done) {
  return Start(std::move(request), {nullptr, nullptr, std::move(done)});
}

Subscription ApiClient::Watch(ApiRequest request, WatchFunctions functions) {
  request.verb = ApiVerb::kWatch;
  return Start(std::move(request), std::move(functions));
}

Subscription ApiClient::Start(ApiRequest request, WatchFunctions functions) {
  const auto call = std::make_shared<Call>(Call{std::move(request), std::move(functions)});
  calls_.insert(call);
  std::string problem;
  if (!IsApiTarget(call->request.target)) problem = "the path of the request is not valid";
  if (call->request.body.size() > kMaxRequestBytes) {
    problem = Format("the request is longer than {} bytes", kMaxRequestBytes);
  }
  if (calls_.size() > kMaxPending) problem = "too many requests are pending; retry later";
  if (!problem.empty()) {
    loop_.Post(Bind(call, [this, problem](const CallPtr& refused) {
      FailCall(refused, {.kind = ApiErrorKind::kRequest, .message = problem});
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
    Attempt(call);
  }
}

void ApiClient::Attempt(const CallPtr& call) {
  call->stage = Stage::kCredentials;
  credentials_.Get(Bind(call, [this](const CallPtr& current, auto credentials) {
    OnCredentials(current, std::move(credentials));
  }));
}

void ApiClient::OnCredentials(const CallPtr& call, Result<CredentialCache::Shared> credentials) {
  if (!credentials) {
    return FailCall(call,
                    {.kind = ApiErrorKind::kCredentials, .message = credentials.error().message});
  }
  call->credentials = *std::move(credentials);
  call->connection = TakeIdle(*call->credentials);
  call->is_reused = call->connection != nullptr;
  if (call->is_reused) return SendOn(call);
  FindEndpoints(call);
}

std::shared_ptr<ApiConnection> ApiClient::TakeIdle(const Credentials& credentials) {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->is_idle() && connection->credentials().files == credentials.files) {
      return connection;
    }
    connection->Close();
  }
  return nullptr;
}

void ApiClient::FindEndpoints(const CallPtr& call) {
  call->stage = Stage::kResolving;
  if (config_.is_address) {
    const tcp::endpoint endpoint(boost::asio::ip::make_address(config_.host), config_.port);
    return OnEndpoints(call, std::vector{endpoint});
  }
  pool_.Run(
      loop_, [host = config_.host, port = config_.port] { return Resolve(host, port); },
      Bind(call, [this](const CallPtr& current, const Endpoints& endpoints) {
        OnEndpoints(current, endpoints);
      }));
}

void ApiClient::OnEndpoints(const CallPtr& call, const Endpoints& endpoints) {
  if (!endpoints) {
    return FailCall(call, {.kind = ApiErrorKind::kNetwork, .message = endpoints.error().message});
  }
  call->stage = Stage::kConnecting;
  call->connection = std::make_shared<ApiConnection>(io_, config_, call->credentials);
  call->connection->Open(
      *endpoints, Bind(call, [this](const CallPtr& current, const std::optional<ApiError>& error) {
        if (!error) return SendOn(current);
        if (error->kind == ApiErrorKind::kTls) return RereadCredentials(current, *error);
        FailCall(current, *error);
      }));
}

void ApiClient::SendOn(const CallPtr& call) {
  call->stage = Stage::kResponse;
  Exchange exchange{.request = RequestText(call->request, config_, *call->credentials),
                    .limits = {.body = call->request.max_body},
                    .on_end = Bind(call, [this](const CallPtr& current, ExchangeEnd end) {
                      OnEnd(current, std::move(end));
                    })};
  if (call->request.verb == ApiVerb::kWatch) {
    exchange.on_part = Bind(call, [this](const CallPtr& current, std::string part) {
      OnPart(current, std::move(part));
    });
  }
  call->connection->Send(std::move(exchange));
}

void ApiClient::OnPart(const CallPtr& call, std::string part) {
  const bool begins = std::exchange(call->stage, Stage::kStream) != Stage::kStream;
  const auto on_deadline = [this](const CallPtr& late) { OnDeadline(late); };
  call->silence = loop_.After(call->request.max_silence, Bind(call, on_deadline));
  if (begins) {
    call->deadline = loop_.After(call->request.max_duration, Bind(call, on_deadline));
    Count(*call, "200", true);
    return call->functions.on_begin();
  }
  call->functions.on_part(std::move(part));
}

void ApiClient::OnEnd(const CallPtr& call, ExchangeEnd end) {
  if (end.response) return OnResponse(call, *std::move(end.response));
  const bool is_repeatable = !end.has_begun && IsIdempotent(call->request.verb);
  if (is_repeatable && call->is_reused && std::exchange(call->may_resend, false)) {
    return Attempt(call);
  }
  // With TLS 1.3 a server rejects a client certificate after the handshake.
  if (is_repeatable && end.response.error().kind == ApiErrorKind::kTls) {
    return RereadCredentials(call, std::move(end.response).error());
  }
  FailCall(call, std::move(end.response).error());
}

void ApiClient::OnResponse(const CallPtr& call, ExchangeEnd::Response response) {
  if (call->stage == Stage::kStream) return Finish(call, ApiResponse{response.status});
  if (response.status < 200 || response.status > 299) {
    ApiError error = ErrorOfResponse(response.status, response.retry_after, response.body);
    if (error.status == 401) return RereadCredentials(call, std::move(error));
    return FailCall(call, std::move(error));
  }
  Count(*call, std::to_string(response.status), true);
  Finish(call, ApiResponse{response.status, std::move(response.body)});
}

void ApiClient::FailCall(const CallPtr& call, ApiError error) {
  const bool is_status = error.kind == ApiErrorKind::kStatus;
  const auto kind = static_cast<std::size_t>(error.kind);
  Count(*call, is_status ? std::to_string(error.status) : std::string(kApiErrorKindNames[kind]),
        is_status && error.status < 500);
  Finish(call, tl::unexpected(std::move(error)));
}

void ApiClient::RereadCredentials(const CallPtr& call, ApiError error) {
  if (!std::exchange(call->may_reread, false)) return FailCall(call, std::move(error));
  call->stage = Stage::kCredentials;
  credentials_.GetAgain(
      Bind(call, [this, error = std::move(error)](const CallPtr& current,
                                                  const Result<CredentialCache::Shared>& read) {
        if (read && !(*read)->IsSameAs(*current->credentials)) {
          return OnCredentials(current, *read);
        }
        FailCall(current, error);
      }));
}

void ApiClient::OnDeadline(const CallPtr& call) {
  const auto stage = static_cast<std::size_t>(call->stage);
  FailCall(call, {.kind = ApiErrorKind::kTimeout,
                  .message = Format("{}: timed out {}", UrlOf(config_), kTimeouts[stage])});
}

void ApiClient::Finish(const CallPtr& call, ApiResult result) {
  Drop(call);
  call->functions.on_end(std::move(result));
}

void ApiClient::Drop(const CallPtr& call) {
  calls_.erase(call);
  std::erase(waiting_, call);
  call->deadline = {};
  call->silence = {};
  if (const auto connection = std::exchange(call->connection, nullptr)) {
    if (connection->is_idle() && idle_.size() < kMaxIdleConnections) {
      idle_.push_back(connection);
    } else {
      connection->Close();
    }
  }
  if (std::exchange(call->has_connection_slot, false)) --used_slots_;
  StartWaiting();
}

void ApiClient::Count(const Call& call, std::string outcome, bool up) {
  ++stats_.requests[{call.request.verb, std::move(outcome)}];
  stats_.up = up;
}

}  // namespace patchbay
