// patchbay-net OPTION...: a CDI hook of the stage createRuntime (opencontainers/runtime-spec,
// config.md, "Hooks"), which reads the state of a container on standard input. It moves one
// interface into the network namespace of the container and configures it.
//
// A container runtime can kill it at any step, run it for two containers of a pod at once, and
// again for each restart of a container. So it holds a lock, and writes what it does to a status
// file before and after the move: an interface that is inside already is configured unless the file
// says that this is done. If the configuration fails, the host gets the interface back.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/nexthop.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "net/container_state.h"
#include "net/net_namespace.h"
#include "net/net_result.h"

namespace patchbay {
namespace {

constexpr unsigned kPatienceS = 8;  ///< for the lock; the hook has a timeout of 10 s
constexpr int kMaxAddresses = 16;
constexpr std::size_t kMaxStatusPath = 1023;

struct IpAddress {
  int family = AF_UNSPEC;
  std::array<std::uint8_t, 16> bytes = {};
  std::size_t size = 0;
  std::uint8_t prefix = 0;
  bool operator==(const IpAddress&) const = default;
};

struct IpAddresses {
  std::array<IpAddress, kMaxAddresses> list = {};
  std::size_t count = 0;
};

struct Arguments {
  InterfaceIdentity identity;
  const char* name = nullptr;  ///< in the container; null: as on the host
  bool up = false;
  std::uint32_t mtu = 0;  ///< 0: as on the host
  IpAddresses addresses;
  IpAddresses node_addresses;
  const char* status = nullptr;  ///< a file; the lock is in its directory
};

// ---- Arguments ----------------------------------------------------------------------------------

/// Parses a decimal number in a range.
bool ParseNumber(const char* text, unsigned max, unsigned& number) {
  char* end = nullptr;
  errno = 0;
  const unsigned long value = std::strtoul(text, &end, 10);
  number = static_cast<unsigned>(value);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && value <= max;
}

/// Parses "00:1b:21:aa:bb:cc".
bool ParseHardwareAddress(const char* text, HardwareAddress& address) {
  for (const char* at = text; address.size < address.bytes.size(); at += 3) {
    char* end = nullptr;
    address.bytes[address.size++] = static_cast<std::uint8_t>(std::strtoul(at, &end, 16));
    if (end != at + 2) return false;
    if (*end == '\0') return true;
    if (*end != ':') return false;
  }
  return false;
}

/// Parses an address, with a prefix length if `has_prefix`, and adds it.
bool ParseAddress(const char* text, bool has_prefix, IpAddresses& addresses) {
  if (addresses.count == addresses.list.size()) return false;
  IpAddress& one = addresses.list[addresses.count++];
  char host[INET6_ADDRSTRLEN] = {};
  const char* slash = std::strchr(text, '/');
  if ((slash != nullptr) != has_prefix) return false;
  const std::size_t size = has_prefix ? static_cast<std::size_t>(slash - text) : std::strlen(text);
  if (size >= sizeof(host)) return false;
  std::snprintf(host, sizeof(host), "%.*s", static_cast<int>(size), text);
  one.family = std::strchr(host, ':') == nullptr ? AF_INET : AF_INET6;
  one.size = one.family == AF_INET ? 4 : 16;
  unsigned prefix = 0;
  const auto bits = static_cast<unsigned>(one.size * 8);
  if (has_prefix && !ParseNumber(slash + 1, bits, prefix)) return false;
  one.prefix = static_cast<std::uint8_t>(prefix);
  return inet_pton(one.family, host, one.bytes.data()) == 1;
}

bool ParseArguments(int count, char** arguments, Arguments& parsed) {
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    if (option == "--up") {
      parsed.up = true;
      continue;
    }
    const char* value = arguments[++i];  // null after the last one
    if (value == nullptr) return false;
    bool is_valid = false;
    if (option == "--device") {
      parsed.identity.device = value;
      is_valid = parsed.identity.device.starts_with("/devices/");
    } else if (option == "--dev-port") {
      is_valid = ParseNumber(value, 0xffff, parsed.identity.dev_port);
    } else if (option == "--dev-id") {
      is_valid = ParseNumber(value, 0xffff, parsed.identity.dev_id);
    } else if (option == "--hardware-address") {
      is_valid = ParseHardwareAddress(value, parsed.identity.address);
    } else if (option == "--name") {
      parsed.name = value;
      is_valid = *value != '\0' && std::strlen(value) < IFNAMSIZ;
    } else if (option == "--mtu") {
      is_valid = ParseNumber(value, 1U << 30, parsed.mtu) && parsed.mtu > 0;
    } else if (option == "--address") {
      is_valid = ParseAddress(value, true, parsed.addresses);
    } else if (option == "--node-address") {
      is_valid = ParseAddress(value, false, parsed.node_addresses);
    } else if (option == "--status") {
      parsed.status = value;
      is_valid = *value == '/' && std::strlen(value) <= kMaxStatusPath;
    }
    if (!is_valid) return false;
  }
  return !parsed.identity.device.empty() && parsed.status != nullptr;
}

// ---- The status file ----------------------------------------------------------------------------

/// The status file of an interface: one line, "RESULT ERRNO NAMESPACE CONTAINER". RESULT is
/// "moving" until the exit code is known, ERRNO that of the kernel or 0.
class StatusFile {
 public:
  /// Opens the directory and waits for its lock.
  NetResult Open(const char* path) {
    const char* slash = std::strrchr(path, '/');
    char directory[kMaxStatusPath + 1];
    std::snprintf(directory, sizeof(directory), "%.*s", static_cast<int>(slash - path), path);
    std::snprintf(name_, sizeof(name_), "%s", slash + 1);
    std::snprintf(temporary_, sizeof(temporary_), ".%s", slash + 1);
    directory_ = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory_ < 0) return NetResult::kNoStatus;
    if (flock(directory_, LOCK_EX) != 0) {
      return errno == EINTR ? NetResult::kLocked : NetResult::kNoStatus;  // EINTR: the alarm
    }
    alarm(0);  // nothing else is interrupted
    return NetResult::kDone;
  }

