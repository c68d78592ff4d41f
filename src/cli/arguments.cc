// Each command is a subcommand of CLI11, and all of them write to the same Arguments, because only
// one is parsed. Values that the configuration can also have are checked by the functions that
// check the configuration.
//
// The error messages of CLI11 do not name alternatives. Therefore NamesNoCommand reports a missing
// or misspelled command before CLI11 runs, and ReportMisuse adds a hint after CLI11 fails.

#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <utility>

#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/version.h"
#include "config/load.h"
#include "config/normalize.h"
#include "config/reporter.h"
#include "model/resource_name.h"
#include "model/spec.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

/// The words of an option and their values, in the order of the help.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

const Choices<Output> kOutputs = {{"table", Output::kTable}, {"json", Output::kJson}};
const Choices<LogFormat> kLogFormats = {{"text", LogFormat::kText}, {"json", LogFormat::kJson}};
const Choices<LogLevel> kLogLevels = {{"debug", LogLevel::kDebug},
                                      {"info", LogLevel::kInfo},
                                      {"warning", LogLevel::kWarning},
                                      {"error", LogLevel::kError}};

const Choices<ForeignProgram> kForeign = {
    {std::string(kForeignPrograms[0]), ForeignProgram::kGenericDevicePlugin},
    {std::string(kForeignPrograms[1]), ForeignProgram::kSmarterDeviceManager}};

const Choices<bool> kConvertOutputs = {{"toml", false}, {"helm", true}};

template <class Target, class T>
CLI::Option* AddChoice(CLI::App& app, const std::string& name, Target& target,
                       const Choices<T>& choices, const std::string& help) {
  std::string names;
  for (const auto& [choice, value] : choices) names += (names.empty() ? "" : "|") + choice;
  return app.add_option(name, target, help)
      ->transform(CLI::CheckedTransformer(choices).description(""))
      // Runs before the transformer, which would also accept the numeric values of the choices.
      ->transform(CLI::IsMember(choices, CLI::ignore_case).description(""))
      ->type_name(names);
}

// Validators for CLI11: flags that override the file obey the rules of the file. Each normalizes
// its text and returns the error, or "".

std::string TakeListen(std::string& text) {
  auto address = NormalizedListenAddress(text);
  if (!address) return format("\"{}\" is not an address and a port; {}", text, kHintOnListen);
  text = std::move(*address);
  return "";
}

std::string TakeDirectory(std::string& text) {
  if (text.empty()) return "the directory is empty";
  std::error_code error;
  const auto absolute = std::filesystem::absolute(text, error);
  if (error) {
    return format(
        "\"{}\" cannot be resolved: the working directory no longer exists; use an absolute path "
        "or change to another directory",
        text);
  }
  text = absolute.lexically_normal();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return "";
}

std::string CheckDomain(const std::string& text) {
  const auto problem = ProblemWithResourceName(text + "/name");
  return problem ? format("invalid resource name {}/…: {}", text, *problem) : "";
}

std::string TakeKubeletDir(std::string& text) {
  if (auto problem = TakeDirectory(text); !problem.empty()) return problem;
  return text.size() <= kMaxKubeletDir
             ? ""
             : format("\"{}\" is longer than {} bytes, which leave room for the names of sockets",
                      text, kMaxKubeletDir);
}

std::string ProblemWithCount(const std::string& text) {
  constexpr int kMax = std::numeric_limits<int>::max();
  int count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && rest == end && count > 0) return "";
  return format("\"{}\" must be a whole number from 1 to {}", text, kMax);
}

void AddDaemonFlags(CLI::App& app, const std::string& name, Arguments& arguments) {
  const bool is_run = name == "run";
  app.add_option("--listen", arguments.listen,
                 is_run ? "HTTP address for metrics and health (default: listen of the file, "
                          "otherwise [::]:9478)"
                        : "HTTP address for metrics and health; default: a free port of "
                          "127.0.0.1")
      ->type_name("ADDRESS:PORT")
      ->transform(CLI::Validator(TakeListen, ""));
  AddChoice(app, "--log-level", arguments.log_level, kLogLevels,
            is_run ? "minimum log level (default: log_level of the file, otherwise info)"
                   : "minimum log level (default: warning)");
  AddChoice(app, "--log-format", arguments.log_format, kLogFormats, "log format (default: text)");
}

