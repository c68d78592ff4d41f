// Input: all bytes that a client sends on one connection.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <ostream>
#include <string>

#include "fuzz.h"
#include "http/connection.h"
#include "http/routes.h"
#include "os/unique_fd.h"

using namespace patchbay;
using boost::asio::ip::tcp;

namespace {

constexpr std::size_t kMaxInput = 32 * 1024;

/// Returns the handler of a daemon, and checks that only valid requests reach it.
HttpHandler Pages(const HttpLimits& limits) {
  Routes routes;
  routes.metrics = [] { return std::string("patchbay_units{resource=\"a/b\"} 1\n"); };
  routes.alive = [] { return CheckResult{true, ""}; };
  routes.ready = [] { return CheckResult{false, "a/b is not registered with the kubelet\n"}; };
  routes.status = [] { return NodeStatus{.version = "1", .node_name = "n", .serial = 4}; };
  return [limits, pages = MakeRoutes(std::move(routes))](const HttpRequest& request) {
    fuzz::Require(request.path.starts_with('/'));
    fuzz::Require(request.path.find('?') == std::string::npos);
    fuzz::Require(request.path.size() <= limits.target_bytes);
    return pages(request);
  };
}

/// Reads what the server has sent so far. Reads nothing after the server has closed.
void Read(int client, std::string& answer) {
  std::array<char, 16 * 1024> bytes;
  ssize_t got = 0;
  while ((got = recv(client, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    answer.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

void RequireAnswer(std::string_view answer) {
  if (answer.empty()) return;  // no request was complete
  fuzz::Require(answer.starts_with("HTTP/1.1 ") || answer.starts_with("HTTP/1.0 "));
  const std::string_view status = answer.substr(9, 4);
  for (const char* known :
       {"200 ", "304 ", "400 ", "404 ", "405 ", "413 ", "414 ", "431 ", "501 ", "503 "}) {
    if (status == known) return;
  }
  fuzz::Require(false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxInput) return 0;
  static std::ostream nowhere(nullptr);
  static Log log(LogLevel::kError, LogFormat::kText, nowhere);
  static const HttpLimits limits;
  boost::asio::io_context slow{1};
  ConnectionContext shared{Pages(limits), limits, log, slow};
  boost::asio::io_context context{1};
  const auto run = [&] {
    // They stop whenever they have nothing to do.
    slow.restart();
    context.restart();
    return slow.poll() + context.poll() > 0;
  };

  std::array<int, 2> ends{};
  fuzz::Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd client(ends[0]);
  std::make_shared<Connection>(tcp::socket(context, tcp::v4(), ends[1]), shared)->Start();

  // Sends all of the input, then closes the sending side. The server must always make progress.
  std::string answer;
  for (std::size_t sent = 0; sent < size && !shared.open.empty();) {
    const auto more = send(client.get(), data + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (more > 0) sent += static_cast<std::size_t>(more);
    run();
    Read(client.get(), answer);
  }
  shutdown(client.get(), SHUT_WR);
  while (!shared.open.empty()) {
    const std::size_t before = answer.size();
    const bool moved = run();
    Read(client.get(), answer);
    fuzz::Require(moved || answer.size() > before);
  }
  while (run()) continue;
  Read(client.get(), answer);
  RequireAnswer(answer);
  return 0;
}
