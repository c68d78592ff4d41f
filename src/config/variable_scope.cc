// The variables of a Scope are those whose names are known in advance: built-in variables and named
// groups. A match with a hardware condition or a command can provide more, such as udev properties,
// whose names are known only on the host; for these the Scope refers to the matches, and CanProvide
// decides by the form of the name. Variables of other scopes are removed, but remembered for hints.

#include "config/variable_scope.h"

#include <algorithm>

#include "base/format.h"
#include "config/foreign_notation.h"
#include "model/spec.h"
#include "model/template_shape.h"

namespace patchbay {
namespace {

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::count(names, name) > 0;
}

/// Returns a hint on a variable that nothing in the scope provides.
std::string HintOn(std::string_view name, const Scope& scope) {
  std::vector<std::string_view> names;
  for (const Variable& v : scope.variables) names.push_back(v.name);
  std::string near = DidYouMean(name, names);
  const bool only_counts = std::ranges::all_of(scope.matches, [](const MatchSpec* m) {
    return std::holds_alternative<CountSource>(m->source);
  });
  if (IsNodeVariable(name)) {
    const std::string use = scope.TypeOf("id") ? "{id}" : "{index}";
    if (only_counts) return "devices of a \"count\" have no node: use " + use;
    const bool are_interfaces = std::ranges::all_of(
        scope.matches, [](const MatchSpec* m) { return TraitsOf(*m).has_nodes; });
    if (!are_interfaces) return "devices of this match have no node: use " + use;
    return Format("a network interface has no node: use {{INTERFACE}}{}",
                  scope.TypeOf("id") ? " or {id}" : "");
  }
  MatchSpec asking_sysfs;
  asking_sysfs.conditions.udev.emplace();
  const bool is_property = CanProvide(asking_sysfs, name);
  if (!only_counts && !is_property && IdentityScope(asking_sysfs).TypeOf(name)) {
    return "add usb = \"*:*\", pci = \"*:*\" or udev = { … } to the match, to read it from sysfs";
  }
  if (!only_counts && is_property && near.empty()) {
    return "a udev property needs usb, pci or udev in the match, as in "
           "udev = { properties = { ID_SERIAL = \"*\" } }";
  }
  if (!near.empty()) return near;
  const bool has_regex = std::ranges::any_of(scope.matches, [](const MatchSpec* m) {
    return std::holds_alternative<RegexSource>(m->source);
  });
  return "use one of " + OneOf(names) +
         (has_regex ? Format("; or name a group of the regex: (?P<{}>…)", name) : "");
}

/// Variables that are unknown until the whole device list, or a container, is known.
constexpr std::string_view kLateVariables[] = {"id", "index", "slot", "replica", "numa_node"};
/// The devices of a `count` have an index before they have IDs.
constexpr std::string_view kLateOfCount[] = {"id", "slot", "replica", "numa_node"};
constexpr std::string_view kContainerVariables[] = {"index", "slot", "replica"};

/// Removes variables that are available only in other scopes, and stores the reason for messages.
void Withhold(Scope& scope, std::span<const std::string_view> names, std::string_view why) {
  std::erase_if(scope.variables, [&](const Variable& v) { return IsAmong(v.name, names); });
  scope.missing = names;
  scope.why_missing = why;
}

}  // namespace

std::optional<VariableType> Scope::TypeOf(std::string_view name) const {
  const auto found = std::ranges::find(variables, name, &Variable::name);
  if (found != variables.end()) return found->type;
  const bool may = std::ranges::any_of(
      matches, [&](const MatchSpec* match) { return CanProvide(*match, name); });
  return may ? std::optional(VariableType::kText) : std::nullopt;
}

void CheckVariable(std::string_view name, const SourceLocation& place, const Scope& scope,
                   Reporter& reporter) {
  if (!scope.complete || scope.TypeOf(name)) return;
  name = name.substr(0, 100);
  if (IsAmong(name, scope.missing)) {
    reporter.Report(Code::kUnknownVariable, place, Format("\"{}\" {}", name, scope.why_missing),
                    HintOn(name, scope));
    return;
  }
  reporter.Report(Code::kUnknownVariable, place,
                  Format("no match provides the variable \"{}\"", name), HintOn(name, scope));
}

