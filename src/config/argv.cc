#include "config/argv.h"

#include <string>

#include "base/format.h"
#include "config/program_text.h"

namespace patchbay {
namespace {

/// Reports a program that is certainly invalid: a whole command line, or a path that depends on the
/// working directory.
bool CheckProgram(const Text& program, std::string_view example, Reporter& reporter) {
  const std::string& text = program.value;
  if (const auto space = text.find(' '); space != std::string::npos) {
    reporter.Report(Code::kBadCommand, program.At(space), "the program name contains a space",
                    "no shell is used; list each argument separately: " + std::string(example));
    return false;
  }
  if (text.find('/') != std::string::npos && text.front() != '/' && text.front() != '{') {
    reporter.Report(Code::kBadCommand, program.place, "the program path is not absolute",
                    "use an absolute path, or a name that is found in PATH");
    return false;
  }
  return true;
}

}  // namespace

bool CheckArgv(const TextList& list, std::string_view example, Reporter& reporter) {
  for (const Text& argument : list.items) {
    if (const auto nul = argument.value.find('\0'); nul != std::string::npos) {
      reporter.Report(Code::kBadCommand, argument.At(nul), "an argument cannot contain a NUL byte");
      return false;
    }
  }
  if (!list.items.empty() && !list.items.front().value.empty()) {
    return CheckProgram(list.items.front(), example, reporter);
  }
  reporter.Report(Code::kBadCommand, list.place, "the list has no program",
                  "list the program and each argument separately: " + std::string(example));
  return false;
}

void CheckVariablesOfArgv(const TextList& list, std::span<const Template> compiled,
                          std::string_view example, Reporter& reporter) {
  std::vector<TemplateShape> shapes;
  for (const Template& argument : compiled) shapes.push_back(ShapeOf(argument));
  const auto found = FindVariableInProgram(shapes);
  if (!found) return;
  const TemplateShape& shape = shapes[found->argument];
  const Template::Span& field = shape.fields.front();
  const SourceLocation place = list.items[found->argument].At(shape.offsets[field.begin]);
  if (found->interpreter.empty()) {
    reporter.Report(Code::kTemplateInProgram, place,
                    Format("the variable \"{}\" would choose the program", field.name),
                    "use a fixed program, and pass values as arguments: " + std::string(example));
    return;
  }
  reporter.Report(
      Code::kTemplateInProgram, place,
      Format("the value of \"{}\" would become part of the code that {} runs", field.name,
             found->interpreter),
      R"(pass it as a separate argument: ["sh", "-c", "probe \"$1\"", "sh", "{path}"])");
}

}  // namespace patchbay
