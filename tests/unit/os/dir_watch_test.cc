#include "os/dir_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <string>
#include <thread>

#include "support/fake_loop.h"
#include "support/hanging_mount.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class DirWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto watch = DirWatch::Create(loop_, [this](const std::string& directory, auto name) {
      changes_.emplace(directory, name);
      if (on_change_) on_change_();
    });
    ASSERT_TRUE(watch) << watch.error().message;
    watch_ = std::move(*watch);
    tree_.Dir("dev");
  }
  DirWatch::Outcome Watch(const std::set<std::string>& directories) {
    return watch_->Watch(directories);
  }
  /// Returns the changes since the last call. When a system call returns, its events are readable.
  std::set<std::pair<std::string, std::string>> Changes() {
    while (loop_.RunReadable()) {
    }
    return std::exchange(changes_, {});
  }
  void Rename(std::string_view from, std::string_view to) {
    std::filesystem::rename(tree_.path(from), tree_.path(to));
  }

  test::FakeLoop loop_;
  test::TempTree tree_;
  const std::string dev_ = tree_.path("dev");
  std::set<std::pair<std::string, std::string>> changes_;
  std::function<void()> on_change_;
  std::unique_ptr<DirWatch> watch_;
};

TEST_F(DirWatchTest, ReportsCreatedAndRemovedNames) {
  EXPECT_THAT(Watch({dev_}).changed, ElementsAre(dev_));
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
  tree_.Link("dev/b", "a");
  tree_.Dir("dev/c");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "b"), Pair(dev_, "c")));
  tree_.Remove("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
}

TEST_F(DirWatchTest, ReportsBothNamesOfARename) {
  tree_.File("dev/a");
  tree_.File("elsewhere/b");
  Watch({dev_});
  Rename("dev/a", "dev/a2");
  Rename("elsewhere/b", "dev/b");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a"), Pair(dev_, "a2"), Pair(dev_, "b")));
}

TEST_F(DirWatchTest, ReportsNamesOfAnyBytes) {
  Watch({dev_});
  const std::string name = "\xff\n x";
  tree_.File("dev/" + name);
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, name)));
}

TEST_F(DirWatchTest, IgnoresContentChanges) {
  tree_.File("dev/a");
  Watch({dev_});
  tree_.File("dev/a", "text");
  tree_.File("dev2/x");
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(DirWatchTest, ReportsWritesIfRequested) {
  auto watch = DirWatch::Create(
      loop_, [this](const std::string& directory, auto name) { changes_.emplace(directory, name); },
      DirWatch::Events::kNamesAndWrites);
  ASSERT_TRUE(watch) << watch.error().message;
  tree_.File("dev/a");
  (*watch)->Watch({dev_});
  std::ofstream file(tree_.path("dev/a"));
  file << "text" << std::flush;
  EXPECT_THAT(Changes(), IsEmpty()) << "it may be half written";
  file.close();
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
  std::ifstream(tree_.path("dev/a")).get();
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(DirWatchTest, ReportsRemovalOfTheDirectory) {
  Watch({dev_});
  tree_.Remove("dev");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "")));
  EXPECT_EQ(watch_->size(), 0u);
  // After it is re-created, it is a new directory and needs a new watch.
  tree_.Dir("dev");
  EXPECT_THAT(Watch({dev_}).changed, ElementsAre(dev_));
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
}

TEST_F(DirWatchTest, ReportsReplacementOfTheDirectory) {
  Watch({dev_});
  tree_.Dir("new");
  Rename("dev", "old");
  Rename("new", "dev");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "")));
  tree_.File("old/x");
  EXPECT_THAT(Changes(), IsEmpty()) << "the old one is not watched any more";
  EXPECT_THAT(Watch({dev_}).changed, ElementsAre(dev_));
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
}

TEST_F(DirWatchTest, ReportsChangesForEachPathOfADirectory) {
  tree_.Link("link", "dev");
  const std::string link = tree_.path("link");
  EXPECT_THAT(Watch({dev_, link}).changed, UnorderedElementsAre(dev_, link));
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), UnorderedElementsAre(Pair(dev_, "a"), Pair(link, "a")));
  // Both paths share a watch, which stays when one of them is removed.
  EXPECT_THAT(Watch({link}).changed, IsEmpty());
  tree_.File("dev/b");
  EXPECT_THAT(Changes(), ElementsAre(Pair(link, "b")));
  tree_.Remove("dev");
  EXPECT_THAT(Changes(), testing::Contains(Pair(link, "")));
  EXPECT_EQ(watch_->size(), 0u);
}

