// Each command is a subcommand of CLI11, and all of them write to the same Arguments, because only
// one is parsed. Values that the configuration can also have are checked by the functions that
// check the configuration.
//
// NamesNoCommand reports a missing or misspelled command before CLI11 runs, and usage_error.h adds
// suggestions to the errors of CLI11.

#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <span>
#include <sstream>
#include <utility>

#include "base/ascii.h"
#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/usage_error.h"
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

const Choices<Output> kOutputs = {
    {"table", Output::kTable}, {"json", Output::kJson}, {"yaml", Output::kYaml}};
const Choices<Output> kListOutputs = {{"table", Output::kTable},
                                      {"json", Output::kJson},
                                      {"yaml", Output::kYaml},
                                      {"name", Output::kName}};
/// The default is what kubectl reads.
const Choices<Output> kManifestOutputs = {
    {"yaml", Output::kYaml}, {"json", Output::kJson}, {"name", Output::kName}};
const Choices<SuggestOutput> kSuggestOutputs = {
    {"toml", SuggestOutput::kToml}, {"helm", SuggestOutput::kHelm}, {"json", SuggestOutput::kJson}};
const Choices<Shell> kShells = {
    {"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}};
const Choices<LogFormat> kLogFormats = {{"text", LogFormat::kText}, {"json", LogFormat::kJson}};
const Choices<LogLevel> kLogLevels = {{"debug", LogLevel::kDebug},
                                      {"info", LogLevel::kInfo},
                                      {"warning", LogLevel::kWarning},
                                      {"error", LogLevel::kError}};

const Choices<ForeignProgram> kForeign = {
    {std::string(kForeignPrograms[0]), ForeignProgram::kGenericDevicePlugin},
    {std::string(kForeignPrograms[1]), ForeignProgram::kSmarterDeviceManager}};

const Choices<bool> kConvertOutputs = {{"toml", false}, {"helm", true}};

/// Replaces a word by the choice that it names, ignoring case. Returns the error, or "".
std::string TakeChoice(std::string& text, const std::vector<std::string>& choices) {
  std::string word = ToLower(text);
  if (word == "warn") word = "warning";  // accepted, but not listed
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) {
    text = std::move(word);
    return "";
  }
  const std::vector<std::string_view> names(choices.begin(), choices.end());
  return Format("\"{}\" is not valid; it is one of {}", text, OneOf(names));
}

template <class Target, class T>
CLI::Option* AddChoice(CLI::App& app, const std::string& name, Target& target,
                       const Choices<T>& choices, const std::string& help) {
  std::vector<std::string> names;
  for (const auto& [choice, value] : choices) names.push_back(choice);
  const auto take = [names](std::string& text) { return TakeChoice(text, names); };
  return app.add_option(name, target, help)
      ->transform(CLI::CheckedTransformer(choices).description(""))
      // Runs before the transformer, which would also accept the numeric values of the choices.
      ->transform(CLI::Validator(take, ""))
      ->type_name(Format("{}", fmt::join(names, "|")));
}

// Validators for CLI11: flags that override the file obey the rules of the file. Each normalizes
// its text and returns the error, or "".

std::string TakeListen(std::string& text) {
  auto address = NormalizedListenAddress(text);
  if (!address) return Format("\"{}\" is not an address and a port; {}", text, kHintOnListen);
  text = std::move(*address);
  return "";
}

std::string TakeDirectory(std::string& text) {
  if (text.empty()) return "the directory is empty";
  std::error_code error;
  const auto absolute = std::filesystem::absolute(text, error);
  if (error) {
    return Format(
        "\"{}\" cannot be resolved: the working directory no longer exists; use an absolute path "
        "or change to another directory",
        text);
  }
  text = absolute.lexically_normal();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return "";
}

std::string TakeHostRoot(std::string& text) {
  if (auto problem = TakeDirectory(text); !problem.empty()) return problem;
  std::error_code none;
  if (fs::is_directory(text, none)) return "";
  return Format("\"{}\" {}; name the directory where the host's root file system is mounted", text,
                fs::exists(text, none) ? "is not a directory" : "does not exist");
}

std::string CheckDomain(const std::string& text) {
  const auto problem = ProblemWithResourceName(text + "/name");
  return problem ? Format("invalid resource name {}/…: {}", text, *problem) : "";
}

std::string TakeKubeletDir(std::string& text) {
  if (auto problem = TakeDirectory(text); !problem.empty()) return problem;
  return text.size() <= kMaxKubeletDir
             ? ""
             : Format("\"{}\" is longer than {} bytes, which leave room for the names of sockets",
                      text, kMaxKubeletDir);
}

std::string ProblemWithCount(const std::string& text) {
  constexpr int kMax = std::numeric_limits<int>::max();
  if (ParseNumber<int>(text).value_or(0) > 0) return "";
  return Format("\"{}\" must be a whole number from 1 to {}", text, kMax);
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
      ->transform(CLI::Validator(TakeHostRoot, ""));
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

void AddRunOptions(CLI::App& app, Arguments& arguments) {
  app.add_option("--kubelet-dir", arguments.kubelet_dir,
                 "the kubelet's device plugin directory; default: kubelet_dir of the file, "
                 "otherwise /var/lib/kubelet/device-plugins")
      ->type_name("DIR")
      ->transform(CLI::Validator(TakeKubeletDir, ""));
  app.add_flag(
      "--wait-for-config", arguments.wait_for_config,
      "if the configuration is missing or invalid, wait for a valid one instead of exiting");
  app.add_flag("--allow-other-server", arguments.allows_other_server,
               "in a pod, let server of [daemon.kubernetes] be another API server than the pod's");
}

/// Adds the options of all commands that read the configuration.
void AddConfigOptions(CLI::App& app, const std::string& name, Arguments& arguments) {
  constexpr std::string_view kWithoutConfig[] = {"diff", "schema", "convert", "version",
                                                 "completion"};
  if (std::ranges::find(kWithoutConfig, name) != std::end(kWithoutConfig)) return;
  app.add_option("--config,-c", arguments.config,
                 "configuration, a file or a directory; also PATCHBAY_CONFIG")
      ->type_name("PATH")
      ->capture_default_str();
  if (name != "check" && name != "device-classes") {
    AddHostRoot(app, arguments,
                "directory where the host's root file system is mounted; default: host_root of the "
                "file, otherwise /");
  }
}

/// Adds the options of one command.
void AddCommandOptions(CLI::App& app, const std::string& name, Arguments& arguments) {
  if (name == "check") {
    app.add_option("file", arguments.files, "files and directories, - for stdin; default: --config")
        ->type_name("FILE or DIR");
    app.add_flag("--strict", arguments.strict, "treat warnings as errors");
  }
  if (name == "devices") {
    app.add_option("resource", arguments.resource, "only this resource")->type_name("RESOURCE");
    app.add_flag("--probe", arguments.probe, "run the health probe of each device once");
  }
  if (name == "allocate") {
    app.add_option("resource", arguments.resource, "name of the resource")
        ->required()
        ->type_name("RESOURCE");
    auto* ids = app.add_option("id", arguments.ids, "IDs or names in slices")->type_name("ID");
    app.add_option("--count", arguments.count, "number of units; for DRA, of devices (default: 1)")
        ->type_name("N")
        ->check(CLI::Validator(ProblemWithCount, ""))
        ->excludes(ids);
  }
  if (name == "explain") {
    app.add_option("resource", arguments.resource, "only this resource")->type_name("RESOURCE");
    app.add_option("--path", arguments.path, "explain only this path, device ID or device name")
        ->type_name("PATH");
    app.add_flag("--exit-code", arguments.needs_devices,
                 "exit with 1 if a resource has no device, or if none lists the path");
  }
  if (name == "run" || name == "try") AddDaemonFlags(app, name, arguments);
  if (name == "run") AddRunOptions(app, arguments);
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
  if (name == "devices") {
    AddChoice(app, "--output,-o", arguments.output, kListOutputs,
              "output format; name: device IDs only (default: table)");
  }
  if (name == "device-classes") {
    app.add_option("resource", arguments.resources, "only these resources")->type_name("RESOURCE");
    AddChoice(app, "--output,-o", arguments.output, kManifestOutputs,
              "output format; name: names of the classes only (default: yaml)");
  }
  if (name == "check" || name == "explain" || name == "allocate" || name == "diff") {
    AddChoice(app, "--output,-o", arguments.output, kOutputs, "output format (default: table)");
  }
  if (name == "convert") AddConvertOptions(app, arguments);
  if (name == "suggest") {
    app.add_option(
           "device", arguments.devices,
           "only these: a node, a link to one, a path in /sys, a USB or PCI ID, a USB port, "
           "a PCI address, or a name such as can0; default: all that containers use")
        ->type_name("DEVICE");
    AddChoice(app, "--output,-o", arguments.suggest_output, kSuggestOutputs,
              "TOML, values for the Helm chart that contain it, or JSON (default: toml)");
  }
  if (name == "completion") {
    AddChoice(app, "shell", arguments.shell, kShells, "the shell")->required();
  }
  AddConfigOptions(app, name, arguments);
}

/// Reports an error, which can repeat a long argument.
ExitCode ReportMisuse(const std::string& text, std::string_view command, Streams streams) {
  constexpr std::size_t kMaxShown = 600;
  streams.err << Printable(Truncate(text, kMaxShown))
              << Format("\nRun `patchbay {}--help` for more information.\n",
                        command.empty() ? "" : Format("{} ", command));
  return kUsage;
}

/// Reports a missing or unknown command, and returns whether it did. The message of CLI11 would not
/// list the commands.
bool NamesNoCommand(std::span<const char* const> argv, Streams streams) {
  const std::string_view word = argv.size() < 2 ? "" : argv[1];
  if (word == "--help" || word == "-h" || word == "--version") return false;
  std::vector<std::string_view> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  if (std::find(names.begin(), names.end(), word) != names.end()) return false;
  ReportMisuse(CommandErrorText(word, names), "", streams);
  return true;
}

/// Lists the resources of the configuration; "" if it cannot be loaded.
std::string HintOnResources(const std::string& config) {
  const Loaded loaded = LoadPaths({config});
  if (!loaded.model) return "";
  std::vector<std::string_view> names;
  for (const ResourceSpec& spec : loaded.model->resources) names.push_back(spec.name);
  return Format("; name one of {}: {}", config, ListNames(names));
}

/// Adds all commands, which write to `arguments`.
void AddCommands(CLI::App& app, Arguments& arguments) {
  app.set_help_flag("--help,-h", "print this help");
  app.set_version_flag("--version", VersionLine(), "print the version");
  app.require_subcommand(1);
  for (const Command& command : Commands()) {
    const std::string name(command.name);
    CLI::App* sub = app.add_subcommand(name, std::string(command.summary));
    AddCommandOptions(*sub, name, arguments);
    sub->callback([&arguments, name] { arguments.command = name; });
  }
}

CommandInfo Describe(const CLI::App& app, std::string name) {
  CommandInfo info{std::move(name), app.get_description()};
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    const bool is_flag = option->get_items_expected_max() == 0;
    const std::string type = is_flag ? "" : option->get_type_name();
    OptionInfo described{.name = option->get_name(),
                         .value = type.substr(0, type.find(' ')),
                         .help = option->get_description(),
                         .repeats = option->get_expected_max() > 1};
    if (!option->get_snames().empty()) described.short_name = "-" + option->get_snames().front();
    (option->get_positional() ? info.positionals : info.options).push_back(std::move(described));
  }
  return info;
}

constexpr char kDescription[] = "Exposes any host device to Kubernetes containers.";

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
    arguments.is_config_given = true;
  }
  CLI::App app(kDescription, "patchbay");
  AddCommands(app, arguments);
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  if (NamesNoCommand(words, streams)) return kUsage;
  const CLI::App* command = &app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      app.exit(error, text, text);
      streams.out << text.str().substr(text.str().find_first_not_of('\n'));
      return kOk;
    }
    if (!app.get_subcommands().empty()) command = app.get_subcommands().front();
    std::string text = UsageErrorText(*command, error);
    const bool lacks_resource = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                                command->get_name() == "allocate" && command->remaining().empty();
    if (lacks_resource) text += HintOnResources(arguments.config);
    return ReportMisuse(text, command == &app ? "" : command->get_name(), streams);
  }
  command = app.get_subcommands().front();
  const CLI::Option* config = command->get_option_no_throw("--config");
  if (config != nullptr && config->count() > 0) arguments.is_config_given = true;
  std::string problem = EmptyValueText(*command);
  if (problem.empty()) problem = ArgumentErrorText(arguments);
  if (!problem.empty()) {
    return ReportMisuse(problem, arguments.command, streams);
  }
  return arguments;
}

std::vector<CommandInfo> DescribeCommandLine() {
  Arguments ignored;
  CLI::App app(kDescription, "patchbay");
  AddCommands(app, ignored);
  std::vector<CommandInfo> commands = {Describe(app, "")};
  for (const Command& command : Commands()) {
    const std::string name(command.name);
    commands.push_back(Describe(*app.get_subcommand(name), name));
  }
  return commands;
}

}  // namespace patchbay
