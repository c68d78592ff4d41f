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
    if (!HasDevice(name, identity.device) || Number(name, "dev_port") != identity.dev_port ||
        Number(name, "dev_id") != identity.dev_id) {
      return;
    }
    const FoundInterface named = Named(name);
    if (named.index == 0) return;  // unplugged meanwhile
    const bool is_same = identity.address.size == 0 || named.address == identity.address;
    if (is_same) found = named;
    ++(is_same ? same : others);
  });
  if (same == 1 && error_ == 0) return NetResult::kDone;
  found = {};
  if (error_ != 0) return NetResult::kNotMoved;
  if (same > 1) return NetResult::kAmbiguous;
  return others > 0 ? NetResult::kOtherHardware : NetResult::kDone;
}

NetResult NetNamespace::UseOf(const char* interface) {
  NetResult use = NetResult::kDone;
  char directory[64];
  std::snprintf(directory, sizeof(directory), "%s/%s", kInterfaces, interface);
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

FoundInterface NetNamespace::Named(const char* name) {
  FoundInterface found;
  HardwareAddress permanent;
  NetlinkMessage request(RTM_GETLINK, 0, ifinfomsg{});
  request.Put(IFLA_IFNAME, name, std::strlen(name) + 1);
  Check(netlink_.Request(request, [&](const nlmsghdr& message) {
    found.index = BodyOf<ifinfomsg>(message).ifi_index;
    found.flags = BodyOf<ifinfomsg>(message).ifi_flags;
    ForEachAttribute<ifinfomsg>(message, [&](int type, const void* data, std::size_t size) {
      if (type == IFLA_IFNAME && size <= sizeof(found.name)) std::memcpy(found.name, data, size);
      if (type == IFLA_MTU && size == sizeof(found.mtu)) std::memcpy(&found.mtu, data, size);
      if (type == IFLA_LINKINFO) {
        ForEachAttributeIn(
            data, static_cast<int>(size), [&](int part, const void* text, std::size_t) {
              if (part == IFLA_INFO_KIND) {
                std::snprintf(found.kind, sizeof(found.kind), "%s", static_cast<const char*>(text));
              }
            });
      }
      HardwareAddress address;
      if (size > address.bytes.size()) return;
      std::memcpy(address.bytes.data(), data, size);
      address.size = size;
      if (type == IFLA_ADDRESS) found.address = address;
      if (type == IFLA_PERM_ADDRESS) permanent = address;
    });
  }));
  if (permanent.size > 0) found.address = permanent;
  return found;
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

/// Returns whether this is the device of an interface.
bool NetNamespace::HasDevice(const char* interface, std::string_view device) {
  char link[64], target[4096], expected[4096];
  std::snprintf(link, sizeof(link), "%s/%s", kInterfaces, interface);
  std::snprintf(expected, sizeof(expected), "../..%.*s/net/%s", static_cast<int>(device.size()),
                device.data(), interface);
  const ssize_t size = readlinkat(sysfs_, link, target, sizeof(target));
  if (size < 0) Check(errno);
  return size > 0 && std::string_view(target, static_cast<std::size_t>(size)) == expected;
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

}  // namespace patchbay
