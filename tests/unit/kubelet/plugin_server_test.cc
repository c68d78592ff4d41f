// The gRPC server on one plugin socket. Streams are tested in list_streams_test.cc, calls in
// plugin_service_test.cc.

#include "kubelet/plugin_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "plugin_test_support.h"
#include "support/observed_resource.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

class PluginServerTest : public testing::Test {
 protected:
  Result<std::unique_ptr<PluginServer>> Start(const std::string& socket) {
    PluginBackend backend;
    backend.resource = "example.com/serial";
    const auto cell = std::make_shared<SnapshotCell>();
    cell->Set(
        std::make_shared<const Snapshot>(Snapshot{std::make_shared<ResourceSpec>(), 1, {}, {}}));
    backend.snapshot = cell;
    backend.observer = test::MakeObserver();
    return PluginServer::Start(rpc_, socket, backend, [](int, bool) {});
  }
  static grpc::Status Call(v1beta1::DevicePlugin::Stub& stub) {
    v1beta1::DevicePluginOptions options;
    return stub.GetDevicePluginOptions(test::ContextWithDeadline().get(), {}, &options);
  }

  const std::shared_ptr<RpcServer> rpc_ = test::StartRpc();
  test::TempTree tree_;
};

TEST_F(PluginServerTest, RespondsWhenStartReturns) {
  const auto server = Start(tree_.path("a.sock"));
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ((*server)->socket(), tree_.path("a.sock"));
  const auto stub = test::ConnectToPlugin(tree_.path("a.sock"));
  EXPECT_TRUE(Call(*stub).ok());
}

TEST_F(PluginServerTest, RemovesItsSocket) {
  auto server = Start(tree_.path("a.sock"));
  ASSERT_TRUE(server);
  EXPECT_TRUE(std::filesystem::exists(tree_.path("a.sock")));
  server->reset();
  EXPECT_FALSE(std::filesystem::exists(tree_.path("a.sock")));
}

TEST_F(PluginServerTest, ReportsTheMissingDirectory) {
  const auto server = Start(tree_.path("missing/a.sock"));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(server.error().message, HasSubstr(tree_.path("missing")));
}

TEST_F(PluginServerTest, ServersAreIndependent) {
  auto first = Start(tree_.path("a.sock"));
  const auto second = Start(tree_.path("b.sock"));
  ASSERT_TRUE(first && second);
  const auto stub = test::ConnectToPlugin(tree_.path("b.sock"));
  EXPECT_TRUE(Call(*stub).ok());
  first->reset();
  EXPECT_TRUE(Call(*stub).ok());
}

TEST_F(PluginServerTest, BeginStopEndsTheStreams) {
  const auto server = Start(tree_.path("a.sock"));
  ASSERT_TRUE(server);
  const auto stub = test::ConnectToPlugin(tree_.path("a.sock"));
  const auto context = test::ContextWithDeadline();
  const auto stream = stub->ListAndWatch(context.get(), {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  (*server)->BeginStop();
  EXPECT_FALSE(stream->Read(&list));
  stream->Finish();
}

TEST_F(PluginServerTest, DestructorEndsTheStreams) {
  auto server = Start(tree_.path("a.sock"));
  ASSERT_TRUE(server);
  const auto stub = test::ConnectToPlugin(tree_.path("a.sock"));
  const auto context = test::ContextWithDeadline();
  const auto stream = stub->ListAndWatch(context.get(), {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  server->reset();
  EXPECT_FALSE(stream->Read(&list));
  EXPECT_TRUE(stream->Finish().ok()) << "ended, not canceled";
}

TEST_F(PluginServerTest, BeginDrainSendsTheLastListFirst) {
  const auto server = Start(tree_.path("a.sock"));
  ASSERT_TRUE(server);
  const auto stub = test::ConnectToPlugin(tree_.path("a.sock"));
  const auto context = test::ContextWithDeadline();
  const auto stream = stub->ListAndWatch(context.get(), {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  Snapshot last{std::make_shared<ResourceSpec>(), 2, {}, {}};
  last.devices.push_back(
      {std::make_shared<const Device>(Device{"last", {}, {}}), Health::kHealthy, ""});
  (*server)->BeginDrain(std::make_shared<const Snapshot>(std::move(last)));
  ASSERT_TRUE(stream->Read(&list));
  ASSERT_EQ(list.devices_size(), 1);
  EXPECT_EQ(list.devices(0).id(), "last");
  EXPECT_FALSE(stream->Read(&list));
  stream->Finish();
}

}  // namespace
}  // namespace patchbay
