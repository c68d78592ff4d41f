// A program with the commands that need no kubelet, built from their sources and the rooms below.
// It links only if they do not use gRPC. offline_commands.sh checks which libraries it loads.
#include <algorithm>
#include <iostream>

#include "cli/commands.h"

namespace patchbay {
namespace {

constexpr Command kOfflineCommands[] = {
    {"check", "", RunCheck},
    {"devices", "", RunDevices},
    {"explain", "", RunExplain},
    {"allocate", "", RunAllocate},
    {"device-classes", "", RunDeviceClasses},
    {"suggest", "", RunSuggest},
    {"schema", "", RunSchema},
    {"convert", "", RunConvert},
};

}  // namespace

std::span<const Command> Commands() { return kOfflineCommands; }

std::string VersionLine() { return ""; }

}  // namespace patchbay

int main(int argc, char** argv) {
  const patchbay::Streams streams{std::cout, std::cerr};
  const auto parsed = patchbay::ParseArguments(argc, argv, streams);
  const auto* arguments = std::get_if<patchbay::Arguments>(&parsed);
  if (arguments == nullptr) return std::get<patchbay::ExitCode>(parsed);
  const auto commands = patchbay::Commands();
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const auto& candidate) {
    return candidate.name == arguments->command;
  });
  return command->run(*arguments, streams);
}
