#include "discovery/mount_table.h"

#include <gmock/gmock.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ParseMountInfo, ReadsFileSystemsOnBlockDevices) {
  const auto mounts = ParseMountInfo(
      "22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "28 1 8:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
      "40 28 259:3 /data /mnt/a\\040b\\134 rw - xfs /dev/nvme0n1p3 rw\n"
      "41 28 0:38 /@ /home rw shared:1 master:2 - btrfs /dev/sda2 rw,subvol=/@\n"
      "42 28 0:39 / /srv rw - zfs rpool/ROOT/srv rw,xattr\n"
      "43 28 0:40 / /var/lib rw - overlay overlay rw,lowerdir=/a\n");
  ASSERT_THAT(mounts, SizeIs(4));
  EXPECT_EQ(mounts[0].major, 8U);
  EXPECT_EQ(mounts[0].minor, 2U);
  EXPECT_EQ(mounts[0].root, "/");
  EXPECT_EQ(mounts[0].target, "/");
  EXPECT_EQ(mounts[1].root, "/data");
  EXPECT_EQ(mounts[1].target, "/mnt/a b\\");
  EXPECT_EQ(mounts[2].type, "btrfs");
  EXPECT_EQ(mounts[2].source, "/dev/sda2");
  EXPECT_EQ(mounts[3].source, "rpool/ROOT/srv");
}

TEST(ParseMountInfo, LeavesOutOtherLines) {
  EXPECT_THAT(ParseMountInfo(""), IsEmpty());
  EXPECT_THAT(ParseMountInfo("\n\n1 2\n1 2 x:y / / rw - ext4 /dev/a rw\n1 2 8: / /"), IsEmpty());
  const auto cut = ParseMountInfo("1 2 8:1 / /cut\\04");
  ASSERT_THAT(cut, SizeIs(1));
  EXPECT_EQ(cut[0].target, "/cut\\04");
}

TEST(ParseSwaps, ReadsPathsBelowTheHeadings) {
  EXPECT_THAT(ParseSwaps("Filename\t\t\tType\t\tSize\n"
                         "/dev/sda3                               partition\t999\n"
                         "/var/swap\\040file\tfile\t1\n"),
              ElementsAre("/dev/sda3", "/var/swap file"));
  EXPECT_THAT(ParseSwaps("Filename\n"), IsEmpty());
  EXPECT_THAT(ParseSwaps(""), IsEmpty());
}

}  // namespace
}  // namespace patchbay
