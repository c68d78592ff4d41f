// Disks that the host uses, on trees with the tables of several kinds of hosts, and for real.

#include "discovery/disk_use.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/format.h"
#include "specs.h"
#include "support/fake_sysfs.h"
#include "support/loop_disk.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::Ids;
using test::PathMatch;
using test::Resource;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// A host with the disks sda (8:0) with two partitions, sdb (8:16) with one, and sdc (8:32).
class DiskUseTest : public testing::Test {
 protected:
  DiskUseTest() {
    Disk("sda", "8:0");
    Partition("sda", 1, "8:1");
    Partition("sda", 2, "8:2");
    Disk("sdb", "8:16");
    Partition("sdb", 1, "8:17", {{"ID_FS_TYPE", "zfs_member"}, {"ID_FS_LABEL", "rpool"}});
    Disk("sdc", "8:32");
  }

  void Disk(const std::string& name, const std::string& number) {
    sysfs_.Device("/sys/devices/pci0/" + name,
                  {.subsystem = "block", .devtype = "disk", .number = number});
  }
  void Partition(const std::string& disk, int index, const std::string& number,
                 const test::FakeDevice::Pairs& udev = {}) {
    sysfs_.Device(Format("/sys/devices/pci0/{0}/{0}{1}", disk, index),
                  {.subsystem = "block", .devtype = "partition", .number = number, .udev = udev});
  }
  /// A volume or an array of other devices, given by their syspaths below /sys/devices.
  void Volume(const std::string& name, const std::string& number,
              const std::vector<std::string>& parts,
              const test::FakeDevice::Pairs& attributes = {}) {
    const std::string path = "/sys/devices/virtual/block/" + name;
    sysfs_.Device(
        path,
        {.subsystem = "block", .devtype = "disk", .number = number, .attributes = attributes});
    for (const std::string& part : parts) {
      const std::string of = "/sys/devices/" + part;
      tree_.Link(path + "/slaves/" + std::string(BaseNameOf(part)), of);
      tree_.Link(of + "/holders/" + name, path);
    }
  }
  static std::string BaseNameOf(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
  }
  void Mounts(const std::string& lines) { tree_.File("/proc/1/mountinfo", lines); }

  std::string Use(unsigned major, unsigned minor, const std::string& node = "/dev/x") const {
    const Sysfs sysfs{HostRoot(tree_.path())};
    DiskUse uses(sysfs);
    const DeviceNode of{
        .path = node, .real_path = node, .type = FileType::kBlock, .major = major, .minor = minor};
    const auto use = uses.Of(of);
    return use ? *use : "failed: " + use.error().message;
  }

  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(DiskUseTest, NothingIsInUseWithoutTables) {
  for (const unsigned minor : {0, 1, 2, 16, 17, 32}) EXPECT_EQ(Use(8, minor), "") << minor;
}

TEST_F(DiskUseTest, MountedPartitionIsInUseWithItsDiskOnly) {
  Mounts("28 1 8:2 / / rw - ext4 /dev/root rw\n");
  EXPECT_EQ(Use(8, 2), "it is mounted at /");
  EXPECT_EQ(Use(8, 0), "it has the partition /dev/sda2, which is mounted at /");
  EXPECT_EQ(Use(8, 1), "");
  EXPECT_EQ(Use(8, 16), "");
}

TEST_F(DiskUseTest, MountedDiskIsInUseWithItsPartitions) {
  Mounts("28 1 8:0 / /data rw - ext4 /dev/sda rw\n");
  EXPECT_EQ(Use(8, 0), "it is mounted at /data");
  EXPECT_EQ(Use(8, 1), "it is a partition of /dev/sda, which is mounted at /data");
}

TEST_F(DiskUseTest, PartOfAFileSystemIsNamedAsAContainerSeesIt) {
  Mounts(
      "28 1 0:30 / / rw - overlay overlay rw\n"
      "29 1 8:1 /pods/1/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n");
  EXPECT_EQ(Use(8, 1), "it is mounted: its /pods/1/hosts is at /etc/hosts");
  Mounts(
      "29 1 8:1 /pods/1/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
      "30 1 8:1 / /var/lib/kubelet rw - ext4 /dev/sda1 rw\n");
  EXPECT_EQ(Use(8, 1), "it is mounted at /var/lib/kubelet");
}

TEST_F(DiskUseTest, SwapSpaceIsInUse) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.File("/proc/swaps", "Filename\tType\n/dev/sda1 partition\t9\n/sdc\tpartition\t9\n");
  EXPECT_EQ(Use(8, 1), "it is swap space");
  EXPECT_EQ(Use(8, 0), "it has the partition /dev/sda1, which is swap space");
  EXPECT_EQ(Use(8, 32), "it is swap space");
}