  /// Returns whether the last move was into this namespace, and is complete.
  bool IsDoneIn(std::uint64_t space) const {
    char text[64] = {}, expected[64];
    const int file = openat(directory_, name_, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const ssize_t size = read(file, text, sizeof(text) - 1);
    close(file);
    std::snprintf(expected, sizeof(expected), "0 0 %llu ", static_cast<unsigned long long>(space));
    return size > 0 && std::string_view(text).starts_with(expected);
  }

  /// Replaces the file. Returns a value of errno.
  int Write(const char* result, int error, std::uint64_t space, std::string_view container) const {
    unlinkat(directory_, temporary_, 0);  // of a run that was killed, or a link
    const int file = openat(directory_, temporary_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) return errno;
    const int written =
        dprintf(file, "%s %d %llu %.*s\n", result, error, static_cast<unsigned long long>(space),
                static_cast<int>(container.size()), container.data());
    const bool is_closed = close(file) == 0;
    const bool is_written =
        written > 0 && is_closed && renameat(directory_, temporary_, directory_, name_) == 0;
    return is_written ? 0 : errno;
  }

 private:
  int directory_ = -1;  ///< with the lock, until the process exits
  char name_[kMaxStatusPath + 1] = {}, temporary_[kMaxStatusPath + 2] = {};
};

// ---- What the host uses -------------------------------------------------------------------------

/// Returns whether the kernel moves the interface of a device back to the host when its namespace
/// ends. It does not for most of those with a kind (default_device_exit_net in net/core/dev.c):
/// also hardware can have one, such as IPoIB and WWAN.
bool Returns(const FoundInterface& interface, [[maybe_unused]] std::string_view device) {
  const std::string_view kind = interface.kind;
#ifdef PATCHBAY_NET_MOVES_VIRTUAL
  return kind == "veth";
#else
  return !device.starts_with("/devices/virtual") &&
         (kind.empty() || kind == "can" || kind == "dsa");
#endif
}

/// Returns whether `is_match(body, type, data, size)` for an attribute in a dump of the host. Sets
/// `error` if the dump cannot be read.
template <class Body, class F>
bool DumpHas(NetNamespace& host, std::uint16_t request, int& error, F is_match) {
  bool has_match = false;
  const int failed = host.netlink().Request(
      NetlinkMessage(request, NLM_F_DUMP, Body{}), [&](const nlmsghdr& message) {
        ForEachAttribute<Body>(message, [&](int type, const void* data, std::size_t size) {
          has_match = has_match || is_match(BodyOf<Body>(message), type, data, size);
        });
      });
  if (failed != 0) error = failed;
  return has_match;
}

bool IsEqual(const void* data, std::size_t size, const void* expected, std::size_t expected_size) {
  return size == expected_size && std::memcmp(data, expected, size) == 0;
}

bool HasNexthop(const void* data, std::size_t size, int index) {
  const auto* one = static_cast<const rtnexthop*>(data);
  for (int left = static_cast<int>(size); RTNH_OK(one, left);) {
    if (one->rtnh_ifindex == index) return true;
    left -= static_cast<int>(RTNH_ALIGN(one->rtnh_len));
    one = RTNH_NEXT(one);
  }
  return false;
}

/// Returns whether a default route of any table leads to the interface, or can do so by a nexthop
/// object.
bool HasDefaultRoute(NetNamespace& host, int index, int& error) {
  bool has_objects = false;
  const auto is_index = [&](const void* data, std::size_t size) {
    return IsEqual(data, size, &index, sizeof(index));
  };
  const auto leads_to_it = [&](const rtmsg& body, int type, const void* data, std::size_t size) {
    // Other families have other bodies.
    if ((body.rtm_family != AF_INET && body.rtm_family != AF_INET6) || body.rtm_dst_len != 0) {
      return false;
    }
    has_objects = has_objects || type == RTA_NH_ID;
    return (type == RTA_OIF && is_index(data, size)) ||
           (type == RTA_MULTIPATH && HasNexthop(data, size, index));
  };
  const auto is_object = [&](const nhmsg&, int type, const void* data, std::size_t size) {
    return type == NHA_OIF && is_index(data, size);
  };
  return DumpHas<rtmsg>(host, RTM_GETROUTE, error, leads_to_it) ||
         (has_objects && DumpHas<nhmsg>(host, RTM_GETNEXTHOP, error, is_object));
}

bool HasNodeAddress(NetNamespace& host, int index, const IpAddresses& node, int& error) {
  const auto is_address = [&](const ifaddrmsg& body, int type, const void* data, std::size_t size) {
    if (static_cast<int>(body.ifa_index) != index || (type != IFA_LOCAL && type != IFA_ADDRESS)) {
      return false;
    }
    for (std::size_t i = 0; i < node.count; ++i) {
      if (IsEqual(data, size, node.list[i].bytes.data(), node.list[i].size)) return true;
    }
    return false;
  };
  return DumpHas<ifaddrmsg>(host, RTM_GETADDR, error, is_address);
}

// ---- The move -----------------------------------------------------------------------------------

/// Changes of an interface, in the order of the kernel, which stops at the first one it refuses.
struct Change {
  const NetNamespace* space = nullptr;
  std::uint32_t mtu = 0;  ///< 0: as it is
  const char* name = nullptr;
  bool up = false;  ///< false: as it is; a move always takes it down
};

int SetLink(NetNamespace& space, int index, const Change& change) {
  ifinfomsg body{};
  body.ifi_index = index;
  body.ifi_flags = body.ifi_change = change.up ? IFF_UP : 0;
  NetlinkMessage message(RTM_NEWLINK, 0, body);
  if (change.space != nullptr) {
    const int descriptor = change.space->descriptor();
    message.Put(IFLA_NET_NS_FD, &descriptor, sizeof(descriptor));
  }
  if (change.mtu != 0) message.Put(IFLA_MTU, &change.mtu, sizeof(change.mtu));
  if (change.name != nullptr) message.Put(IFLA_IFNAME, change.name, std::strlen(change.name) + 1);
  return space.netlink().Request(message);
}

/// Sets MTU and addresses, and then the flag UP: with it, the kernel adds the routes of addresses.
int Configure(NetNamespace& space, int index, const Arguments& arguments) {
  int error = SetLink(space, index, {.mtu = arguments.mtu});
  for (std::size_t i = 0; i < arguments.addresses.count && error == 0; ++i) {
    const IpAddress& one = arguments.addresses.list[i];
    ifaddrmsg address{};
    address.ifa_family = static_cast<std::uint8_t>(one.family);
    address.ifa_prefixlen = one.prefix;
    address.ifa_flags = IFA_F_NODAD;  // usable at once
    address.ifa_index = static_cast<std::uint32_t>(index);
    NetlinkMessage message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, address);
    message.Put(IFA_LOCAL, one.bytes.data(), one.size);
    message.Put(IFA_ADDRESS, one.bytes.data(), one.size);
    error = space.netlink().Request(message);
  }
  return error != 0 ? error : SetLink(space, index, {.up = arguments.up});
}

