#include "discovery/network_use.h"

#include <iterator>
#include <sstream>
#include <vector>

namespace patchbay {
namespace {

constexpr std::string_view kLoopback = "772\n", kCan = "280\n", kInfiniBand = "32\n";  // ARPHRD_…
constexpr std::size_t kMaxNetTable = 8U << 20U;                                        // bytes

/// The columns of a table of routes, from 0.
struct RouteTable {
  const char* path;
  std::size_t interface, destination, mask;
  const char *any, *any_mask;
};
constexpr RouteTable kRouteTables[] = {
    {"/proc/1/net/route", 0, 1, 7, "00000000", "00000000"},
    {"/proc/1/net/ipv6_route", 9, 0, 1, "00000000000000000000000000000000", "00"},
};

/// Returns whether an entry of an interface in sysfs connects it with another interface.
bool IsLink(const std::string& name) {
  return name.starts_with("upper_") || name.starts_with("lower_") || name == "master" ||
         name == "brport" || name == "bridge" || name == "bonding";
}

}  // namespace

NetworkUse::NetworkUse(const HostRoot& host) : host_(host) {
  bool has_table = false;
  for (const RouteTable& table : kRouteTables) {
    const auto text = host.ReadFile(table.path, kMaxNetTable);
    if (!text) continue;
    has_table = true;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream columns(line);
      const std::vector<std::string> words{std::istream_iterator<std::string>(columns), {}};
      if (words.size() < 10) continue;
      const std::string& destination = words[table.destination];
      // With IPv6, each interface that is up has routes for link-local addresses and multicast.
      if (destination.starts_with("fe80") || destination.starts_with("ff0")) continue;
      has_default_[words[table.interface]] |=
          destination == table.any && words[table.mask] == table.any_mask;
    }
  }
  if (!has_table) return;
  std::istringstream lines(host.ReadFile("/proc/1/net/dev", kMaxNetTable).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const auto start = line.find_first_not_of(' '), colon = line.find(':');
    if (colon == std::string::npos) continue;  // a heading
    with_known_routes_.insert(line.substr(start, colon - start));
  }
  std::set<std::string, std::less<>> names;
  const auto entries = host.List("/sys/class/net", [](const std::string&) { return true; });
  if (entries) {
    for (const HostEntry& entry : *entries) names.insert(entry.name);
  }
  are_of_host_ = names == with_known_routes_;
}

std::string_view NetworkUse::RiskOf(const SysfsDevice& interface) const {
  const std::string type = host_.ReadFile(interface.path + "/type", 16).value_or("");
  if (type == kLoopback) return "it is the loopback interface of the host";
  if (!with_known_routes_.contains(interface.name) && type != kCan) {
    return "the host may need it, because its routes are not visible";
  }
  const auto routed = has_default_.find(interface.name);
  if (routed != has_default_.end()) {
    return routed->second ? "the default route of the host uses it"
                          : "the host has a route over it";
  }
  return HasEntry(interface, IsLink) ? "the host connects it with another interface" : "";
}

std::string_view NetworkUse::WhyItStays(const SysfsDevice& interface) const {
  if (interface.path.starts_with("/sys/devices/virtual/")) {
    return "it is virtual, so the kernel would destroy it with the pod; let a CNI plugin, such as "
           "macvlan or one for vxcan, create one for each pod";
  }
  if (host_.ReadFile(interface.path + "/type", 16).value_or("") == kInfiniBand) {
    return "it is IPoIB, which most kernels do not return when the pod ends; use it with "
           "hostNetwork";
  }
  if (HasEntry(interface,
               [](const std::string& name) { return name == "phy80211" || name == "wireless"; })) {
    return "it is wireless, which moves only with its whole radio; use it with hostNetwork";
  }
  if (HasEntry(interface, IsLink)) {
    return "it belongs to a bridge, bond or VLAN of the host; remove it there first";
  }
  const auto routed = has_default_.find(interface.name);
  const bool has_default = routed != has_default_.end() && routed->second;
  return has_default && are_of_host_ ? "the default route of the host uses it" : "";
}

bool NetworkUse::HasEntry(const SysfsDevice& interface, bool (*is_it)(const std::string&)) const {
  const auto entries = host_.List(interface.path, is_it);
  return entries && !entries->empty();
}

}  // namespace patchbay