TEST_F(DiskUseTest, VolumeLeadsToItsDisks) {
  Volume("dm-0", "253:0", {"pci0/sda/sda2", "pci0/sdc"}, {{"dm/name", "vg-root"}});
  EXPECT_EQ(Use(253, 0), "");
  EXPECT_EQ(Use(8, 32), "it is part of /dev/dm-0 (vg-root)");
  Mounts("28 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw\n");
  EXPECT_EQ(Use(253, 0), "it is mounted at /");
  EXPECT_EQ(Use(8, 32), "it is part of /dev/dm-0 (vg-root), which is mounted at /");
  EXPECT_EQ(Use(8, 0),
            "it has the partition /dev/sda2, which is part of /dev/dm-0 (vg-root), which is "
            "mounted at /");
  EXPECT_EQ(Use(8, 1), "");
}

TEST_F(DiskUseTest, PartitionOfAnArrayOfVolumesLeadsToItsDisks) {
  Volume("dm-1", "253:1", {"pci0/sdb/sdb1"});
  Volume("md0", "9:0", {"virtual/block/dm-1", "pci0/sdc"});
  sysfs_.Device("/sys/devices/virtual/block/md0/md0p1",
                {.subsystem = "block", .devtype = "partition", .number = "259:9"});
  Mounts("28 1 259:9 / /srv rw - xfs /dev/md0p1 rw\n");
  EXPECT_THAT(Use(9, 0), HasSubstr("it has the partition /dev/md0p1, which is mounted at /srv"));
  EXPECT_THAT(Use(8, 32), HasSubstr("it is part of /dev/md0, which"));
  EXPECT_THAT(Use(8, 16), HasSubstr("is mounted at /srv"));
  // Without "holders", which an old kernel may lack.
  for (const char* of : {"pci0/sdb/sdb1", "pci0/sdc", "virtual/block/dm-1"}) {
    tree_.Remove(Format("/sys/devices/{}/holders", of));
  }
  EXPECT_THAT(Use(8, 32), HasSubstr("is mounted at /srv"));
  EXPECT_THAT(Use(8, 16), HasSubstr("is mounted at /srv"));
}

TEST_F(DiskUseTest, DisksOfBtrfsAreInUse) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Mounts("41 28 0:38 /@ / rw - btrfs /dev/sda2 rw,subvol=/@\n");
  EXPECT_EQ(Use(8, 2), "it is mounted at /");
  tree_.Link("/sys/fs/btrfs/1234/devices/sda2", "/sys/devices/pci0/sda/sda2");
  tree_.Link("/sys/fs/btrfs/1234/devices/sdc", "/sys/devices/pci0/sdc");
  tree_.Dir("/sys/fs/btrfs/features");
  EXPECT_EQ(Use(8, 32), "it is part of a btrfs file system that is mounted at /");
  tree_.Remove("/proc/1/mountinfo");
  EXPECT_EQ(Use(8, 32), "it is part of the btrfs file system 1234");
}

TEST_F(DiskUseTest, DisksOfAZfsPoolAreInUse) {
  Mounts("42 28 0:39 / /srv rw - zfs other/ROOT/srv rw\n");
  EXPECT_EQ(Use(8, 17), "");
  Mounts("42 28 0:39 / /srv rw - zfs rpool/ROOT/srv rw\n");
  EXPECT_EQ(Use(8, 17), "it is part of the ZFS pool rpool, which is mounted at /srv");
  EXPECT_THAT(Use(8, 16), HasSubstr("has the partition /dev/sdb1, which is part of the ZFS pool"));
  tree_.Remove("/proc/1/mountinfo");
  tree_.Dir("/proc/spl/kstat/zfs/rpool");
  EXPECT_EQ(Use(8, 17), "it is part of the ZFS pool rpool, which is imported");
}

TEST_F(DiskUseTest, SeveralSourcesOfOneFileSystemAreInUse) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Mounts(
      "41 28 0:38 / /b rw - bcachefs /dev/sda1:/dev/sdc rw\n"
      "42 28 0:39 / /n rw - nfs4 server:/dev/sdb rw\n");
  EXPECT_EQ(Use(8, 1), "it is mounted at /b");
  EXPECT_EQ(Use(8, 32), "it is mounted at /b");
}

TEST_F(DiskUseTest, WithoutSysfsTheKernelsNamesTellPartitions) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.BlockDevice("/dev/nvme0n1", 259, 0);
  tree_.BlockDevice("/dev/nvme0n1p2", 259, 2);
  tree_.BlockDevice("/dev/nvme0n12", 259, 3);
  Mounts("28 1 259:2 / / rw - ext4 /dev/root rw\n29 1 259:0 / /x rw - ext4 /dev/root rw\n");
  EXPECT_EQ(Use(259, 3, "/dev/nvme0n12"), "");
  EXPECT_EQ(Use(259, 0, "/dev/nvme0n1"), "it is mounted at /x");
  Mounts("28 1 259:2 / / rw - ext4 /dev/root rw\n");
  EXPECT_EQ(Use(259, 0, "/dev/nvme0n1"),
            "it has the partition /dev/nvme0n1p2, which is mounted at /");
  Mounts("28 1 259:0 / / rw - ext4 /dev/root rw\n");
  EXPECT_EQ(Use(259, 2, "/dev/nvme0n1p2"),
            "it is a partition of /dev/nvme0n1, which is mounted at /");
}

