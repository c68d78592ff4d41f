#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/arguments.h"

namespace patchbay {

/// The commands, one file each. Each returns the exit code of the process.
int RunDaemon(const Arguments& arguments, Streams streams);
int RunCheck(const Arguments& arguments, Streams streams);
int RunDevices(const Arguments& arguments, Streams streams);
int RunSuggest(const Arguments& arguments, Streams streams);
int RunExplain(const Arguments& arguments, Streams streams);
int RunAllocate(const Arguments& arguments, Streams streams);
int RunDiff(const Arguments& arguments, Streams streams);
int RunDeviceClasses(const Arguments& arguments, Streams streams);
int RunSchema(const Arguments& arguments, Streams streams);
int RunConvert(const Arguments& arguments, Streams streams);
/// Replaces this process by `patchbay-try`, which is next to the program. Returns only if it is
/// not.
int RunTry(const Arguments& arguments, Streams streams);
int RunCompletion(const Arguments& arguments, Streams streams);
int RunVersion(const Arguments& arguments, Streams streams);

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments&, Streams);
};

/// Returns the line that `version` and --version print: "patchbay 0.1.0 (0123abc)".
std::string VersionLine();

/// All commands, in the order of the help.
std::span<const Command> Commands();

/// Parses the command line, runs the command and returns the exit code.
int RunCommandLine(int argc, const char* const* argv, Streams streams);

/// The rest of main(): calls `run` with the streams of the process, and returns the exit code,
/// which is kFailed if `run` throws or its output cannot be written.
int RunMain(const std::function<int(Streams)>& run);

}  // namespace patchbay
