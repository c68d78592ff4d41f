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
  /// Whether these are all: a match that is broken may have meant to supply more, and then an
  /// unknown variable is no mistake of the template.
  bool complete = true;
  std::vector<const MatchSpec*> matches;  ///< that may supply more; outlive the scope
  /// Variables that there are elsewhere, and why there are none here.
  std::span<const std::string_view> missing = {};
  std::string_view why_missing = {};

  /// The type of a variable that a template may use.
  std::optional<VariableType> TypeOf(std::string_view name) const;
};

/// The variables of the containers of a resource: what any of its matches supplies.
Scope ContainerScope(std::span<const MatchSpec> matches, bool complete);

/// The variables of a device as it is on the host, whoever has it: no slot, no replica, and no
/// index, which may be another one a moment later.
Scope DeviceScope(std::span<const MatchSpec> matches, bool complete);

/// The variables of a device that has no ID and no place in the list yet.
Scope IdentityScope(const MatchSpec& match);

/// Reports a name that no template in this scope could use; `place` is the name's.
void CheckVariable(std::string_view name, const Place& place, const Scope& scope,
                   Reporter& reporter);

/// Compiles a template; reports what is wrong with its syntax, its variables and their formats.
/// Nothing when there is no template to go on with.
std::optional<Template> CompileTemplate(const Text& text, const Scope& scope, Reporter& reporter);

/// Whether two devices can differ in what the template becomes.
bool IsUniquePerDevice(const Template& compiled);
/// Whether two nodes of one device can.
bool TellsNodesApart(const Template& compiled, const MatchSpec& match);

}  // namespace patchbay
