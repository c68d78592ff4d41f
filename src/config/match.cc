// kSources lists the keys that can be the source of a match. The source is the key of the lowest
// alternative_group that the match has; a second key of that group is an error.
// `usb`, `pci` and `udev` are compiled as conditions first, and TakeCondition moves the one that is
// the source out of the conditions. The remaining checks depend on the source: keys that do not
// apply to it, patterns that match or exclude nothing, and the variables of `group_by` and `id`.
//
// No missing source is reported if the match has an invalid key, which may have been the source.

#include "config/match.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/format.h"
#include "config/argv.h"
#include "config/conditions.h"
#include "config/foreign_syntax.h"
#include "config/keys.h"
#include "config/path_checks.h"
#include "config/variable_scope.h"

namespace patchbay {
namespace {

std::optional<Source> CompilePathSource(const MatchDraft& draft, MatchSpec&, PatternBudget& budget,
                                        Reporter& reporter) {
  if (draft.path->items.empty()) {
    reporter.Report(Code::kMatchesNothing, draft.path->place, "the list of patterns is empty",
                    "write path = [\"/dev/…\"]");
    return std::nullopt;
  }
  auto globs = CompileGlobs(*draft.path, budget, reporter);
  if (!globs || !CheckBeginnings(*globs, *draft.path, reporter)) return std::nullopt;
  return PathSource{std::move(*globs)};
}

std::optional<Source> CompileRegexSource(const MatchDraft& draft, MatchSpec&, PatternBudget& budget,
                                         Reporter& reporter) {
  auto regex = CompileRegex(*draft.regex, budget, reporter);
  if (!regex) return std::nullopt;
  return RegexSource{std::move(*regex)};
}

std::optional<Source> CompileCountSource(const MatchDraft& draft, MatchSpec&, PatternBudget&,
                                         Reporter&) {
  return CountSource{draft.count->value};
}

std::optional<Source> CompileCommandSource(const MatchDraft& draft, MatchSpec&, PatternBudget&,
                                           Reporter& reporter) {
  if (!CheckArgv(*draft.command, R"(command = ["/usr/local/bin/list-ports", "--json"])",
                 reporter)) {
    return std::nullopt;
  }
  CommandSource source;
  for (const Text& argument : draft.command->items) source.argv.push_back(argument.value);
  if (draft.timeout) source.timeout = draft.timeout->value;
  return source;
}

/// Moves a condition out of `match` to make it the source.
template <auto Condition>
std::optional<Source> TakeCondition(const MatchDraft&, MatchSpec& match, PatternBudget&,
                                    Reporter&) {
  auto condition = std::exchange(match.conditions.*Condition, std::nullopt);
  if (!condition) return std::nullopt;
  return std::move(*condition);
}

constexpr std::string_view kOfPaths[] = {"type"};

/// A key that can be the source of a match, with functions that check for the key and compile it.
/// If a match has several such keys, the one of the lowest alternative_group is the source and the
/// others are conditions.
struct SourceKey {
  std::string_view name;
  bool (*present)(const MatchDraft&);
  std::optional<Source> (*compile)(const MatchDraft&, MatchSpec&, PatternBudget&, Reporter&);
  /// Why the match cannot have the `excludes` of the key, or `refused` if that is not empty.
  std::string_view why_refused = "";
  std::span<const std::string_view> refused = {};
};

template <auto Member>
bool Has(const MatchDraft& draft) {
  return (draft.*Member).has_value();
}

template <auto Member>
bool HasCondition(const MatchDraft& draft) {
  return (draft.conditions.*Member).has_value();
}

constexpr std::string_view kOnlyDevices = "its nodes are always device nodes";
constexpr SourceKey kSources[] = {
    {"path", Has<&MatchDraft::path>, CompilePathSource},
    {"regex", Has<&MatchDraft::regex>, CompileRegexSource},
    {"command", Has<&MatchDraft::command>, CompileCommandSource,
     "the command determines the devices"},
    {"count", Has<&MatchDraft::count>, CompileCountSource,
     "devices of a \"count\" have no path and are numbered"},
    {"usb", HasCondition<&ConditionsDraft::usb>, TakeCondition<&HardwarePatterns::usb>,
     kOnlyDevices, kOfPaths},
    {"pci", HasCondition<&ConditionsDraft::pci>, TakeCondition<&HardwarePatterns::pci>,
     kOnlyDevices, kOfPaths},
    {"udev", HasCondition<&ConditionsDraft::udev>, TakeCondition<&HardwarePatterns::udev>,
     kOnlyDevices, kOfPaths},
};

int WayOf(const SourceKey& source) { return KeyOf<MatchDraft>(source.name).alternative_group; }

std::string HintOnMissingSource(const MatchDraft& draft) {
  if (draft.conditions.usb_port) {
    return "usb_port is a condition: add usb = \"*:*\" to find every device on these ports";
  }
  if (draft.conditions.pci_address) {
    return "pci_address is a condition: add pci = \"*:*\" to find every function with these "
           "addresses";
  }
  std::vector<std::string_view> names;
  for (const SourceKey& source : kSources) names.push_back(source.name);
  return Format("add {}; usb, pci and udev can also be combined with path or regex", OneOf(names));
}

/// Returns the keys of the lowest alternative_group that the match has.
std::vector<const SourceKey*> SourcesOf(const MatchDraft& draft) {
  std::vector<const SourceKey*> sources;
  for (const SourceKey& source : kSources) {
    if (!source.present(draft)) continue;
    if (!sources.empty() && WayOf(source) > WayOf(*sources.front())) continue;
    if (!sources.empty() && WayOf(source) < WayOf(*sources.front())) sources.clear();
    sources.push_back(&source);
  }
  return sources;
}

/// Returns the key of the source, or null after an error.
const SourceKey* SourceOf(const MatchDraft& draft, Reporter& reporter) {
  const auto sources = SourcesOf(draft);
  if (sources.size() == 1) return sources.front();
  if (sources.size() > 1) {
    std::vector<std::string_view> names;
    names.reserve(sources.size());
    for (const SourceKey* source : sources) names.push_back(source->name);
    reporter.Report(Code::kMatchSource, draft.place, "the match has several sources",
                    Format("keep {}; a second source needs a second {}", OneOf(names),
                           SectionTitle(MatchDraft::kSection)));
  } else if (!draft.broken) {  // a key that could not be used may have been the source
    reporter.Report(Code::kMatchSource, draft.place, "the match has no source",
                    HintOnMissingSource(draft));
  }
  return nullptr;
}

/// Reports keys that do not apply to the source of the match.
void CheckKeysOfSource(const SourceKey& key, const MatchDraft& draft, const MatchSpec& match,
                       Reporter& reporter) {
  const auto refused = key.refused.empty() ? KeyOf<MatchDraft>(key.name).excludes : key.refused;
  for (const PlacedKey& other : draft.keys) {
    if (!std::ranges::count(refused, other.name)) continue;
    reporter.Report(Code::kNotWithSource, other.place,
                    Format("\"{}\" cannot be combined with \"{}\"", other.name, key.name),
                    key.why_refused.empty() ? "remove one of the two keys"
                                            : Format("{}; remove the key", key.why_refused));
  }
  if (draft.timeout && !draft.command) {
    reporter.Report(Code::kNeedsKey, draft.timeout->place, "\"timeout\" needs \"command\"",
                    "remove the key");
  }
  const auto& udev_draft = draft.conditions.udev;
  const auto* udev = std::get_if<UdevPattern>(&match.source);
  if (udev != nullptr && udev->subsystems.empty() && !udev_draft->subsystem &&
      !udev_draft->broken) {
    reporter.Report(Code::kNeedsKey, udev_draft->place,
                    "\"udev\" without \"subsystem\" matches a device and all of its parents",
                    "add the subsystem of the device itself: udev = { subsystem = \"tty\", … }");
  }
  const bool is_path = std::holds_alternative<PathSource>(match.source) ||
                       std::holds_alternative<RegexSource>(match.source);
  if (is_path && udev_draft && !CanHaveNodes(match)) {
    reporter.Report(Code::kMatchesNothing, udev_draft->place,
                    "a path cannot be a network interface",
                    "remove path or regex: udev alone finds network interfaces");
  }
}

void CheckId(const TemplateText& text, MatchSpec& match, Reporter& reporter) {
  const Scope scope = IdentityScope(match);
  auto id = CompileTemplate(text, scope, reporter);
  if (!id) return;
  WarnOfForeignVariable(text, scope, reporter);
  if (id->text().empty()) {
    reporter.Report(Code::kBadTemplate, text.place, "an ID must not be empty",
                    "remove the key to derive the ID from the path");
  } else if (!IsUniquePerDevice(*id) && CanFindSeveral(match)) {
    reporter.Report(
        Code::kConstantId, text.place,
        "if this match finds more than one device, all get the same ID and are rejected",
        "use a variable that differs: {name}, {path} or a named group of the regex; or add "
        "max_devices = 1 if there is only one");
  }
  match.id = std::move(*id);
}

void CheckGroupBy(const Text& variable, const Scope& scope, Reporter& reporter) {
  const std::string& name = variable.value;
  if (name.find_first_of("{}") == std::string::npos) {
    return CheckVariable(name, variable.place, scope, reporter);
  }
  reporter.Report(Code::kUnknownVariable, variable.place,
                  "\"group_by\" must be the name of a variable, not a template",
                  "write one name, without braces");
}

/// Compiles `not`. Reports a table without conditions.
HardwarePatterns CompileNegated(const ConditionsDraft& draft, Reporter& reporter) {
  HardwarePatterns negated = CompileConditions(draft, reporter);
  const bool is_empty = !draft.usb && !draft.serial && !draft.usb_port && !draft.pci &&
                        !draft.pci_address && !draft.udev;
  if (is_empty && !draft.broken) {
    reporter.Report(Code::kNoCondition, draft.place, "\"not\" has no condition",
                    "add one, as in not = { usb_port = \"1-2\" }, or remove the key");
  }
  return negated;
}

void CheckTogether(const MatchDraft& draft, MatchSpec& match, Reporter& reporter) {
  const Spanned<bool>& together = *draft.together;
  if (!together.value) return;
  if (!std::holds_alternative<PathSource>(match.source)) {
    return reporter.Report(Code::kNeedsKey, together.place, "\"together\" needs \"path\"",
                           "list the nodes of the device: path = [\"/dev/kvm\", \"/dev/net/tun\"]");
  }
  if (draft.group_by) {
    return reporter.Report(Code::kNotWithSource, together.place,
                           "\"together\" cannot be combined with \"group_by\"",
                           "keep group_by for one device per value, or together for one device");
  }
  match.together = true;
}

bool FindsSeveral(const PathSource& source) {
  return source.globs.size() != 1 || !OnlyPath(source.globs.front());
}

bool FindsSeveral(const RegexSource& source) {
  return source.regex.text().find_first_of("\\.+*?()|[]{}^$") != std::string::npos;
}

bool FindsSeveral(const CountSource& source) { return source.count > 1; }

/// Returns whether the patterns match only one name.
bool IsOneName(const std::vector<NamePattern>& patterns) {
  return patterns.size() == 1 && patterns.front().literal();
}

bool FindsSeveral(const UsbPattern& usb) {
  return !IsOneName(usb.serials) && !IsOneName(usb.ports);
}

bool FindsSeveral(const PciPattern& pci) { return !IsOneName(pci.addresses); }

bool FindsSeveral(const UdevPattern&) { return true; }

bool FindsSeveral(const CommandSource&) { return true; }

}  // namespace

bool CanHaveSeveralNodes(const MatchSpec& match) {
  if (!CanHaveNodes(match)) return false;
  if (std::holds_alternative<UsbPattern>(match.source) && match.conditions.udev &&
      IsOfSubsystem(*match.conditions.udev, "usb")) {
    return false;  // only the node in /dev/bus/usb
  }
  return !match.group_by.empty() || match.together || TraitsOf(match).has_several_nodes;
}

bool CanFindSeveral(const MatchSpec& match) {
  return match.max_devices != 1 && !match.together &&
         std::visit([](const auto& source) { return FindsSeveral(source); }, match.source);
}

std::optional<MatchSpec> CompileMatch(const MatchDraft& draft, PatternBudget& budget,
                                      Reporter& reporter) {
  MatchSpec match;
  match.display.text = draft.text;
  if (draft.exclude) {
    match.exclude = CompileGlobs(*draft.exclude, budget, reporter).value_or(std::vector<Glob>());
  }
  match.exclude_required = draft.exclude_required && draft.exclude_required->value;
  if (match.exclude_required && !draft.exclude) {
    reporter.Report(Code::kNeedsKey, draft.exclude_required->place,
                    "\"exclude_required\" needs \"exclude\"", "remove the key");
  }
  match.allow_mounted = draft.allow_mounted;
  if (draft.max_devices) match.max_devices = draft.max_devices->value;
  if (draft.type) match.type = static_cast<NodeType>(draft.type->value);
  match.conditions = CompileConditions(draft.conditions, reporter);
  if (draft.negated) match.negated = CompileNegated(*draft.negated, reporter);
  const SourceKey* key = SourceOf(draft, reporter);
  if (key == nullptr) return std::nullopt;
  auto source = key->compile(draft, match, budget, reporter);
  if (!source) return std::nullopt;
  match.source = std::move(*source);
  CheckKeysOfSource(*key, draft, match, reporter);
  CheckPaths(draft, match, reporter);
  if (draft.count) return match;
  if (draft.group_by) {
    CheckGroupBy(*draft.group_by, IdentityScope(match), reporter);
    match.group_by = draft.group_by->value;
  }
  if (draft.together) CheckTogether(draft, match, reporter);
  if (draft.require) {
    match.require = CompileGlobs(*draft.require, budget, reporter).value_or(std::vector<Glob>());
  }
  if (draft.id) CheckId(*draft.id, match, reporter);
  return match;
}

}  // namespace patchbay