/// One run. Results with an error of the kernel set `error`.
class Move {
 public:
  explicit Move(const Arguments& arguments) : arguments_(arguments) {}

  NetResult Run(std::string_view text) {
    const auto state = ParseContainerState(text);
    if (!state) return NetResult::kBadState;
    char path[32];
    std::snprintf(path, sizeof(path), "/proc/%d/ns", state->pid);
    // Opened before the lock: later, the number can be that of another process.
    const int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    NetResult result = status_.Open(arguments_.status);
    if (result != NetResult::kDone) {
      error_ = result == NetResult::kNoStatus ? errno : 0;
      return result;
    }
    result = OpenNamespaces(process);
    if (result == NetResult::kDone) result = MoveOnce(*state);
    if (error_ == 0) error_ = host_.error() != 0 ? host_.error() : container_.error();
    char code[16];
    std::snprintf(code, sizeof(code), "%d", static_cast<int>(result));
    if (is_inside_) return result;
    const int failed = status_.Write(code, error_, container_.inode(), state->id);
    if (result != NetResult::kDone || failed == 0) return result;
    error_ = failed;
    return NetResult::kNoStatus;
  }

  int error() const { return error_; }

 private:
  NetResult OpenNamespaces(int process) {
    const int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    const int container = openat(process, "net", O_RDONLY | O_CLOEXEC);
    if (container < 0 && (errno == ENOENT || errno == ESRCH || errno == EBADF)) {
      return NetResult::kNoContainer;
    }
    error_ = container < 0 ? errno : host_.Open(host);
    if (error_ == 0) error_ = container_.Open(container);
    if (error_ != 0) return NetResult::kNoPermission;
    return host_.inode() == container_.inode() ? NetResult::kHostNetwork : NetResult::kDone;
  }

