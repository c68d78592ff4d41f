// One thread runs the io_context, and with it the listener and all connections; the objects are
// behind the lock of ServerState, so that methods of any thread can use them. What concerns
// connections is posted to the thread, and the caller waits.
//
// A second socket is bound to the port for the lifetime of the server, but does not listen. So no
// other process can get the port while the server is stopped, and connecting to it is refused.

#include "api_server_sim/api_server_sim.h"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "api_server_sim/claim_allocation.h"
#include "api_server_sim/connection.h"
#include "api_server_sim/server_state.h"
#include "api_server_sim/tls_context.h"
#include "base/format.h"

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
              Format("cannot listen on 127.0.0.1:{} for the built-in API server: {}; use another "
                     "port",
                     port, error.message()));
}

}  // namespace

class ApiServerSim::Impl {
 public:
  explicit Impl(const ApiServerOptions& options)
      : state(options, [this] { Post([this] { SendEvents(); }); }),
        context{state, options.bookmark_interval, options.max_body_bytes, options.latency} {}

  ~Impl() {
    if (!thread.joinable()) return;
    Run([this] { CloseAll(); });
    work.reset();
    io.stop();
    thread.join();
  }

  Status Open(const ApiServerOptions& options) {
    if (options.tls) tls = TRY(MakeServerContext(*options.tls));
    if (const error_code error = Bind(reserved, options.port)) {
      return CannotListen(options.port, error);
    }
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

  template <class F>
  void Post(F f) {
    asio::post(io, std::move(f));
  }

  /// Runs `f` on the thread and waits until it returns.
  template <class F>
  std::invoke_result_t<F> Run(F f) const {
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

  template <class F>
  Status ChangeClaim(F f) {
    Status result;
    state.Change([&](Api& api) { result = f(api, std::chrono::system_clock::now()); });
    return result;
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

  // The operations in `io` own the connections, which use the state and the context.
  ServerState state;
  ConnectionContext context;
  mutable asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  tcp::socket reserved{io};
  tcp::acceptor acceptor{io};
  TlsContext tls;
  std::uint16_t port = 0;
  std::thread thread;
};

ApiServerSim::ApiServerSim(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServerSim::~ApiServerSim() = default;

Result<std::unique_ptr<ApiServerSim>> ApiServerSim::Create(const ApiServerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  TRY(impl->Open(options));
  return std::unique_ptr<ApiServerSim>(new ApiServerSim(std::move(impl)));
}

Status ApiServerSim::Start() {
  return impl_->Run([this] { return impl_->Listen(); });
}

void ApiServerSim::Stop() {
  impl_->Run([this] { impl_->CloseAll(); });
  impl_->state.NotifyChange();
}

Status ApiServerSim::Restart() {
  Stop();
  return Start();
}

std::uint16_t ApiServerSim::port() const { return impl_->port; }

std::string ApiServerSim::url() const {
  const bool has_tls = impl_->Run([this] { return impl_->tls != nullptr; });
  return Format("{}://127.0.0.1:{}", has_tls ? "https" : "http", impl_->port);
}

HttpResponse ApiServerSim::Call(const std::string& method, const std::string& target,
                                const Json& body) {
  return impl_->state.Call(
      {.method = method, .target = target, .body = body.is_null() ? "" : Dump(body)});
}

Status ApiServerSim::Allocate(const std::string& namespace_name, const std::string& claim,
                              const std::string& node) {
  return impl_->ChangeClaim([&](Api& api, Api::Time now) {
    return AllocateClaim(api, namespace_name, claim, node, now);
  });
}

Status ApiServerSim::Deallocate(const std::string& namespace_name, const std::string& claim) {
  return impl_->ChangeClaim(
      [&](Api& api, Api::Time now) { return DeallocateClaim(api, namespace_name, claim, now); });
}

std::vector<ApiCall> ApiServerSim::Calls() const { return impl_->state.Calls(); }

std::size_t ApiServerSim::Connections() const {
  return impl_->Run([this] { return impl_->context.open.size(); });
}

std::size_t ApiServerSim::Watches() const {
  return impl_->Run([this] {
    const auto& open = impl_->context.open;
    return static_cast<std::size_t>(std::count_if(
        open.begin(), open.end(), [](const Connection* each) { return each->IsWatch(); }));
  });
}

bool ApiServerSim::Await(const std::function<bool()>& predicate,
                         std::chrono::milliseconds timeout) const {
  return impl_->state.Await(predicate, timeout);
}

void ApiServerSim::SetTokens(std::set<std::string> tokens) {
  impl_->state.SetTokens(std::move(tokens));
}

Status ApiServerSim::SetTls(const TlsIdentity& identity) {
  TlsContext context = TRY(MakeServerContext(identity));
  impl_->Run([&] { impl_->tls = std::move(context); });
  return {};
}

void ApiServerSim::SetFaults(std::vector<Fault> faults) {
  impl_->state.SetFaults(std::move(faults));
}

int ApiServerSim::FaultsLeft() const { return impl_->state.FaultsLeft(); }

void ApiServerSim::SetProfile(ApiProfile profile) {
  impl_->state.Change([&](Api& api) { api.SetProfile(profile); });
}

void ApiServerSim::SetFeatures(const ApiFeatures& features) {
  impl_->state.Change([&](Api& api) { api.SetFeatures(features); });
}

void ApiServerSim::Compact(ExpiredWatch form) {
  impl_->state.Change([&](Api& api) {
    api.Compact();
    api.SetExpiredWatch(form);
  });
}

void ApiServerSim::EndWatches(WatchEnd end) {
  impl_->Run([&] {
    impl_->EachConnection([&](Connection& connection) {
      if (!connection.IsWatch()) return;
      if (end == WatchEnd::kReset) return connection.Close(/*resets=*/true);
      connection.EndWatch();
    });
  });
}

void ApiServerSim::PauseWatches(bool paused) {
  impl_->Run([&] {
    impl_->context.are_watches_paused = paused;
    impl_->SendEvents();
  });
}

void ApiServerSim::SendBookmarks() {
  impl_->Run(
      [&] { impl_->EachConnection([](Connection& connection) { connection.SendBookmark(); }); });
}

}  // namespace patchbay::api_sim
