#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/arguments.h"
#include "config/load.h"

namespace patchbay {

/// What --config says, with the flags applied. Slow.
Loaded LoadConfig(const Arguments& arguments);

/// Fails where there is no directory to see the host's root in: without one, nothing of the host
/// can be told. Only for commands that look at it; a file may well be checked elsewhere.
Status CheckHostRoot(const DaemonSpec& daemon);

/// The model of --config with the flags applied; nothing when there are errors. What there is to
/// say about the file goes to `err`.
std::optional<Model> LoadOrReport(const Arguments& arguments, Streams streams);

/// The errors of a configuration with their source, and one line for all warnings, which names the
/// command that shows them.
std::string BriefDiagnostics(const Diagnostics& diagnostics, const std::string& config);

/// Returns a command line for a hint, with the configuration and host flags of this one and then
/// `rest`: "patchbay explain --config FILE RESOURCE".
std::string HintCommand(const Arguments& arguments, std::string_view command,
                        std::string_view rest = {});

/// Says on `err` why a command could not do what it was asked for. Returns kFailed.
ExitCode ReportFailure(const Error& error, Streams streams);

/// The name of the Kubernetes node: NODE_NAME, else the name of the host.
std::string NodeName();

}  // namespace patchbay
