#include "os/host_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "support/hanging_mount.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::string_view_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

/// Drops root's access to all files for the duration of a scope.
class AsUnprivileged {
 public:
  AsUnprivileged() : was_root_(geteuid() == 0) {
    if (was_root_ && seteuid(65534) != 0) std::abort();
  }
  ~AsUnprivileged() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  AsUnprivileged(const AsUnprivileged&) = delete;
  AsUnprivileged& operator=(const AsUnprivileged&) = delete;

 private:
  bool was_root_;
};

class HostRootTest : public testing::Test {
 protected:
  /// Returns the path that `host_path` resolves to, or the kind of error.
  std::string Resolved(std::string_view host_path) const {
    const auto node = root_.Resolve(host_path);
    if (node) return node->path;
    switch (node.error().kind) {
      case ErrorKind::kNotFound: return "not found";
      case ErrorKind::kInvalid: return "invalid";
      case ErrorKind::kUnavailable: return "unavailable";
      case ErrorKind::kPrecondition: return "precondition";
    }
    return "";
  }
  std::vector<std::string> Names(std::string_view directory) const {
    std::vector<std::string> names;
    const auto entries = root_.List(directory, [](const std::string&) { return true; });
    EXPECT_TRUE(entries) << entries.error().message;
    if (!entries) return names;
    for (const HostEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }

  test::TempTree tree_;
  HostRoot root_{tree_.path()};
};

TEST_F(HostRootTest, LocalPrependsTheRoot) {
  EXPECT_EQ(HostRoot("/host").Local("/dev/null"), "/host/dev/null");
  EXPECT_EQ(HostRoot("/host//").Local("/dev/null"), "/host/dev/null");
  EXPECT_EQ(HostRoot("/").Local("/dev/null"), "/dev/null");
}

TEST_F(HostRootTest, ResolvesPlainPaths) {
  tree_.File("dev/a");
  EXPECT_EQ(Resolved("/dev/a"), "/dev/a");
  EXPECT_EQ(Resolved("//dev/./a"), "/dev/a");
  EXPECT_EQ(Resolved("/dev"), "/dev");
  EXPECT_EQ(Resolved("/dev/../dev/a"), "/dev/a");
  EXPECT_EQ(Resolved("/"), "/");
  EXPECT_EQ(root_.Resolve("/dev/a")->type, FileType::kRegular);
  EXPECT_EQ(root_.Resolve("/dev")->type, FileType::kDirectory);
}

TEST_F(HostRootTest, FollowsLinksBelowTheRoot) {
  tree_.File("dev/a");
  tree_.Link("dev/relative", "a");
  tree_.Link("dev/absolute", "/dev/a");
  tree_.Link("dev/by/id/up", "../../a");
  tree_.Link("dev/chain", "/dev/by/id/up");
  tree_.Link("devices", "dev/by");
  EXPECT_EQ(Resolved("/dev/relative"), "/dev/a");
  EXPECT_EQ(Resolved("/dev/absolute"), "/dev/a");
  EXPECT_EQ(Resolved("/dev/by/id/up"), "/dev/a");
  EXPECT_EQ(Resolved("/dev/chain"), "/dev/a");
  EXPECT_EQ(Resolved("/devices/id/up"), "/dev/a") << "a link on the way";
  EXPECT_EQ(Resolved("/devices/id/../../a"), "/dev/a") << "'..' after a link is the real parent";
}

TEST_F(HostRootTest, NeverLeavesTheRoot) {
  test::TempTree outside;
  outside.File("secret");
  tree_.File("etc/passwd", "ours");
  tree_.Link("absolute", outside.path("secret"));
  tree_.Link("dotdot", "../../../../../../../../../../../.." + outside.path("secret"));
  tree_.Link("up", "../../../..");
  EXPECT_EQ(Resolved("/absolute"), "not found");
  EXPECT_EQ(Resolved("/dotdot"), "not found");
  EXPECT_EQ(Resolved("/../.." + outside.path("secret")), "not found");
  EXPECT_EQ(Resolved("/up"), "/");
  EXPECT_EQ(Resolved("/up/etc/passwd"), "/etc/passwd");
  EXPECT_EQ(Resolved("/../etc/passwd"), "/etc/passwd");
}

TEST_F(HostRootTest, DistinguishesMissingFromInvalidPaths) {
  tree_.File("file");
  tree_.Link("dangling", "/nowhere");
  tree_.Link("loop", "loop");
  tree_.Link("ping", "pong");
  tree_.Link("pong", "ping");
  EXPECT_EQ(Resolved("/nowhere"), "not found");
  EXPECT_EQ(Resolved("/dangling"), "not found");
  EXPECT_EQ(Resolved("/file/below"), "not found");
  EXPECT_EQ(Resolved("/loop"), "invalid");
  EXPECT_EQ(Resolved("/ping"), "invalid");
  EXPECT_THAT(root_.Resolve("/ping").error().message, HasSubstr("/ping"));
}

TEST_F(HostRootTest, FollowsAtMostFortyLinks) {
  tree_.File("link0");
  for (int i = 1; i <= 41; ++i) {
    tree_.Link("link" + std::to_string(i), "link" + std::to_string(i - 1));
  }
  EXPECT_EQ(Resolved("/link40"), "/link0");
  EXPECT_EQ(Resolved("/link41"), "invalid");
}

TEST_F(HostRootTest, ResolvesDeviceNumbers) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.CharDevice("dev/null", 1, 3);
  tree_.BlockDevice("dev/disk", 7, 300);
  tree_.Link("dev/by-id", "disk");
  const auto null = root_.Resolve("/dev/null");
  ASSERT_TRUE(null);
  EXPECT_EQ(null->type, FileType::kCharacter);
  EXPECT_EQ(null->major, 1u);
  EXPECT_EQ(null->minor, 3u);
  const auto disk = root_.Resolve("/dev/by-id");
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->type, FileType::kBlock);
  EXPECT_EQ(disk->major, 7u);
  EXPECT_EQ(disk->minor, 300u);

  const auto entries = root_.List("/dev", [](const std::string& name) { return name == "disk"; });
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().type, FileType::kBlock);
  EXPECT_EQ(entries->front().minor, 300u);
}

