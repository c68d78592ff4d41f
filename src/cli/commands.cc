#include "cli/commands.h"

#include <algorithm>
#include <ostream>

#include "os/init.h"

namespace patchbay {
namespace {

constexpr Command kCommands[] = {
    {"run", "serve the configured resources to the kubelet", RunDaemon},
    {"check", "report every mistake in the configuration", RunCheck},
    {"devices", "list what would be advertised on this host", RunDevices},
    {"explain", "say why a device is there, or is not", RunExplain},
    {"allocate", "show what a container would get", RunAllocate},
    {"diff", "show what a reload from one file to another would touch", RunDiff},
    {"schema", "print the JSON Schema of the configuration, for editors", RunSchema},
    {"convert", "write the configuration of another plugin in Patchbay's terms", RunConvert},
    {"try", "run everything against the built-in kubelet", RunTry},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

int RunCommandLine(int argc, const char* const* argv, Streams streams) {
  const auto parsed = ParseArguments(argc, argv, streams);
  if (const auto* code = std::get_if<ExitCode>(&parsed)) return *code;
  const auto ended = RunAsInit();
  if (ended && *ended) return **ended;
  if (!ended) {
    streams.err
        << "patchbay: " << ended.error().message
        << "; what programs leave behind will stay zombies: raise the limit of processes of "
           "this container, or run it with an init\n";
  }
  const Arguments& arguments = std::get<Arguments>(parsed);
  const auto command = std::find_if(std::begin(kCommands), std::end(kCommands),
                                    [&](const Command& c) { return c.name == arguments.command; });
  const int code = command->run(arguments, streams);
  if (!streams.out.flush()) {
    streams.err << "patchbay: cannot write the output\n";
    return kFailed;
  }
  return code;
}

}  // namespace patchbay
