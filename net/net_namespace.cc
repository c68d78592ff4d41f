#include "net/net_namespace.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace patchbay {
namespace {

constexpr char kInterfaces[] = "class/net";
constexpr int kMaxPath = 4096;

}  // namespace

NetNamespace::~NetNamespace() {
  if (sysfs_ >= 0) close(sysfs_);
  if (descriptor_ >= 0) close(descriptor_);
}

int NetNamespace::Open(int descriptor) {
  descriptor_ = descriptor;
  if (setns(descriptor_, CLONE_NEWNET) != 0) return errno;
  const int file_system = fsopen("sysfs", FSOPEN_CLOEXEC);
  if (file_system < 0) return errno;
  if (fsconfig(file_system, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
    sysfs_ = fsmount(file_system, FSMOUNT_CLOEXEC,
                     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
  }
  const int error = errno;
  close(file_system);
  return sysfs_ < 0 ? error : netlink_.Open();
}

NetResult NetNamespace::Find(const InterfaceIdentity& identity, FoundInterface& found) {
  int same = 0, others = 0;
  ForEachEntry(kInterfaces, [&](const char* name) {
    char target[kMaxPath];
    if (DeviceOf(name, target, sizeof(target)) != identity.device ||
        Number(name, "dev_port") != identity.dev_port ||
        Number(name, "dev_id") != identity.dev_id) {
      return;
    }
    const int index = static_cast<int>(Number(name, "ifindex"));
    if (identity.address.size > 0 && AddressOf(index) != identity.address) {
      ++others;
      return;
    }
    ++same;
    found.index = index;
    found.flags = Number(name, "flags");
    found.mtu = Number(name, "mtu");
    std::snprintf(found.name, sizeof(found.name), "%s", name);
  });
  if (same == 1 && error_ == 0) return NetResult::kDone;
  found = {};
  if (error_ != 0) return NetResult::kNotMoved;
  if (same > 1) return NetResult::kAmbiguous;
  return others > 0 ? NetResult::kOtherHardware : NetResult::kDone;
}

NetResult NetNamespace::UseOf(const FoundInterface& interface) {
  char target[kMaxPath];
  const std::string_view device = DeviceOf(interface.name, target, sizeof(target));
  // The kernel also destroys what a driver of WWAN has added for a modem.
  bool is_virtual = (interface.flags & IFF_LOOPBACK) != 0 ||
                    device.starts_with("/devices/virtual") ||
                    device.find("/wwan/") != std::string_view::npos;
#ifdef PATCHBAY_NET_MOVES_VIRTUAL
  is_virtual = false;
#endif
  if (is_virtual) return NetResult::kVirtual;
  NetResult use = NetResult::kDone;
  char directory[64];
  std::snprintf(directory, sizeof(directory), "%s/%s", kInterfaces, interface.name);
  ForEachEntry(directory, [&](const char* name) {
    const std::string_view entry(name);
    if (entry == "phy80211" || entry == "wireless") use = NetResult::kWireless;
    // A VLAN or macvlan on top of it would be destroyed.
    if (entry.starts_with("upper_") || entry.starts_with("lower_") || entry == "master" ||
        entry == "brport" || entry == "bridge" || entry == "bonding") {
      use = NetResult::kMember;
    }
  });
  return error_ != 0 ? NetResult::kNotMoved : use;
}

bool NetNamespace::HasName(const char* name) {
  NetlinkMessage message(RTM_GETLINK, 0, ifinfomsg{});
  message.Put(IFLA_IFNAME, name, std::strlen(name) + 1);
  return netlink_.Request(message) == 0;
}

std::uint64_t NetNamespace::inode() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 ? status.st_ino : 0;
}

/// Notes an error, unless it only means that an interface was unplugged meanwhile.
void NetNamespace::Check(int error) {
  if (error != 0 && error != ENOENT && error != ENODEV && error != EINVAL) error_ = error;
}

/// Calls `on_name(name)` for each entry of a directory.
template <class F>
void NetNamespace::ForEachEntry(const char* path, F on_name) {
  const int descriptor = openat(sysfs_, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = descriptor < 0 ? nullptr : fdopendir(descriptor);
  if (directory == nullptr) {
    error_ = errno;
    return;
  }
  const dirent* entry = nullptr;
  while (errno = 0, (entry = readdir(directory)) != nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") on_name(entry->d_name);
  }
  if (errno != 0) error_ = errno;
  closedir(directory);
}

/// Returns the path below /sys of the device of an interface, into `target`; "" if there is none.
std::string_view NetNamespace::DeviceOf(const char* interface, char* target, std::size_t size) {
  char link[64];
  std::snprintf(link, sizeof(link), "%s/%s", kInterfaces, interface);
  const ssize_t length = readlinkat(sysfs_, link, target, size);
  if (length < 0) Check(errno);
  std::string_view path(target, length < 0 ? 0 : static_cast<std::size_t>(length));
  while (path.starts_with("../")) path.remove_prefix(3);
  if (!path.starts_with("devices/") || path.data() == target) return "";
  // …/DEVICE/net/NAME
  path.remove_suffix(path.size() - path.rfind('/'));
  if (path.ends_with("/net")) path.remove_suffix(4);
  return {path.data() - 1, path.size() + 1};
}

/// Returns 0 if the file cannot be read.
unsigned NetNamespace::Number(const char* interface, const char* file) {
  char path[96], text[32] = {};
  std::snprintf(path, sizeof(path), "%s/%s/%s", kInterfaces, interface, file);
  const int descriptor = openat(sysfs_, path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || read(descriptor, text, sizeof(text) - 1) < 0) Check(errno);
  close(descriptor);
  return static_cast<unsigned>(std::strtoul(text, nullptr, 0));
}

/// Returns the permanent address; the current one if the device has none.
HardwareAddress NetNamespace::AddressOf(int index) {
  ifinfomsg body{};
  body.ifi_index = index;
  HardwareAddress current, permanent;
  Check(netlink_.Request(NetlinkMessage(RTM_GETLINK, 0, body), [&](const nlmsghdr& message) {
    ForEachAttribute<ifinfomsg>(message, [&](int type, const void* data, std::size_t size) {
      HardwareAddress address;
      if (size > address.bytes.size()) return;
      std::memcpy(address.bytes.data(), data, size);
      address.size = size;
      if (type == IFLA_ADDRESS) current = address;
      if (type == IFLA_PERM_ADDRESS) permanent = address;
    });
  }));
  return permanent.size > 0 ? permanent : current;
}

}  // namespace patchbay
