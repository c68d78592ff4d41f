// A script is a template with one gap, in which a function prints the help of each command in a
// fixed form, one line for each command, option and positional argument:
//
//     Options:
//       -o,--output table|json  output format
//     Positionals:
//       resource RESOURCE  only this resource
//
// The rest of a script is the same for every version, and reads these lines. A value in capitals
// names a kind: RESOURCE, DIR, FILE or PATH are completed, others are not.

#include "cli/completion.h"

#include <ostream>

#include "base/format.h"
#include "cli/commands.h"

namespace patchbay {
namespace {

constexpr std::string_view kGap = "@HELP@";

constexpr std::string_view kBash =
    R"script(# Completion of patchbay for bash: `patchbay completion bash` prints this file.
# Resources are read from the configuration.

# Prints the help of a command, or of the program if it is "".
# shellcheck disable=SC2016
_patchbay_help() {
  case $1 in
@HELP@  esac
}

# Completes a kind of value, named as in the help: RESOURCE, DIR, json|table.
_patchbay_values() {
  local kind=$1 cur=$2
  case $kind in
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${kind//|/ }" -- "$cur") ;;
    RESOURCE) mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_resources)" -- "$cur") ;;
    DIR)
      compopt -o filenames 2>/dev/null
      _patchbay_names -d "$cur"
      ;;
    FILE | PATH)
      compopt -o filenames 2>/dev/null
      _patchbay_names -f "$cur"
      ;;
  esac
}

