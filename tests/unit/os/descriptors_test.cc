#include "os/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "os/subprocess.h"

namespace patchbay {
namespace {

TEST(DescriptorsDeathTest, OpensClosedStandardDescriptors) {
  EXPECT_EXIT(
      {
        for (const int fd : {0, 1, 2}) close(fd);
        OpenStandardDescriptors();
        const int next = open("/dev/null", O_RDONLY);
        char c = 0;
        _exit(next > 2 && write(1, "x", 1) == 1 && read(0, &c, 1) < 0 ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

TEST(DescriptorsDeathTest, ReplacesFilesOpenedAsStandardDescriptors) {
  EXPECT_EXIT(
      {
        close(0);
        const bool taken = open("/dev/zero", O_RDONLY | O_CLOEXEC) == 0;
        OpenStandardDescriptors();
        char c = 0;
        _exit(taken && read(0, &c, 1) < 0 && fcntl(0, F_GETFD) == 0 ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

TEST(DescriptorsDeathTest, KeepsOpenStandardDescriptors) {
  EXPECT_EXIT(
      {
        OpenStandardDescriptors();
        std::fputs("still here", stderr);
        _exit(7);
      },
      testing::ExitedWithCode(7), "still here");
}

/// Raises the limit, then prints the soft and the hard limit of a child.
[[noreturn]] void ShowLimits() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, 700);
  limit.rlim_cur = 300;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (RaiseDescriptorLimit() != limit.rlim_max) _exit(1);
  SubprocessSpec spec;
  spec.argv = {"/bin/sh", "-c", "ulimit -Sn; ulimit -Hn"};
  spec.timeout = std::chrono::seconds(20);
  spec.max_output = 100;
  const SubprocessResult result = RunSubprocess(spec, *Cancellation::Create());
  std::fputs(result.output.c_str(), stderr);
  _exit(DescriptorLimit() == limit.rlim_max ? 7 : 1);
}

TEST(DescriptorsDeathTest, RaisesTheLimitOnlyForThisProcess) {
  EXPECT_EXIT(ShowLimits(), testing::ExitedWithCode(7), "^300\n700\n$");
}

}  // namespace
}  // namespace patchbay
