// One thread runs the io_context, and with it the listener and all connections; the objects are
// behind the lock of ServerState, so that methods of any thread can use them. What concerns
// connections is posted to the thread, and the caller waits.
//
// A second socket is bound to the port for the lifetime of the server, but does not listen. So no
// other process can get the port while the server is stopped, and connecting to it is refused.

#include "sim/api_server/api_server_sim.h"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <future>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/format.h"
#include "sim/api_server/connection.h"

namespace patchbay::api_sim {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Opens a socket of the port on the loopback address, which its programs do not inherit.
template <class Socket>
error_code Bind(Socket& socket, std::uint16_t port) {
  error_code error;
  socket.open(tcp::v4(), error);
  if (error) return error;
  fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  socket.set_option(asio::socket_base::reuse_address(true), error);
  if (error) return error;
  socket.bind({asio::ip::address_v4::loopback(), port}, error);
  return error;
}

Failure CannotListen(std::uint16_t port, const error_code& error) {
  return Fail(ErrorKind::kUnavailable,
              Format("cannot listen on 127.0.0.1:{} for the built-in API server: {}; end the "
                     "program that uses the port",
                     port, error.message()));
}

/// Returns a context for TLS 1.2 and later.
Result<TlsContext> MakeServerContext(const TlsIdentity& identity) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  error_code error;
  context->use_certificate_chain(asio::buffer(identity.certificate), error);
  if (!error) context->use_private_key(asio::buffer(identity.key), asio::ssl::context::pem, error);
  if (!error) return context;
  return Fail(ErrorKind::kInvalid,
              Format("cannot use the certificate of the API server: {}; it and its key must be in "
                     "PEM",
                     error.message()));
}

}  // namespace

class ApiServerSim::Network {
 public:
  Network(ServerState& state, const ApiServerOptions& options)
      : context{state, options.bookmark_interval, options.latency} {}

  /// Closes all connections and ends the thread.
  void End() {
    if (!thread.joinable()) return;
    Run([this] { CloseAll(); });
    work.reset();
    io.stop();
    thread.join();
  }

  Status Open(const std::optional<TlsIdentity>& identity) {
    if (identity) tls = TRY(MakeServerContext(*identity));
    if (const error_code error = Bind(reserved, 0)) return CannotListen(0, error);
    port = reserved.local_endpoint().port();
    try {
      thread = std::thread([this] {
        pthread_setname_np(pthread_self(), "api-server-sim");
        io.run();
      });
    } catch (const std::system_error& problem) {
      return Fail(ErrorKind::kUnavailable,
                  Format("cannot start the thread of the built-in API server: {}; raise the limit "
                         "of processes",
                         problem.what()));
    }
    return {};
  }

  /// Runs `f` on the thread and waits until it returns.
  template <class F>
  std::invoke_result_t<F> Run(F f) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(f));
    auto result = task.get_future();
    asio::post(io, [&task] { task(); });
    return result.get();
  }

  Status Listen() {
    if (acceptor.is_open()) return {};
    error_code error = Bind(acceptor, port);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      acceptor.close();
      return CannotListen(port, error);
    }
    Accept();
    return {};
  }

  void Accept() {
    acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
        error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        std::make_shared<Connection>(std::move(socket), tls, context)->Start();
      }
      Accept();
    });
  }

  void CloseAll() {
    error_code ignored;
    acceptor.close(ignored);
    EachConnection([](Connection& connection) { connection.Close(); });
  }

  /// Calls `f` for each connection; `f` may close it.
  template <class F>
  void EachConnection(F f) {
    const std::vector<Connection*> connections(context.open.begin(), context.open.end());
    for (Connection* connection : connections) f(*connection);
  }

  void SendEvents() {
    EachConnection([](Connection& connection) { connection.SendEvents(); });
  }

  // The operations in `io` own the connections, which use the context.
  ConnectionContext context;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  tcp::socket reserved{io};
  tcp::acceptor acceptor{io};
  TlsContext tls;
  std::uint16_t port = 0;
  std::thread thread;
};

ApiServerSim::ApiServerSim(const ApiServerOptions& options)
    : ServerState(options.profile, options.tokens),
      network_(std::make_unique<Network>(*this, options)) {}
ApiServerSim::~ApiServerSim() { network_->End(); }

void ApiServerSim::OnChange() {
  asio::post(network_->io, [this] { network_->SendEvents(); });
}

Result<std::unique_ptr<ApiServerSim>> ApiServerSim::Create(const ApiServerOptions& options) {
  auto server = std::unique_ptr<ApiServerSim>(new ApiServerSim(options));
  TRY(server->network_->Open(options.tls));
  return server;
}

Status ApiServerSim::Start() {
  return network_->Run([this] { return network_->Listen(); });
}

void ApiServerSim::Stop() {
  network_->Run([this] { network_->CloseAll(); });
  NotifyChange();
}

std::uint16_t ApiServerSim::port() const { return network_->port; }

std::string ApiServerSim::url() const {
  return Format("{}://127.0.0.1:{}", network_->tls ? "https" : "http", network_->port);
}

std::size_t ApiServerSim::Watches() const {
  return network_->Run([this] {
    return static_cast<std::size_t>(
        std::ranges::count_if(network_->context.open, &Connection::IsWatch));
  });
}

void ApiServerSim::EndWatches(WatchEnd end) {
  network_->Run([&] {
    network_->EachConnection([&](Connection& connection) {
      if (!connection.IsWatch()) return;
      if (end == WatchEnd::kReset) return connection.Close(/*resets=*/true);
      connection.EndWatch();
    });
  });
}

void ApiServerSim::PauseWatches(bool paused) {
  network_->Run([&] {
    network_->context.are_watches_paused = paused;
    network_->SendEvents();
  });
}

}  // namespace patchbay::api_sim
