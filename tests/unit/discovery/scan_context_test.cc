#include "discovery/scan_context.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::PathMatch;
using test::Rejected;
using test::TempTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

bool All(const std::string&) { return true; }

/// A scan of a temporary tree, for a match of any type.
class ScanTest : public testing::Test {
 protected:
  ScanTest() { scan_.BeginMatch(match_, 0); }

  void Add(const std::string& path) { scan_.AddNode(path, nullptr, {}, "identity"); }
  std::vector<std::string> Found() {
    std::vector<std::string> paths;
    for (const Candidate& candidate : scan_.candidates())
      paths.push_back(candidate.device->nodes.front().path);
    return paths;
  }
  std::vector<std::string> Names(const std::string& directory) {
    std::vector<std::string> names;
    for (const HostEntry& entry : scan_.List(directory, "*", All)) names.push_back(entry.name);
    return names;
  }

  TempTree tree_;
  HostRoot host_{tree_.path()};
  MatchSpec match_ = PathMatch({"/x"}, NodeType::kAny);
  ScanRequest request_;
  ScanContext scan_{host_, request_};
};

TEST_F(ScanTest, ListsAndWatchesADirectory) {
  tree_.File("dev/a");
  tree_.Dir("dev/b");
  EXPECT_THAT(Names("/dev/"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(scan_.directories(), ElementsAre("/dev"));
  EXPECT_TRUE(scan_.complete());
}

TEST_F(ScanTest, ListsInTheOrderOfIds) {
  for (const char* name : {"tty10", "a", "tty9", "tty1", "b"}) {
    tree_.File(std::string("dev/") + name);
  }
  EXPECT_THAT(Names("/dev/"), ElementsAre("a", "b", "tty1", "tty9", "tty10"));
}

TEST_F(ScanTest, WatchesTheNearestExistingAncestor) {
  struct Case {
    std::string_view make, list, watched;
  };
  const Case cases[] = {
      {"", "/a/b/c/d/", "/"},
      {"a", "/a/b/c/d/", "/a"},
      {"a/b/c", "/a/b/c/d/", "/a/b/c"},
      {"a/b/c/d", "/a/b/c/d/", "/a/b/c/d"},
  };
  for (const Case& c : cases) {
    tree_.Dir(c.make);
    ScanContext scan(host_, request_);
    EXPECT_THAT(scan.List(std::string(c.list), "*", All), IsEmpty());
    EXPECT_THAT(scan.directories(), ElementsAre(c.watched));
    EXPECT_TRUE(scan.complete());
    EXPECT_THAT(scan.rejected(), IsEmpty());
  }
}

TEST_F(ScanTest, AcceptsAFileInPlaceOfADirectory) {
  tree_.File("dev/file");
  EXPECT_THAT(Names("/dev/file/"), IsEmpty());
  EXPECT_THAT(scan_.directories(), ElementsAre("/dev"));
  EXPECT_TRUE(scan_.complete());
  EXPECT_FALSE(scan_.IsDirectory("/dev/file"));
  EXPECT_FALSE(scan_.IsDirectory("/dev/file/below"));
  EXPECT_THAT(scan_.rejected(), IsEmpty());
}

TEST_F(ScanTest, WatchesADirectoryLinkAndItsTarget) {
  tree_.Dir("srv/real");
  tree_.Link("dev/link", "/srv/real");
  EXPECT_TRUE(scan_.IsDirectory("/dev/link"));
  EXPECT_THAT(scan_.directories(), ElementsAre("/dev", "/srv/real"));
}

TEST_F(ScanTest, RejectsUnreadableDirectories) {
  tree_.Link("dev/loop", "loop");
  EXPECT_THAT(Names("/dev/loop/"), IsEmpty());
  EXPECT_FALSE(scan_.complete());
  EXPECT_THAT(Rejected(scan_.rejected()), ElementsAre("unreadable /dev/loop/"));
  EXPECT_THAT(scan_.rejected().front().detail, HasSubstr("the link /dev/loop is a loop"));
}

TEST_F(ScanTest, ReportsARejectionOnce) {
  tree_.Link("dev/dangling", "nowhere");
  Add("/dev/dangling");
  Add("/dev/dangling");
  EXPECT_THAT(Rejected(scan_.rejected()), ElementsAre("dangling_link /dev/dangling"));
}

TEST_F(ScanTest, FollowsLinksToNodes) {
  tree_.File("dev/node");
  tree_.Link("dev/by-id/relative", "../node");
  tree_.Link("dev/by-id/absolute", "/dev/node");
  tree_.Link("dev/by-id/chain", "relative");
  tree_.Link("dev/dir", "by-id");
  tree_.Link("dev/by-id/out", "../../../../../../../../dev/node");
  for (const std::string path : {"/dev/node", "/dev/by-id/relative", "/dev/by-id/absolute",
                                 "/dev/by-id/chain", "/dev/dir/chain", "/dev/by-id/out"}) {
    ScanContext scan(host_, request_);
    scan.BeginMatch(match_, 3);
    scan.AddNode(path, nullptr, {{"k", "v"}}, "me");
    ASSERT_THAT(scan.candidates(), SizeIs(1)) << path;
    const Candidate& candidate = scan.candidates().front();
    EXPECT_EQ(candidate.device->nodes.front().path, path);
    EXPECT_EQ(candidate.device->nodes.front().real_path, "/dev/node") << path;
    EXPECT_EQ(candidate.device->nodes.front().type, FileType::kRegular);
    EXPECT_EQ(candidate.identity, "me");
    EXPECT_EQ(candidate.device->nodes.front().captures, (NamedValues{{"k", "v"}}));
    EXPECT_EQ(candidate.device->match, 3u);
    EXPECT_TRUE(scan.directories().contains("/dev")) << path;
  }
}

TEST_F(ScanTest, RejectsDanglingLinks) {
  tree_.File("dev/file");
  tree_.Link("dev/dangling", "nowhere");
  tree_.Link("dev/self", "self");
  tree_.Link("dev/a", "b");
  tree_.Link("dev/b", "a");
  tree_.Link("dev/through", "file/x");
  tree_.Link("dev/outside", "/proc/self/exe");  // there is no /proc below this root
  for (const std::string path :
       {"/dev/dangling", "/dev/self", "/dev/a", "/dev/through", "/dev/outside"}) {
    ScanContext scan(host_, request_);
    scan.BeginMatch(match_, 0);
    scan.AddNode(path, nullptr, {}, "identity");
    EXPECT_THAT(scan.candidates(), IsEmpty()) << path;
    EXPECT_THAT(Rejected(scan.rejected()), ElementsAre("dangling_link " + path));
    EXPECT_FALSE(scan.rejected().empty() || scan.rejected().front().detail.empty());
    EXPECT_TRUE(scan.complete()) << path;
  }
}

TEST_F(ScanTest, AcceptsMissingPaths) {
  tree_.Dir("dev");
  Add("/dev/none");
  Add("/dev/none/below");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_THAT(scan_.rejected(), IsEmpty());
  EXPECT_THAT(scan_.directories(), ElementsAre("/dev"));
}

TEST_F(ScanTest, OmitsExcludedPaths) {
  tree_.File("dev/a");
  tree_.Link("dev/b", "a");
  tree_.Link("dev/c", "nowhere");
  tree_.File("dev/d");
  match_.exclude = {Glob::Compile("/dev/{a,c}").value()};
  scan_.BeginMatch(match_, 0);
  for (const char* path : {"/dev/a", "/dev/b", "/dev/c", "/dev/d"}) Add(path);
  EXPECT_THAT(Found(), ElementsAre("/dev/d"));
  EXPECT_THAT(scan_.rejected(), IsEmpty());
}

TEST_F(ScanTest, KeepsAPathOnce) {
  tree_.File("dev/a");
  Add("/dev/a");
  scan_.BeginMatch(match_, 1);
  Add("/dev/a");
  EXPECT_THAT(Found(), ElementsAre("/dev/a"));
  EXPECT_EQ(scan_.candidates().front().device->match, 0u);
}

TEST_F(ScanTest, MatchOfAnotherTypeDoesNotClaimThePath) {
  tree_.File("dev/a");
  const MatchSpec directories = PathMatch({"/x"}, NodeType::kDirectory);
  scan_.BeginMatch(directories, 0);
  Add("/dev/a");
  EXPECT_THAT(Found(), IsEmpty());
  scan_.BeginMatch(match_, 1);
  Add("/dev/a");
  EXPECT_THAT(Found(), ElementsAre("/dev/a"));
}

TEST_F(ScanTest, FiltersByType) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.File("dev/file");
  tree_.Dir("dev/dir");
  tree_.CharDevice("dev/char", 10, 5);
  tree_.BlockDevice("dev/block", 7, 200);
  ASSERT_EQ(mkfifo(tree_.path("dev/fifo").c_str(), 0600), 0);
  for (const std::string name : {"file", "dir", "char", "block"}) {
    tree_.Link("dev/to-" + name, name);
  }
  struct Case {
    NodeType type;
    std::vector<std::string> found;
  };
  const Case cases[] = {
      {NodeType::kDevice, {"/dev/block", "/dev/char", "/dev/to-block", "/dev/to-char"}},
      {NodeType::kFile, {"/dev/file", "/dev/to-file"}},
      {NodeType::kDirectory, {"/dev/dir", "/dev/to-dir"}},
      {NodeType::kAny,
       {"/dev/block", "/dev/char", "/dev/dir", "/dev/fifo", "/dev/file", "/dev/to-block",
        "/dev/to-char", "/dev/to-dir", "/dev/to-file"}},
  };
  for (const Case& c : cases) {
    const MatchSpec match = PathMatch({"/x"}, c.type);
    for (const bool listed : {true, false}) {
      ScanContext scan(host_, request_);
      scan.BeginMatch(match, 0);
      for (const HostEntry& entry : scan.List("/dev/", "*", All)) {
        scan.AddNode("/dev/" + entry.name, listed ? &entry : nullptr, {}, entry.name);
      }
      std::vector<std::string> found;
      for (const Candidate& candidate : scan.candidates()) {
        found.push_back(candidate.device->nodes.front().path);
        const bool is_char = candidate.device->nodes.front().real_path == "/dev/char";
        const bool is_block = candidate.device->nodes.front().real_path == "/dev/block";
        EXPECT_EQ(candidate.device->nodes.front().type == FileType::kCharacter, is_char);
        EXPECT_EQ(candidate.device->nodes.front().type == FileType::kBlock, is_block);
        EXPECT_EQ(candidate.device->nodes.front().minor, is_char ? 5u : is_block ? 200u : 0u);
      }
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, c.found);
      EXPECT_THAT(scan.rejected(), IsEmpty());
    }
  }
}

