// CLI11 reports errors in its own words. Only words that are left over, unknown commands and empty
// values get a text of ours, which suggests what is meant: first by meaning, from the tables below,
// which contain what people type who know kubectl and other tools, and then by spelling.

#include "cli/usage_error.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "base/escape.h"
#include "base/format.h"
#include "cli/load.h"
#include "config/reporter.h"
#include "model/resource_name.h"

namespace patchbay {
namespace {

/// Words that people type, separated by spaces, and what they mean; an option may have a value.
struct Synonyms {
  std::string_view meant;
  std::string_view typed;
};

constexpr Synonyms kCommandSynonyms[] = {
    {"devices", "list ls get show device discover status resources"},
    {"suggest", "init generate gen scan detect new create sample example template setup"},
    {"check", "validate lint verify test vet"},
    {"explain", "describe why inspect debug"},
    {"run", "start serve daemon"},
    {"try", "demo simulate"},
    {"allocate", "alloc render"},
    {"diff", "plan compare"},
    {"convert", "migrate import"},
    {"suggest", "init generate"},
    {"completion", "completions complete"},
    {"device-classes", "classes deviceclasses deviceclass class"},
};

/// Only the options that a command has are meant.
constexpr Synonyms kOptionSynonyms[] = {
    {"--config", "-f --file --filename --conf --config-file"},
    {"--output json", "--json"},
    {"--output yaml", "--yaml"},
    {"--output", "--format"},
    {"--log-level debug", "-v --verbose --debug"},
    {"--log-level error", "-q --quiet"},
    {"--listen", "--port --address"},
    {"--host-root", "--root --rootfs"},
    {"--path", "-p --device --id"},
    {"--count", "-n"},
    {"--wait-for-config", "--wait"},
    {"--strict", "--werror"},
    {"--probe", "--health"},
};

/// Options in front of the command, which only the program itself has.
constexpr Synonyms kProgramSynonyms[] = {
    {"--version", "-V -v -version"},
    {"--help", "-help -?"},
};

bool Includes(const Synonyms& synonyms, std::string_view word) {
  return Format(" {} ", synonyms.typed).find(Format(" {} ", word)) != std::string::npos;
}

using Options = std::vector<const CLI::Option*>;

Options OptionsOf(const CLI::App& command) {
  return command.get_options([](const CLI::Option*) { return true; });
}

/// Returns the name of an option in messages: "--config", or "RESOURCE" for a positional one.
std::string NameOf(const CLI::Option& option) {
  std::string name = option.get_name();
  if (!option.get_positional()) return name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::string WithUsage(const std::string& text, const CLI::App& command) {
  return Format("{}; usage: {}", text, UsageLine(command));
}

/// Returns what is probably meant by an option that the command does not have, or "".
std::string MeantOption(const CLI::App& command, std::string_view word) {
  const bool is_long = word.starts_with("--");
  const std::string_view typed = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  for (const Synonyms& synonyms : kOptionSynonyms) {
    const std::string name(synonyms.meant.substr(0, synonyms.meant.find(' ')));
    if (Includes(synonyms, typed) && command.get_option_no_throw(name) != nullptr) {
      return std::string(synonyms.meant);
    }
  }
  if (!is_long) return "";
  std::vector<std::string> names;
  for (const CLI::Option* option : OptionsOf(command)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return std::string(Nearest(typed, candidates));
}

/// Returns the words that the command does not take. A second command is left over in the program
/// itself.
std::vector<std::string> LeftOver(const CLI::App& command) {
  const CLI::App* program = command.get_parent();
  return (program == nullptr ? &command : program)->remaining(true);
}

bool HasUnknownOption(const CLI::App& command) {
  return std::ranges::any_of(LeftOver(command),
                             [](const std::string& word) { return word.starts_with('-'); });
}

std::string ExtraText(const CLI::App& command) {
  const std::vector<std::string> words = LeftOver(command);
  for (const std::string& word : words) {
    if (IsMeantAsConfig(word) && command.get_option_no_throw("--config") != nullptr &&
        !HasUnknownOption(command)) {
      return Format("unexpected argument \"{}\"; did you mean `--config {}`?", word,
                    QuoteShell(word));
    }
  }
  for (const std::string& word : words) {
    if (!word.starts_with('-')) continue;
    const std::string text = Format("{} has no option {}", command.get_name(), word);
    const std::string meant = MeantOption(command, word);
    if (!meant.empty()) return Format("{}; did you mean `{}`?", text, meant);
    return WithUsage(text, command);
  }
  return WithUsage(Format("unexpected argument \"{}\"", words.empty() ? "" : words.front()),
                   command);
}

std::string_view MeaningOf(std::string_view word, std::span<const Synonyms> table) {
  for (const Synonyms& synonyms : table) {
    if (Includes(synonyms, word)) return synonyms.meant;
  }
  return "";
}

/// Returns the error of an argument that cannot be the name of a resource, or "".
std::string ProblemWithResource(const Arguments& arguments, const std::string& resource) {
  if (IsMeantAsConfig(resource)) {
    return Format("\"{}\" is a file, not a resource name; did you mean `--config {}`?", resource,
                  QuoteShell(resource));
  }
  if (!resource.starts_with('/')) return "";
  return Format("\"{}\" is a path, not a resource name; run `{}` to see which resource matches it",
                resource, HintCommand(arguments, "explain", {"--path", resource}));
}

}  // namespace

bool IsMeantAsConfig(const std::string& word) {
  std::error_code none;
  return word.ends_with(".toml") &&
         (ProblemWithResourceName(word) || std::filesystem::exists(word, none));
}

std::string UsageLine(const CLI::App& command) {
  std::string line = Format("patchbay {} [OPTIONS]", command.get_name());
  for (const CLI::Option* option : OptionsOf(command)) {
    if (!option->get_positional()) {
      if (option->get_required()) {
        line += Format(" {} {}", option->get_name(), option->get_type_name());
      }
      continue;
    }
    const std::string name = NameOf(*option) + (option->get_expected_max() > 1 ? "..." : "");
    line += option->get_required() ? " " + name : Format(" [{}]", name);
  }
  return line;
}

std::string UsageErrorText(const CLI::App& command, const CLI::ParseError& error) {
  // An unknown option is a more likely error than a missing one, for which it may have been meant.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || HasUnknownOption(command)) {
    return ExtraText(command);
  }
  const bool is_value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
  return is_value ? error.what() : WithUsage(error.what(), command);
}

std::string EmptyValueText(const CLI::App& command) {
  for (const CLI::Option* option : OptionsOf(command)) {
    const std::vector<std::string>& values = option->results();
    if (option->get_items_expected_max() == 0 || option->count() == 0) continue;
    if (std::find(values.begin(), values.end(), "") == values.end()) continue;
    return Format("{0} is empty; it needs a value: {1}", NameOf(*option),
                  option->get_positional() ? NameOf(*option)
                                           : NameOf(*option) + " " + option->get_type_name());
  }
  return "";
}

std::string CommandErrorText(std::string_view word, std::span<const std::string_view> commands) {
  const std::string all = "it is one of " + OneOf(commands);
  if (word.empty()) return Format("no command given; {}", all);
  if (word.starts_with('-')) {
    const std::string_view meant = MeaningOf(word, kProgramSynonyms);
    if (!meant.empty()) return Format("unknown option {}; did you mean `{}`?", word, meant);
    return Format("options go after the command: patchbay COMMAND [OPTIONS]; move \"{}\" there; {}",
                  word, all);
  }
  const std::string_view meant = MeaningOf(word, kCommandSynonyms);
  return Format(
      "unknown command \"{}\"; {}", word,
      meant.empty() ? DidYouMean(word, commands, all) : Format("did you mean `{}`?", meant));
}

std::string ArgumentErrorText(const Arguments& arguments) {
  std::string problem = ProblemWithResource(arguments, arguments.resource);
  for (const std::string& resource : arguments.resources) {
    if (problem.empty()) problem = ProblemWithResource(arguments, resource);
  }
  if (!problem.empty()) return problem;
  if (arguments.config.starts_with("--")) {
    return Format("--config needs a value: --config PATH; \"{}\" is an option", arguments.config);
  }
  if (arguments.config == kStandardInput && arguments.command != "check") {
    return Format("--config -: {} does not read the standard input; only `check` does",
                  arguments.command);
  }
  const auto& files = arguments.files;
  if (files.size() > 1 && std::ranges::find(files, kStandardInput) != files.end()) {
    return arguments.command == "check"
               ? "check reads the standard input or other files, but not both"
               : Format("{} does not read the standard input; name a file", arguments.command);
  }
  return "";
}

}  // namespace patchbay
