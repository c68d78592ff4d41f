#include "sim/kubelet/plugin_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "sim/kubelet/checkpoint.h"
#include "sim/kubelet/socket_listener.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

bool There(const test::TempTree& tree, std::string_view name) {
  return std::filesystem::symlink_status(tree.path(name)).type() !=
         std::filesystem::file_type::not_found;
}

class PluginDirectory : public testing::Test {
 protected:
  PluginDirectory() {
    tree_.File("file");
    tree_.File(kCheckpointName);
    tree_.File("sub/file");
    tree_.Link("dangling", "nowhere");
    tree_.Link("link.sock", "real.sock");
    // Ends immediately; the socket file remains.
    EXPECT_TRUE(
        SocketListener::Create(tree_.path("real.sock"), std::chrono::seconds(0), [](UniqueFd) {}));
  }

  test::TempTree tree_;
};

TEST_F(PluginDirectory, AllFilesCleanupRemovesAllFiles) {
  ASSERT_TRUE(PreparePluginDirectory(tree_.path(), KubeletCleanup::kAllFiles));
  for (const char* gone : {"file", "dangling", "link.sock", "real.sock"}) {
    EXPECT_FALSE(There(tree_, gone)) << gone;
  }
  EXPECT_TRUE(There(tree_, kCheckpointName));
  EXPECT_TRUE(There(tree_, "sub/file"));
}

TEST_F(PluginDirectory, SocketsOnlyCleanupRemovesOnlySockets) {
  ASSERT_TRUE(PreparePluginDirectory(tree_.path(), KubeletCleanup::kSocketsOnly));
  EXPECT_FALSE(There(tree_, "real.sock"));
  for (const char* kept : {"file", "dangling", kCheckpointName, "sub/file"}) {
    EXPECT_TRUE(There(tree_, kept)) << kept;
  }
}

TEST(PluginDirectoryAbsent, IsCreated) {
  const test::TempTree tree;
  ASSERT_TRUE(PreparePluginDirectory(tree.path("a/b"), KubeletCleanup::kAllFiles));
  EXPECT_TRUE(There(tree, "a/b"));
}

}  // namespace
}  // namespace patchbay
