#include "convert/command_line.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/path.h"
#include "convert/patterns.h"

namespace patchbay {
namespace {

using Container = Manifest::Container;

constexpr std::string_view kShells[] = {"ash", "bash", "dash", "sh"};
constexpr std::string_view kShellSyntax = "\"#$&'()*;<>?[\\]`{|}~!";

/// Returns the index of the command line of a shell, behind its -c; the number of arguments if
/// there is none.
std::size_t IndexOfScript(const std::vector<Manifest::Argument>& arguments) {
  bool has_shell = false;
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const std::string& word = arguments[i].text;
    if (has_shell && word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')) {
      return i + 1;
    }
    has_shell = has_shell || IsAmong(BaseName(word), kShells);
  }
  return arguments.size();
}

/// Returns whether a word of a command is a program. After tini or a shell, it is not the first
/// one.
bool IsProgram(const Manifest::Argument& word, std::string_view program) {
  return !word.text.starts_with('-') && BaseName(word.text).find(program) != std::string::npos;
}

/// Replaces a shell and its command line by the words of the command line.
void ReadScript(Container& container) {
  const auto index = IndexOfScript(container.arguments);
  if (index == container.arguments.size()) return;
  const Manifest::Argument script = container.arguments[index];
  std::string line(Trimmed(script.text));
  for (auto at = line.find("\\\n"); at != std::string::npos; at = line.find("\\\n", at)) {
    line.replace(at, 2, " ");  // a line break that is not one for the shell
  }
  if (line.starts_with("exec ")) line.erase(0, 5);
  // A reference to a variable whose value is not known is left as it is.
  const std::string reference = "$(" + script.unknown + ")";
  bool needs_shell = line.find('\n') != std::string::npos ||
                     line.substr(0, line.find(" -")).find('=') != std::string::npos;  // variables
  container.arguments.clear();
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    Manifest::Argument argument{script.source, word};
    const auto at = script.unknown.empty() ? std::string::npos : word.find(reference);
    if (at != std::string::npos) {
      argument.unknown = script.unknown;
      argument.hint = script.hint;
      word.erase(at, reference.size());
    }
    needs_shell = needs_shell || word.find_first_of(kShellSyntax) != std::string::npos;
    container.arguments.push_back(std::move(argument));
  }
  container.command_size = needs_shell ? container.arguments.size() : 1;
  if (needs_shell) container.script = script;
}

}  // namespace

bool RunsProgram(const Container& container, std::string_view program) {
  const auto& arguments = container.arguments;
  const auto words = std::max<std::size_t>(container.command_size, 1);
  const auto script = IndexOfScript(arguments);
  const auto command = std::span(arguments).first(std::min(words, arguments.size()));
  return container.value.Find("name").text().find(program) != std::string::npos ||
         container.image.find(program) != std::string::npos ||
         std::ranges::any_of(command, [&](const auto& word) { return IsProgram(word, program); }) ||
         (script < arguments.size() && arguments[script].text.find(program) != std::string::npos);
}

void KeepArguments(Container& container, std::string_view program) {
  ReadScript(container);
  auto& arguments = container.arguments;
  const auto first = [&](std::size_t words) {
    return arguments.begin() + static_cast<std::ptrdiff_t>(std::min(words, arguments.size()));
  };
  const auto end = first(std::max<std::size_t>(container.command_size, 1));
  const auto at = std::find_if(arguments.begin(), end,
                               [&](const auto& word) { return IsProgram(word, program); });
  // A program with another name is among the words in front of the flags.
  const auto is_flag = [](const auto& word) { return word.text != "--" && !FlagOf(word).empty(); };
  arguments.erase(
      arguments.begin(),
      at != end ? at + 1 : std::find_if(arguments.begin(), first(container.command_size), is_flag));
}

std::string FlagOf(const Manifest::Argument& argument) {
  if (argument.text.size() < 2 || !argument.text.starts_with('-')) return "";
  const std::string name = argument.text.substr(0, argument.text.find('='));
  return name.starts_with("--") || name.size() == 2 ? name : "-" + name;
}

std::optional<Manifest::Argument> ValueOfFlag(const std::vector<Manifest::Argument>& arguments,
                                              std::size_t& index) {
  const auto equals = arguments[index].text.find('=');
  if (equals == std::string::npos && index + 1 == arguments.size()) return std::nullopt;
  if (equals == std::string::npos) return arguments[++index];
  Manifest::Argument value = arguments[index];
  value.text.erase(0, equals + 1);
  return value;
}

bool NamesDevices(const Container& container) {
  return std::ranges::find(container.arguments, "--device", FlagOf) != container.arguments.end();
}

std::optional<Manifest::Argument> ConfigFlag(const Container& container) {
  std::optional<Manifest::Argument> path;
  for (std::size_t i = 0; i < container.arguments.size(); ++i) {
    const std::string flag = FlagOf(container.arguments[i]);
    if (flag != "--config" && flag != "--config-file") continue;
    if (auto value = ValueOfFlag(container.arguments, i)) path = std::move(value);
  }
  return path;
}

}  // namespace patchbay
