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
  kFailed = 1,  ///< errors in the file, or what was asked for could not be done
  kUsage = 2,   ///< the command line itself is wrong
};

/// The command line, parsed. What a command does not know stays at its default.
struct Arguments {
  std::string command;
  std::string config{kDefaultConfig};
  std::vector<std::string> files;  ///< check; of diff two: from and to; of convert one
  Output output = Output::kTable;
  std::optional<LogLevel> log_level;  ///< run: that of the file, try: warning
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

  /// Flags that win over [daemon]; with host_root, convert looks at a node.
  std::optional<std::string> host_root;
  std::optional<std::string> listen;
  std::optional<std::string> kubelet_dir;

  /// Not of the command line: where PID 1 sees that `run` is alive, see os/pid1.h; may be null.
  std::shared_ptr<Heartbeat> heartbeat;
};

/// Where a command writes: what it is asked for to `out`, everything else to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

/// The arguments, or the exit code of a command line that ends here: --help, --version, a mistake.
/// PATCHBAY_CONFIG stands in for --config.
std::variant<Arguments, ExitCode> ParseArguments(int argc, const char* const* argv,
                                                 Streams streams);

}  // namespace patchbay