  NetResult MoveOnce(const ContainerState& state) {
    FoundInterface inside, interface;
    NetResult result = container_.Find(arguments_.identity, inside);
    if (result == NetResult::kAmbiguous || container_.error() != 0) return result;
    if (inside.index != 0) {
      is_inside_ = status_.IsDoneIn(container_.inode());
      return is_inside_ ? NetResult::kDone : ConfigureOrReturn(inside, inside);
    }
    result = host_.Find(arguments_.identity, interface);
    if (result != NetResult::kDone) return result;
    if (interface.index == 0) return NetResult::kAway;
    result = host_.UseOf(interface.name);
    if (result != NetResult::kDone) return result;
    if (!Returns(interface, arguments_.identity.device)) return NetResult::kVirtual;
    if (HasDefaultRoute(host_, interface.index, error_)) return NetResult::kDefaultRoute;
    if (HasNodeAddress(host_, interface.index, arguments_.node_addresses, error_)) {
      return NetResult::kNodeAddress;
    }
    // The kernel would move it before it refuses the name, so the host would lose its addresses.
    const char* name = arguments_.name != nullptr ? arguments_.name : interface.name;
    if (container_.Named(name).index != 0) return NetResult::kNameTaken;
    if (error_ != 0 || container_.error() != 0) return NetResult::kNotMoved;
    error_ = status_.Write("moving", 0, container_.inode(), state.id);
    if (error_ != 0) return NetResult::kNoStatus;
    error_ = SetLink(host_, interface.index, {.space = &container_, .name = name});
    static_cast<void>(container_.Find(arguments_.identity, inside));
    if (container_.error() != 0) return NetResult::kNotReturned;
    if (error_ == 0 && inside.index != 0) return ConfigureOrReturn(inside, interface);
    const NetResult why = error_ == 0        ? NetResult::kAway
                          : error_ == EEXIST ? NetResult::kNameTaken
                                             : NetResult::kNotMoved;
    return inside.index == 0 ? why : Return(inside, interface, why);
  }

