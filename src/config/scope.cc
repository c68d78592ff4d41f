#include "config/scope.h"

#include <algorithm>

#include "base/format.h"
#include "config/skeleton.h"
#include "model/spec.h"

namespace patchbay {
namespace {

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Known only when the whole list is, or a container.
constexpr std::string_view kLateVariables[] = {"id", "index", "slot", "replica"};

void ReportUnknownVariable(const Template::Field& field, const Place& place, const Scope& scope,
                           Reporter& reporter) {
  const std::string name = field.name.substr(0, 100);
  std::vector<std::string_view> names;
  for (const Variable& v : scope.variables) names.push_back(v.name);
  if (IsAmong(name, kLateVariables)) {
    reporter.Report(Code::kUnknownVariable, place,
                    format("\"{}\" is not known yet where a device gets its ID", name),
                    "use what was matched: {path}, {name} or a named group of the regex");
    return;
  }
  reporter.Report(Code::kUnknownVariable, place,
                  format("no match supplies the variable \"{}\"", name),
                  DidYouMean(name, names, "there are " + OneOf(names)));
}

}  // namespace

const Variable* Scope::Find(std::string_view name) const {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const Variable& v) { return v.name == name; });
  return found == variables.end() ? nullptr : &*found;
}

Scope ContainerScope(std::span<const MatchSpec> matches, bool complete) {
  Scope scope{{}, complete};
  for (const MatchSpec& match : matches) {
    for (Variable& variable : SuppliedBy(match)) {
      if (scope.Find(variable.name) == nullptr) scope.variables.push_back(std::move(variable));
    }
  }
  return scope;
}

Scope IdentityScope(const MatchSpec& match) {
  Scope scope{SuppliedBy(match), true};
  std::erase_if(scope.variables, [](const Variable& v) { return IsAmong(v.name, kLateVariables); });
  return scope;
}

std::optional<Template> CompileTemplate(const Text& text, const Scope& scope, Reporter& reporter) {
  if (const auto nul = text.value.find('\0'); nul != std::string::npos) {
    reporter.Report(Code::kBadTemplate, text.At(nul), "no container can get a NUL byte");
    return std::nullopt;
  }
  auto compiled = Template::Compile(text.value);
  if (!compiled) {
    reporter.Report(Code::kBadTemplate, text.At(compiled.error().offset), compiled.error().message,
                    "variables stand in braces: {name}, or {slot:02} with a format");
    return std::nullopt;
  }
  if (SkeletonOf(*compiled).text.size() > Template::kMaxResult) {
    reporter.Report(Code::kBadTemplate, text.place,
                    format("the text is longer than {} bytes", Template::kMaxResult));
    return std::nullopt;
  }
  for (const Template::Field& field : compiled->fields()) {
    const Place place = text.At(field.offset);
    const Variable* variable = scope.Find(field.name);
    if (variable == nullptr) {
      if (scope.complete) ReportUnknownVariable(field, place, scope, reporter);
      continue;
    }
    const bool integer = variable->type == VariableType::kInteger;
    const auto sample = integer ? FormatValue(std::int64_t{1}) : FormatValue("x");
    const std::string hint = integer ? "numbers take formats such as 02, >4 or x"
                                     : "text takes formats such as >8, <8 or .4";
    const auto formatted = FormatBySpec(field.spec, sample);
    if (formatted && formatted->size() <= Template::kMaxResult) continue;
    reporter.Report(Code::kBadFormat, place,
                    format("the format \"{}\" does not fit \"{}\", which is {}: {}", field.spec,
                           field.name, integer ? "a number" : "text",
                           formatted ? "its width makes it too long" : formatted.error().message),
                    hint);
  }
  return std::move(*compiled);
}

bool TellsDevicesApart(const Template& compiled) {
  constexpr std::string_view kShared[] = {"resource", "node_name", "replica", "major"};
  return std::any_of(compiled.fields().begin(), compiled.fields().end(),
                     [&](const Template::Field& f) { return !IsAmong(f.name, kShared); });
}

}  // namespace patchbay
