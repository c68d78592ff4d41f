// Sockets of one server and their calls, by real clients that send and receive bytes.

#include "rpc/unix_server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/format.h"
#include "rpc/messages.h"
#include "rpc/socket_file.h"
#include "rpc/unary_reply.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kPatience = 60s;

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string Text(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

/// The state of one call that the test finishes.
class HeldCall final : public ServerCall::Events {
 public:
  explicit HeldCall(ServerCall& call) : call_(call) { call.SetEvents(*this); }

  void OnWritten(bool ok) override { Add(ok ? "written" : "not written"); }
  void OnCancel() override {
    Add("canceled");
    call_.Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { Add("done"); }

  ServerCall& call() { return call_; }
  /// Returns the events until `event`, which must come.
  std::vector<std::string> Until(const std::string& event) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] {
      return std::find(events_.begin(), events_.end(), event) != events_.end();
    }));
    return events_;
  }

 private:
  void Add(const char* event) {
    const std::lock_guard lock(mutex_);
    events_.emplace_back(event);
    changed_.notify_all();
  }

  ServerCall& call_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

/// A client with a connection of its own, which makes one call.
class Client {
 public:
  explicit Client(const std::string& socket) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), own);
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
  }

  /// Returns the response, or the code of the error and its text.
  std::string Call(const std::string& method, const std::string& request) {
    grpc::CompletionQueue queue;
    grpc::GenericStub stub(channel_);
    const auto call = stub.PrepareUnaryCall(&context_, method, Bytes(request), &queue);
    grpc::ByteBuffer response;
    grpc::Status status;
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    if (status.ok()) return Text(response);
    return Format("{} {}", static_cast<int>(status.error_code()), status.error_message());
  }
  void Cancel() { context_.TryCancel(); }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
};

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// Returns the number of file descriptors of this process that belong to the socket at `path`.
int DescriptorsOf(const std::string& path) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    sockaddr_un address{};
    socklen_t size = sizeof address - 1;
    const int fd = std::stoi(entry.path().filename());
    count += getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
             path == address.sun_path;
  }
  return count;
}

class UnixServerTest : public testing::Test {
 protected:
  /// Serves `socket`, whose method "/s/Name" responds with `name` and the request.
  std::unique_ptr<UnixServer> ServeName(const std::string& socket, const std::string& name) {
    return Serve(socket, {{"/s/Name", {100, [name](ServerCall& call) {
                                         const std::string text = name + Text(call.request());
                                         UnaryReply::Begin(call, [](auto, auto) {
                                         })->Finish({}, [&] { return Bytes(text); });
                                       }}}});
  }
  /// Serves a socket whose method "/s/Hold" does not respond by itself.
  std::unique_ptr<UnixServer> ServeHeld(const std::string& socket) {
    return Serve(socket, {{"/s/Hold", {100, [this](ServerCall& call) {
                                         const std::lock_guard lock(mutex_);
                                         held_.push_back(std::make_unique<HeldCall>(call));
                                         changed_.notify_all();
                                       }}}});
  }
  std::unique_ptr<UnixServer> Serve(const std::string& socket, RpcHandlers handlers) {
    auto server = UnixServer::Start(rpc_, tree_.path(socket), std::move(handlers));
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
  }
  std::string Call(const std::string& socket, const std::string& request,
                   const std::string& method = "/s/Name") {
    return Client(tree_.path(socket)).Call(method, request);
  }
  /// Waits until the listener is the only file descriptor of a socket.
  bool AwaitNoConnections(const std::string& socket) const {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (DescriptorsOf(tree_.path(socket)) != 1) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  /// Waits for the first call of a held method.
  HeldCall& Held() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return !held_.empty(); }));
    return *held_.front();
  }

  std::shared_ptr<RpcServer> rpc_ = test::StartRpc();
  test::TempTree tree_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<HeldCall>> held_;
};

TEST_F(UnixServerTest, EachSocketHasItsHandlers) {
  const auto a = ServeName("a.sock", "a:"), b = ServeName("b.sock", "b:");
  EXPECT_EQ(Call("a.sock", "1"), "a:1");
  EXPECT_EQ(Call("b.sock", "2"), "b:2");
  EXPECT_EQ(Call("a.sock", ""), "a:");
}