  NetResult ConfigureOrReturn(const FoundInterface& inside, const FoundInterface& before) {
    error_ = Configure(container_, inside.index, arguments_);
    if (error_ == 0) return NetResult::kDone;
    return Return(inside, before, NetResult::kNotConfigured);
  }

  /// Moves what is inside back as it was before. The pod can exchange it for an interface of its
  /// own with the same index, which then comes to the host, but stays down.
  NetResult Return(const FoundInterface& inside, const FoundInterface& before, NetResult why) {
    const int error = SetLink(container_, inside.index, {.space = &host_, .name = "dev%d"});
    FoundInterface back;
    for (int tries = 0; back.index == 0 && tries < 3; ++tries) {  // while udev gives it a name
      static_cast<void>(host_.Find(arguments_.identity, back));
    }
    if (back.index == 0) return error == ENODEV ? NetResult::kAway : NetResult::kNotReturned;
    SetLink(host_, back.index, {.name = before.name});  // unless it is taken now
    SetLink(host_, back.index, {.mtu = before.mtu, .up = (before.flags & IFF_UP) != 0});
    return why;
  }

  const Arguments& arguments_;
  StatusFile status_;
  NetNamespace host_, container_;
  bool is_inside_ = false;  ///< and done: nothing to do
  int error_ = 0;
};

/// Reads all of standard input. Returns "" if it is longer than a state.
std::string_view ReadState() {
  static char text[kMaxContainerState + 1];
  std::size_t size = 0;
  while (size < sizeof(text)) {
    const ssize_t got = read(STDIN_FILENO, text + size, sizeof(text) - size);
    if (got <= 0) return got == 0 ? std::string_view(text, size) : std::string_view();
    size += static_cast<std::size_t>(got);
  }
  return "";
}

int Main(int count, char** values) {
  static Arguments arguments;
  NetResult result = NetResult::kUsage;
  int error = 0;
  if (ParseArguments(count, values, arguments)) {
    struct sigaction interrupt {};
    interrupt.sa_handler = [](int) {};  // without SA_RESTART: waiting for the lock fails
    sigaction(SIGALRM, &interrupt, nullptr);
    alarm(kPatienceS);
    static Move move(arguments);
    result = move.Run(ReadState());
    error = move.error();
  }
  if (result == NetResult::kDone) return 0;
  std::fprintf(stderr, "patchbay-net: the interface of %.*s was not moved: %s%s%s\n",
               static_cast<int>(arguments.identity.device.size()), arguments.identity.device.data(),
               TextOf(result).data(), error == 0 ? "" : ": ",
               error == 0 ? "" : std::strerror(error));
  return static_cast<int>(result);
}

}  // namespace
}  // namespace patchbay

int main(int count, char** values) { return patchbay::Main(count, values); }
