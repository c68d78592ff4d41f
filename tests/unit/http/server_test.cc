#include "http/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <random>
#include <semaphore>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "client.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using test::Client;
using test::Response;

class HttpServerTest : public ::testing::Test {
 protected:
  void Serve(HttpLimits limits = {}) {
    const auto handler = [this](const HttpRequest& request) -> HttpAnswer {
      if (request.path == "/throw") throw std::runtime_error("no\nway");
      if (request.path == "/throw-later") {
        return []() -> HttpResponse { throw std::runtime_error("not\nnow"); };
      }
      if (request.path == "/slow") return [this] { return MakeSlowly(); };
      if (request.path == "/big") {
        return HttpResponse{.body = std::string(std::size_t{64} << 20, 'x')};
      }
      return HttpResponse{.body = request.method + " " + request.path + " " + request.query};
    };
    auto created = HttpServer::Create("127.0.0.1:0", handler, log_, limits);
    ASSERT_TRUE(created) << created.error().message;
    server_ = *std::move(created);
  }
  int port() const { return server_->port(); }

  /// Takes until the test lets it go on.
  HttpResponse MakeSlowly() {
    making_.release();
    const bool may_go_on = go_on_.try_acquire_for(std::chrono::seconds(10));
    return {.body = may_go_on ? "slow" : "nobody let it go on"};
  }
  bool AwaitMaking() { return making_.try_acquire_for(std::chrono::seconds(10)); }

  std::counting_semaphore<> making_{0}, go_on_{0};
  std::ostringstream logged_;
  Log log_{LogLevel::kDebug, LogFormat::kText, logged_};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersGet) {
  Serve();
  Client client(port());
  const Response response = client.Get("/a/b?c=d&e");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "GET /a/b c=d&e");
  EXPECT_EQ(response.header.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(response.header.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(response.header.at("referrer-policy"), "no-referrer");
  const std::string policy = response.header.at("content-security-policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; ")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(policy.find('*'), std::string::npos);
  EXPECT_EQ(response.header.at("cache-control"), "no-store");
}

TEST_F(HttpServerTest, SendsNoBodyForHeadButItsLength) {
  Serve();
  Client client(port());
  const Response response = client.Get("/a", "HEAD");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header.at("content-length"), "8");
  EXPECT_EQ(client.Get("/b").body, "GET /b ");  // nothing of the first answer is in the way
}

TEST_F(HttpServerTest, KeepsConnectionsAlive) {
  Serve();
  Client client(port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Get("/").status, 200);
  client.Send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n");
  for (const char* body : {"GET /1 ", "GET /2 ", "GET /3 "}) EXPECT_EQ(client.Read().body, body);
}

TEST_F(HttpServerTest, ClosesWhereTheClientWantsIt) {
  Serve();
  for (const char* request :
       {"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"}) {
    Client client(port());
    client.Send(request);
    EXPECT_EQ(client.Read().status, 200);
    EXPECT_TRUE(client.AwaitClose());
  }
}

TEST_F(HttpServerTest, TakesTheAbsoluteFormOfProxies) {
  Serve();
  Client client(port());
  EXPECT_EQ(client.Get("http://host:1/x?y").body, "GET /x y");
  EXPECT_EQ(client.Get("http://host").body, "GET / ");
}

