#include "os/path_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "os/asio_loop.h"
#include "support/config_map.h"
#include "support/fake_loop.h"
#include "support/hanging_mount.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Pair;
using testing::UnorderedElementsAre;

class PathWatchTest : public testing::Test {
 protected:
  void Watch(std::vector<std::string> paths) {
    auto watch = PathWatch::Create(loop_, pool_, std::move(paths), [this] {
      ++told_;
      if (on_change_) on_change_();
    });
    ASSERT_TRUE(watch) << watch.error().message;
    watch_ = std::move(*watch);
    watch_->Watch(nullptr);
    AwaitFound();
  }
  /// Waits until lookups of paths have ended.
  void AwaitFound() {
    ASSERT_TRUE(loop_.RunUntil([&] { return watch_ == nullptr || !watch_->finding(); }));
  }
  /// Reads all events. When a system call returns, its events are readable.
  void Read() {
    while (loop_.RunReadable()) {
    }
  }
  /// Returns the number of notifications since the last call.
  int Notifications() {
    Read();
    loop_.Advance(PathWatch::kMaxSettle);
    AwaitFound();
    return std::exchange(told_, 0);
  }
  void Rename(std::string_view from, std::string_view to) {
    std::filesystem::rename(tree_.path(from), tree_.path(to));
  }
  /// Replaces a link as an editor or `ln -sf` does.
  void Retarget(std::string_view link, std::string_view target) {
    tree_.Link(Format("{}.new", link), target);
    Rename(Format("{}.new", link), link);
  }

  test::FakeLoop loop_;
  test::TempTree tree_;
  int told_ = 0;
  std::function<void()> on_change_;
  ThreadPool pool_{loop_};
  std::unique_ptr<PathWatch> watch_;
};

// --- names that determine what a path resolves to ---

class DecisiveNamesTest : public testing::Test {
 protected:
  /// Returns these names in the tree, by directory relative to its root.
  std::map<std::string, std::set<std::string>> NamesOf(std::string_view path) {
    DecisiveNames all;
    FindDecisiveNames(tree_.path(path), all);
    std::map<std::string, std::set<std::string>> names;
    for (const auto& [directory, in_it] : all) {
      if (!directory.starts_with(tree_.path())) continue;
      names[directory.substr(tree_.path().size())] = {in_it.begin(), in_it.end()};
    }
    return names;
  }

  test::TempTree tree_;
};

TEST_F(DecisiveNamesTest, IncludeEveryComponentUpToTheRoot) {
  tree_.File("etc/a.toml");
  EXPECT_THAT(NamesOf("etc/a.toml"),
              ElementsAre(Pair("", ElementsAre("etc")), Pair("/etc", ElementsAre("a.toml"))));
  DecisiveNames all;
  FindDecisiveNames(tree_.path("etc/a.toml"), all);
  std::filesystem::path above = tree_.path();
  while (above != "/") {
    EXPECT_THAT(all[above.parent_path()], ElementsAre(above.filename()));
    above = above.parent_path();
  }
}

TEST_F(DecisiveNamesTest, EndAtTheFirstMissingComponent) {
  tree_.File("file");
  EXPECT_THAT(NamesOf("a/b/c"), ElementsAre(Pair("", ElementsAre("a"))));
  EXPECT_THAT(NamesOf("file/b"), ElementsAre(Pair("", ElementsAre("file"))));
}

TEST_F(DecisiveNamesTest, FollowLinksOfAllKinds) {
  tree_.File("real/deep/a.toml");
  tree_.Link("etc", "real");                         // to a directory, relative
  tree_.Link("real/b.toml", tree_.path("c"));        // absolute
  tree_.Link("c", "./real//deep/../deep/./a.toml");  // through one directory twice
  EXPECT_THAT(NamesOf("etc/b.toml"),
              ElementsAre(Pair("", UnorderedElementsAre("etc", "real", "c")),
                          Pair("/real", UnorderedElementsAre("b.toml", "deep")),
                          Pair("/real/deep", ElementsAre("a.toml"))));
}

TEST_F(DecisiveNamesTest, ResolveDotDotAfterALink) {
  tree_.File("elsewhere/deep/x");
  tree_.File("elsewhere/a.toml");
  tree_.Link("link", "elsewhere/deep");
  EXPECT_THAT(NamesOf("link/../a.toml"),
              ElementsAre(Pair("", UnorderedElementsAre("link", "elsewhere")),
                          Pair("/elsewhere", UnorderedElementsAre("deep", "a.toml"))));
}

