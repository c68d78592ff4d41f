#include "config/program_text.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "base/path.h"

// The arguments are parsed as the programs themselves do: options and their values, then operands.
// Two tables describe the options of interpreters and of wrappers, which run another program. An
// unknown option counts as one without a value, so that in case of doubt an argument is treated as
// a program rather than as data.

namespace patchbay {
namespace {

using Argv = std::span<const TemplateShape>;
using Found = std::optional<VariableInProgram>;

/// How a program reads its arguments. A text of short options contains one letter per option.
struct Usage {
  std::string_view name;
  std::string_view text = {};       ///< options whose value is code, or a file with code
  std::string_view long_text = {};  ///< the same for long options, each between two spaces
  std::string_view valued = {};     ///< other options that take a value
  std::string_view attached = {};   ///< options whose value, if any, is in the same argument
  std::string_view data = {};       ///< options whose value may be any text
};

struct Interpreter : Usage {
  bool is_shell = false;      ///< with -c, the code is the first operand after all options
  bool runs_operand = true;   ///< the first operand is a program even after code in an option
  bool ends_options = false;  ///< everything after the code is data
  /// Options are recognized after operands too, as by getopt_long. Without code in an option, the
  /// operands are passed to a shell.
  bool permutes = false;
  bool runs_all = false;  ///< every argument is, or may be, part of the code that it runs
};

constexpr Interpreter Permuting(std::string_view name, std::string_view valued) {
  return {{.name = name, .text = "c", .long_text = " --command ", .valued = valued},
          false,
          true,
          false,
          true};
}

constexpr Interpreter RunsAll(std::string_view name) {
  return {{.name = name}, false, true, false, false, true};
}

constexpr Interpreter Shell(std::string_view name) {
  return {{.name = name, .text = "c", .long_text = " --command ", .valued = "oO"}, true, true};
}

constexpr Interpreter kInterpreters[] = {
    Shell("sh"),
    Shell("ash"),
    Shell("bash"),
    Shell("csh"),
    Shell("dash"),
    Shell("fish"),
    Shell("ksh"),
    Shell("mksh"),
    Shell("rbash"),
    Shell("tcsh"),
    Shell("yash"),
    Shell("zsh"),
    {{.name = "python", .text = "cm", .valued = "WX"}, false, false, true},
    {{.name = "pypy", .text = "cm", .valued = "WX"}, false, false, true},
    {{.name = "perl", .text = "eE", .valued = "I", .attached = "DFMVdimx"}, false, false},
    {{.name = "ruby", .text = "e", .valued = "CIr", .attached = "EFKTWix"}, false, false},
    {{.name = "node", .text = "ep", .long_text = " --eval --print ", .valued = "Cr"}, false, false},
    {{.name = "nodejs", .text = "ep", .long_text = " --eval --print ", .valued = "Cr"},
     false,
     false},
    {{.name = "lua", .text = "e", .valued = "l"}, false, true},
    {{.name = "luajit", .text = "e", .valued = "lj"}, false, true},
    {{.name = "php", .text = "BERfr", .long_text = " --run --file ", .valued = "cdz"},
     false,
     false,
     true},
    {{.name = "awk", .text = "ef", .long_text = " --file --source ", .data = "Fv"}, false, false},
    {{.name = "gawk", .text = "ef", .long_text = " --file --source ", .data = "Fv"}, false, false},
    {{.name = "mawk", .text = "ef", .data = "Fv"}, false, false},
    {{.name = "nawk", .text = "ef", .data = "Fv"}, false, false},
    {{.name = "sed",
      .text = "ef",
      .long_text = " --expression --file ",
      .valued = "l",
      .attached = "i"},
     false,
     false},
    {{.name = "expect", .text = "cf"}, false, false},
    {{.name = "tclsh"}, false, true},
    {{.name = "Rscript", .text = "e"}, false, false},
    {{.name = "bun", .text = "ep", .long_text = " --eval --print "}, false, true},
    {{.name = "guile", .text = "ce", .valued = "Llsx"}, false, true},
    {{.name = "julia", .text = "eE", .long_text = " --eval --print ", .valued = "CHJLpt"},
     false,
     false},
    Permuting("su", "gGsw"),
    Permuting("runuser", "Ggsuw"),
    Permuting("script", "BEIOTmo"),
    Permuting("sg", ""),
    RunsAll("capsh"),
    RunsAll("deno"),
    RunsAll("ed"),
    RunsAll("ex"),
    RunsAll("gdb"),
    RunsAll("m4"),
    RunsAll("make"),
    RunsAll("parallel"),
    RunsAll("pwsh"),
    RunsAll("rsh"),
    RunsAll("screen"),
    RunsAll("socat"),
    RunsAll("ssh"),
    RunsAll("tmux"),
    RunsAll("vi"),
    RunsAll("vim"),
    RunsAll("watch"),
};

/// A program that runs another program, which follows its options and operands.
struct Wrapper : Usage {
  std::size_t operands = 0;
  bool takes_environment = false;  ///< NAME=value before the program
};

constexpr Wrapper kWrappers[] = {
    {{.name = "env", .text = "S", .long_text = " --split-string ", .valued = "Cu"}, 0, true},
    {{.name = "busybox"}},
    {{.name = "toybox"}},
    {{.name = "chroot"}, 1},
    {{.name = "chrt", .valued = "DPT"}, 1},
    {{.name = "doas", .valued = "Cu"}},
    {{.name = "dumb-init", .valued = "r"}},
    {{.name = "exec", .valued = "a"}},
    {{.name = "flock", .text = "c", .long_text = " --command ", .valued = "Ew"}, 1},
    {{.name = "ionice", .valued = "Pcnpu"}},
    {{.name = "nice", .valued = "n"}},
    {{.name = "nohup"}},
    {{.name = "nsenter", .valued = "GSWt"}},
    {{.name = "numactl", .valued = "CNPipmw"}},
    {{.name = "prlimit"}},
    {{.name = "runuser", .valued = "Ggu"}},  // with -u; see IsWrapper
    {{.name = "setpriv"}},
    {{.name = "setsid"}},
    {{.name = "start-stop-daemon",
      .text = "ax",
      .long_text = " --exec ",
      .valued = "INPRcdgknprsu"}},
    {{.name = "stdbuf", .valued = "eio"}},
    {{.name = "strace", .valued = "EIOPSabeopsu"}},
    {{.name = "sudo", .valued = "CDRTUghprtu"}, 0, true},
    {{.name = "systemd-run", .valued = "EHMPpu"}, 0, true},
    {{.name = "taskset"}, 1},
    {{.name = "time", .valued = "fo"}},
    {{.name = "timeout", .valued = "ks"}, 1},
    {{.name = "tini", .valued = "ep"}},
    {{.name = "unshare", .valued = "GRSw"}},
    {{.name = "xargs", .valued = "EILPadns"}},
};

bool HasVariable(const TemplateShape& argument) { return !argument.fields.empty(); }

/// Returns the row of a program by its name, or by its name without a version: "python" for
/// "python3.11". Returns null if the name is unknown or contains a variable.
template <class T, std::size_t n>
const T* FindRow(const T (&rows)[n], const TemplateShape& program) {
  if (HasVariable(program)) return nullptr;
  std::string_view name = BaseName(program.text);
  const auto row_of = [&]() -> const T* {
    const auto row = std::find_if(std::begin(rows), std::end(rows),
                                  [&](const T& candidate) { return candidate.name == name; });
    return row == std::end(rows) ? nullptr : &*row;
  };
  if (const T* exact = row_of()) return exact;
  while (!name.empty() && (IsDigit(name.back()) || name.back() == '.' || name.back() == '-')) {
    name.remove_suffix(1);
  }
  return row_of();
}

bool Contains(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

/// The meaning of an argument that begins with "-".
struct Option {
  bool is_text = false;
  bool is_data = false;
  bool takes_next = false;
};

Option ParseOption(const Usage& usage, std::string_view argument) {
  if (argument.starts_with("--")) {
    const auto equals = argument.find('=');
    const std::string name = " " + std::string(argument.substr(0, equals)) + " ";
    // getopt_long accepts any prefix of a name.
    const bool is_text = argument.size() > 2 && usage.long_text.find(name.substr(
                                                    0, name.size() - 1)) != std::string_view::npos;
    return {is_text, false, is_text && equals == std::string_view::npos};
  }
  for (std::size_t i = 1; i < argument.size(); ++i) {
    const char letter = argument[i];
    const bool is_last = i + 1 == argument.size();
    if (Contains(usage.text, letter)) {
      if (!is_last && Contains(usage.text, argument[i + 1])) continue;  // as in node -pe
      return {true, false, is_last};
    }
    if (Contains(usage.data, letter)) return {false, true, is_last};
    if (Contains(usage.valued, letter)) return {false, false, is_last};
    if (Contains(usage.attached, letter)) return {};
  }
  return {};
}

/// Parses the options of a shell in one argument. The value of -o is the next argument, even if
/// other letters follow the "o".
Option ParseShellOption(const Usage& usage, std::string_view argument) {
  if (argument == "--rcfile" || argument == "--init-file") return {false, false, true};
  if (argument.starts_with("--")) {
    Option option = ParseOption(usage, argument);
    option.takes_next = false;
    return option;
  }
  Option option;
  for (const char letter : argument.substr(1)) {
    option.is_text = option.is_text || Contains(usage.text, letter);
    option.takes_next = option.takes_next || Contains(usage.valued, letter);
  }
  return option;
}

/// Does the same as FindInScript for a program that permutes its arguments.
Found FindInPermuted(const Interpreter& interpreter, Argv argv, std::size_t at, bool sure) {
  bool has_text = false;
  Found operand;
  const auto add_operand = [&](std::size_t i) {
    if (!operand && HasVariable(argv[i])) operand = VariableInProgram{i, interpreter.name};
  };
  for (std::size_t i = at + 1; i < argv.size(); ++i) {
    const std::string& argument = argv[i].text;
    if (argument == "--") {
      while (++i < argv.size()) add_operand(i);
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      add_operand(i);
      continue;
    }
    const Option option = ParseOption(interpreter, argument);
    const std::size_t last = std::min(i + (option.takes_next ? 1 : 0), argv.size() - 1);
    for (; i <= last; ++i) {
      if (HasVariable(argv[i]) && (option.is_text || sure)) {
        return VariableInProgram{i, interpreter.name};
      }
    }
    i = last;
    has_text = has_text || option.is_text;
  }
  return sure && !has_text ? operand : std::nullopt;
}

/// Returns the first variable after `at`.
Found FindAny(const Interpreter& interpreter, Argv argv, std::size_t at) {
  for (std::size_t i = at + 1; i < argv.size(); ++i) {
    if (HasVariable(argv[i])) return VariableInProgram{i, interpreter.name};
  }
  return std::nullopt;
}

/// Returns the first variable in the code or the script file of the interpreter at `at`. If `sure`
/// is false, that argument may only look like an interpreter, so only code in an option counts.
Found FindInScript(const Interpreter& interpreter, Argv argv, std::size_t at, bool sure) {
  if (interpreter.runs_all) return sure ? FindAny(interpreter, argv, at) : std::nullopt;
  if (interpreter.permutes) return FindInPermuted(interpreter, argv, at, sure);
  bool has_text = false;
  std::size_t i = at + 1;
  for (; i < argv.size(); ++i) {
    const std::string& argument = argv[i].text;
    const bool is_option =
        argument.size() > 1 && (argument[0] == '-' || (interpreter.is_shell && argument[0] == '+'));
    if (!is_option) break;
    if (argument == "--") {
      ++i;
      break;
    }
    const Option option = interpreter.is_shell ? ParseShellOption(interpreter, argument)
                                               : ParseOption(interpreter, argument);
    const bool counts = option.is_text || (sure && !option.is_data);
    if (HasVariable(argv[i]) && counts) return VariableInProgram{i, interpreter.name};
    has_text = has_text || option.is_text;
    if (option.takes_next && ++i < argv.size() && HasVariable(argv[i]) && counts) {
      return VariableInProgram{i, interpreter.name};
    }
    if (option.is_text && interpreter.ends_options) return std::nullopt;
  }
  const bool runs_operand =
      interpreter.is_shell ? sure || has_text : sure && (interpreter.runs_operand || !has_text);
  if (i < argv.size() && HasVariable(argv[i]) && runs_operand) {
    return VariableInProgram{i, interpreter.name};
  }
  return std::nullopt;
}

/// The position of the program that a wrapper runs. `found` is a variable in an option of the
/// wrapper whose value is a command, as in env -S.
struct Wrapped {
  std::size_t program = 0;
  Found found = std::nullopt;
};

Wrapped SkipWrapper(const Wrapper& wrapper, Argv argv, std::size_t at) {
  std::size_t operands = wrapper.operands;
  std::size_t i = at + 1;
  for (bool options = true; i < argv.size(); ++i) {
    const std::string& argument = argv[i].text;
    if (options && argument == "--") {
      options = false;
    } else if (options && argument.size() > 1 && argument[0] == '-') {
      const Option option = ParseOption(wrapper, argument);
      const std::size_t last = std::min(i + (option.takes_next ? 1 : 0), argv.size() - 1);
      for (std::size_t part = i; option.is_text && part <= last; ++part) {
        if (HasVariable(argv[part])) return {part, VariableInProgram{part, wrapper.name}};
      }
      i = last;
    } else if (wrapper.takes_environment && argument.find('=') != std::string::npos &&
               argument.find('=') < argument.find(TemplateShape::kField)) {
      continue;  // NAME={value}: data
    } else if (operands > 0) {
      --operands;
    } else {
      break;
    }
  }
  return {i};
}

/// Returns whether the interpreter at `at` runs a program instead: runuser -u USER PROGRAM.
bool IsWrapper(const Interpreter& interpreter, Argv argv, std::size_t at) {
  if (interpreter.name != "runuser") return false;
  for (std::size_t i = at + 1; i < argv.size() && argv[i].text.starts_with('-'); ++i) {
    const std::string& option = argv[i].text;
    if (option.starts_with("--") ? option.starts_with("--u") : Contains(option, 'u')) return true;
    if (ParseOption(interpreter, option).takes_next) ++i;
  }
  return false;
}

/// Checks the programs that find(1) runs. They follow -exec and similar actions.
Found FindInActions(Argv argv, std::size_t at) {
  static constexpr std::string_view kActions[] = {"-exec", "-execdir", "-ok", "-okdir"};
  for (std::size_t i = at + 1; i < argv.size(); ++i) {
    if (std::find(std::begin(kActions), std::end(kActions), argv[i].text) == std::end(kActions)) {
      continue;
    }
    Found found = FindVariableInProgram(argv.subspan(i + 1));
    if (found) return VariableInProgram{found->argument + i + 1, found->interpreter};
  }
  return std::nullopt;
}

}  // namespace

std::optional<VariableInProgram> FindVariableInProgram(Argv argv) {
  std::size_t at = 0;
  while (at < argv.size()) {
    if (HasVariable(argv[at])) return VariableInProgram{at};
    if (BaseName(argv[at].text) == "find") return FindInActions(argv, at);
    const auto* interpreter = FindRow(kInterpreters, argv[at]);
    if (interpreter != nullptr && !IsWrapper(*interpreter, argv, at)) {
      return FindInScript(*interpreter, argv, at, true);
    }
    const auto* wrapper = FindRow(kWrappers, argv[at]);
    if (wrapper == nullptr) break;
    const Wrapped wrapped = SkipWrapper(*wrapper, argv, at);
    if (wrapped.found) return wrapped.found;
    at = wrapped.program;
  }
  for (std::size_t i = at + 1; i < argv.size(); ++i) {
    const auto* interpreter = FindRow(kInterpreters, argv[i]);
    if (interpreter == nullptr) continue;
    if (auto found = FindInScript(*interpreter, argv, i, false)) return found;
  }
  return std::nullopt;
}

}  // namespace patchbay
