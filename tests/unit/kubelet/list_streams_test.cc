// Streams of one server, read by real clients.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "base/format.h"
#include "deviceplugin.grpc.pb.h"
#include "kubelet/plugin_server.h"
#include "support/observed_resource.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::TempTree;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kPatience = 60s;

std::shared_ptr<const Snapshot> ListOf(std::uint64_t generation, const char* id) {
  const auto device = std::make_shared<const Device>(Device{id, {}, {}});
  return std::make_shared<const Snapshot>(Snapshot{
      std::make_shared<const ResourceSpec>(), generation, {{device, Health::kHealthy, ""}}, {}});
}

/// A stream on its own connection.
class StreamClient {
 public:
  explicit StreamClient(const std::string& socket) {
    grpc::ChannelArguments own;  // otherwise channels share one connection
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1beta1::DevicePlugin::NewStub(
        grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), own));
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    stream_ = stub_->ListAndWatch(&context_, {});
  }
  ~StreamClient() { End(); }

  /// Returns the IDs of the next list; nothing if the stream has ended.
  std::vector<std::string> Read() {
    v1beta1::ListAndWatchResponse list;
    std::vector<std::string> ids;
    if (stream_->Read(&list)) {
      for (const auto& device : list.devices()) ids.push_back(device.id());
    }
    return ids;
  }
  grpc::Status Finish() { return std::exchange(stream_, nullptr)->Finish(); }
  void End() {
    if (stream_ == nullptr) return;
    context_.TryCancel();
    Finish();
  }

 private:
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> stream_;
};

/// A server and its reports about its streams.
class ListStreamsTest : public testing::Test {
 protected:
  ListStreamsTest() {
    PluginBackend backend;
    backend.snapshot = cell_;
    backend.observer = test::MakeObserver();
    backend.on_refused = [this](const char* what, const std::string& reason) {
      const std::lock_guard lock(mutex_);
      refused_.push_back(Format("{}: {}", what, reason));
    };
    auto server =
        PluginServer::Start(test::StartRpc(), socket_, backend, [this](int open, bool first_ended) {
          const std::lock_guard lock(mutex_);
          open_ = open;
          first_ended_ = first_ended;
          changed_.notify_all();
        });
    EXPECT_TRUE(server);
    server_ = *std::move(server);
  }

  bool AwaitOpen(int open) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return open_ == open; });
  }
  std::vector<std::string> refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

  TempTree tree_;
  const std::string socket_ = tree_.path("plugin.sock");
  const std::shared_ptr<SnapshotCell> cell_ = std::make_shared<SnapshotCell>();
  std::mutex mutex_;
  std::condition_variable changed_;
  int open_ = 0;
  bool first_ended_ = false;
  std::vector<std::string> refused_;
  std::unique_ptr<PluginServer> server_;
};

// The call read the snapshot, then a newer one was published, then the stream was added: what was
// published must still reach it.
TEST_F(ListStreamsTest, StreamStartsWithAListAnnouncedDuringItsStart) {
  cell_->Set(ListOf(1, "old"));
  server_->Announce(ListOf(2, "new"));
  StreamClient client(socket_);
  EXPECT_THAT(client.Read(), ElementsAre("new"));
  server_->Announce(ListOf(3, "newer"));
  EXPECT_THAT(client.Read(), ElementsAre("newer"));
}

TEST_F(ListStreamsTest, StreamStartsWithASnapshotNewerThanAnnounced) {
  server_->Announce(ListOf(1, "old"));
  cell_->Set(ListOf(2, "new"));
  StreamClient client(socket_);
  EXPECT_THAT(client.Read(), ElementsAre("new"));
}

TEST_F(ListStreamsTest, RejectsStreamsBeyondTheLimit) {
  cell_->Set(ListOf(1, "device"));
  std::vector<std::unique_ptr<StreamClient>> clients;
  for (int i = 0; i < kMaxStreams; ++i) {
    clients.push_back(std::make_unique<StreamClient>(socket_));
    ASSERT_THAT(clients.back()->Read(), ElementsAre("device"));
  }
  for (int i = 0; i < 3; ++i) {
    StreamClient one_more(socket_);
    EXPECT_THAT(one_more.Read(), ElementsAre());
    const grpc::Status status = one_more.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr("on this socket (16)"));
  }
  EXPECT_THAT(refused(),
              testing::AllOf(testing::SizeIs(3),
                             Each(HasSubstr("stream refused: too many streams are open"))));
  EXPECT_TRUE(AwaitOpen(kMaxStreams));
  EXPECT_FALSE(first_ended_);
  server_->Announce(ListOf(2, "another"));
  for (const auto& client : clients) EXPECT_THAT(client->Read(), ElementsAre("another"));

  // Another stream is accepted when one of them ends.
  clients.pop_back();
  ASSERT_TRUE(AwaitOpen(kMaxStreams - 1));
  StreamClient next(socket_);
  EXPECT_THAT(next.Read(), ElementsAre("another"));
}

}  // namespace
}  // namespace patchbay
