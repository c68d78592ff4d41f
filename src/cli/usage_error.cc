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

/// A word that people type, and what they mean; an option may have a value.
struct Synonym {
  std::string_view typed;
  std::string_view meant;
};

constexpr Synonym kCommandSynonyms[] = {
    {"list", "devices"},
    {"ls", "devices"},
    {"get", "devices"},
    {"show", "devices"},
    {"device", "devices"},
    {"discover", "devices"},
    {"scan", "devices"},
    {"status", "devices"},
    {"resources", "devices"},
    {"validate", "check"},
    {"lint", "check"},
    {"verify", "check"},
    {"test", "check"},
    {"vet", "check"},
    {"describe", "explain"},
    {"why", "explain"},
    {"inspect", "explain"},
    {"debug", "explain"},
    {"start", "run"},
    {"serve", "run"},
    {"daemon", "run"},
    {"demo", "try"},
    {"simulate", "try"},
    {"alloc", "allocate"},
    {"render", "allocate"},
    {"plan", "diff"},
    {"compare", "diff"},
    {"migrate", "convert"},
    {"import", "convert"},
    {"completions", "completion"},
    {"complete", "completion"},
    {"classes", "device-classes"},
    {"deviceclasses", "device-classes"},
    {"deviceclass", "device-classes"},
    {"class", "device-classes"},
};

/// An option that a command does not have means the first of these that it has.
constexpr Synonym kOptionSynonyms[] = {
    {"-f", "--config"},
    {"--file", "--config"},
    {"--filename", "--config"},
    {"--conf", "--config"},
    {"--config-file", "--config"},
    {"--json", "--output json"},
    {"--yaml", "--output yaml"},
    {"--format", "--output"},
    {"-v", "--log-level debug"},
    {"--verbose", "--log-level debug"},
    {"--debug", "--log-level debug"},
    {"-q", "--log-level error"},
    {"--quiet", "--log-level error"},
    {"--port", "--listen"},
    {"--address", "--listen"},
    {"--root", "--host-root"},
    {"--rootfs", "--host-root"},
    {"-p", "--path"},
    {"--device", "--path"},
    {"--id", "--path"},
    {"-n", "--count"},
    {"--wait", "--wait-for-config"},
    {"--werror", "--strict"},
    {"--health", "--probe"},
};

/// Options in front of the command, which only the program itself has.
constexpr Synonym kProgramSynonyms[] = {
    {"-V", "--version"}, {"-v", "--version"}, {"-version", "--version"},
    {"-help", "--help"}, {"-?", "--help"},
};

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

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string WithUsage(const std::string& text, const CLI::App& command) {
  return Format("{}; usage: {}", text, UsageLine(command));
}

/// Returns what is probably meant by an option that the command does not have, or "".
std::string MeantOption(const CLI::App& command, std::string_view word) {
  const bool is_long = word.starts_with("--");
  const std::string_view typed = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  for (const Synonym& synonym : kOptionSynonyms) {
    const std::string name(synonym.meant.substr(0, synonym.meant.find(' ')));
    if (synonym.typed == typed && command.get_option_no_throw(name) != nullptr) {
      return std::string(synonym.meant);
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

/// Returns the other commands that have an option, as the end of a message, or "".
std::string OtherCommandsText(const CLI::App& command, std::string_view word) {
  const CLI::App* program = command.get_parent();
  if (program == nullptr) return "";
  const std::string name(word.substr(0, word.find('=')));
  std::vector<std::string> commands;
  for (const CLI::App* other : program->get_subcommands([](const CLI::App*) { return true; })) {
    if (other->get_option_no_throw(name) != nullptr) commands.push_back(other->get_name());
  }
  return commands.empty() ? "" : Format(", which is an option of {}", Join(commands));
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
    return WithUsage(text + OtherCommandsText(command, word), command);
  }
  return WithUsage(Format("unexpected argument \"{}\"", words.empty() ? "" : words.front()),
                   command);
}

template <std::size_t N>
std::string_view MeaningOf(std::string_view word, const Synonym (&synonyms)[N]) {
  const auto* found = std::find_if(std::begin(synonyms), std::end(synonyms),
                                   [&](const Synonym& s) { return s.typed == word; });
  return found == std::end(synonyms) ? std::string_view() : found->meant;
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
