#include "sim/kubelet/plugin_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/temp_tree.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

class PluginWatcherTest : public testing::Test {
 protected:
  void Start() {
    auto started = PluginWatcher::Start(
        root_, {.found = [this](const std::string& path) { Record("found", path); },
                .removed = [this](const std::string& path) { Record("removed", path); }});
    ASSERT_TRUE(started) << started.error().message;
    watcher_ = *std::move(started);
  }
  void MakeDirectory(const std::string& name) {
    std::filesystem::create_directories(root_ + "/" + name);
  }
  void MakeSocket(const std::string& name) {
    test::BindSocket(root_ + "/" + name, /*listening=*/false);
  }
  void Remove(const std::string& name) { std::filesystem::remove_all(root_ + "/" + name); }
  /// Waits for an event such as "found a/b.sock".
  bool Await(const std::string& event) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60),
                             [&] { return std::ranges::find(events_, event) != events_.end(); });
  }
  std::vector<std::string> Events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  void Record(const std::string& what, const std::string& path) {
    const std::lock_guard lock(mutex_);
    events_.push_back(what + " " + path.substr(root_.size() + 1));
    changed_.notify_all();
  }

  test::TempTree tree_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
  std::unique_ptr<PluginWatcher> watcher_;

 protected:
  const std::string root_ = tree_.path() + "/plugins_registry";
};

TEST_F(PluginWatcherTest, FindsSocketsOfSubdirectoriesAtTheStart) {
  MakeDirectory("a/b");
  MakeSocket("top.sock");
  MakeSocket("a/b/deep.sock");
  Start();
  EXPECT_TRUE(Await("found top.sock"));
  EXPECT_TRUE(Await("found a/b/deep.sock"));
}

TEST_F(PluginWatcherTest, FollowsDirectoriesThatAreCreatedLater) {
  Start();
  MakeDirectory("a/b");
  MakeSocket("a/b/one.sock");
  ASSERT_TRUE(Await("found a/b/one.sock"));
  // The directory is watched now.
  MakeSocket("a/b/two.sock");
  ASSERT_TRUE(Await("found a/b/two.sock"));
  Remove("a/b/one.sock");
  EXPECT_TRUE(Await("removed a/b/one.sock"));
}

TEST_F(PluginWatcherTest, ForgetsTheSocketsOfARemovedDirectory) {
  MakeDirectory("a");
  MakeSocket("a/one.sock");
  Start();
  ASSERT_TRUE(Await("found a/one.sock"));
  std::filesystem::rename(root_ + "/a", root_ + "/b");
  EXPECT_TRUE(Await("removed a/one.sock"));
  EXPECT_TRUE(Await("found b/one.sock"));
  Remove("b");
  EXPECT_TRUE(Await("removed b/one.sock"));
  MakeDirectory("b");
  MakeSocket("b/two.sock");
  EXPECT_TRUE(Await("found b/two.sock"));
}

TEST_F(PluginWatcherTest, SkipsHiddenNames) {
  MakeDirectory("a");
  MakeSocket("a/.hidden.sock");
  MakeSocket("a/first.sock");
  Start();
  ASSERT_TRUE(Await("found a/first.sock"));
  MakeDirectory(".hidden");
  MakeSocket(".hidden/one.sock");
  MakeSocket("a/last.sock");
  ASSERT_TRUE(Await("found a/last.sock"));
  EXPECT_THAT(Events(), testing::ElementsAre("found a/first.sock", "found a/last.sock"));
}

}  // namespace
}  // namespace patchbay