void AddHostRoot(CLI::App& app, Arguments& arguments, const std::string& help) {
  app.add_option("--host-root", arguments.host_root, help)
      ->type_name("DIR")
      ->transform(CLI::Validator(TakeDirectory, ""))
      ->check(CLI::ExistingDirectory.description(""));
}

void AddConvertOptions(CLI::App& app, Arguments& arguments) {
  AddChoice(app, "--from", arguments.from, kForeign, "plugin to convert from")->required();
  app.add_option("--domain", arguments.domain, "domain of the resources; default: as in the file")
      ->type_name("DOMAIN")
      ->check(CLI::Validator(CheckDomain, ""));
  AddChoice(app, "--output,-o", arguments.converts_to_helm, kConvertOutputs,
            "TOML, or values for the Helm chart that contain it (default: toml)");
  AddHostRoot(app, arguments, "inspect this node's /dev to distinguish devices from directories");
  app.add_option("file", arguments.files,
                 "its config file, or Kubernetes manifests containing it; - for stdin")
      ->required()
      ->expected(1)
      ->type_name("FILE");
}

/// Adds the options of one command.
void AddCommandOptions(CLI::App& app, const std::string& name, Arguments& arguments) {
  if (name == "check") {
    app.add_option("files", arguments.files, "files and directories; default: --config")
        ->type_name("FILE or DIR");
    app.add_flag("--strict", arguments.strict, "treat warnings as errors");
  }
  if (name == "devices") {
    app.add_flag("--probe", arguments.probe, "run the health probe of each device once");
  }
  if (name == "allocate") {
    app.add_option("resource", arguments.resource, "name of the resource")
        ->required()
        ->type_name("RESOURCE");
    auto* ids = app.add_option("ids", arguments.ids, "IDs as listed by `devices`")->type_name("ID");
    app.add_option("--count", arguments.count, "number of healthy devices to allocate (default: 1)")
        ->type_name("N")
        ->check(CLI::Validator(ProblemWithCount, ""))
        ->excludes(ids);
  }
  if (name == "explain") {
    app.add_option("resource", arguments.resource, "only this resource")->type_name("RESOURCE");
    app.add_option("--path", arguments.path, "explain only this path, device ID or sysfs name")
        ->type_name("PATH");
  }
  if (name == "run" || name == "try") AddDaemonFlags(app, name, arguments);
  if (name == "run") {
    app.add_option(
           "--kubelet-dir", arguments.kubelet_dir,
           "the kubelet's device plugin directory; default: kubelet_dir of the file, otherwise "
           "/var/lib/kubelet/device-plugins")
        ->type_name("DIR")
        ->transform(CLI::Validator(TakeKubeletDir, ""));
    app.add_flag(
        "--wait-for-config", arguments.wait_for_config,
        "if the configuration is missing or invalid, wait for a valid one instead of exiting");
  }
  if (name == "try") {
    app.add_flag("--once", arguments.once, "probe each device once, print the report and exit");
  }
  if (name == "diff") {
    const auto add = [&](const std::string& file) { arguments.files.push_back(file); };
    app.add_option_function<std::string>("old", add, "current configuration")
        ->required()
        ->type_name("FILE or DIR");
    app.add_option_function<std::string>("new", add, "new configuration")
        ->required()
        ->type_name("FILE or DIR");
  }
  if (name == "check" || name == "devices" || name == "explain" || name == "allocate" ||
      name == "diff") {
    AddChoice(app, "--output,-o", arguments.output, kOutputs, "output format (default: table)");
  }
  if (name == "convert") AddConvertOptions(app, arguments);
  if (name == "diff" || name == "schema" || name == "convert") return;
  app.add_option("--config,-c", arguments.config,
                 "configuration, a file or a directory; also PATCHBAY_CONFIG")
      ->type_name("PATH")
      ->capture_default_str();
  if (name != "check") {
    AddHostRoot(app, arguments,
                "directory where the host's root file system is mounted; default: host_root of the "
                "file, otherwise /");
  }
}