TEST_F(UnixServerTest, SendsOnlyTheFirstResponse) {
  std::vector<bool> sent;
  auto server = Serve(
      "a.sock", {{"/s/Name", {100, [&sent](ServerCall& call) {
                                const auto reply = UnaryReply::Begin(call, [](auto, auto) {});
                                for (const char* text : {"first", "second"}) {
                                  sent.push_back(reply->Finish({}, [=] { return Bytes(text); }));
                                }
                              }}}});
  EXPECT_EQ(Call("a.sock", ""), "first");
  server.reset();  // waits for the handler
  EXPECT_THAT(sent, ElementsAre(true, false));
}

TEST_F(UnixServerTest, ManyClientsAtOnceReachTheirSocket) {
  constexpr int kSockets = 8, kCalls = 50;
  std::vector<std::unique_ptr<UnixServer>> servers;
  std::vector<std::thread> clients;
  for (int i = 0; i < kSockets; ++i)
    servers.push_back(ServeName(Format("{}.sock", i), Format("{}:", i)));
  for (int i = 0; i < kSockets; ++i) {
    clients.emplace_back([this, i] {
      // New connections reuse the numbers of file descriptors of those that ended.
      for (int call = 0; call < kCalls; ++call) {
        EXPECT_EQ(Call(Format("{}.sock", i), Format("{}", call)), Format("{}:{}", i, call));
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(UnixServerTest, RejectsWhatItDoesNotServe) {
  const auto a = ServeName("a.sock", "a:");
  EXPECT_THAT(Call("a.sock", "", "/s/Other"), HasSubstr("12 "));
  EXPECT_EQ(Call("a.sock", std::string(101, 'x')), "8 the request is larger than 100 bytes");
  EXPECT_EQ(Call("a.sock", std::string(100, 'x')), "a:" + std::string(100, 'x'));
}

TEST_F(UnixServerTest, ReplacesASocketAndNothingElse) {
  auto first = ServeName("a.sock", "first:");
  const auto second = ServeName("a.sock", "second:");
  EXPECT_EQ(Call("a.sock", ""), "second:");
  tree_.File("file", "content");
  const auto refused = UnixServer::Start(rpc_, tree_.path("file"), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("Address already in use"));
  EXPECT_TRUE(std::filesystem::is_regular_file(tree_.path("file")));
}

TEST_F(UnixServerTest, CancelsCallsWhenItStops) {
  auto server = ServeHeld("a.sock");
  auto response = std::async(std::launch::async, [this] { return Call("a.sock", "", "/s/Hold"); });
  HeldCall& held = Held();
  server.reset();
  EXPECT_THAT(held.Until("done"), ElementsAre("canceled", "done"));
  EXPECT_THAT(response.get(), testing::AnyOf(HasSubstr("14 "), HasSubstr("1 ")));
  EXPECT_FALSE(std::filesystem::exists(tree_.path("a.sock")));
}

TEST_F(UnixServerTest, PendingCallsCanEndWithinTheGracePeriod) {
  auto server = ServeHeld("a.sock");
  auto response = std::async(std::launch::async, [this] { return Call("a.sock", "", "/s/Hold"); });
  HeldCall& held = Held();
  server->BeginStop();
  held.call().Finish(Bytes("in time"));
  server.reset();
  EXPECT_EQ(response.get(), "in time");
  EXPECT_THAT(held.Until("done"), ElementsAre("done"));
}

TEST_F(UnixServerTest, OtherSocketsContinueWhenOneStops) {
  auto a = ServeHeld("a.sock");
  const auto b = ServeName("b.sock", "b:");
  Client client(tree_.path("b.sock"));
  a.reset();
  EXPECT_EQ(client.Call("/s/Name", ""), "b:");
}

TEST_F(UnixServerTest, ReportsACallThatTheClientCanceled) {
  const auto server = ServeHeld("a.sock");
  Client client(tree_.path("a.sock"));
  auto response = std::async(std::launch::async, [&] { return client.Call("/s/Hold", ""); });
  HeldCall& held = Held();
  client.Cancel();
  EXPECT_THAT(held.Until("done"), ElementsAre("canceled", "done"));
  EXPECT_THAT(response.get(), HasSubstr("1 "));
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
std::string Frame(char type, char flags, char stream, const std::string& payload) {
  const auto size = static_cast<char>(payload.size());
  return std::string{0, 0, size, type, flags, 0, 0, 0, stream} + payload;
}

/// A field of HTTP/2 without compression (RFC 7541, section 6.2.2).
std::string Field(const std::string& name, const std::string& value) {
  return std::string{0, static_cast<char>(name.size())} + name +
         std::string{static_cast<char>(value.size())} + value;
}

/// Returns the bytes that a client sends first. It allows large responses.
std::string Preface() {
  constexpr char kSettings = 4, kWindowUpdate = 8;
  const std::string window{0x7f, 0, 0, 0}, initial_window{0, 4};
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, initial_window + window) +
         Frame(kWindowUpdate, 0, 0, window);
}

/// Returns a call of `method` with an empty message.
std::string Request(const std::string& method, char stream) {
  constexpr char kData = 0, kHeaders = 1, kEndStream = 1, kEndHeaders = 4;
  return Frame(kHeaders, kEndHeaders, stream,
               Field(":method", "POST") + Field(":scheme", "http") + Field(":path", method) +
                   Field(":authority", "localhost") + Field("content-type", "application/grpc") +
                   Field("te", "trailers")) +
         Frame(kData, kEndStream, stream, std::string(5, 0));
}

TEST_F(UnixServerTest, StopsAlthoughAClientDoesNotRead) {
  for (const bool closes_its_half : {false, true}) {
    auto server = ServeHeld("a.sock");
    const auto client = Connect(tree_.path("a.sock"));
    ASSERT_TRUE(client);
    const std::string request = Preface() + Request("/s/Hold", 1);
    ASSERT_EQ(send(client->get(), request.data(), request.size(), 0), std::ssize(request));
    HeldCall& held = Held();
    held.call().Write(Bytes(std::string(8 << 20, 'x')));
    if (closes_its_half) shutdown(client->get(), SHUT_WR);
    server.reset();
    EXPECT_THAT(held.Until("done"), testing::Contains("canceled"));
    held_.clear();
  }
}

/// A socket of a stopped server still has the requests that its clients sent.
TEST_F(UnixServerTest, TheProcessCanStopWhileClientsCall) {
  constexpr int kRounds = 100, kClients = 4;
  std::string requests = Preface();
  for (char stream = 1; stream < 100; stream = static_cast<char>(stream + 2)) {
    requests += Request("/s/Name", stream);
  }
  for (int round = 0; round < kRounds; ++round) {
    auto server = ServeName("a.sock", "a:");
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&] {
        const auto client = Connect(tree_.path("a.sock"));
        if (!client) return;  // the server has stopped already
        send(client->get(), requests.data(), requests.size(), MSG_NOSIGNAL);
        std::array<char, 4096> buffer;
        while (recv(client->get(), buffer.data(), buffer.size(), 0) > 0) continue;
      });
    }
    if (round % 2 == 0) {
      EXPECT_THAT(Call("a.sock", ""), testing::AnyOf("a:", HasSubstr("14 ")));
    }
    server.reset();
    rpc_ = nullptr;
    for (std::thread& client : clients) client.join();
    rpc_ = test::StartRpc();
  }
}

TEST_F(UnixServerTest, AcceptsAgainAfterThereWasNoFileDescriptor) {
  const auto server = ServeName("a.sock", "a:");
  const UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(tree_.path("a.sock"));
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  ASSERT_TRUE(AwaitNoConnections("a.sock")) << "the server connects once when it starts";
  limit.rlim_cur = static_cast<rlim_t>(UniqueFd(dup(client.get())).get());  // the first free one
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const int connected =
      connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  pollfd readable{client.get(), POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 300), 0) << "accepted without a file descriptor";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(connected, 0);
  EXPECT_EQ(poll(&readable, 1, 60'000), 1) << "the server sends its settings";
  EXPECT_EQ(Call("a.sock", ""), "a:");
}

TEST_F(UnixServerTest, ForgetsConnectionsThatClientsClosed) {
  const auto server = ServeName("a.sock", "a:");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Call("a.sock", ""), "a:");
  EXPECT_TRUE(AwaitNoConnections("a.sock"));
}

}  // namespace
}  // namespace patchbay
