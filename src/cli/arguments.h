#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "config/source_file.h"
#include "convert/convert.h"

namespace patchbay {

enum class Output { kTable, kJson, kYaml, kName };
/// The output of `suggest`.
enum class SuggestOutput { kToml, kHelm, kJson };
enum class Shell { kBash, kZsh, kFish };

/// Exit codes of every command.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,  ///< the configuration has errors, or the command failed
  kUsage = 2,   ///< the command line itself is wrong
};

/// The name of a file that stands for the standard input.
inline constexpr std::string_view kStandardInput = "-";

/// The parsed command line. Options that a command does not have keep their defaults.
struct Arguments {
  std::string command;
  std::string config{kDefaultConfig};
  bool is_config_given = false;    ///< by --config or PATCHBAY_CONFIG
  std::vector<std::string> files;  ///< check; two for diff: old and new; one for convert
  Output output = Output::kTable;
  std::optional<LogLevel> log_level;  ///< default: log_level of the file (run), warning (try)
  LogFormat log_format = LogFormat::kText;
  bool strict = false;                 ///< check
  bool once = false;                   ///< try
  std::vector<std::string> words;      ///< try: all words after the command
  bool wait_for_config = false;        ///< run
  bool allows_other_server = false;    ///< run
  bool probe = false;                  ///< devices
  bool needs_devices = false;          ///< explain: exit with 1 if a resource has no device
  std::string resource;                ///< allocate, devices, explain
  std::vector<std::string> resources;  ///< device-classes; empty for all
  std::string path;                    ///< explain
  std::vector<std::string> ids;        ///< allocate
  std::optional<int> count;            ///< allocate
  ForeignProgram from = {};            ///< convert
  std::optional<std::string> domain;   ///< convert
  bool converts_to_helm = false;       ///< convert
  std::vector<std::string> devices;    ///< suggest; empty for all
  SuggestOutput suggest_output = SuggestOutput::kToml;
  Shell shell = Shell::kBash;  ///< completion

  /// Flags that override [daemon]. With host_root, convert inspects /dev of that host.
  std::optional<std::string> host_root;
  std::optional<std::string> listen;
  std::optional<std::string> kubelet_dir;
};

/// The output streams of a command: its result goes to `out`, everything else to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool colors_out = false;  ///< whether `out` is a terminal that shows colors
  bool colors_err = false;
};

/// An option or a positional argument of a command, as its help describes it.
struct OptionInfo {
  std::string short_name = {};  ///< "-o"; may be empty
  std::string name;             ///< "--output", or "resource" if it is positional
  std::string value = {};       ///< "DIR", or the choices "table|json"; empty for a flag
  std::string help = {};
  bool repeats = false;  ///< whether it takes several values
};

/// A command with its options, in the order of the help.
struct CommandInfo {
  std::string name;  ///< empty for the options of the program itself
  std::string summary;
  std::vector<OptionInfo> options = {};
  std::vector<OptionInfo> positionals = {};
};

/// Describes the program itself, and then each command.
std::vector<CommandInfo> DescribeCommandLine();

/// Parses the command line. Returns an exit code if there is no command to run: after --help,
/// --version, or a usage error, which is reported to `streams.err`. The environment variable
/// PATCHBAY_CONFIG is the default of --config.
std::variant<Arguments, ExitCode> ParseArguments(int argc, const char* const* argv,
                                                 Streams streams);

}  // namespace patchbay
