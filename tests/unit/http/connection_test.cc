#include "http/connection.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "server_fixture.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using test::Client;
using test::Response;

class ConnectionTest : public test::HttpServerFixture {};

TEST_F(ConnectionTest, RespondsToGet) {
  Serve();
  Client client(port());
  const Response response = client.Get("/a/b?c=d&e");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "/a/b");
  EXPECT_EQ(response.header.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(response.header.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(response.header.at("referrer-policy"), "no-referrer");
  const std::string policy = response.header.at("content-security-policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; ")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(policy.find('*'), std::string::npos);
  EXPECT_EQ(response.header.at("cache-control"), "no-store");
}

TEST_F(ConnectionTest, SendsOnlyTheContentLengthForHead) {
  Serve();
  Client client(port());
  const Response response = client.Get("/a", "HEAD");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header.at("content-length"), "2");
  EXPECT_EQ(client.Get("/b").body, "/b");  // no bytes of the first response are left
}

TEST_F(ConnectionTest, KeepsConnectionsAlive) {
  Serve();
  Client client(port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Get("/").status, 200);
  client.Send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n");
  for (const char* body : {"/1", "/2", "/3"}) EXPECT_EQ(client.Read().body, body);
}

TEST_F(ConnectionTest, ClosesAfterTheResponseOnRequest) {
  Serve();
  for (const char* request :
       {"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"}) {
    Client client(port());
    client.Send(request);
    EXPECT_EQ(client.Read().status, 200);
    EXPECT_TRUE(client.AwaitClose());
  }
}

TEST_F(ConnectionTest, AcceptsTheAbsoluteFormOfProxies) {
  Serve();
  Client client(port());
  EXPECT_EQ(client.Get("http://host:1/x?y").body, "/x");
  EXPECT_EQ(client.Get("http://host").body, "/");
}

TEST_F(ConnectionTest, AllowsGetAndHeadOnly) {
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

TEST_F(ConnectionTest, RejectsBodiesAndLongHeaders) {
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
      {"GET / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
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

TEST_F(ConnectionTest, AcceptsRequestsUpToTheLimits) {
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
  constexpr std::size_t kEnd = 4;  // the parser may look beyond the limit for the end of the header
  EXPECT_EQ(status(100, limits.header_bytes - kEnd), good);
  EXPECT_EQ(status(100, limits.header_bytes + 1), 431);
}

TEST_F(ConnectionTest, SurvivesRandomBytes) {
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

TEST_F(ConnectionTest, ExceptionBecomes500) {
  Serve();
  Client client(port());
  EXPECT_EQ(client.Get("/throw").status, 500);
  EXPECT_EQ(client.Get("/throw-later").status, 500);
  EXPECT_EQ(client.Get("/").status, 200);
  server_.reset();
  EXPECT_NE(logged_.str().find("request=/throw "), std::string::npos);
  EXPECT_NE(logged_.str().find("request=/throw-later "), std::string::npos);
}

TEST_F(ConnectionTest, ClosesIfTheRequestIsNotFinished) {
  Serve({.request = milliseconds(50)});
  Client silent(port()), slow(port());
  slow.Send("GET / HTTP/1.1\r\nX: ");
  EXPECT_TRUE(slow.AwaitClose());
  EXPECT_TRUE(silent.AwaitClose());
  EXPECT_EQ(slow.unread() + silent.unread(), "");
}

TEST_F(ConnectionTest, ClosesIfTheRequestArrivesTooSlowly) {
  Serve({.request = milliseconds(50)});
  Client client(port());
  client.Send("GET / HTTP/1.1\r\nX: ");
  // No pause exceeds an idle limit; only a deadline for the whole request ends this.
  Client clock(port());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::size_t sent = 0;
  while (std::chrono::steady_clock::now() < give_up && sent < 5000) {
    client.Send("x");
    ++sent;
    if (clock.Get("/").status != 200) break;  // the round trip is the pause between bytes
  }
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(ConnectionTest, ClosesIdleConnections) {
  Serve({.idle = milliseconds(50)});
  Client client(port());
  EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(ConnectionTest, ClosesIfTheResponseIsNotRead) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  Serve({.response = milliseconds(50)});
  const auto before = descriptors();
  Client client(port(), 4096);
  client.Send("GET /big HTTP/1.1\r\n\r\n");
  // Connections are accepted in order: once this one has a response, the server has the other one
  // too.
  Client probe(port());
  EXPECT_EQ(probe.Get("/").status, 200);
  // The client reads nothing and cannot detect the close. Count descriptors instead: each
  // connection has two in this process, until the server closes its own.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool closed = false;
  while (!closed && std::chrono::steady_clock::now() < give_up) {
    EXPECT_EQ(probe.Get("/").status, 200);
    closed = descriptors() == before + 3;
  }
  EXPECT_TRUE(closed);
}

TEST_F(ConnectionTest, UnsentResponsesAreBounded) {
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

TEST_F(ConnectionTest, SlowResponseDelaysNoOtherConnection) {
  Serve();
  Client slow(port()), other(port());
  slow.Send("GET /slow HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(AwaitMaking());
  EXPECT_EQ(other.Get("/healthz").status, 200);
  { Client(port()).Send("GET /slow HTTP/1.1\r\n\r\n"); }  // disconnects without waiting
  EXPECT_EQ(other.Get("/healthz").status, 200);
  go_on_.release(2);
  EXPECT_EQ(slow.Read().body, "slow");
  EXPECT_EQ(slow.Get("/").body, "/");  // on the same connection
}

TEST_F(ConnectionTest, BoundsTheRequestsThatWaitForSlowResponses) {
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

TEST_F(ConnectionTest, SendsSecurityHeaders) {
  Serve();
  for (const char* path : {"/", "/absent"}) {
    const Response response = Client(port()).Get(path);
    EXPECT_THAT(response.header.at("content-security-policy"),
                testing::AllOf(testing::HasSubstr("default-src 'none'"),
                               testing::HasSubstr("script-src 'self'")));
  }
}

TEST_F(ConnectionTest, RejectsTwoHostHeaders) {
  Serve();
  Client client(port());
  client.Send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
  EXPECT_EQ(client.Read().status, 400);
}

}  // namespace
}  // namespace patchbay