TEST_F(HttpServerTest, AllowsGetAndHeadOnly) {
  Serve();
  Client client(port());
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"}) {
    const Response response = client.Get("/", method);
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(response.header.at("allow"), "GET, HEAD");
  }
  client.Send("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(client.Read().status, 405);
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(HttpServerTest, RefusesWhatItWillNotRead) {
  Serve();
  const std::string long_header = "GET / HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  std::string many_headers = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 5000; ++i) many_headers += "X: y\r\n";
  struct Case {
    std::string bytes;
    int status;
  };
  const Case cases[] = {
      {"hello\r\n\r\n", 400},
      {"\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03", 400},
      {"GET nowhere HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 413},
      {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 413},
      {"GET /" + std::string(3000, 'x') + " HTTP/1.1\r\n\r\n", 414},
      {long_header, 431},
      {many_headers, 431},
      {"GET /" + std::string(100000, 'x'), 431},
  };
  for (const Case& refused : cases) {
    Client client(port());
    client.Send(refused.bytes);
    EXPECT_EQ(client.Read().status, refused.status) << refused.bytes.substr(0, 80);
    EXPECT_TRUE(client.AwaitClose());
    EXPECT_EQ(client.unread(), "");
  }
  EXPECT_EQ(Client(port()).Get("/").status, 200);
}

TEST_F(HttpServerTest, TakesRequestsUpToItsLimitsAndNoLongerOnes) {
  Serve();
  const HttpLimits limits;
  const auto status = [&](std::size_t target_bytes, std::size_t header_bytes) {
    const std::string fields = "X: " + std::string(header_bytes - 7, 'y') + "\r\n\r\n";
    Client client(port());
    client.Send("GET /" + std::string(target_bytes - 1, 'x') + " HTTP/1.1\r\n" + fields);
    return client.Read().status;
  };
  const int good = status(100, 100);
  EXPECT_EQ(status(limits.target_bytes, 100), good);
  EXPECT_EQ(status(limits.target_bytes + 1, 100), 414);
  constexpr std::size_t kEnd =
      4;  // the parser may want to see beyond the limit that this is the end
  EXPECT_EQ(status(100, limits.header_bytes - kEnd), good);
  EXPECT_EQ(status(100, limits.header_bytes + 1), 431);
}

TEST_F(HttpServerTest, SurvivesAnyBytes) {
  Serve({.linger = milliseconds(10)});
  const std::string valid = "GET /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = valid;
    for (unsigned n = random() % 8; n > 0; --n) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.erase(at, 1 + random() % 4); break;
        default: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 20));
      }
      if (bytes.empty()) bytes = "\n";
    }
    Client(port()).Send(bytes);
  }
  EXPECT_EQ(Client(port()).Get("/").status, 200);
}

TEST_F(HttpServerTest, TurnsAnExceptionInto500) {
  Serve();
  Client client(port());
  EXPECT_EQ(client.Get("/throw").status, 500);
  EXPECT_EQ(client.Get("/throw-later").status, 500);
  EXPECT_EQ(client.Get("/").status, 200);
  server_.reset();
  EXPECT_NE(logged_.str().find("request=/throw "), std::string::npos);
  EXPECT_NE(logged_.str().find("request=/throw-later "), std::string::npos);
}

TEST_F(HttpServerTest, ClosesOnWhoeverDoesNotFinishTheRequest) {
  Serve({.request = milliseconds(50)});
  Client silent(port()), slow(port());
  slow.Send("GET / HTTP/1.1\r\nX: ");
  EXPECT_TRUE(slow.AwaitClose());
  EXPECT_TRUE(silent.AwaitClose());
  EXPECT_EQ(slow.unread() + silent.unread(), "");
}

