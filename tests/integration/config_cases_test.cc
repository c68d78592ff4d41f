// Cases 33, 34 and 44 of the kubelet's contract: the configuration.

#include <algorithm>
#include <filesystem>

#include "base/format.h"
#include "config/load.h"
#include "integration/contract.h"
#include "kubelet/plugin_server.h"
#include "support/observed_resource.h"
#include "support/rpc_server.h"

namespace patchbay::test {
namespace {

using testing::SizeIs;

std::vector<std::string> Codes(const std::string& text) {
  std::vector<std::string> codes;
  for (const Diagnostic& d : LoadTexts({{"test.toml", text}}).diagnostics.Sorted()) {
    if (d.severity == Severity::kError) codes.emplace_back(d.code);
  }
  return codes;
}

std::vector<std::string> CodesOfName(const std::string& name) {
  return Codes(Resource(name, "/dev/x*"));
}

TEST(ContractConfig, Case33ResourceNames) {
  const std::string label63(63, 'x');
  std::string prefix244;
  while (prefix244.size() < 240) prefix244 += std::string(59, 'd') + ".";
  prefix244 += "wxyz";
  ASSERT_EQ(prefix244.size(), 244U);
  for (const std::string& good :
       {std::string("a/b"), "a.com/" + label63, prefix244 + "/b", std::string("a.com/A_b.C-d"),
        std::string("x.example-kubernetes.io.com/b"), std::string("0.a/0")}) {
    EXPECT_THAT(CodesOfName(good), SizeIs(0)) << good;
  }
  for (const std::string& bad :
       {std::string("kubernetes.io/x"), std::string("x.kubernetes.io/y"),
        std::string("requests.a/b"), std::string("noslash"), std::string("a/b/c"),
        std::string("A.com/x"), std::string("a.com/-x"), std::string("a.com/x-"), std::string(""),
        std::string("/b"), std::string("a/"), "a.com/x" + label63, "v" + prefix244 + "/b",
        std::string("a..b/c"), std::string("-a.com/b"), std::string("a_b.com/c"),
        std::string("a.com/b c"), std::string("a.com/\xc3\xa9")}) {
    EXPECT_THAT(CodesOfName(bad), testing::ElementsAre("bad-value")) << bad;
  }
}

TEST(ContractConfig, Case44Permissions) {
  const auto load = [](const std::string& permissions) {
    return LoadTexts({{"test.toml", Format(R"(
[[resource]]
name = "a.com/b"
  [[resource.match]]
  path = "/dev/x*"
  [[resource.device_node]]
  permissions = "{}"
)",
                                           permissions)}});
  };
  for (const char* bad : {"", "rx", "rr", "R", "r w"}) {
    const Loaded loaded = load(bad);
    ASSERT_FALSE(loaded.model) << bad;
    EXPECT_EQ(loaded.diagnostics.Sorted()[0].code, "bad-value") << bad;
  }
  for (const auto& [given, normal] : std::map<std::string, std::string>{
           {"mrw", "rwm"}, {"wr", "rw"}, {"r", "r"}, {"mw", "wm"}, {"rwm", "rwm"}}) {
    const Loaded loaded = load(given);
    ASSERT_TRUE(loaded.model) << given << loaded.diagnostics.RenderText();
    EXPECT_EQ(loaded.model->resources[0].device_nodes[0].permissions, normal);
  }
}

TEST(ContractConfig, Case34DirectoryTooLong) {
  const auto codes = [](std::size_t bytes) {
    return Codes(Format("[daemon]\nkubelet_dir = \"/{}\"\n{}", std::string(bytes - 1, 'k'),
                        Resource("a.com/b", "/dev/x*")));
  };
  EXPECT_THAT(codes(50), SizeIs(0));
  EXPECT_THAT(codes(51), testing::ElementsAre("bad-value"));
}

/// Returns a directory in `tree` whose path has `size` bytes.
std::string DirectoryOfBytes(const TempTree& tree, std::size_t bytes) {
  return tree.path("k" + std::string(bytes - tree.path().size() - 2, 'k'));
}

TEST_P(Contract, Case34LongestDirectoryAndName) {
  tree_.CharDevice("dev/ttyUSB0");
  const std::string directory = DirectoryOfBytes(tree_, 50);
  ASSERT_EQ(directory.size(), 50U);
  const std::string name = std::string(60, 'a') + "." + std::string(60, 'b') + "." +
                           std::string(60, 'c') + "." + std::string(61, 'd') + "/" +
                           std::string(63, 'n');
  auto kubelet = KubeletSim::Create({.directory = directory, .profile = GetParam()});
  ASSERT_TRUE(kubelet);
  kubelet_ = *std::move(kubelet);
  ASSERT_TRUE(kubelet_->Start());
  StartDaemon(Resource(name, "/dev/ttyUSB*"),
              {.change_model = [&](Model& model) { model.daemon.kubelet_dir = directory; }});
  ASSERT_TRUE(AwaitServed(name));
  EXPECT_LE(View(name).endpoint.size(), 107U);
}

TEST_P(Contract, Case34SocketPathOf107Bytes) {
  const std::string socket = DirectoryOfBytes(tree_, 107);
  ASSERT_EQ(socket.size(), 107U);
  PluginBackend backend{.resource = kSerialName,
                        .snapshot = std::make_shared<SnapshotCell>(),
                        .observer = test::MakeObserver(),
                        .allocation = {},
                        .lookups = {},
                        .on_stale_list = [] {}};
  const auto rpc = test::StartRpc();
  EXPECT_TRUE(PluginServer::Start(rpc, socket, backend, [](int, bool) {}));
  const auto too_long = PluginServer::Start(rpc, socket + "k", backend, [](int, bool) {});
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, testing::HasSubstr(tree_.path() + ";"));
}

// The command-line flag is not limited to 50 bytes; the daemon logs the error once.
TEST_P(Contract, Case34DirectoryTooLongForASocket) {
  const std::string directory = DirectoryOfBytes(tree_, 80);
  auto kubelet = KubeletSim::Create({.directory = directory, .profile = GetParam()});
  ASSERT_TRUE(kubelet);
  kubelet_ = *std::move(kubelet);
  ASSERT_TRUE(kubelet_->Start());
  StartDaemon(kSerial,
              {.change_model = [&](Model& model) { model.daemon.kubelet_dir = directory; }});
  ASSERT_TRUE(daemon_->log().Await("plugin server failed to start"));
  EXPECT_EQ(daemon_->Get("/healthz").status, 200);
  EXPECT_EQ(daemon_->Get("/readyz").status, 503);
  daemon_->Stop();
  EXPECT_LE(daemon_->log().Count("plugin server failed to start"), 2U) << daemon_->log().text();
}

}  // namespace
}  // namespace patchbay::test