TEST_F(HostRootTest, HoldsDetectsReplacedNodes) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.CharDevice("dev/tty", 4, 64);
  const HostNode found = *root_.Resolve("/dev/tty");
  EXPECT_TRUE(root_.Holds(found));
  tree_.Remove("dev/tty");
  EXPECT_FALSE(root_.Holds(found)) << "gone";
  tree_.CharDevice("dev/tty", 4, 65);
  EXPECT_FALSE(root_.Holds(found)) << "another device";
  tree_.Remove("dev/tty");
  tree_.BlockDevice("dev/tty", 4, 64);
  EXPECT_FALSE(root_.Holds(found)) << "another type";
  tree_.CharDevice("dev/real", 4, 64);
  tree_.Remove("dev/tty");
  tree_.Link("dev/tty", "real");
  EXPECT_FALSE(root_.Holds(found)) << "a link now";
  EXPECT_FALSE(root_.Holds({std::string("/dev/real\0", 10), FileType::kCharacter, 4, 64}));
}

TEST_F(HostRootTest, ListsNamesAcceptedByTheFilter) {
  tree_.File("dev/a");
  tree_.Dir("dev/b");
  tree_.Link("dev/c", "nowhere");
  tree_.File("dev/.hidden");
  EXPECT_THAT(Names("/dev"), UnorderedElementsAre("a", "b", "c", ".hidden"));
  std::vector<std::string> asked;
  const auto entries = root_.List("/dev", [&](const std::string& name) {
    asked.push_back(name);
    return name == "c";
  });
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().name, "c");
  EXPECT_EQ(entries->front().type, FileType::kSymlink);
  EXPECT_THAT(asked, UnorderedElementsAre("a", "b", "c", ".hidden"));
}

