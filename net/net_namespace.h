#pragma once

#include <net/if.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/net_result.h"
#include "net/netlink.h"

namespace patchbay {

struct HardwareAddress {
  std::array<std::uint8_t, 32> bytes = {};
  std::size_t size = 0;  ///< 0: it is not known
  bool operator==(const HardwareAddress&) const = default;
};

/// The identity of an interface in all namespaces; its name and its index change.
struct InterfaceIdentity {
  std::string_view device;  ///< the path below /sys of its device: "/devices/pci0000:00/0000:…"
  unsigned dev_port = 0, dev_id = 0;  ///< of several interfaces of a device
  HardwareAddress address = {};       ///< the permanent one, if it is known
};

struct FoundInterface {
  int index = 0;  ///< 0: it is not in the namespace
  char name[IFNAMSIZ] = {};
  unsigned flags = 0, mtu = 0;   ///< IFF_UP
  HardwareAddress address = {};  ///< the permanent one; the current one if there is none
  char kind[IFNAMSIZ] = {};      ///< of rtnetlink: "veth", "can"; "" for most hardware
};

/// A network namespace: its interfaces in sysfs, and a socket of rtnetlink in it. The process is in
/// the namespace that was opened last.
class NetNamespace {
 public:
  NetNamespace() = default;
  NetNamespace(const NetNamespace&) = delete;
  NetNamespace& operator=(const NetNamespace&) = delete;
  ~NetNamespace();

  /// Enters the namespace of a descriptor, which this object closes. Returns a value of errno.
  int Open(int descriptor);

  /// Finds the interface. Fails with kAmbiguous, kOtherHardware, or kNotMoved and an error().
  NetResult Find(const InterfaceIdentity& identity, FoundInterface& found);

  /// Returns why sysfs shows that an interface must not leave the namespace: kWireless, kMember, or
  /// kNotMoved and an error(); otherwise kDone.
  NetResult UseOf(const char* interface);

  /// Returns the interface that has this name or alternative name.
  FoundInterface Named(const char* name);

  int error() const { return error_; }  ///< what could not be read of an interface; 0: nothing
  int descriptor() const { return descriptor_; }
  std::uint64_t inode() const;  ///< the same for all descriptors of the namespace
  Netlink& netlink() { return netlink_; }

 private:
  template <class F>
  void ForEachEntry(const char* path, F on_name);
  bool HasDevice(const char* interface, std::string_view device);
  unsigned Number(const char* interface, const char* file);
  void Check(int error);

  int descriptor_ = -1, error_ = 0;
  int sysfs_ = -1;  ///< a mount of its own, because that of the process shows another namespace
  Netlink netlink_;
};

}  // namespace patchbay
