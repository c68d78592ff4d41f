#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/reporter.h"
#include "config/toml_value.h"
#include "model/template.h"
#include "model/variables.h"

namespace patchbay {

/// The variables that a template may use.
struct Scope {
  std::vector<Variable> variables;
  /// False if a match is invalid and might have provided more variables. An unknown variable is
  /// then not an error of the template.
  bool complete = true;
  std::vector<const MatchSpec*> matches;  ///< may provide more variables; must outlive the scope
  /// Variables of other scopes, and the reason why they are not available in this one.
  std::span<const std::string_view> missing = {};
  std::string_view why_missing = {};

  /// Returns the type of a variable, or none if it is not available in this scope.
  std::optional<VariableType> TypeOf(std::string_view name) const;
};

/// Returns the variables of the containers of a resource: those that any of its matches provides.
Scope ContainerScope(std::span<const MatchSpec> matches, bool complete);

/// Returns the variables of a device on the host, independent of containers: without slot, replica
/// and index, which may change.
Scope DeviceScope(std::span<const MatchSpec> matches, bool complete);

/// Returns the variables of a device that has no ID and no index yet.
Scope IdentityScope(const MatchSpec& match);

/// Reports an error if the variable is not available in this scope. `place` is the location of the
/// name.
void CheckVariable(std::string_view name, const SourceLocation& place, const Scope& scope,
                   Reporter& reporter);

/// Compiles a template. Reports errors of its syntax, variables and formats, and the notation of
/// variables of other programs; returns none if the template is unusable.
std::optional<Template> CompileTemplate(const Text& text, const Scope& scope, Reporter& reporter);
/// The same for an argument of a program, which may be in the notation of that program.
std::optional<Template> CompileArgument(const Text& text, const Scope& scope, Reporter& reporter);

/// Returns whether the template can render differently for two devices.
bool IsUniquePerDevice(const Template& compiled);
/// Returns whether the template can render differently for two nodes of one device.
bool TellsNodesApart(const Template& compiled, const MatchSpec& match);

}  // namespace patchbay
