#include "dra/claim_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <vector>

#include "base/format.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ClaimLockTest : public testing::Test {
 protected:
  std::shared_ptr<ClaimLock> Open() const {
    return ClaimLock::Open(path_, std::make_shared<ClaimLock::Table>()).value();
  }
  /// Returns whether an object could lock the names.
  static bool TryLock(ClaimLock& lock, const std::vector<std::string>& names) {
    return lock.TryLock(names).value();
  }

  test::TempTree tree_;
  const std::string path_ = tree_.path("serialize.lock");
};

TEST_F(ClaimLockTest, ExcludesOtherObjectsUntilItIsDestroyed) {
  auto one = Open();
  const auto other = Open();
  EXPECT_TRUE(TryLock(*one, {"claim a"}));
  EXPECT_FALSE(TryLock(*other, {"claim a"}));
  EXPECT_TRUE(TryLock(*other, {"claim b"}));
  EXPECT_TRUE(TryLock(*one, {"device a"}));
  EXPECT_FALSE(TryLock(*other, {"device a"}));
  one.reset();
  EXPECT_TRUE(TryLock(*other, {"claim a", "device a"}));
}

TEST_F(ClaimLockTest, LocksAllNamesOrNone) {
  const auto one = Open();
  const auto other = Open();
  const auto third = Open();
  ASSERT_TRUE(TryLock(*one, {"b"}));
  EXPECT_FALSE(TryLock(*other, {"a", "b", "c"}));
  EXPECT_TRUE(TryLock(*third, {"a", "c"}));
}

TEST_F(ClaimLockTest, KeepsWhatItHasIfItCannotLockMore) {
  const auto one = Open();
  const auto other = Open();
  ASSERT_TRUE(TryLock(*one, {"a"}));
  ASSERT_TRUE(TryLock(*other, {"b"}));
  EXPECT_FALSE(TryLock(*one, {"a", "b"}));
  EXPECT_FALSE(TryLock(*other, {"a"}));
}

TEST_F(ClaimLockTest, LocksNothingForNoNamesAndDuplicatesOnce) {
  const auto one = Open();
  const auto other = Open();
  EXPECT_TRUE(TryLock(*one, {}));
  EXPECT_TRUE(TryLock(*one, {"a", "a"}));
  EXPECT_TRUE(TryLock(*one, {"a"}));
  EXPECT_TRUE(TryLock(*other, {"b"}));
}

/// The other process is killed while it has the lock.
TEST_F(ClaimLockTest, ExcludesOtherProcessesUntilTheyEnd) {
  const auto lock = Open();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto own = ClaimLock::Open(path_, std::make_shared<ClaimLock::Table>());
    const std::string name = "claim a";
    const bool has_lock = own && (*own)->TryLock({&name, 1}).value_or(false);
    const char answer = has_lock ? 'y' : 'n';
    if (write(ready[1], &answer, 1) != 1) _exit(1);
    while (true) pause();
  }
  ASSERT_GT(child, 0);
  char answer = 0;
  EXPECT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(TryLock(*lock, {"claim a"}));
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(TryLock(*lock, {"claim a"}));
  close(ready[0]);
  close(ready[1]);
}

/// A file of the same name does not have the locks of the one that was deleted.
TEST_F(ClaimLockTest, ExcludesOthersAfterTheDirectoryWasDeleted) {
  const auto table = std::make_shared<ClaimLock::Table>();
  const std::string path = tree_.path("data/serialize.lock");
  const auto one = ClaimLock::Open(path, table).value();
  EXPECT_TRUE(TryLock(*one, {"a"}));
  tree_.Remove("data");
  const auto other = ClaimLock::Open(path, table).value();
  EXPECT_FALSE(TryLock(*other, {"a"}));
  EXPECT_TRUE(TryLock(*other, {"b"}));
  const std::string name = "c";
  const auto deleted = one->TryLock({&name, 1});
  ASSERT_FALSE(deleted);
  EXPECT_THAT(deleted.error().message, HasSubstr("was deleted during the call"));
  EXPECT_TRUE(TryLock(*other, {"c"})) << "nothing is locked after a failure";
}

TEST_F(ClaimLockTest, ProgramsDoNotInheritLocks) {
  auto one = Open();
  ASSERT_TRUE(TryLock(*one, {"a"}));
  const std::string gate = tree_.path("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  FILE* const program = popen(Format("echo; read line < {}", gate).c_str(), "r");
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(fgetc(program), '\n') << "the program has not started";
  one.reset();
  EXPECT_TRUE(TryLock(*Open(), {"a"}));
  std::ofstream(gate) << "\n";
  pclose(program);
}

TEST_F(ClaimLockTest, CreatesAFileForItsOwnerOnly) {
  const mode_t mask = umask(0);
  Open();
  umask(mask);
  struct stat info = {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFREG | 0600));
}

TEST_F(ClaimLockTest, NamesTheFileThatItCannotOpen) {
  const auto missing = ClaimLock::Open(tree_.path("missing/too/serialize.lock"),
                                       std::make_shared<ClaimLock::Table>());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(missing.error().message,
              AllOf(HasSubstr("cannot lock " + tree_.path("missing/too/serialize.lock")),
                    HasSubstr("must be a writable directory of the host")));
  tree_.File("target", "untouched");
  tree_.Link("link", tree_.path("target"));
  const auto link = ClaimLock::Open(tree_.path("link"), std::make_shared<ClaimLock::Table>());
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace patchbay
