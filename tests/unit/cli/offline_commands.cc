// A program with the commands that need no kubelet, built from their sources and the rooms below.
// It links only if they do not use gRPC. offline_commands.sh checks which libraries it loads.
#include <iostream>

#include "cli/commands.h"

int main(int argc, char** argv) {
  const std::string_view usage =
      "usage: offline_commands check|devices|explain|allocate|device-classes|schema|convert FILE "
      "[RESOURCE]\n";
  if (argc < 3) {
    std::cerr << usage;
    return patchbay::kUsage;
  }
  patchbay::Arguments arguments;
  arguments.command = argv[1];
  arguments.config = argv[2];
  arguments.files = {argv[2]};
  if (argc > 3) arguments.resource = argv[3];
  const patchbay::Streams streams{std::cout, std::cerr};
  if (arguments.command == "check") return patchbay::RunCheck(arguments, streams);
  if (arguments.command == "devices") return patchbay::RunDevices(arguments, streams);
  if (arguments.command == "explain") return patchbay::RunExplain(arguments, streams);
  if (arguments.command == "allocate") return patchbay::RunAllocate(arguments, streams);
  if (arguments.command == "device-classes") return patchbay::RunDeviceClasses(arguments, streams);
  if (arguments.command == "schema") return patchbay::RunSchema(arguments, streams);
  if (arguments.command == "convert") return patchbay::RunConvert(arguments, streams);
  std::cerr << usage;
  return patchbay::kUsage;
}
