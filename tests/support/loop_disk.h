#pragma once

#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "os/unique_fd.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// A real block device: a loop device of 16 MiB that the kernel chose, for a file in a tree of its
/// own. The destructor ends everything that uses it and detaches it. Needs root.
class LoopDisk {
 public:
  static constexpr std::int64_t kSize = 16 << 20;

  LoopDisk() : why_not_(Attach()) {}
  ~LoopDisk() {
    Release();
    if (!device_) return;
    ioctl(device_.get(), LOOP_CLR_FD);
  }
  LoopDisk(const LoopDisk&) = delete;
  LoopDisk& operator=(const LoopDisk&) = delete;

  /// The reason why there is no device; empty if there is one.
  const std::string& why_not() const { return why_not_; }
  const std::string& name() const { return name_; }
  std::string path() const { return "/dev/" + name_; }
  std::string partition(int number) const { return Format("/dev/{}p{}", name_, number); }

  /// Adds a partition of 4 MiB.
  bool AddPartition(int number) {
    blkpg_partition part{};
    part.start = std::int64_t{number} << 22;
    part.length = 1 << 22;
    part.pno = number;
    if (!Partition(BLKPG_ADD_PARTITION, part)) return false;
    partitions_.push_back(number);
    return std::filesystem::exists(partition(number));  // false if /dev is not a devtmpfs
  }

  /// Creates a file system and mounts it at a directory of this disk's tree. Returns "" if there is
  /// no program for it.
  std::string Mount(const std::string& device) {
    const std::string make = Format("PATH=$PATH:/usr/sbin:/sbin mkfs.ext2 -q -F {} 2>&1", device);
    if (std::system(make.c_str()) != 0) return "";
    std::string at = tree_.path(Format("mounted on {}", mounts_.size()));
    std::filesystem::create_directories(at);
    if (mount(device.c_str(), at.c_str(), "ext4", MS_RDONLY, nullptr) != 0 &&
        mount(device.c_str(), at.c_str(), "ext2", MS_RDONLY, nullptr) != 0) {
      return "";
    }
    mounts_.push_back(at);
    return at;
  }

  /// Uses a device as swap space.
  bool SwapOn(const std::string& device) {
    const long page = sysconf(_SC_PAGESIZE);
    std::string header(static_cast<std::size_t>(page), '\0');
    const std::uint32_t values[] = {1, (1 << 20) / 4096 - 1, 0};  // version, last page, bad pages
    std::memcpy(header.data() + 1024, values, sizeof values);
    std::memcpy(header.data() + page - 10, "SWAPSPACE2", 10);
    std::ofstream(device, std::ios::binary | std::ios::in) << header << std::flush;
    if (swapon(device.c_str(), 0) != 0) return false;
    swaps_.push_back(device);
    return true;
  }

  /// Ends all uses.
  void Release() {
    for (const std::string& at : mounts_) umount2(at.c_str(), MNT_DETACH);
    for (const std::string& device : swaps_) swapoff(device.c_str());
    for (const int number : partitions_) {
      blkpg_partition part{};
      part.pno = number;
      Partition(BLKPG_DEL_PARTITION, part);
    }
    mounts_.clear(), swaps_.clear(), partitions_.clear();
  }

 private:
  /// Returns why there is no device; empty if there is one.
  std::string Attach() {
    const auto failed = [](const char* what) { return Format("{}: {}", what, strerror(errno)); };
    const std::string file = tree_.path("disk");
    tree_.File("disk");
    if (truncate(file.c_str(), kSize) != 0) return failed("cannot create a file");
    const UniqueFd backing(open(file.c_str(), O_RDWR | O_CLOEXEC));
    const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control) return failed("cannot open /dev/loop-control");
    // Another process can take the device first.
    for (int tries = 0; tries < 100; ++tries) {
      const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
      if (number < 0) return failed("the kernel has no free loop device");
      name_ = Format("loop{}", number);
      UniqueFd device(open(path().c_str(), O_RDWR | O_CLOEXEC));
      if (!device) return failed("cannot open a loop device");
      if (ioctl(device.get(), LOOP_SET_FD, backing.get()) == 0) {
        device_ = std::move(device);
        return "";
      }
    }
    return failed("all loop devices are busy");
  }

  bool Partition(int operation, blkpg_partition& part) const {
    blkpg_ioctl_arg argument{operation, 0, sizeof part, &part};
    return ioctl(device_.get(), BLKPG, &argument) == 0;
  }

  TempTree tree_;
  std::string name_;
  UniqueFd device_;
  std::string why_not_;  ///< after what Attach sets
  std::vector<int> partitions_;
  std::vector<std::string> mounts_, swaps_;
};

}  // namespace patchbay::test
