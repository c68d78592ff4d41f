#include "http/server.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <random>
#include <semaphore>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "server_fixture.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using test::Client;
using test::Response;

class HttpServerTest : public test::HttpServerFixture {};

/// Lets the calling thread, and those that it starts, create no sockets of IPv6, as on a host
/// without it. Returns false if that is not possible.
bool DisableIpv6() {
  constexpr auto kFamily = static_cast<unsigned>(offsetof(seccomp_data, args));
  constexpr auto kCall = static_cast<unsigned>(offsetof(seccomp_data, nr));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCall),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFamily),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(HttpServerTest, StopsWhileASlowResponseIsMade) {
  Serve();
  Client slow(port()), next(port()), idle(port());
  slow.Send("GET /slow HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(AwaitMaking());
  next.Send("GET /slow HTTP/1.1\r\n\r\n");
  EXPECT_EQ(idle.Get("/").status, 200);
  std::thread end([this] { server_.reset(); });
  for (Client* client : {&slow, &next, &idle}) EXPECT_TRUE(client->AwaitClose());
  go_on_.release(2);
  end.join();
}

TEST_F(HttpServerTest, RespondsWhileManyConnectionsAreIdle) {
  Serve();
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<Client>(port()));
  EXPECT_EQ(Client(port()).Get("/healthz").status, 200);
  for (const auto& client : idle) EXPECT_EQ(client->Get("/").status, 200);
}

TEST_F(HttpServerTest, ClosesTheConnectionWithoutARequestLongestForANewOne) {
  Serve({.connections = 3});
  Client first(port()), second(port()), third(port());
  EXPECT_EQ(first.Get("/").status, 200);
  EXPECT_EQ(second.Get("/").status, 200);
  EXPECT_EQ(third.Get("/").status, 200);
  EXPECT_EQ(first.Get("/").status, 200);
  EXPECT_EQ(Client(port()).Get("/").status, 200);
  EXPECT_TRUE(second.AwaitClose());
  EXPECT_EQ(first.Get("/").status, 200);
  EXPECT_EQ(third.Get("/").status, 200);
}

TEST_F(HttpServerTest, ClosesConnectionsThatReadNothingBeforeANewOne) {
  Serve({.connections = 3});
  Client slow(port(), 4096), slower(port(), 4096);
  for (Client* client : {&slow, &slower}) client->Send("GET /big HTTP/1.1\r\n\r\n");
  EXPECT_EQ(Client(port()).Get("/").status, 200);  // both connections are busy now
  Client probe(port());
  EXPECT_EQ(Client(port()).Get("/").status, 200);
  EXPECT_EQ(Client(port()).Get("/").status, 200);
  EXPECT_EQ(probe.Get("/healthz").status, 200);
}

TEST_F(HttpServerTest, RespondsBeyondTheConnectionLimit) {
  Serve();
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(std::make_unique<Client>(port()));
  EXPECT_EQ(Client(port()).Get("/healthz").status, 200);
  EXPECT_TRUE(idle.front()->AwaitClose());
}

TEST_F(HttpServerTest, StopsWithOpenConnections) {
  Serve();
  Client silent(port()), half(port()), idle(port()), slow(port(), 4096);
  half.Send("GET / HT");
  slow.Send("GET /big HTTP/1.1\r\n\r\n");
  EXPECT_EQ(idle.Get("/").status, 200);
  server_.reset();
  for (Client* client : {&silent, &half, &idle, &slow}) EXPECT_TRUE(client->AwaitClose());
}

TEST_F(HttpServerTest, BindsItsPortAgainImmediately) {
  Serve();
  const std::string address = server_->address();
  Client client(port());
  EXPECT_EQ(client.Get("/").status, 200);
  server_.reset();
  const auto again = HttpServer::Create(
      address, [](const auto&) { return HttpResponse(); }, log_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->address(), address);
}

TEST_F(HttpServerTest, AcceptsIpv4OnTheAnyAddress) {
  for (const char* listen : {"[::]:0", ":0", "0.0.0.0:0"}) {
    const auto server = HttpServer::Create(
        listen, [](const auto&) { return HttpResponse(); }, log_);
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_EQ(Client(test::PortOf(**server)).Get("/").status, 200) << listen;
  }
}

TEST_F(HttpServerTest, TheAnyAddressNeedsNoIpv6) {
  bool is_disabled = false;
  Result<std::unique_ptr<HttpServer>> server = nullptr;
  std::thread([&] {
    is_disabled = DisableIpv6();
    server = HttpServer::Create(
        "[::]:0", [](const auto&) { return HttpResponse(); }, log_);
  }).join();
  ASSERT_TRUE(is_disabled);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_TRUE((*server)->address().starts_with("0.0.0.0:")) << (*server)->address();
  EXPECT_EQ(Client(test::PortOf(**server)).Get("/").status, 200);
}

TEST_F(HttpServerTest, ReportsInvalidAddresses) {
  Serve();
  const auto create = [&](const std::string& listen) {
    return HttpServer::Create(
        listen, [](const auto&) { return HttpResponse(); }, log_);
  };
  for (const char* listen :
       {"", "9478", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:1x", "127.0.0.1:65536",
        "127.0.0.1:-1", "localhost:1", ":::1", "[::1:1", "[127.0.0.1]:1", "\xff:1"}) {
    const auto server = create(listen);
    ASSERT_FALSE(server) << listen;
    EXPECT_EQ(server.error().kind, ErrorKind::kInvalid) << listen;
  }
  const auto taken = create(server_->address());
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(taken.error().message.find("Address already in use; is it another Patchbay?"),
            std::string::npos);
}

int ScrapeWithoutThreads() {
  std::ostringstream logged;
  Log log(LogLevel::kDebug, LogFormat::kText, logged);
  const auto server = HttpServer::Create(
      "127.0.0.1:0",
      [](const HttpRequest&) -> HttpAnswer { return [] { return HttpResponse{.body = "made"}; }; },
      log);
  if (!server || !test::ForbidThreads()) return 0;
  Client client(test::PortOf(**server));
  return client.Get("/metrics").body == "made" ? 0 : 2;
}

TEST(HttpServerDeathTest, ScrapesNeedNoNewThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(ScrapeWithoutThreads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace patchbay