TEST_F(DecisiveNamesTest, TerminateOnLinkLoopsAndLongChains) {
  tree_.Link("a", "b");
  tree_.Link("b", "a");
  EXPECT_THAT(NamesOf("a/x"), ElementsAre(Pair("", ElementsAre("a", "b"))));
  tree_.Link("grows", "grows/grows");
  EXPECT_THAT(NamesOf("grows"), ElementsAre(Pair("", ElementsAre("grows"))));
  for (int i = 0; i < 60; ++i) tree_.Link(Format("chain{}", i), Format("chain{}", i + 1));
  EXPECT_EQ(NamesOf("chain0").at("").size(), 41u);
}

TEST_F(DecisiveNamesTest, OfADirectoryIncludeItsEntriesAndLinkTargets) {
  test::ConfigMap map(tree_.path("map"));
  map.Write({{"a.toml", ""}});
  const std::string version = std::filesystem::read_symlink(map.path("..data"));
  const auto names = NamesOf("map");
  EXPECT_THAT(names.at("/map"), IsSupersetOf({"", "a.toml", "..data", version.c_str()}));
  EXPECT_THAT(names.at("/map/" + version), ElementsAre("a.toml"));
}

TEST_F(DecisiveNamesTest, OfTheRootIncludeItsEntries) {
  DecisiveNames names;
  FindDecisiveNames("/..//.", names);
  EXPECT_TRUE(names.at("/").contains(""));
}

// --- files ---

TEST_F(PathWatchTest, ReportsAWrittenFileWhenItIsClosed) {
  tree_.File("etc/a.toml", "old");
  Watch({tree_.path("etc/a.toml")});
  EXPECT_EQ(Notifications(), 0);
  std::ofstream file(tree_.path("etc/a.toml"));
  file << "half" << std::flush;
  EXPECT_EQ(Notifications(), 0);
  file.close();
  EXPECT_EQ(Notifications(), 1);
  EXPECT_EQ(Notifications(), 0);
}

