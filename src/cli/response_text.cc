#include "cli/response_text.h"

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {

std::string RenderResponse(const ContainerResponse& response) {
  std::string out;
  const auto line = [&](std::string_view kind, const std::string& text) {
    out += Format("  {:<11} {}\n", kind, Printable(text));
  };
  const auto from = [](const std::string& container_path, const std::string& host_path) {
    return container_path == host_path ? "" : Format("  from {}", host_path);
  };
  for (const auto& d : response.devices) {
    line("device",
         Format("{} {}{}", d.container_path, d.permissions, from(d.container_path, d.host_path)));
  }
  for (const auto& m : response.mounts) {
    line("mount", Format("{} {}{}", m.container_path, m.read_only ? "ro" : "rw",
                         from(m.container_path, m.host_path)));
  }
  for (const auto& [key, value] : response.envs) line("env", key + "=" + value);
  for (const auto& [key, value] : response.annotations) line("annotation", key + "=" + value);
  for (const auto& name : response.cdi_devices) line("cdi", name);
  for (const auto& [move, hook] : response.networks) {
    std::string text(BaseName(move.interface.bus_device));
    if (!move.name.empty()) text += " as " + move.name;
    if (move.mtu != 0) text += Format(", MTU {}", move.mtu);
    for (const std::string& address : move.addresses) text += ", " + address;
    line("interface", text);
  }
  return out.empty() ? "  (nothing: no device nodes, mounts, env or annotations)\n" : out;
}

std::string RenderHook(const HookCall& call) {
  std::string out;
  for (const HookCommand& command : call.commands) {
    std::string line;
    for (const std::string& word : command.argv) line += " " + QuoteShell(word);
    out += Format("  {:<11}{}\n", Name(call.hook), Printable(line));
  }
  return out;
}

}  // namespace patchbay