TEST_F(HostRootTest, ReportsTheFileSystemOfADirectory) {
  tree_.Dir("a");
  struct stat info;
  ASSERT_EQ(stat(tree_.path("a").c_str(), &info), 0);
  EXPECT_EQ(root_.FileSystemOf(HostNode{"/a", FileType::kDirectory, 0, 0}), info.st_dev);
  EXPECT_FALSE(root_.FileSystemOf(HostNode{"/c", FileType::kDirectory, 0, 0}));
}

TEST_F(HostRootTest, ListsThroughLinksBelowTheRoot) {
  tree_.File("real/x");
  tree_.Link("link", "/real");
  EXPECT_THAT(Names("/link"), ElementsAre("x"));
  tree_.Dir("empty");
  EXPECT_THAT(Names("/empty"), IsEmpty());
}

TEST_F(HostRootTest, AcceptsAnyByteInAName) {
  const std::string name = "\xff\xfe \n\x1b[31m\"";
  tree_.File("dev/" + name);
  EXPECT_THAT(Names("/dev"), ElementsAre(name));
  EXPECT_EQ(Resolved("/dev/" + name), "/dev/" + name);
}

TEST_F(HostRootTest, ListReportsUnreadableDirectories) {
  const auto all = [](const std::string&) { return true; };
  EXPECT_EQ(root_.List("/nowhere", all).error().kind, ErrorKind::kNotFound);
  tree_.File("file");
  EXPECT_EQ(root_.List("/file", all).error().kind, ErrorKind::kNotFound);
}

TEST_F(HostRootTest, DistinguishesDeniedFromMissing) {
  tree_.File("closed/x");
  chmod(tree_.path().c_str(), 0711);
  chmod(tree_.path("closed").c_str(), 0);
  Result<std::vector<HostEntry>> list = Fail(ErrorKind::kInvalid, "");
  Result<HostNode> node = Fail(ErrorKind::kInvalid, "");
  {
    const AsUnprivileged unprivileged;
    list = root_.List("/closed", [](const std::string&) { return true; });
    node = root_.Resolve("/closed/x");
  }
  chmod(tree_.path("closed").c_str(), 0700);
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().kind, ErrorKind::kUnavailable);
  const auto hint = HasSubstr("Permission denied; allow this user to read /closed, or run as root");
  EXPECT_THAT(list.error().message, hint);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(node.error().message, AllOf(StartsWith("cannot access /closed/x: "), hint));
}

TEST_F(HostRootTest, ReadsFilesThroughLinksBelowTheRoot) {
  tree_.File("sys/real/serial", "A9\n");
  tree_.File("sys/empty");
  tree_.Link("sys/class", "/sys/real");
  tree_.Link("sys/alias", "class/serial");
  EXPECT_EQ(root_.ReadFile("/sys/real/serial", 100), "A9\n");
  EXPECT_EQ(root_.ReadFile("/sys/class/serial", 100), "A9\n");
  EXPECT_EQ(root_.ReadFile("/sys/alias", 100), "A9\n");
  EXPECT_EQ(root_.ReadFile("/sys/empty", 0), "");
  const std::string bytes("\0\xff\n", 3);
  tree_.File("bytes", bytes);
  EXPECT_EQ(root_.ReadFile("/bytes", 3), bytes);
  const HostNode sys = *root_.Resolve("/sys");
  EXPECT_EQ(root_.ReadFile(sys, "empty", 100), "");
  EXPECT_EQ(root_.ReadFile(sys, "alias", 100), "A9\n") << "a link is followed";
  EXPECT_EQ(root_.ReadFile(*root_.Resolve("/"), "bytes", 100), bytes);
}