Scope ContainerScope(std::span<const MatchSpec> matches, bool complete) {
  Scope scope{{}, complete, {}};
  for (const MatchSpec& match : matches) {
    for (Variable& variable : SuppliedBy(match)) {
      if (!scope.TypeOf(variable.name)) scope.variables.push_back(std::move(variable));
    }
  }
  for (const MatchSpec& match : matches) scope.matches.push_back(&match);
  return scope;
}

Scope DeviceScope(std::span<const MatchSpec> matches, bool complete) {
  Scope scope = ContainerScope(matches, complete);
  Withhold(scope, kContainerVariables, "is available only in a container");
  return scope;
}

Scope IdentityScope(const MatchSpec& match) {
  Scope scope{SuppliedBy(match), true, {&match}};
  std::span<const std::string_view> late = kLateVariables;
  if (std::holds_alternative<CountSource>(match.source)) late = kLateOfCount;
  Withhold(scope, late, "is not available in the ID of a device");
  return scope;
}

std::optional<Template> CompileTemplate(const Text& text, const Scope& scope, Reporter& reporter) {
  WarnOfForeignVariable(text, scope, reporter);
  return CompileArgument(text, scope, reporter);
}

std::optional<Template> CompileArgument(const Text& text, const Scope& scope, Reporter& reporter) {
  if (const auto nul = text.value.find('\0'); nul != std::string::npos) {
    reporter.Report(Code::kBadTemplate, text.At(nul), "the value cannot contain a NUL byte");
    return std::nullopt;
  }
  auto compiled = Template::Compile(text.value);
  if (!compiled) {
    reporter.Report(Code::kBadTemplate, text, compiled.error(),
                    "variables are written in braces: {name}, or {slot:02} with a format; for a "
                    "literal brace, as in a shell command, write {{ or }}: awk '{{print $1}}'");
    return std::nullopt;
  }
  if (ShapeOf(*compiled).text.size() > Template::kMaxResult) {
    reporter.Report(Code::kBadTemplate, text.place,
                    Format("the text is longer than {} bytes", Template::kMaxResult));
    return std::nullopt;
  }
  for (const Template::Field& field : compiled->fields()) {
    const SourceLocation place = text.At(field.offset);
    const auto type = scope.TypeOf(field.name);
    if (!type) {
      CheckVariable(field.name, place, scope, reporter);
      continue;
    }
    const bool integer = type == VariableType::kInteger;
    const auto sample = integer ? FormatValue(std::int64_t{1}) : FormatValue("x");
    const std::string hint =
        integer ? "valid formats for numbers: 02, >4, x"
                : Format("valid formats for text: >8, <8, .4; {{{}:0>3}} adds zeros, as in 003",
                         field.name);
    const auto formatted = FormatBySpec(field.spec, sample);
    if (formatted && formatted->size() <= Template::kMaxResult) continue;
    reporter.Report(Code::kBadTemplate, place,
                    Format("the format \"{}\" does not fit \"{}\", which is {}: {}", field.spec,
                           field.name, integer ? "a number" : "text",
                           formatted ? "its width makes it too long" : formatted.error().message),
                    hint);
  }
  return std::move(*compiled);
}

bool IsUniquePerDevice(const Template& compiled) {
  constexpr std::string_view kShared[] = {"resource",   "node_name",  "replica",     "major",
                                          "numa_node",  "usb_vendor", "usb_product", "pci_vendor",
                                          "pci_device", "driver",     "usb_bus"};
  return std::ranges::any_of(compiled.fields(), [&](const Template::Field& field) {
    return !IsAmong(field.name, kShared);
  });
}

bool TellsNodesApart(const Template& compiled, const MatchSpec& match) {
  constexpr std::string_view kShared[] = {"id",   "resource", "node_name", "index",
                                          "slot", "replica",  "numa_node"};
  return std::ranges::any_of(compiled.fields(), [&](const Template::Field& field) {
    return field.name != match.group_by && !IsAmong(field.name, kShared);
  });
}

}  // namespace patchbay
