#pragma once

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

#include "support/process.h"

namespace patchbay::test {

/// Created before a test, it detects leftovers after it: a process, a zombie, a descriptor. Orphans
/// become children of this process, so that descendants are detected, too.
class Leftovers {
 public:
  Leftovers() {
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw std::runtime_error("cannot get orphans");
  }

  void ExpectNone() const {
    EXPECT_THAT(ChildrenOf(getpid()), testing::IsEmpty()) << "processes, or zombies, remain";
    EXPECT_EQ(DescriptorsOf(getpid()), descriptors_);
  }

  /// Waits for the orphans of child processes, all of which must have been killed, and counts them.
  /// A group leader is not an orphan: its parent should have reaped it. Processes that a test
  /// starts exit on their own after a while, so this cannot hang.
  static int ReapOrphans() {
    int orphans = 0;
    siginfo_t ended{};
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) == 0) {
      EXPECT_NE(getpgid(ended.si_pid), ended.si_pid) << "a child was not reaped";
      EXPECT_NE(ended.si_code, CLD_EXITED) << ended.si_pid << " was not killed";
      waitpid(ended.si_pid, nullptr, 0);
      ++orphans;
    }
    return orphans;
  }

 private:
  const std::size_t descriptors_ = DescriptorsOf(getpid());
};

}  // namespace patchbay::test
