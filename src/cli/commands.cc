#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "base/format.h"
#include "base/log_writer.h"
#include "cli/version.h"
#include "os/pid1.h"

namespace patchbay {
namespace {

constexpr Command kCommands[] = {
    {"run", "serve the configured resources to the kubelet", RunDaemon},
    {"check", "report every error in the configuration", RunCheck},
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

/// Runs in PID 1, which must not block on the reader of the log.
void ReportKill(const Arguments& arguments, const WatchdogKill& kill) {
  const LogField fields[] = {{"kills", kill.kills}};
  const std::string_view message =
      kill.restarts ? "process was stopped or its loop hung; killed it, starting a new one"
                    : "process was stopped or its loop hung; killed it, exiting";
  WriteWithin(STDERR_FILENO,
              FormatLogLine(StderrStyle(arguments.log_format), LogLevel::kError, message, fields),
              std::chrono::milliseconds(0));
}

}  // namespace

std::string VersionLine() { return Format("patchbay {} ({})", kVersion, kRevision); }

int RunVersion(const Arguments&, Streams streams) {
  streams.out << VersionLine() << "\n";
  return kOk;
}

std::span<const Command> Commands() { return kCommands; }

int RunCommandLine(int argc, const char* const* argv, Streams streams) {
  const auto parsed = ParseArguments(argc, argv, streams);
  if (const auto* code = std::get_if<ExitCode>(&parsed)) return *code;
  Arguments arguments = std::get<Arguments>(parsed);
  auto role = RunAsPid1([&](const WatchdogKill& kill) { ReportKill(arguments, kill); });
  if (role && role->exit_code) return *role->exit_code;
  if (role) {
    arguments.heartbeat = std::move(role->heartbeat);
  } else {
    streams.err << "patchbay: " << role.error().message
                << "; orphaned processes will stay zombies: raise the process limit of this "
                   "container, or run it with an init\n";
  }
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