TEST_F(PathWatchTest, ReportsANewFileWhenItIsClosed) {
  tree_.Dir("etc");
  Watch({tree_.path("etc/a.toml")});
  std::ofstream file(tree_.path("etc/a.toml"));
  file << "half" << std::flush;
  EXPECT_EQ(Notifications(), 0);
  file.close();
  EXPECT_EQ(Notifications(), 1);
  // A new link to a complete file: no process will close it.
  tree_.Remove("etc/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("complete");
  std::filesystem::create_hard_link(tree_.path("complete"), tree_.path("etc/a.toml"));
  EXPECT_EQ(Notifications(), 1);
}

TEST_F(PathWatchTest, ReportsAReplacedRemovedOrCreatedFile) {
  tree_.File("etc/a.toml");
  Watch({tree_.path("etc/a.toml")});
  tree_.File("elsewhere/new");
  Rename("elsewhere/new", "etc/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("etc/a.toml", "the new one is watched");
  EXPECT_EQ(Notifications(), 1);
  tree_.Remove("etc/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("etc/a.toml");
  EXPECT_EQ(Notifications(), 1);
  Rename("etc/a.toml", "etc/b.toml");
  EXPECT_EQ(Notifications(), 1);
  std::filesystem::create_hard_link(tree_.path("etc/b.toml"), tree_.path("etc/a.toml"));
  EXPECT_EQ(Notifications(), 1);
}

TEST_F(PathWatchTest, IgnoresOtherFiles) {
  tree_.File("etc/a.toml");
  Watch({tree_.path("etc/a.toml")});
  tree_.File("etc/b.toml");
  tree_.File("etc/a.toml.swp");
  tree_.File("etcetera/a.toml");
  tree_.Remove("etc/b.toml");
  std::ifstream(tree_.path("etc/a.toml")).get();
  EXPECT_EQ(Notifications(), 0);
}

TEST_F(PathWatchTest, FollowsAPathCreatedComponentByComponent) {
  Watch({tree_.path("a/b/c.toml")});
  EXPECT_THAT(watch_->failed(), IsEmpty());
  tree_.Dir("a");
  EXPECT_EQ(Notifications(), 1);
  tree_.Dir("a/other");
  EXPECT_EQ(Notifications(), 0);
  tree_.Dir("a/b");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("a/b/c.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("a/b/c.toml", "more");
  EXPECT_EQ(Notifications(), 1);
}

TEST_F(PathWatchTest, FollowsAReplacedDirectory) {
  tree_.File("above/etc/a.toml");
  Watch({tree_.path("above/etc/a.toml")});
  tree_.Remove("above/etc");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("above/etc/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("above/etc/a.toml", "more");
  EXPECT_EQ(Notifications(), 1);

  Rename("above", "away");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("away/etc/a.toml", "not of interest any more");
  EXPECT_EQ(Notifications(), 0);
  tree_.File("above/etc/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("above/etc/a.toml", "more");
  EXPECT_EQ(Notifications(), 1);
}

TEST_F(PathWatchTest, AcceptsARelativePath) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(tree_.path());
  Watch({"a.toml"});
  std::filesystem::current_path(before);
  tree_.File("a.toml");
  EXPECT_EQ(Notifications(), 1);
}

// If the path became empty, it would stand for the root directory, which would be watched.
TEST_F(PathWatchTest, ReportsARelativePathOfARemovedDirectory) {
  const auto before = std::filesystem::current_path();
  tree_.Dir("gone");
  tree_.File("b.toml");
  std::filesystem::current_path(tree_.path("gone"));
  std::filesystem::remove(tree_.path("gone"));
  Watch({"a.toml", tree_.path("b.toml")});
  std::filesystem::current_path(before);
  ASSERT_EQ(watch_->failed().size(), 1u);
  EXPECT_THAT(watch_->failed()[0].message, HasSubstr("cannot watch a.toml: the working directory"));
  tree_.File("b.toml", "more");
  EXPECT_EQ(Notifications(), 1) << "the other path is still watched";
  EXPECT_EQ(watch_->failed().size(), 1u);
}

TEST_F(PathWatchTest, WatchesSeveralPaths) {
  tree_.File("a/a.toml");
  Watch({tree_.path("a/a.toml"), tree_.path("b")});
  tree_.File("b/b.toml");
  tree_.File("a/a.toml");
  EXPECT_EQ(Notifications(), 1) << "of both at once";
  tree_.File("b/b.toml");
  EXPECT_EQ(Notifications(), 1);
}

// --- directories ---

TEST_F(PathWatchTest, ReportsEveryChangeInADirectory) {
  tree_.Dir("conf.d");
  Watch({tree_.path("conf.d")});
  tree_.File("conf.d/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("conf.d/a.toml", "more");
  EXPECT_EQ(Notifications(), 1);
  tree_.Remove("conf.d/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.Remove("conf.d");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("conf.d/b.toml");
  EXPECT_EQ(Notifications(), 1);
}

TEST_F(PathWatchTest, FollowsLinksInADirectory) {
  tree_.Dir("conf.d");
  tree_.Link("conf.d/a.toml", "../shared/a.toml");
  Watch({tree_.path("conf.d")});
  tree_.File("shared/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("shared/a.toml", "more");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("shared/b.toml");
  EXPECT_EQ(Notifications(), 0);
}

// --- links ---

TEST_F(PathWatchTest, FollowsEveryLinkOfAChain) {
  tree_.File("one/a.toml");
  tree_.File("two/a.toml");
  tree_.Link("links/dir", "../one");
  tree_.Link("etc", tree_.path("links/dir"));
  Watch({tree_.path("etc/a.toml")});
  tree_.File("one/a.toml", "more");
  EXPECT_EQ(Notifications(), 1);
  Retarget("links/dir", "../two");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("one/a.toml", "not of interest any more");
  EXPECT_EQ(Notifications(), 0);
  tree_.File("two/a.toml", "more");
  EXPECT_EQ(Notifications(), 1);
  Retarget("etc", "one");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("one/a.toml", "of interest again");
  EXPECT_EQ(Notifications(), 1);
}

TEST_F(PathWatchTest, ReportsALinkLoopThatIsFixed) {
  tree_.Link("a", "b");
  tree_.Link("b", "a");
  Watch({tree_.path("a")});
  tree_.File("c");
  EXPECT_EQ(Notifications(), 0);
  Retarget("b", "c");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("c", "more");
  EXPECT_EQ(Notifications(), 1);
}

class ConfigMapWatchTest : public PathWatchTest, public testing::WithParamInterface<const char*> {};

TEST_P(ConfigMapWatchTest, FollowsEverySwap) {
  test::ConfigMap map(tree_.path("mount"));
  map.Write({{"a.toml", "1"}});
  tree_.Link("etc", "mount");
  Watch({tree_.path(GetParam())});
  std::string text;
  on_change_ = [&] { std::getline(std::ifstream(map.path("a.toml")), text); };
  for (const char* next : {"2", "3", "4"}) {
    map.Write({{"a.toml", next}});
    EXPECT_EQ(Notifications(), 1);
    EXPECT_EQ(text, next);
  }
  map.Write({{"b.toml", ""}});
  EXPECT_EQ(Notifications(), 1);
  map.Write({{"a.toml", "5"}, {"b.toml", ""}});
  EXPECT_EQ(Notifications(), 1);
  EXPECT_EQ(text, "5");
}

INSTANTIATE_TEST_SUITE_P(Paths, ConfigMapWatchTest,
                         testing::Values("mount/a.toml", "mount", "etc/a.toml", "etc"));

// --- timing of notifications ---

TEST_F(PathWatchTest, WaitsUntilChangesSettle) {
  Watch({tree_.path("a.toml")});
  const auto step = PathWatch::kSettle - milliseconds(1);
  for (int i = 0; i < 3; ++i) {
    tree_.File("a.toml");
    Read();
    loop_.Advance(step);
    EXPECT_EQ(told_, 0);
  }
  loop_.Advance(milliseconds(1));
  AwaitFound();
  EXPECT_EQ(told_, 1);
}

TEST_F(PathWatchTest, ReportsDuringContinuousWrites) {
  Watch({tree_.path("a.toml")});
  const auto step = PathWatch::kSettle / 2;
  const auto start = loop_.Now();
  std::vector<Loop::Duration> changes;
  on_change_ = [&] { changes.push_back(loop_.Now() - start); };
  while (changes.size() < 2) {
    tree_.File("a.toml");
    Read();
    loop_.Advance(step);
    AwaitFound();
  }
  // The second period begins with the first event after the first notification.
  EXPECT_THAT(changes, ElementsAre(PathWatch::kMaxSettle, 2 * PathWatch::kMaxSettle));
}

TEST_F(PathWatchTest, ReportsAChangeAfterLostEvents) {
  tree_.Dir("etc");
  Watch({tree_.path("etc/a.toml")});
  int most = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most;
  ASSERT_GT(most, 0);
  // Two names alternate, because the kernel merges consecutive equal events.
  for (int i = 0; i <= most / 2; ++i) {
    for (const char* name : {"etc/b", "etc/c"}) tree_.File(name);
  }
  tree_.File("etc/a.toml");
  EXPECT_EQ(Notifications(), 1);
  tree_.File("etc/a.toml", "still watched");
  EXPECT_EQ(Notifications(), 1);
}

TEST_F(PathWatchTest, ReportsNothingAfterDestruction) {
  Watch({tree_.path("a.toml")});
  tree_.File("a.toml");
  Read();
  watch_.reset();
  EXPECT_EQ(Notifications(), 0);
}

TEST_F(PathWatchTest, ReportsPathsThatCannotBeWatched) {
  tree_.File("locked/etc/a.toml");
  ASSERT_EQ(chmod(tree_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(tree_.path("locked").c_str(), 0711), 0);
  // Without read permission for a directory, only search permission.
  const uid_t before = geteuid();
  if (before == 0) {
    ASSERT_EQ(seteuid(65534), 0);
  } else {
    ASSERT_EQ(chmod(tree_.path("locked").c_str(), 0311), 0);
  }
  Watch({tree_.path("locked/etc/a.toml")});
  ASSERT_EQ(seteuid(before), 0);
  ASSERT_EQ(watch_->failed().size(), 1u);
  EXPECT_THAT(watch_->failed()[0].message, HasSubstr(tree_.path("locked")));
  // The other directories are watched, and this one is tried again.
  ASSERT_EQ(chmod(tree_.path("locked").c_str(), 0755), 0);
  tree_.File("locked/etc/a.toml", "more");
  EXPECT_EQ(Notifications(), 1);
  EXPECT_THAT(watch_->failed(), IsEmpty());
}

TEST_F(PathWatchTest, WorksOnTheRealLoop) {
  AsioLoop loop;
  ThreadPool pool(loop);
  auto watch = PathWatch::Create(loop, pool, {tree_.path("a.toml")}, [&] { loop.Stop(); });
  ASSERT_TRUE(watch);
  (*watch)->Watch([&] { tree_.File("a.toml"); });
  loop.Run();
}

TEST_F(PathWatchTest, HangingFileSystemDoesNotBlockTheLoop) {
  tree_.Dir("mnt");
  tree_.Link("etc", "mnt/etc");
  test::HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  auto watch = PathWatch::Create(loop_, pool_, {tree_.path("etc/a.toml")}, [this] { ++told_; });
  ASSERT_TRUE(watch);
  int answers = 0;
  for (int i = 0; i < 3; ++i) (*watch)->Watch([&] { ++answers; });
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(answers, 0);
  mount.End();
  ASSERT_TRUE(loop_.RunUntil([&] { return answers == 3; }));
  EXPECT_FALSE((*watch)->finding());
  tree_.File("mnt/etc/a.toml");
  watch_ = std::move(*watch);
  EXPECT_EQ(Notifications(), 1);
}

}  // namespace
}  // namespace patchbay