/// Reports a missing or unknown command, and returns whether it did. The message of CLI11 would not
/// list the commands.
bool NamesNoCommand(int argc, const char* const* argv, std::ostream& err) {
  const std::string_view word = argc < 2 ? "" : argv[1];
  if (word == "--help" || word == "-h" || word == "--version") return false;
  std::vector<std::string_view> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  if (std::find(names.begin(), names.end(), word) != names.end()) return false;
  const std::string all = "it is one of " + OneOf(names);
  if (word.empty()) {
    err << format("no command given; {}\n", all);
  } else if (word.starts_with('-')) {
    err << format(
        "options go after the command: patchbay COMMAND [OPTIONS]; move \"{}\" there; {}\n",
        Printable(word), all);
  } else {
    err << format("unknown command \"{}\"; {}\n", Printable(word), DidYouMean(word, names, all));
  }
  err << "Run with --help for more information.\n";
  return true;
}

/// Returns whether a word in the wrong place, or in place of a resource, is probably meant as the
/// configuration.
bool IsMeantAsConfig(const std::string& word) {
  std::error_code none;
  return word.ends_with(".toml") && (ProblemWithResourceName(word) || fs::exists(word, none));
}

/// Returns a correction for a command line with an unexpected flag or word, or "".
std::string HintOnExtra(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& flag : option->get_lnames()) flags.push_back("--" + flag);
    }
    for (const std::string& word : command->remaining()) {
      if (IsMeantAsConfig(word) && command->get_option_no_throw("--config") != nullptr) {
        return format("did you mean `--config {}`?", word);
      }
      if (!word.starts_with("--")) continue;
      const std::vector<std::string_view> names(flags.begin(), flags.end());
      std::string hint = DidYouMean(std::string_view(word).substr(0, word.find('=')), names);
      if (!hint.empty()) return hint;
    }
    if (command->get_name() == "diff") return "diff takes two: OLD NEW";
  }
  return "";
}

/// Lists the resources of the configuration; "" if it cannot be loaded.
std::string HintOnResources(const std::string& config) {
  const Loaded loaded = LoadPaths({config});
  if (!loaded.model) return "";
  std::vector<std::string_view> names;
  for (const ResourceSpec& spec : loaded.model->resources) names.push_back(spec.name);
  return format("name one of {}: {}", config, ListNames(names));
}

/// Prints the error of the library, with a hint if there is one.
ExitCode ReportMisuse(const CLI::App& app, const CLI::ParseError& error, const Arguments& arguments,
                      Streams streams) {
  const bool has_too_much = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool has_too_little = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string hint = has_too_much ? HintOnExtra(app) : "";
  if (has_too_little && app.got_subcommand("diff")) hint = "diff takes two: OLD NEW";
  if (has_too_little && app.got_subcommand("allocate")) hint = HintOnResources(arguments.config);
  streams.err << Printable(error.what()) << (hint.empty() ? "" : "; " + Printable(hint))
              << "\nRun with --help for more information.\n";
  return kUsage;
}

}  // namespace

std::variant<Arguments, ExitCode> ParseArguments(int argc, const char* const* argv,
                                                 Streams streams) {
  // `help` and `help COMMAND`, as in git.
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    std::vector<const char*> asked(argv, argv + std::min(argc, 3));
    asked.erase(asked.begin() + 1);
    asked.push_back("--help");
    return ParseArguments(static_cast<int>(asked.size()), asked.data(), streams);
  }
  Arguments arguments;
  // Not CLI11's envname(): all commands share the variable, so the options of the other commands
  // would override the flag.
  if (const char* config = std::getenv("PATCHBAY_CONFIG"); config != nullptr && *config != '\0') {
    arguments.config = config;
  }
  CLI::App app("Exposes any host device to Kubernetes containers.", "patchbay");
  app.set_version_flag("--version", format("patchbay {} ({})", kVersion, kRevision));
  app.require_subcommand(1);
  for (const Command& command : Commands()) {
    const std::string name(command.name);
    CLI::App* sub = app.add_subcommand(name, std::string(command.summary));
    AddCommandOptions(*sub, name, arguments);
    sub->callback([&arguments, name] { arguments.command = name; });
  }
  if (NamesNoCommand(argc, argv, streams.err)) return kUsage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return ReportMisuse(app, error, arguments, streams);
    std::ostringstream text;
    app.exit(error, text, text);
    streams.out << text.str().substr(text.str().find_first_not_of('\n'));
    return kOk;
  }
  if (IsMeantAsConfig(arguments.resource)) {
    streams.err << format("\"{0}\" is a file, not a resource name; did you mean `--config {0}`?\n",
                          Printable(arguments.resource));
    return kUsage;
  }
  return arguments;
}

}  // namespace patchbay
