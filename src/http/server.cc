#include "http/server.h"

#include <pthread.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/format.h"
#include "http/connection.h"
#include "http/listen.h"
#include "os/thread_pool.h"

namespace patchbay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// The pause after a failed accept, such as without free descriptors or memory.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

/// Slow responses use only data of this process, so they never hang. That data belongs to the
/// daemon, so shutdown waits for them. Prometheus can wait longer than a kubelet that starts a pod.
const ThreadPool::Options kSlow{
    .patience = std::chrono::hours(24), .niceness = 10, .end_patience = std::chrono::hours(24)};

error_code TooManyFiles() {
  return boost::system::errc::make_error_code(boost::system::errc::too_many_files_open_in_system);
}

}  // namespace

struct HttpServer::Impl {
  Impl(HttpHandler handler, Log& log, HttpLimits limits)
      : shared{std::move(handler), limits, log, [this](std::function<void()> job) {
                 return slow->Run({.work = std::move(job), .needs_thread = true});
               }} {}
  ~Impl() {
    context.stop();
    if (thread.joinable()) thread.join();
    while (!shared.open.empty()) shared.open.front()->Close();
    slow.reset();  // while the context for its results exists
  }

  void Run() {
    pthread_setname_np(pthread_self(), "patchbay-http");
    for (;;) {
      try {
        context.run();
        return;
      } catch (const std::exception& exception) {
        // Only the connection of this operation is lost.
        shared.log.Error("http connection failed", {{"reason", exception.what()}});
      }
    }
  }

  void Accept() {
    acceptor->async_accept([this](const error_code& error, tcp::socket socket) {
      if (error) return OnAcceptFailed(error);
      accept_failing = false;
      Accept();
      if (shared.open.size() >= shared.limits.connections) MakeRoom();
      std::make_shared<Connection>(std::move(socket), shared)->Start();
    });
  }

  void OnAcceptFailed(const error_code& error) {
    if (!std::exchange(accept_failing, true)) {
      shared.log.Warning("cannot accept http connections", {{"reason", error.message()}});
    }
    if (error == asio::error::no_descriptors || error == TooManyFiles()) MakeRoom();
    pause.expires_after(kAcceptPause);
    pause.async_wait([this](const error_code&) { Accept(); });
  }

  /// Clients that open connections and request or read nothing do not keep others out.
  void MakeRoom() {
    if (!shared.open.empty()) shared.open.front()->Close();
  }

  // The operations in `context` own the connections, which unregister from `shared` at their end;
  // hence the order of these members.
  ConnectionContext shared;
  asio::io_context context{1};
  std::optional<tcp::acceptor> acceptor;
  asio::steady_timer pause{context};
  bool accept_failing = false;
  tcp::endpoint bound;
  std::optional<ThreadPool> slow;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Create(const std::string& listen,
                                                       HttpHandler handler, Log& log,
                                                       HttpLimits limits) {
  auto impl = std::make_unique<Impl>(std::move(handler), log, limits);
  impl->acceptor = TRY(Listen(impl->context, listen));
  error_code error;
  impl->bound = impl->acceptor->local_endpoint(error);
  if (error) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot listen on {}: {}", listen, error.message()));
  }
  impl->Accept();
  try {
    impl->slow.emplace(kSlow);
    impl->thread = std::thread([raw = impl.get()] { raw->Run(); });
  } catch (const std::system_error& problem) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot start the http thread: {}", problem.what()));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::string HttpServer::address() const { return Address(impl_->bound); }
int HttpServer::port() const { return impl_->bound.port(); }

}  // namespace patchbay