TEST_F(ScanTest, RejectsNamesThatAreNotUtf8) {
  tree_.File("dev/plain");
  tree_.File("dev/bad\xff");
  tree_.Link("dev/good", "bad\xff");
  Add("/dev/plain");
  Add("/dev/bad\xff");
  Add("/dev/good");
  EXPECT_THAT(Found(), ElementsAre("/dev/plain"));
  EXPECT_THAT(Rejected(scan_.rejected()),
              ElementsAre("bad_name /dev/bad\xff", "bad_name /dev/good"));
}

TEST_F(ScanTest, EnforcesItsLimits) {
  constexpr std::size_t kMost = ScanShare::kMax / ScanShare::kDevice;
  for (std::size_t i = 0; i < kMost; ++i) scan_.AddCandidate(Device(), std::to_string(i));
  EXPECT_TRUE(scan_.complete());
  EXPECT_THAT(scan_.rejected(), IsEmpty());
  for (int i = 0; i < 5; ++i) scan_.AddCandidate(Device(), "more" + std::to_string(i));
  EXPECT_FALSE(scan_.complete());
  EXPECT_THAT(scan_.candidates(), SizeIs(kMost));
  EXPECT_THAT(Rejected(scan_.rejected()), ElementsAre("limit more0"));
  for (std::size_t i = 0; i < ScanContext::kMaxRejections + 5; ++i) {
    scan_.Reject("/dev/x", RejectReason::kBadName, "");
  }
  EXPECT_THAT(scan_.rejected(), SizeIs(ScanContext::kMaxRejections));
}

TEST_F(ScanTest, ReportsMissingPermissions) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can change the user";
  tree_.File("dev/secret/sub/node");
  ASSERT_EQ(chmod(tree_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(tree_.path("dev/secret").c_str(), 0700), 0);
  const auto as_nobody = [&](const auto& look) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(2);
    look();
    const bool reported =
        !scan_.complete() && scan_.rejected().size() == 1 &&
        scan_.rejected().front().reason == RejectReason::kUnreadable &&
        scan_.rejected().front().detail.find(
            "Permission denied; allow this user to read /dev/secret, or") != std::string::npos;
    _exit(reported ? 0 : 1);
  };
  const auto ok = testing::ExitedWithCode(0);
  EXPECT_EXIT(as_nobody([&] { Names("/dev/secret/"); }), ok, "");
  EXPECT_EXIT(as_nobody([&] { Names("/dev/secret/sub/"); }), ok, "");
  EXPECT_EXIT(as_nobody([&] { scan_.IsDirectory("/dev/secret/sub"); }), ok, "");
  EXPECT_EXIT(as_nobody([&] { Add("/dev/secret/node"); }), ok, "");
}

}  // namespace
}  // namespace patchbay
