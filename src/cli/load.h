#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "config/load.h"

namespace patchbay {

/// Loads the configuration of --config and applies the flags. May block.
Loaded LoadConfig(const Arguments& arguments);

/// Applies the flags to a loaded configuration.
Loaded WithFlags(Loaded loaded, const Arguments& arguments);

/// Fails if host_root is not a directory. Only for commands that inspect the host: `check` and
/// `diff` may run on another machine.
Status CheckHostRoot(const DaemonSpec& daemon);

/// Loads as LoadConfig does, and writes the diagnostics to `err`. Returns nothing if the
/// configuration has errors or host_root is not a directory.
std::optional<Model> LoadOrReport(const Arguments& arguments, Streams streams);

/// Formats the errors of a configuration with their source lines, and one line for all warnings,
/// which names the command that shows them.
std::string BriefDiagnostics(const Diagnostics& diagnostics, const std::string& config,
                             bool colored);

/// Returns a command line for a hint, with --config and --host-root as given to this command,
/// followed by the words of `rest`: "patchbay explain --config FILE RESOURCE". All words are quoted
/// for a shell, and the line is printable.
std::string HintCommand(const Arguments& arguments, std::string_view command,
                        const std::vector<std::string>& rest = {});

/// Reads the standard input, at most slightly more than a configuration may have. Blocks until its
/// end. Fails if it cannot be read.
Result<SourceFile> ReadStandardInput();

/// Writes the error of a failed command to `err`. Returns kFailed.
ExitCode ReportFailure(const Error& error, Streams streams);

/// Returns the value of an environment variable; "" if it is not set.
std::string EnvironmentValue(const char* name);

/// Returns the name of the Kubernetes node: NODE_NAME, or the host name if it is not set.
std::string NodeName();

/// Returns the IP addresses of the Kubernetes node that NODE_IPS has, separated by commas.
std::vector<std::string> NodeAddresses();

}  // namespace patchbay
