#include "cdi/net_hook.h"

#include "base/ascii.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/path.h"
#include "cdi/cdi_directory.h"

namespace patchbay {
namespace {

constexpr int kTimeoutS = 10;  ///< patchbay-net waits at most eight for its lock

/// Returns a text of the bytes that a name in CDI can have, another one for each text: the ID of a
/// device can be its serial number, which must not name the interface of another device.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool is_kept = IsAlnum(c) || c == '.' || c == ':' || c == '-';
    escaped += is_kept ? std::string(1, c) : Format("_{:02x}", static_cast<unsigned char>(c));
  }
  return escaped;
}

}  // namespace

CdiHook HookOf(const NetMove& move, const NetHook& node) {
  constexpr std::string_view kSys = "/sys";
  const NetInterface& interface = move.interface;
  CdiHook hook{.path = node.program, .args = {"patchbay-net"}, .timeout_s = kTimeoutS};
  const auto add = [&](const char* option, std::string value) {
    hook.args.emplace_back(option);
    hook.args.push_back(std::move(value));
  };
  add("--device", interface.bus_device.substr(kSys.size()));
  add("--dev-port", std::to_string(interface.dev_port));
  add("--dev-id", std::to_string(interface.dev_id));
  if (!interface.address.empty()) add("--hardware-address", interface.address);
  if (!move.name.empty()) add("--name", move.name);
  if (move.up) hook.args.emplace_back("--up");
  if (move.mtu != 0) add("--mtu", std::to_string(move.mtu));
  for (const std::string& address : move.addresses) add("--address", address);
  for (const std::string& address : node.node_addresses) add("--node-address", address);
  add("--status", Format("{}/{}", node.results, InterfaceFileName(interface)));
  return hook;
}

std::string InterfaceFileName(const NetInterface& interface) {
  return Format("{}-{:08x}-{}-{}", BaseName(interface.bus_device), ShortHash(interface.bus_device),
                interface.dev_port, interface.dev_id);
}

std::string NetDeviceName(std::string_view resource, std::string_view device, int slot) {
  return Format("{}-{}", Escaped(Format("{}={}", resource, device)), slot);
}

std::string NetFileName(std::string_view resource) {
  return CdiFileName(kNetKind, Escaped(resource));
}

}  // namespace patchbay
