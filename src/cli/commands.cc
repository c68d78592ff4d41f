#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/color.h"
#include "base/fatal.h"
#include "base/format.h"
#include "cli/completion.h"
#include "cli/version.h"
#include "os/descriptors.h"

namespace patchbay {
namespace {

constexpr Command kCommands[] = {
    {"run", "serve the configured resources to the kubelet", RunDaemon},
    {"check", "report every error in the configuration", RunCheck},
    {"suggest", "write a configuration for the devices of this host", RunSuggest},
    {"devices", "list what would be advertised on this host", RunDevices},
    {"explain", "explain why a device is or is not advertised", RunExplain},
    {"allocate", "show what a container would get", RunAllocate},
    {"diff", "show what a reload from one file to another would change", RunDiff},
    {"device-classes", "print the DeviceClasses of resources with api = \"dra\"", RunDeviceClasses},
    {"schema", "print the JSON Schema of the configuration, for editors", RunSchema},
    {"convert", "convert another plugin's configuration to Patchbay TOML", RunConvert},
    {"try", "run everything against the built-in kubelet", RunTry},
    {"completion", "print the completion script of a shell", RunCompletion},
    {"version", "print the version", RunVersion},
};

}  // namespace

std::string VersionLine() { return Format("patchbay {} ({})", kVersion, kRevision); }

int RunVersion(const Arguments&, Streams streams) {
  streams.out << VersionLine() << "\n";
  return kOk;
}

std::span<const Command> Commands() { return kCommands; }

int RunCommandLine(int argc, const char* const* argv, Streams streams) {
  if (argc > 2 && argv[1] == std::string_view("__complete")) {
    return RunComplete({argv + 2, argv + argc}, streams);
  }
  auto parsed = ParseArguments(argc, argv, streams);
  if (const auto* code = std::get_if<ExitCode>(&parsed)) return *code;
  auto& arguments = std::get<Arguments>(parsed);
  arguments.words.assign(argv + 2, argv + argc);
  const auto command = std::find_if(std::begin(kCommands), std::end(kCommands),
                                    [&](const Command& c) { return c.name == arguments.command; });
  return command->run(arguments, streams);
}

int RunMain(const std::function<int(Streams)>& run) {
  OpenStandardDescriptors();
  ReportFatalOnTerminate();
  try {
    const int code =
        run({std::cout, std::cerr, WantsColor(STDOUT_FILENO), WantsColor(STDERR_FILENO)});
    if (std::cout.flush()) return code;
    std::cerr << "patchbay: cannot write the output\n";
  } catch (...) {
    ReportFatal(CurrentExceptionText());
  }
  return kFailed;
}

}  // namespace patchbay