TEST_F(HttpServerTest, ClosesOnWhoeverDripsTheRequest) {
  Serve({.request = milliseconds(50)});
  Client client(port());
  client.Send("GET / HTTP/1.1\r\nX: ");
  // Each byte comes in time for an idle limit; only a deadline of the whole ends this.
  Client clock(port());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::size_t sent = 0;
  while (std::chrono::steady_clock::now() < give_up && sent < 5000) {
    client.Send("x");
    ++sent;
    if (clock.Get("/").status != 200) break;  // its own turn-around paces the drip
  }
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(HttpServerTest, ClosesIdleConnections) {
  Serve({.idle = milliseconds(50)});
  Client client(port());
  EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(HttpServerTest, ClosesOnWhoeverDoesNotTakeTheResponse) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  Serve({.response = milliseconds(50)});
  Client probe(port());
  EXPECT_EQ(probe.Get("/").status, 200);
  const auto before = descriptors();
  Client client(port(), 4096);
  client.Send("GET /big HTTP/1.1\r\n\r\n");
  // The client reads nothing, so it cannot see the close; the server's descriptor can be counted.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool was_open = false, closed = false;
  while (!closed && std::chrono::steady_clock::now() < give_up) {
    EXPECT_EQ(probe.Get("/").status, 200);
    was_open = was_open || descriptors() == before + 2;
    closed = was_open && descriptors() == before + 1;
  }
  EXPECT_TRUE(closed);
}

TEST_F(HttpServerTest, KeepsOnlySoMuchForWhoeverIsSlow) {
  Serve({.response_bytes = 1 << 20});
  Client first(port(), 4096), second(port(), 4096);
  for (Client* client : {&first, &second}) {
    client->Send("GET /big HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client->Read(/*without_body=*/true).status, 200);
  }
  EXPECT_TRUE(first.AwaitClose());
  EXPECT_LT(first.unread().size(), std::size_t{64} << 20);
  EXPECT_EQ(Client(port()).Get("/").status, 200);
}

TEST_F(HttpServerTest, AnswersOthersWhileASlowResponseIsMade) {
  Serve();
  Client slow(port()), other(port());
  slow.Send("GET /slow HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(AwaitMaking());
  EXPECT_EQ(other.Get("/healthz").status, 200);
  { Client(port()).Send("GET /slow HTTP/1.1\r\n\r\n"); }  // and does not wait
  EXPECT_EQ(other.Get("/healthz").status, 200);
  go_on_.release(2);
  EXPECT_EQ(slow.Read().body, "slow");
  EXPECT_EQ(slow.Get("/").body, "GET / ");  // on the same connection
}

TEST_F(HttpServerTest, LetsOnlySoManyWaitForSlowResponses) {
  Serve({.waiting = 1});
  Client slow(port()), other(port());
  slow.Send("GET /slow HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(AwaitMaking());
  const Response refused = other.Get("/slow");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header.at("retry-after"), "1");
  EXPECT_EQ(other.Get("/").status, 200);
  go_on_.release(2);
  EXPECT_EQ(slow.Read().body, "slow");
  EXPECT_EQ(other.Get("/slow").body, "slow");
}

TEST_F(HttpServerTest, EndsWhileASlowResponseIsMade) {
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

TEST_F(HttpServerTest, KeepsItsSocketsFromOtherPrograms) {
  Serve();
  Client client(port());
  EXPECT_EQ(client.Get("/").status, 200);
  int sockets = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sin_family != AF_INET || ntohs(address.sin_port) != port()) continue;
    ++sockets;
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_EQ(sockets, 2);  // the listener and the connection
}

TEST_F(HttpServerTest, AnswersWhileManyConnectionsAreIdle) {
  Serve();
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<Client>(port()));
  EXPECT_EQ(Client(port()).Get("/healthz").status, 200);
  for (const auto& client : idle) EXPECT_EQ(client->Get("/").status, 200);
}

TEST_F(HttpServerTest, MakesRoomByClosingTheLongestIdle) {
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
  Serve({.first_request = std::chrono::hours(1), .connections = 3});
  Client slow(port(), 4096), slower(port(), 4096);
  for (Client* client : {&slow, &slower}) client->Send("GET /big HTTP/1.1\r\n\r\n");
  EXPECT_EQ(Client(port()).Get("/").status, 200);  // by now both are busy
  Client probe(port());
  EXPECT_EQ(Client(port()).Get("/").status, 200);
  EXPECT_EQ(Client(port()).Get("/").status, 200);
  EXPECT_EQ(probe.Get("/healthz").status, 200);
}

TEST_F(HttpServerTest, ForbidsForeignScripts) {
  Serve();
  for (const char* path : {"/", "/absent"}) {
    const Response response = Client(port()).Get(path);
    EXPECT_THAT(response.header.at("content-security-policy"),
                testing::AllOf(testing::HasSubstr("default-src 'none'"),
                               testing::HasSubstr("script-src 'self'")));
  }
}

TEST_F(HttpServerTest, RefusesTwoHosts) {
  Serve();
  Client client(port());
  client.Send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
  EXPECT_EQ(client.Read().status, 400);
}

TEST_F(HttpServerTest, AnswersBeyondTheCap) {
  Serve();
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(std::make_unique<Client>(port()));
  EXPECT_EQ(Client(port()).Get("/healthz").status, 200);
  EXPECT_TRUE(idle.front()->AwaitClose());
}

TEST_F(HttpServerTest, EndsWithOpenConnections) {
  Serve();
  Client silent(port()), half(port()), idle(port()), slow(port(), 4096);
  half.Send("GET / HT");
  slow.Send("GET /big HTTP/1.1\r\n\r\n");
  EXPECT_EQ(idle.Get("/").status, 200);
  server_.reset();
  for (Client* client : {&silent, &half, &idle, &slow}) EXPECT_TRUE(client->AwaitClose());
}

TEST_F(HttpServerTest, TakesItsPortAgainAtOnce) {
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

TEST_F(HttpServerTest, TakesIpv4OnTheAnyAddress) {
  for (const char* listen : {"[::]:0", ":0", "0.0.0.0:0"}) {
    const auto server = HttpServer::Create(
        listen, [](const auto&) { return HttpResponse(); }, log_);
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_GT((*server)->port(), 0);
    EXPECT_EQ(Client((*server)->port()).Get("/").status, 200) << listen;
  }
}

TEST_F(HttpServerTest, SaysWhatIsWrongWithTheAddress) {
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

}  // namespace
}  // namespace patchbay