TEST_F(DiskUseTest, TooBigATableFails) {
  Mounts(std::string((32U << 20U) + 1, '\n'));
  EXPECT_THAT(Use(8, 32), HasSubstr("failed: "));
}

/// The tables of this machine say nothing about another host, which a tree of files describes.
TEST_F(DiskUseTest, TreeOfAnotherHostDoesNotUseTheMountsOfThisProcess) {
  const auto own = HostRoot().ReadFile("/proc/self/mountinfo", 16U << 20U);
  ASSERT_TRUE(own);
  for (unsigned major = 1; major < 512; ++major) {
    const DeviceNode node{
        .path = "/dev/y", .real_path = "/dev/y", .type = FileType::kBlock, .major = major};
    const Sysfs sysfs{HostRoot(tree_.path())};
    DiskUse uses(sysfs);
    EXPECT_EQ(uses.Of(node).value(), "") << major;
  }
}

TEST_F(DiskUseTest, DevicesInUseAreRejectedUnlessAllowed) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Mounts("28 1 8:2 / / rw - ext4 /dev/root rw\n");
  MatchSpec match = PathMatch({"/dev/sd*"});
  const Discovery found = Discover(Resource({match}), HostRoot(tree_.path()), "node");
  EXPECT_THAT(Ids(found), ElementsAre("sda1", "sdb", "sdb1", "sdc"));
  EXPECT_THAT(test::Rejected(found.rejected), ElementsAre("mounted /dev/sda", "mounted /dev/sda2"));
  EXPECT_EQ(found.rejected[1].detail,
            "it is mounted at /; unmount it, or exclude it; set allow_mounted = true only if pods "
            "do not write to it");
  EXPECT_TRUE(found.complete);
  match.allow_mounted = true;
  EXPECT_THAT(Ids(Discover(Resource({match}), HostRoot(tree_.path()), "node")), SizeIs(6));
}

TEST_F(DiskUseTest, DevicesOfUnknownUseAreRejectedAndNotSaidToBeMounted) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Mounts("28 1 8:2 / / rw - ext4 /dev/root rw\n");
  std::filesystem::resize_file(tree_.path("/proc/1/mountinfo"), 33U << 20U);
  const Discovery found =
      Discover(Resource({PathMatch({"/dev/sdc"})}), HostRoot(tree_.path()), "n");
  EXPECT_THAT(test::Rejected(found.rejected), ElementsAre("mounted /dev/sdc"));
  EXPECT_THAT(found.rejected[0].detail,
              AllOf(HasSubstr("whether the host uses it is unknown: "),
                    HasSubstr("; fix this, or exclude the disk"), Not(HasSubstr("allow_mounted"))));
  EXPECT_FALSE(found.complete);
}

TEST_F(DiskUseTest, DeviceIsRejectedWhileItIsMounted) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  const auto spec = std::make_shared<const ResourceSpec>(Resource({PathMatch({"/dev/sdc"})}));
  const ScanRequest request{.node_name = "node"};
  const HostRoot host(tree_.path());
  EXPECT_THAT(Ids(Discover(*spec, host, request)), ElementsAre("sdc"));
  Mounts("28 1 8:32 / /data rw - ext4 /dev/sdc rw\n");
  EXPECT_THAT(Ids(Discover(*spec, host, request)), IsEmpty());
  Mounts("");
  EXPECT_THAT(Ids(Discover(*spec, host, request)), ElementsAre("sdc"));
}

/// Disks that this host really uses.
class RealDiskUseTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.why_not().empty()) GTEST_SKIP() << "no loop device: " << disk_.why_not();
  }
  /// The nodes of the disk and its partitions that are devices.
  std::vector<std::string> Found(bool allow_mounted = false) const {
    MatchSpec match = PathMatch({});
    auto& globs = std::get<PathSource>(match.source).globs;
    for (const std::string& path : {disk_.path(), disk_.partition(1), disk_.partition(2)}) {
      globs.push_back(Glob::Compile(path).value());
    }
    match.allow_mounted = allow_mounted;
    return test::Paths(Discover(Resource({match}), HostRoot(), "node"));
  }

  test::LoopDisk disk_;
};

TEST_F(RealDiskUseTest, MountedDiskIsNotAdvertised) {
  EXPECT_THAT(Found(), ElementsAre(disk_.path()));
  if (disk_.Mount(disk_.path()).empty()) GTEST_SKIP() << "no program or right to mount";
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_THAT(Found(true), ElementsAre(disk_.path()));
}

TEST_F(RealDiskUseTest, SwapSpaceIsNotAdvertised) {
  if (!disk_.SwapOn(disk_.path())) GTEST_SKIP() << "no right to swap on a loop device";
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RealDiskUseTest, DiskOfAMountedPartitionIsNotAdvertised) {
  if (!disk_.AddPartition(1) || !disk_.AddPartition(2)) GTEST_SKIP() << "no partitions here";
  EXPECT_THAT(Found(), SizeIs(3));
  if (disk_.Mount(disk_.partition(1)).empty()) GTEST_SKIP() << "no program or right to mount";
  EXPECT_THAT(Found(), ElementsAre(disk_.partition(2)));
}

}  // namespace
}  // namespace patchbay