TEST_F(HostRootTest, ReadFileEnforcesTheMaximumSize) {
  tree_.File("large", std::string(10'000, 'x'));
  EXPECT_EQ(root_.ReadFile("/large", 10'000)->size(), 10'000u);
  const auto cut = root_.ReadFile("/large", 9'999);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(cut.error().message, HasSubstr("/large contains more than 9999 bytes"));
}

TEST_F(HostRootTest, ReadFileOpensOnlyRegularFiles) {
  tree_.Dir("directory");
  ASSERT_EQ(mkfifo(tree_.path("fifo").c_str(), 0666), 0);  // opening it would wait for a writer
  tree_.Link("alias", "fifo");
  std::vector<std::string> names = {"directory", "fifo", "alias"};
  if (geteuid() == 0) {
    tree_.CharDevice("device", 1, 5);
    names.push_back("device");
  }
  const HostNode top = *root_.Resolve("/");
  for (const std::string& name : names) {
    for (const auto& text : {root_.ReadFile("/" + name, 100), root_.ReadFile(top, name, 100)}) {
      ASSERT_FALSE(text) << name;
      EXPECT_EQ(text.error().kind, ErrorKind::kInvalid) << name;
      EXPECT_THAT(text.error().message, HasSubstr("is not a regular file"));
    }
  }
}

TEST_F(HostRootTest, ReadFileReportsTheReasonOfAFailure) {
  test::TempTree outside;
  outside.File("secret");
  tree_.Link("dotdot", "../../../../../../../.." + outside.path("secret"));
  tree_.Link("loop", "loop");
  tree_.Link("alias", "loop");
  EXPECT_EQ(root_.ReadFile("/nowhere", 9).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(root_.ReadFile("/dotdot", 9).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(root_.ReadFile("/loop", 9).error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(root_.ReadFile("/alias", 9).error().message,
              StartsWith("cannot access /alias: the link /loop is a loop"));
  const HostNode top = *root_.Resolve("/");
  EXPECT_EQ(root_.ReadFile(top, "nowhere", 9).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(root_.ReadFile(top, "dotdot", 9).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(root_.ReadFile(top, "loop", 9).error().kind, ErrorKind::kInvalid);
  for (const char* name : {"", ".", "..", "a/b", "/etc/passwd"}) {
    EXPECT_EQ(root_.ReadFile(top, name, 9).error().kind, ErrorKind::kInvalid) << name;
  }
  tree_.File("closed", "secret");
  chmod(tree_.path().c_str(), 0711);
  chmod(tree_.path("closed").c_str(), 0200);
  Result<std::string> closed = "";
  {
    const AsUnprivileged unprivileged;
    closed = root_.ReadFile("/closed", 100);
  }
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(closed.error().message,
              StartsWith("cannot read /closed: Permission denied; allow this user to read "
                         "/closed, or run as root with CAP_DAC_READ_SEARCH"));
  // Reading fails, because nothing is mapped at address 0.
  const auto memory = HostRoot("/").ReadFile("/proc/self/mem", 100);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(memory.error().message, HasSubstr("/mem: Input/output error"));
}

TEST_F(HostRootTest, ReadLinkReturnsTheTarget) {
  tree_.Link("sys/device/driver", "../../bus/drivers/ftdi");
  tree_.Link("sys/class", "device");
  tree_.Link("top", "/anywhere");
  tree_.Link("sys/self", "self");
  EXPECT_EQ(root_.ReadLink("/sys/device/driver"), "../../bus/drivers/ftdi");
  EXPECT_EQ(root_.ReadLink("/sys/class/driver"), "../../bus/drivers/ftdi") << "a link on the way";
  EXPECT_EQ(root_.ReadLink("/sys/class"), "device");
  EXPECT_EQ(root_.ReadLink("/sys/class/"), "device");
  EXPECT_EQ(root_.ReadLink("/top"), "/anywhere");
  EXPECT_EQ(root_.ReadLink("/sys/self"), "self");
  const HostNode device = *root_.Resolve("/sys/class");
  EXPECT_EQ(root_.ReadLink(device, "driver"), "../../bus/drivers/ftdi");
  EXPECT_EQ(root_.ReadLink(*root_.Resolve("/"), "top"), "/anywhere");
}

TEST_F(HostRootTest, ReadLinkReportsTheReasonOfAFailure) {
  tree_.File("file");
  tree_.Link("link", "file");
  const auto kind = [&](std::string_view path) { return root_.ReadLink(path).error().kind; };
  EXPECT_EQ(kind("/file"), ErrorKind::kInvalid);
  EXPECT_EQ(kind("/"), ErrorKind::kInvalid);
  EXPECT_EQ(kind(""), ErrorKind::kInvalid);
  EXPECT_EQ(kind("/.."), ErrorKind::kInvalid);
  EXPECT_EQ(kind(std::string("/link\0x", 7)), ErrorKind::kInvalid);
  EXPECT_EQ(kind("/nowhere"), ErrorKind::kNotFound);
  EXPECT_EQ(kind("/nowhere/link"), ErrorKind::kNotFound);
  EXPECT_EQ(kind("/file/link"), ErrorKind::kNotFound);
  const HostNode top = *root_.Resolve("/");
  EXPECT_EQ(root_.ReadLink(top, "../link").error().kind, ErrorKind::kInvalid) << "no name";
}

// --- lookups that do not block ---

/// Needs a kernel that supports RESOLVE_CACHED, and paths that are in its cache.
TEST_F(HostRootTest, CachedLookupsAgreeWithOthers) {
  tree_.CharDevice("dev/tty0", 4, 7);
  tree_.Link("dev/by-id/relative", "../tty0");
  tree_.Link("dev/by-id/absolute", "/dev/by-id/relative");
  tree_.Link("class", "dev/by-id");
  if (!root_.ResolveCached("/dev/tty0")) GTEST_SKIP() << "no openat2 with RESOLVE_CACHED";
  for (const char* path : {"/dev/tty0", "dev/tty0", "/dev/by-id/relative", "/dev/by-id/absolute",
                           "/class/absolute", "/class/../tty0", "/dev"}) {
    const auto node = root_.Resolve(path);  // also updates the access times of links
    ASSERT_TRUE(node) << path;
    EXPECT_EQ(root_.ResolveCached(path), *node) << path;
    EXPECT_EQ(HostRoot("/").ResolveCached(tree_.path("dev/tty0"))->path, tree_.path("dev/tty0"));
  }
  const HostNode node = *root_.Resolve("/dev/tty0");
  EXPECT_TRUE(root_.HoldsCached(node));
  EXPECT_FALSE(root_.HoldsCached({"/dev/by-id/relative", node.type, node.major, node.minor}));
  EXPECT_FALSE(root_.HoldsCached({"/dev/tty0", node.type, node.major, node.minor + 1}));
  EXPECT_FALSE(root_.HoldsCached({"/dev/tty0", FileType::kBlock, node.major, node.minor}));
}

TEST_F(HostRootTest, CachedLookupsDoNotFindMissingPaths) {
  tree_.CharDevice("dev/tty0", 4, 7);
  tree_.Link("loop", "loop");
  tree_.Link("out", "../../../../../../../../etc/passwd");
  const HostNode node = *root_.Resolve("/dev/tty0");
  tree_.Remove("dev/tty0");
  EXPECT_FALSE(root_.HoldsCached(node));
  for (const std::string_view path : {"/dev/tty0"sv, "/loop"sv, "/out"sv, "/"sv, "/a\0b"sv}) {
    EXPECT_EQ(root_.ResolveCached(path), std::nullopt) << path;
  }
  EXPECT_FALSE(HostRoot(tree_.path("nowhere")).ResolveCached("/dev"));
}

TEST_F(HostRootTest, CachedLookupsDoNotBlock) {
  tree_.Dir("mnt");
  tree_.Link("link", "mnt/x");
  test::HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  EXPECT_EQ(root_.ResolveCached("/mnt/x"), std::nullopt);
  EXPECT_EQ(root_.ResolveCached("/link"), std::nullopt);
  EXPECT_FALSE(root_.HoldsCached({"/mnt/x", FileType::kCharacter, 1, 3}));
}

}  // namespace
}  // namespace patchbay