TEST_F(DirWatchTest, WatchReturnsNewAndFailedDirectories) {
  tree_.File("file");
  const std::string missing = tree_.path("missing");
  const auto first = Watch({dev_, missing, tree_.path("file")});
  EXPECT_THAT(first.changed, UnorderedElementsAre(dev_, missing, tree_.path("file")));
  ASSERT_EQ(first.failed.size(), 2u);
  for (const Error& error : first.failed) EXPECT_EQ(error.kind, ErrorKind::kNotFound);

  tree_.Dir("missing");
  const auto second = Watch({dev_, missing});
  EXPECT_THAT(second.changed, ElementsAre(missing));
  EXPECT_THAT(second.failed, IsEmpty());
  EXPECT_EQ(watch_->size(), 2u);
}

TEST_F(DirWatchTest, WatchReturnsARemovedDirectoryBeforeItsEvents) {
  Watch({dev_});
  tree_.Remove("dev");
  EXPECT_THAT(Watch({dev_}).changed, ElementsAre(dev_));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(DirWatchTest, IgnoresUnwatchedDirectories) {
  Watch({dev_});
  tree_.File("dev/a");  // the event is unread when the watch is removed
  Watch({});
  tree_.File("dev/b");
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(watch_->size(), 0u);
  EXPECT_THAT(Watch({dev_}).changed, ElementsAre(dev_));
  tree_.File("dev/c");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "c")));
}

TEST_F(DirWatchTest, CallbackCanWatchOtherDirectories) {
  Watch({dev_});
  tree_.Dir("other");
  on_change_ = [this] { Watch({tree_.path("other")}); };
  tree_.File("dev/a");
  tree_.File("dev/b");
  Changes();
  tree_.File("dev/c");
  tree_.File("other/d");
  EXPECT_THAT(Changes(), ElementsAre(Pair(tree_.path("other"), "d")));
}

// --- watches that are added elsewhere ---

TEST_F(DirWatchTest, MergeRequiresARescanOfNewWatches) {
  const auto added = watch_->adder().Add({dev_});
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), IsEmpty()) << "the watch is not used yet";
  EXPECT_FALSE(watch_->Watches(dev_));
  EXPECT_THAT(watch_->Merge(added).changed, ElementsAre(dev_)) << "it has to be scanned again";
  tree_.File("dev/b");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "b")));
  EXPECT_THAT(watch_->Merge(watch_->adder().Add({dev_})).changed, IsEmpty());
}

TEST_F(DirWatchTest, NextAddWatchesADirectoryReplacedBeforeTheMerge) {
  const auto added = watch_->adder().Add({dev_});
  tree_.Remove("dev");
  Changes();
  tree_.Dir("dev");
  EXPECT_THAT(watch_->Merge(added).changed, ElementsAre(dev_));
  EXPECT_THAT(watch_->Merge(watch_->adder().Add({dev_})).changed, ElementsAre(dev_));
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
  EXPECT_THAT(watch_->Merge(watch_->adder().Add({dev_})).changed, IsEmpty());
}

TEST_F(DirWatchTest, NextAddRecreatesAWatchDroppedBeforeTheMerge) {
  Watch({dev_});
  const auto added = watch_->adder().Add({dev_});  // returns the existing watch
  watch_->Retain({});
  EXPECT_THAT(watch_->Merge(added).changed, ElementsAre(dev_));
  EXPECT_THAT(watch_->Merge(watch_->adder().Add({dev_})).changed, ElementsAre(dev_));
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
  EXPECT_THAT(watch_->Merge(watch_->adder().Add({dev_})).changed, IsEmpty());
}

TEST_F(DirWatchTest, OutOfOrderMergesKeepTheNewestWatch) {
  const auto old = watch_->adder().Add({dev_});
  Rename("dev", "old");
  tree_.Dir("dev");
  watch_->Merge(watch_->adder().Add({dev_}));
  EXPECT_THAT(watch_->Merge(old).changed, ElementsAre(dev_));
  EXPECT_THAT(watch_->Merge(watch_->adder().Add({dev_})).changed, ElementsAre(dev_));
  Changes();
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
  tree_.File("old/b");
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(DirWatchTest, HangingAddCanOutliveTheWatch) {
  tree_.Dir("mnt");
  test::HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  std::promise<void> begun;
  std::thread adds([&, adder = watch_->adder()] {
    begun.set_value();
    EXPECT_FALSE(adder.Add({tree_.path("mnt/x")}).begin()->second);
  });
  begun.get_future().wait();
  Watch({dev_});
  tree_.File("dev/a");
  EXPECT_THAT(Changes(), ElementsAre(Pair(dev_, "a")));
  watch_.reset();
  mount.End();
  adds.join();
}

TEST_F(DirWatchTest, ReportsEveryNameOfABurst) {
  Watch({dev_});
  for (int i = 0; i < 5000; ++i) tree_.File("dev/" + std::to_string(i));
  EXPECT_EQ(Changes().size(), 5000u);
}

}  // namespace
}  // namespace patchbay
