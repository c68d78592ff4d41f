#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "config/source_file.h"
#include "convert/convert.h"

namespace patchbay {

class Heartbeat;

enum class Output { kTable, kJson };

/// Exit codes of every command.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,  ///< the configuration has errors, or the command failed
  kUsage = 2,   ///< the command line itself is wrong
};

/// The parsed command line. Options that a command does not have keep their defaults.
struct Arguments {
  std::string command;
  std::string config{kDefaultConfig};
  std::vector<std::string> files;  ///< check; two for diff: old and new; one for convert
  Output output = Output::kTable;
  std::optional<LogLevel> log_level;  ///< default: log_level of the file (run), warning (try)
  LogFormat log_format = LogFormat::kText;
  bool strict = false;                ///< check
  bool once = false;                  ///< try
  bool wait_for_config = false;       ///< run
  bool probe = false;                 ///< devices
  std::string resource;               ///< allocate, explain
  std::string path;                   ///< explain
  std::vector<std::string> ids;       ///< allocate
  std::optional<int> count;           ///< allocate
  ForeignProgram from = {};           ///< convert
  std::optional<std::string> domain;  ///< convert
  bool converts_to_helm = false;      ///< convert

  /// Flags that override [daemon]. With host_root, convert inspects /dev of that host.
  std::optional<std::string> host_root;
  std::optional<std::string> listen;
  std::optional<std::string> kubelet_dir;

  /// Reports to PID 1 that `run` is alive, see os/pid1.h. Not a flag. Null unless PID 1 is
  /// patchbay.
  std::shared_ptr<Heartbeat> heartbeat;
};

/// The output streams of a command: its result goes to `out`, everything else to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

/// Parses the command line. Returns an exit code if there is no command to run: after --help,
/// --version, or a usage error, which is reported to `streams.err`. The environment variable
/// PATCHBAY_CONFIG is the default of --config.
std::variant<Arguments, ExitCode> ParseArguments(int argc, const char* const* argv,
                                                 Streams streams);

}  // namespace patchbay
