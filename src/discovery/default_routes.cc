#include "discovery/default_routes.h"

#include <iterator>
#include <sstream>
#include <vector>

namespace patchbay {
namespace {

constexpr std::size_t kMaxRoutes = 8U << 20U;  // bytes of a table

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

}  // namespace

DefaultRoutes::DefaultRoutes(const HostRoot& host) : host_(host) {
  for (const RouteTable& table : kRouteTables) {
    const auto text = host.ReadFile(table.path, kMaxRoutes);
    if (!text) continue;
    is_known_ = true;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream columns(line);
      const std::vector<std::string> words{std::istream_iterator<std::string>(columns), {}};
      if (words.size() < 10) continue;
      if (words[table.destination] == table.any && words[table.mask] == table.any_mask) {
        interfaces_.insert(words[table.interface]);
      }
    }
  }
}

std::string_view DefaultRoutes::DangerOf(const SysfsDevice& interface) const {
  if (!is_known_) return "the host may need it, because its routes are not visible";
  if (interfaces_.contains(interface.name)) return "the default route of the host uses it";
  const auto upper =
      host_.List(interface.path, [](const auto& name) { return name.starts_with("upper_"); });
  return upper && !upper->empty() ? "another interface of the host uses it" : "";
}

}  // namespace patchbay
