#include "cli/access_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Barrier kBarriers[] = {
    Barrier::kMissing,   Barrier::kNoDirectory,  Barrier::kNoRight, Barrier::kForbidden,
    Barrier::kWriteOnly, Barrier::kTooManyLinks, Barrier::kFailure,
};

TEST(AccessHint, NamesTheMissingMountOrPermission) {
  struct Case {
    Barrier barrier;
    std::string path;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {Barrier::kMissing, "/dev", {"the host's /dev at /host/dev", "hostPath", "read-only"}},
      {Barrier::kMissing, "/dev/serial", {"first such device", "the host's own /dev"}},
      {Barrier::kMissing, "/sys", {"the host's /sys at /host/sys", "hostPath", "read-only"}},
      {Barrier::kMissing, "/sys/class", {"the host's /sys at /host/sys"}},
      {Barrier::kMissing, "/run", {"the host's /run/udev at /host/run/udev"}},
      {Barrier::kMissing, "/run/udev", {"the host's /run/udev at /host/run/udev", "attributes"}},
      {Barrier::kMissing, "/run/udev/data", {"the host's /run/udev at /host/run/udev"}},
      {Barrier::kMissing, "/srv/cards", {"wait for it", "mount it at /host/srv/cards"}},
      {Barrier::kMissing, "/sys/class/net/eth0", {"wait for it"}},
      {Barrier::kMissing, "/devices", {"wait for it"}},
      {Barrier::kNoDirectory, "/dev/file", {"/dev/file is not a directory"}},
      {Barrier::kNoRight, "/dev/secret", {"root", "CAP_DAC_READ_SEARCH", "read /dev/secret"}},
      {Barrier::kNoRight, "/sys/class/net", {"root", "CAP_DAC_READ_SEARCH", "SELinux"}},
      {Barrier::kForbidden, "/dev", {"policy", "device cgroup", "seccomp"}},
      {Barrier::kWriteOnly, "/sys/devices/a/reset", {"no user can read /sys/devices/a/reset"}},
      {Barrier::kTooManyLinks, "/dev/loop", {"fix the link /dev/loop"}},
      {Barrier::kFailure, "/sys/devices/a/speed", {"dmesg"}},
  };
  const HostRoot host("/host");
  for (const Case& c : cases) {
    for (const std::string& word : c.words) {
      EXPECT_THAT(AccessHint({c.barrier, c.path}, host), HasSubstr(word)) << c.path;
    }
  }
}

TEST(AccessHint, IncludesTheHostRoot) {
  const Obstacle no_sys{Barrier::kMissing, "/sys"};
  EXPECT_THAT(AccessHint(no_sys, HostRoot("/")),
              AllOf(HasSubstr("at the same path"), HasSubstr("--host-root")));
  EXPECT_THAT(AccessHint(no_sys, HostRoot("/mnt/host/")),
              AllOf(HasSubstr("at /mnt/host/sys "), Not(HasSubstr("--host-root"))));
}

TEST(AccessHint, CoversEveryBarrier) {
  std::set<std::string> texts;
  for (const Barrier barrier : kBarriers) texts.insert(AccessHint({barrier, "/srv/x"}, HostRoot()));
  EXPECT_EQ(texts.size(), std::size(kBarriers));
  EXPECT_FALSE(texts.contains(""));
  EXPECT_THAT(AccessHint({}, HostRoot()), IsEmpty());
}

TEST(AccessHint, ListsSimilarNames) {
  const std::vector<std::string> neighbors = {"serial", "serio"};
  EXPECT_THAT(AccessHint({Barrier::kMissing, "/dev/serail", neighbors}, HostRoot()),
              AllOf(HasSubstr("/dev has serial, serio, but no serail"), Not(HasSubstr("mount"))));
  EXPECT_THAT(AccessHint({Barrier::kMissing, "/de", {"dev"}}, HostRoot()),
              HasSubstr("/ has dev, but no de"));
  EXPECT_THAT(AccessHint({Barrier::kMissing, "/sys", {"srv"}}, HostRoot()), HasSubstr("mount"))
      << "a path that Patchbay checks itself cannot be misspelled";
}

TEST(AccessHint, AcceptsAnyPath) {
  for (const std::string path : {"/dev/{}", "/dev/{0}", "/dev/{path", "/dev/\xff\n%s"}) {
    EXPECT_THAT(AccessHint({Barrier::kNoRight, path}, HostRoot()), HasSubstr("read " + path));
  }
}

}  // namespace
}  // namespace patchbay
