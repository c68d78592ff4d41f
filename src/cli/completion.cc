#include "cli/completion.h"

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "cli/commands.h"
#include "config/load.h"

namespace patchbay {
namespace {

constexpr std::string_view kBash =
    R"script(# Completion of patchbay for bash: `patchbay completion bash` prints this file.
_patchbay() {
  local kind
  { read -r kind && mapfile -t COMPREPLY; } \
    < <(patchbay __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  case $kind in
    files) compopt -o default ;;
    directories) compopt -o dirnames ;;
  esac
}
complete -F _patchbay patchbay
)script";

constexpr std::string_view kZsh = R"script(#compdef patchbay
# Completion of patchbay for zsh: `patchbay completion zsh` prints this file.
_patchbay() {
  local -a lines
  lines=("${(@f)$(patchbay __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  compset -P '--[a-z-]#='
  case $lines[1] in
    files) _files ;;
    directories) _files -/ ;;
    words)
      lines=(${${lines[2,-1]//:/\\:}/$'\t'/:})
      _describe word lines
      ;;
  esac
}

# Either autoloaded as a function of this name, or sourced.
if [[ $funcstack[1] == _patchbay ]]; then
  _patchbay "$@"
else
  compdef _patchbay patchbay
fi
)script";

constexpr std::string_view kFish =
    R"script(# Completion of patchbay for fish: `patchbay completion fish` prints this file.
function __patchbay_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines (patchbay __complete $words[2..] "$word" 2>/dev/null)
    set -l option (string match -r -- '^--[a-z-]+=' $word)
    switch "$lines[1]"
        case files
            __fish_complete_path (string replace -- "$option" '' $word)
        case directories
            __fish_complete_directories (string replace -- "$option" '' $word)
        case words
            printf "$option%s\n" $lines[2..]
    end
end

complete -c patchbay -f -a '(__patchbay_complete)'
)script";

using Words = std::vector<std::string>;

/// Returns the kind of value that an option takes, as in the help; "" for none.
std::string ValueOf(const CommandInfo& command, std::string_view option) {
  const auto found = std::ranges::find_if(command.options, [&](const OptionInfo& info) {
    return info.name == option || (!option.empty() && info.short_name == option);
  });
  return found == command.options.end() ? "" : found->value;
}

/// Returns the kind of value that belongs behind these words.
std::string PositionalOf(const CommandInfo& command, std::span<const std::string> before) {
  if (command.positionals.empty()) return "";
  std::size_t place = 0;
  for (std::size_t i = 1; i < before.size(); ++i) {
    if (!before[i].starts_with('-') && ValueOf(command, before[i - 1]).empty()) ++place;
  }
  if (place < command.positionals.size()) return command.positionals[place].value;
  const OptionInfo& last = command.positionals.back();
  return last.repeats ? last.value : "";
}

/// Returns the value of --config among the words, or "".
std::string ConfigIn(std::span<const std::string> words) {
  constexpr std::string_view kOption = "--config=";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(kOption)) return words[i].substr(kOption.size());
    const bool is_option = words[i] == "--config" || words[i] == "-c";
    if (is_option && i + 1 < words.size()) return words[i + 1];
  }
  return "";
}

class Completer {
 public:
  explicit Completer(std::string_view word) : word_(word) {}

  void Add(std::string word, std::string description = "") {
    if (word.starts_with(word_)) {
      completion_.words.emplace_back(std::move(word), std::move(description));
    }
  }
  void AddOptions(const CommandInfo& command) {
    for (const OptionInfo& option : command.options) Add(option.name, option.help);
  }
  /// Adds the values of a kind, named as in the help: "table|json", "RESOURCE", "DIR".
  void AddValues(std::string_view kind, const std::function<Words()>& resources) {
    using Kind = Completion::Kind;
    if (kind == "RESOURCE") {
      for (std::string& name : resources()) Add(std::move(name));
    } else if (kind == "DIR") {
      completion_.kind = Kind::kDirectories;
    } else if (kind == "FILE" || kind == "PATH" || kind == "DEVICE") {
      completion_.kind = Kind::kFiles;
    }
    for (auto end = kind.find('|'); end != std::string_view::npos; end = kind.find('|')) {
      Add(std::string(kind.substr(0, end)));
      kind.remove_prefix(end + 1);
      if (kind.find('|') == std::string_view::npos) Add(std::string(kind));
    }
  }
  Completion Take() { return std::move(completion_); }

 private:
  std::string_view word_;
  Completion completion_;
};

/// Returns the names of the resources of a configuration; none if it is not valid.
Words ResourcesOf(const std::string& config) {
  const char* given = std::getenv("PATCHBAY_CONFIG");
  const std::string usual = given != nullptr && *given != '\0' ? given : Arguments().config;
  const Loaded loaded = LoadPaths({config.empty() ? usual : config});
  Words names;
  if (!loaded.model) return names;
  for (const ResourceSpec& spec : loaded.model->resources) names.push_back(spec.name);
  return names;
}

}  // namespace

std::string_view CompletionScript(Shell shell) {
  return shell == Shell::kBash ? kBash : shell == Shell::kZsh ? kZsh : kFish;
}

Completion Complete(Words words, std::span<const CommandInfo> commands,
                    const std::function<Words(const std::string&)>& resources_of) {
  if (words.empty()) return {};
  if (words.back() == "=") words.emplace_back();
  std::erase(words, "=");
  std::string word = words.back();
  words.pop_back();
  const auto command =
      std::ranges::find(commands, words.empty() ? "" : words.front(), &CommandInfo::name);
  if (command == commands.end()) return {};
  const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  const std::string option = equals != std::string::npos ? word.substr(0, equals)
                             : words.empty()             ? ""
                                                         : words.back();
  if (equals != std::string::npos) word.erase(0, equals + 1);
  Completer completer(word);
  const std::string value = ValueOf(*command, option);
  if (!value.empty() || equals != std::string::npos) {
    completer.AddValues(value, [&] { return resources_of(ConfigIn(words)); });
  } else if (word.starts_with('-')) {
    completer.AddOptions(*command);
  } else if (words.empty()) {
    for (const CommandInfo& other : commands) {
      if (!other.name.empty()) completer.Add(other.name, other.summary);
    }
  } else {
    completer.AddValues(PositionalOf(*command, words),
                        [&] { return resources_of(ConfigIn(words)); });
  }
  return completer.Take();
}

int RunComplete(std::span<const char* const> words, Streams streams) {
  const Completion completion =
      Complete(Words(words.begin(), words.end()), DescribeCommandLine(), ResourcesOf);
  using Kind = Completion::Kind;
  streams.out << (completion.kind == Kind::kWords   ? "words\n"
                  : completion.kind == Kind::kFiles ? "files\n"
                                                    : "directories\n");
  for (const auto& [word, description] : completion.words) {
    streams.out << word << (description.empty() ? "" : "\t") << description << "\n";
  }
  return kOk;
}

int RunCompletion(const Arguments& arguments, Streams streams) {
  streams.out << CompletionScript(arguments.shell);
  return kOk;
}

}  // namespace patchbay
