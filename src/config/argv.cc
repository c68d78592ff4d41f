#include "config/argv.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/path.h"
#include "config/foreign_notation.h"

namespace patchbay {
namespace {

constexpr std::string_view kShells[] = {"ash",  "bash",  "csh", "dash", "fish", "ksh", "mksh",
                                        "pwsh", "rbash", "sh",  "tcsh", "yash", "zsh"};
constexpr std::string_view kInterpreters[] = {
    "awk",    "bun",    "deno",  "ed",    "ex",     "expect", "flock",   "gawk", "gdb",
    "guile",  "jq",     "julia", "lua",   "luajit", "m4",     "make",    "mawk", "nawk",
    "node",   "nodejs", "perl",  "php",   "pypy",   "python", "Rscript", "ruby", "runuser",
    "script", "sed",    "sg",    "tclsh", "vi",     "vim",    "yq"};
/// They pass their arguments to a shell, on this host or on another one.
constexpr std::string_view kPassToShell[] = {"capsh", "parallel", "rsh",  "screen", "socat",
                                             "ssh",   "su",       "tmux", "watch"};
constexpr std::string_view kCodeOptions[] = {"--command",    "--eval",  "--execute",
                                             "--expression", "--print", "--run"};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns the name of a program without its directory and version: "python" for
/// "/usr/bin/python3.11".
std::string_view NameOf(std::string_view program) {
  std::string_view name = BaseName(program);
  const auto is_of_version = [](char c) { return IsDigit(c) || c == '.' || c == '-'; };
  while (!name.empty() && is_of_version(name.back())) name.remove_suffix(1);
  return name;
}

bool IsOption(std::string_view argument) { return argument.size() > 1 && argument[0] == '-'; }

/// Returns whether the value of the option is code: -c, -ec, -e, --eval.
bool IsCodeOption(std::string_view argument) {
  if (argument.starts_with("--")) return Contains(kCodeOptions, argument);
  return IsOption(argument) && std::string_view("ceE").find(argument.back()) != std::string::npos;
}

/// Returns whether an argument of an interpreter that has a variable is data for its script.
bool IsData(const TemplateShape& argument, std::string_view before, bool has_script) {
  const std::size_t field = argument.text.find(TemplateShape::kField);
  if (before == "-v") return argument.text.find('=') < field;  // a variable of awk
  return has_script && argument.text.size() == 1 && !IsCodeOption(before);
}

/// Returns whether an argument names a shell or another interpreter, so that others can be code.
bool CanHaveCode(const std::vector<Text>& argv) {
  return std::ranges::any_of(argv, [](const Text& argument) {
    const std::string_view name = NameOf(argument.value);
    return Contains(kShells, name) || Contains(kInterpreters, name) || Contains(kPassToShell, name);
  });
}

/// Reports what FindVariableInCode finds. `compiled` has one template for each item of the list.
void CheckVariables(const std::vector<Text>& list, std::span<const Template> compiled,
                    const Section& section, Reporter& reporter) {
  std::vector<TemplateShape> shapes;
  for (const Template& argument : compiled) shapes.push_back(ShapeOf(argument));
  const auto found = FindVariableInCode(shapes);
  if (!found) return;
  const TemplateShape& shape = shapes[found->argument];
  const Template::Span& field = shape.fields.front();
  const SourceLocation place = list[found->argument].At(shape.offsets[field.begin]);
  if (found->runner.empty()) {
    reporter.Report(
        Code::kTemplateInProgram, place,
        Format("the variable \"{}\" would choose the program", field.name),
        "use a fixed program, and pass values as arguments: " + section.ExampleOf("command"));
    return;
  }
  reporter.Report(
      Code::kTemplateInProgram, place,
      Format("the value of \"{}\" could become part of the code that {} runs", field.name,
             found->runner),
      found->takes_none
          ? Format("{} can have no variables; call it from a script of your own", found->runner)
          : R"(pass it as a whole argument behind the script: ["sh", "-c", "probe \"$1\"", "sh", )"
            R"("{path}"])");
}

}  // namespace

std::vector<Text> ReadArgv(const Section& section, Reporter& reporter) {
  std::vector<Text> list = section.GetTexts("command");
  for (const Text& argument : list) {
    if (const auto nul = argument.value.find('\0'); nul != std::string::npos) {
      reporter.Report(Code::kBadCommand, argument.At(nul), "an argument cannot contain a NUL byte");
      return {};
    }
  }
  const std::string program = list.empty() ? "" : list.front().value;
  if (program.empty()) {
    reporter.Report(
        Code::kBadCommand, section.PlaceOf("command"), "the list has no program",
        "list the program and each argument separately: " + section.ExampleOf("command"));
    return {};
  }
  if (const auto space = program.find(' '); space != std::string::npos) {
    reporter.Report(
        Code::kBadCommand, list.front().At(space), "the program name contains a space",
        "no shell is used; list each argument separately: " + section.ExampleOf("command"));
    return {};
  }
  if (program.find('/') != std::string::npos && program[0] != '/' && program[0] != '{') {
    reporter.Report(Code::kBadCommand, list.front().place, "the program path is not absolute",
                    "use an absolute path, or a name that is found in PATH");
    return {};
  }
  return list;
}

std::vector<Template> CompileArgv(const Section& section, const Scope& scope, Reporter& reporter) {
  std::vector<Template> argv;
  const std::vector<Text> list = ReadArgv(section, reporter);
  const bool can_have_code = CanHaveCode(list);
  for (const Text& argument : list) {
    if (!can_have_code) WarnOfDoubledBraces(argument, scope, true, reporter);
    if (auto compiled = CompileArgument(argument, scope, reporter)) {
      argv.push_back(std::move(*compiled));
    }
  }
  if (argv.size() == list.size()) CheckVariables(list, argv, section, reporter);
  return argv;
}

std::optional<VariableInCode> FindVariableInCode(std::span<const TemplateShape> argv) {
  VariableInCode found;
  bool has_script = false;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const std::string& argument = argv[i].text;
    const std::string_view before = i == 0 ? "" : std::string_view(argv[i - 1].text);
    const std::string_view next = i + 1 < argv.size() ? std::string_view(argv[i + 1].text) : "";
    if (!argv[i].fields.empty()) {
      found.argument = i;
      const bool is_code = i == 0 || found.takes_none ||
                           (!found.runner.empty() && !IsData(argv[i], before, has_script));
      if (is_code) return found;
      continue;
    }
    const std::string_view name = NameOf(argument);
    const bool splits = name == "env" && (next.starts_with("-S") || next.starts_with("--split"));
    if (splits || Contains(kPassToShell, name)) {
      found.takes_none = true;
    } else if (!found.runner.empty()) {
      has_script = has_script || !IsOption(argument);
      continue;
    } else if (!Contains(kShells, name) &&
               // An argument "node" of another program is a word.
               !(Contains(kInterpreters, name) && (i == 0 || name != argument || IsOption(next)))) {
      continue;
    }
    found.runner = name;
  }
  return std::nullopt;
}

}  // namespace patchbay
