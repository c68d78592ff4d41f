#include "http/server.h"

#include <pthread.h>
#include <sys/resource.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/format.h"
#include "http/connection.h"
#include "http/listen.h"
#include "os/threads.h"

namespace patchbay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// The pause after a failed accept, such as without free descriptors or memory.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

/// Of the slow thread: Prometheus can wait longer than a kubelet that starts a pod.
constexpr int kNiceness = 10;

}  // namespace

struct HttpServer::Impl {
  Impl(HttpHandler handler, Log& log, HttpLimits limits)
      : shared{std::move(handler), limits, log, slow_context} {}
  ~Impl() {
    context.stop();
    if (thread.joinable()) thread.join();
    while (!shared.open.empty()) shared.open.front()->Close();
    // Slow responses use data of the daemon, so the shutdown waits for a running one. They use only
    // data of this process, so they never hang.
    slow_context.stop();
    if (slow_thread.joinable()) slow_thread.join();
  }

  void RunSlow() {
    pthread_setname_np(pthread_self(), "patchbay-slow");
    // Linux changes only this thread.
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNiceness);
    const auto work = asio::make_work_guard(slow_context);
    // Without a catch as in Run: exceptions of responses do not get here. The one that is left, no
    // memory to pass a connection back, would destroy it on this thread.
    slow_context.run();
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
    namespace errc = boost::system::errc;
    if (error == errc::too_many_files_open || error == errc::too_many_files_open_in_system) {
      MakeRoom();
    }
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
  asio::io_context slow_context{1};
  std::thread thread, slow_thread;
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
  impl->slow_thread = TRY(StartThread([raw = impl.get()] { raw->RunSlow(); }));
  impl->thread = TRY(StartThread([raw = impl.get()] { raw->Run(); }));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::string HttpServer::address() const { return Address(impl_->bound); }

}  // namespace patchbay