# Completes names of files or directories. compgen prints one per line, so a name with a newline
# looks like several, which do not exist.
_patchbay_names() {
  local name names
  mapfile -t names < <(compgen "$1" -- "$2")
  for name in "${names[@]}"; do
    [[ ! -e ${name/#\~/$HOME} && ! -L $name ]] || COMPREPLY+=("$name")
  done
}

_patchbay_resources() {
  local config=${PATCHBAY_CONFIG:-/etc/patchbay} i
  for ((i = 2; i < COMP_CWORD - 1; i++)); do
    [[ ${COMP_WORDS[i]} != -c && ${COMP_WORDS[i]} != --config ]] || config=${COMP_WORDS[i + 1]}
  done
  local file files=()
  for file in "$config" "$config"/*.toml; do
    [[ ! -f $file ]] || files+=("$file")
  done
  ((${#files[@]})) || return 0
  # A file can have any name, also that of an option of sed.
  sed -nE "s|^[[:space:]]*name[[:space:]]*=[[:space:]]*[\"']([a-z0-9.-]+/[A-Za-z0-9._-]+)[\"'].*|\1|p" \
    -- "${files[@]}" 2>/dev/null
}

_patchbay() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local help kind i places=0
  COMPREPLY=()
  # bash splits --output=json into three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = && $COMP_CWORD -gt 2 ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    help=$(_patchbay_help "")
    if [[ $cur == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_options)" -- "$cur")
    else
      mapfile -t COMPREPLY < <(compgen -W \
        "$(sed -n '/^Subcommands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help")" -- "$cur")
    fi
    return 0
  fi
  help=$(_patchbay_help "${COMP_WORDS[1]}")
  if [[ $prev == -* ]] && kind=$(_patchbay_kind "$prev") && [[ -n $kind ]]; then
    _patchbay_values "$kind" "$cur"
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_options)" -- "$cur")
  else
    for ((i = 2; i < COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == -* || -n $(_patchbay_kind "${COMP_WORDS[i - 1]}") ]] || ((places++))
    done
    local kinds
    mapfile -t kinds < <(sed -nE '/^Positionals:/,$s/^  [a-z]+ ([A-Z]+|[a-z]+(\|[a-z]+)+).*/\1/p' <<<"$help")
    ((${#kinds[@]})) || return 0
    ((places < ${#kinds[@]})) || places=$((${#kinds[@]} - 1))
    _patchbay_values "${kinds[places]}" "$cur"
  fi
}

# Prints the options of $help, without short ones, which need no completion.
_patchbay_options() { sed -nE 's/^  (-[a-z],)?(--[a-z-]+).*/\2/p' <<<"$help"; }

# Prints the kind of value that an option of $help takes, if any.
_patchbay_kind() {
  [[ $1 =~ ^-[a-z-]+$ ]] || return 0
  sed -nE "s/^  (.*,)?$1(,[^ ]*)? ([A-Z]+|[a-z-]+(\|[a-z-]+)+).*/\3/p" <<<"$help"
}

complete -F _patchbay patchbay
)script";

constexpr std::string_view kZsh = R"script(#compdef patchbay
# Completion of patchbay for zsh: `patchbay completion zsh` prints this file.
# Resources are read from the configuration.

# Prints the help of a command, or of the program if it is "".
_patchbay_help() {
  case $1 in
@HELP@  esac
}

_patchbay_resources() {
  local config=${opt_args[--config]:-${opt_args[-c]:-${PATCHBAY_CONFIG:-/etc/patchbay}}}
  local -a files names
  files=($config(N-.) $config/*.toml(N-.))
  (( $#files )) || return 1
  names=(${(f)"$(sed -nE "s|^[[:space:]]*name[[:space:]]*=[[:space:]]*[\"']([a-z0-9.-]+/[A-Za-z0-9._-]+)[\"'].*|\1|p" -- $files)"})
  _describe -t resources resource names
}

# Completes a kind of value, named as in the help: RESOURCE, DIR, json|table.
_patchbay_action() {
  case $1 in
    *'|'*) print -r -- "($(tr '|' ' ' <<<$1))" ;;
    RESOURCE) print -r -- _patchbay_resources ;;
    DIR) print -r -- '_files -/' ;;
    FILE|PATH) print -r -- _files ;;
    *) print -r -- ' ' ;;
  esac
}

_patchbay() {
  local help line text
  local -a specs match mbegin mend
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    help=$(_patchbay_help "")
    specs=(${(f)"$(sed -nE '/^Subcommands:/,$s/^  ([a-z][a-z-]*) +(.*)/\1:\2/p' <<<$help)"})
    _describe -t commands command specs
    return
  fi
  if (( CURRENT > 2 )); then
    help=$(_patchbay_help $words[2])
    # The command is not an argument of its own.
    shift words
    (( CURRENT-- ))
  else
    help=$(_patchbay_help "")
  fi
  local -a lines=(${(f)help})
  local places=0 section=
  for line in $lines; do
    case $line in
      (Positionals:|Options:|Subcommands:) section=$line ;;
    esac
    text=${${${line##*  }//\[/(}//\]/)}
    text=${text//:/\\:}
    if [[ $section == Options: && $line =~ '^  (-[a-z])?,?(--[a-z-]+)( ([A-Z]+|[a-z-]+([|][a-z-]+)+))?' ]]; then
      local short=$match[1] long=$match[2] kind=$match[4] value=
      [[ -z $kind ]] || value=":${(L)kind//|*/}:$(_patchbay_action $kind)"
      specs+=("${short:+($short)}$long${kind:+=}[$text]$value")
      [[ -z $short ]] || specs+=("($long)$short${kind:++}[$text]$value")
    elif [[ $section == Positionals: && $line =~ '^  ([a-z]+) ([A-Z]+|[a-z]+([|][a-z]+)+)' ]]; then
      (( ++places ))
      specs+=("$places:$match[1]:$(_patchbay_action $match[2])")
      # A repeatable one is the last.
      [[ $line != *' ...  '* ]] || specs[-1]="*:$match[1]:$(_patchbay_action $match[2])"
    fi
  done
  _arguments -s -S $specs
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
# Resources are read from the configuration.

# Prints the help of a command, or of the program if it is "".
function __patchbay_help -a command
    switch "$command"
@HELP@    end
end

function __patchbay_resources
    set -l config /etc/patchbay
    set -q PATCHBAY_CONFIG; and set config $PATCHBAY_CONFIG
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        contains -- $words[$i] -c --config; and set -q words[(math $i + 1)]
        and set config $words[(math $i + 1)]
    end
    set -l files
    for file in $config $config/*.toml
        test -f $file; and set -a files $file
    end
    set -q files[1]; or return
    sed -nE 's|^[[:space:]]*name[[:space:]]*=[[:space:]]*["\']([a-z0-9.-]+/[A-Za-z0-9._-]+)["\'].*|\1|p' -- $files 2>/dev/null
end

# Prints the words for a kind of value, named as in the help: RESOURCE, DIR, json|table.
function __patchbay_values -a kind word
    switch $kind
        case '*|*'
            string split '|' -- $kind
        case RESOURCE
            __patchbay_resources
        case DIR
            __fish_complete_directories $word
        case FILE PATH
            __fish_complete_path $word
    end
end

# Prints the kind of value that an option takes, if any.
function __patchbay_kind -a option
    string match -qr -- '^-[a-z-]+$' $option; or return
    string replace -rf -- "^  (?:.*,)?$option(?:,\S*)? ([A-Z]+|[a-z-]+(?:\|[a-z-]+)+).*" '$1' $argv[2..]
end

function __patchbay_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l help (__patchbay_help $words[2])
    if string match -q -- '--*=*' $word
        set -l parts (string split -m 1 = -- $word)
        for value in (__patchbay_values (__patchbay_kind $parts[1] $help) $parts[2])
            echo $parts[1]=$value
        end
        return
    end
    if set -q words[2]; and set -l kind (__patchbay_kind $words[-1] $help); and test -n "$kind"
        __patchbay_values $kind $word
        return
    end
    if string match -q -- '-*' $word
        string replace -rf -- '^  (?:-[a-z],)?(--[a-z-]+).*?(?:  +(\S.*))?$' '$1\t$2' $help
    else if not set -q words[2]
        string replace -rf -- '^  ([a-z][a-z-]*)  +(.*)' '$1\t$2' $help
    else
        set -l places 1
        for i in (seq 3 (count $words))
            string match -q -- '-*' $words[$i]; and continue
            test -n "$(__patchbay_kind $words[(math $i - 1)] $help)"; and continue
            set places (math $places + 1)
        end
        set -l kinds (string replace -rf -- '^  [a-z]+ ([A-Z]+|[a-z]+(?:\|[a-z]+)+).*' '$1' $help)
        set -q kinds[1]; or return
        test $places -le (count $kinds); or set places (count $kinds)
        __patchbay_values $kinds[$places] $word
    end
end

complete -c patchbay -f -a '(__patchbay_complete)'
)script";

/// Quotes a line for a shell, in single quotes.
std::string InQuotes(std::string_view line, Shell shell) {
  const std::string_view quote = shell == Shell::kFish ? "\\'" : "'\\''";
  std::string quoted = "'";
  for (const char c : line) {
    if (c == '\'') {
      quoted += quote;
    } else if (c == '\\' && shell == Shell::kFish) {
      quoted += "\\\\";
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "'";
}

std::string HelpLine(const OptionInfo& option) {
  std::string line = "  " + option.short_name + (option.short_name.empty() ? "" : ",");
  line += option.name;
  if (!option.value.empty()) line += " " + option.value;
  if (option.repeats) line += " ...";
  return line + "  " + option.help;
}

std::vector<std::string> HelpOf(const CommandInfo& command, std::span<const CommandInfo> commands) {
  std::vector<std::string> lines = {"Options:"};
  for (const OptionInfo& option : command.options) lines.push_back(HelpLine(option));
  if (!command.positionals.empty()) lines.push_back("Positionals:");
  for (const OptionInfo& option : command.positionals) lines.push_back(HelpLine(option));
  if (!command.name.empty()) return lines;
  lines.push_back("Subcommands:");
  for (const CommandInfo& other : commands) {
    if (!other.name.empty()) lines.push_back(Format("  {}  {}", other.name, other.summary));
  }
  return lines;
}

/// Returns the cases of the function that prints the help.
std::string HelpCases(Shell shell, std::span<const CommandInfo> commands) {
  const bool is_fish = shell == Shell::kFish;
  const std::string indent(is_fish ? 8 : 4, ' ');
  std::string text;
  for (const CommandInfo& command : commands) {
    const std::string name = command.name.empty() ? is_fish ? "''" : "\"\"" : command.name;
    text += is_fish ? Format("{}case {}\n", indent, name) : Format("{}{})\n", indent, name);
    text += Format("{}  printf '%s\\n'", indent);
    for (const std::string& line : HelpOf(command, commands)) {
      text += Format(" \\\n{}    {}", indent, InQuotes(line, shell));
    }
    text += is_fish ? "\n" : Format("\n{}  ;;\n", indent);
  }
  return text;
}

}  // namespace

std::string CompletionScript(Shell shell, std::span<const CommandInfo> commands) {
  const std::string_view script = shell == Shell::kBash  ? kBash
                                  : shell == Shell::kZsh ? kZsh
                                                         : kFish;
  const auto gap = script.find(kGap);
  return std::string(script.substr(0, gap)) + HelpCases(shell, commands) +
         std::string(script.substr(gap + kGap.size()));
}

int RunCompletion(const Arguments& arguments, Streams streams) {
  streams.out << CompletionScript(arguments.shell, DescribeCommandLine());
  return kOk;
}

}  // namespace patchbay
