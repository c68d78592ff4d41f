// Section selects the key that is the source of a match. `usb`, `pci` and `udev` are compiled as
// conditions first, and CompileSource moves the one that is the source out of the conditions. The
// remaining checks depend on values: patterns that match or exclude nothing, and the variables of
// `group_by` and `id`.

#include "config/match.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "config/argv.h"
#include "config/conditions.h"
#include "config/foreign_notation.h"
#include "config/path_checks.h"
#include "config/toml_text.h"
#include "config/variable_scope.h"

namespace patchbay {
namespace {

std::optional<Source> CompilePathSource(const Section& section, PatternCompiler& patterns) {
  auto globs = patterns.Globs(section.GetTexts("path"), PatternKind::kSource);
  if (!globs) return std::nullopt;
  return PathSource{std::move(*globs)};
}

std::optional<Source> CompileRegexSource(const Section& section, PatternCompiler& patterns) {
  auto regex = patterns.PathRegex(*section.GetText("regex"));
  if (!regex) return std::nullopt;
  return RegexSource{std::move(*regex)};
}

std::optional<Source> CompileCommandSource(const Section& section, Reporter& reporter) {
  CommandSource source;
  for (const Text& argument : ReadArgv(section, reporter)) source.argv.push_back(argument.value);
  if (source.argv.empty()) return std::nullopt;
  section.Read("timeout", source.timeout);
  return source;
}

/// Compiles the source of a match whose conditions are compiled; one that is the source is not a
/// condition any more. Returns none after an error.
std::optional<Source> CompileSource(const Section& section, HardwarePatterns& conditions,
                                    PatternCompiler& patterns) {
  const std::string_view source = section.alternative();
  if (source == "path") return CompilePathSource(section, patterns);
  if (source == "regex") return CompileRegexSource(section, patterns);
  if (source == "command") return CompileCommandSource(section, patterns.reporter());
  if (source == "count") {
    CountSource count;
    section.Read("count", count.count);
    return count;
  }
  if (source == "usb") return *std::exchange(conditions.usb, std::nullopt);
  if (source == "pci") return *std::exchange(conditions.pci, std::nullopt);
  if (source == "udev") return *std::exchange(conditions.udev, std::nullopt);
  return std::nullopt;
}

/// Reports conditions of `udev` that do not fit the source.
void CheckUdev(const Section& section, const Section& udev, const MatchSpec& match,
               Reporter& reporter) {
  const bool is_source = std::holds_alternative<UdevPattern>(match.source);
  if (is_source && !udev.Has("subsystem") && !udev.is_broken()) {
    reporter.Report(Code::kWrongCombination, udev.place(),
                    "\"udev\" without \"subsystem\" matches a device and all of its parents",
                    "add the subsystem of the device itself: udev = { subsystem = \"tty\", … }");
  }
  const bool is_path = section.Has("path") || section.Has("regex");
  if (is_path && !CanHaveNodes(match)) {
    reporter.Report(Code::kBadPattern, udev.place(), "a path cannot be a network interface",
                    "remove path or regex: udev alone finds network interfaces");
  }
}

void CheckId(const Text& text, const Scope& scope, MatchSpec& match, Reporter& reporter) {
  auto id = CompileTemplate(text, scope, reporter);
  if (!id) return;
  if (scope.complete && !IsUniquePerDevice(*id) && CanFindSeveral(match)) {
    reporter.Report(
        Code::kConstantId, text.place,
        "if this match finds more than one device, all get the same ID and are rejected",
        std::holds_alternative<CountSource>(match.source)
            ? "add the number of the device, as in \"license-{index}\""
            : "use a variable that differs: {name}, {path} or a named group of the regex; or add "
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

std::optional<MatchSpec> CompileMatch(const Section& section, PatternCompiler& patterns) {
  MatchSpec match;
  match.display.text = TomlText(section.table());
  Reporter& reporter = patterns.reporter();
  const auto globs = [&](std::string_view key) {
    return patterns.Globs(section.GetTexts(key), PatternKind::kPath).value_or(std::vector<Glob>());
  };
  match.exclude = globs("exclude");
  section.Read("exclude_required", match.exclude_required);
  section.Read("allow_mounted", match.allow_mounted);
  section.Read("max_devices", match.max_devices);
  section.Read("type", match.type);
  section.Read("together", match.together);
  match.conditions = CompileConditions(section, patterns);
  if (const Section* negated = section.GetSection("not")) {
    match.negated = CompileConditions(*negated, patterns);
  }
  auto source = CompileSource(section, match.conditions, patterns);
  if (!source) return std::nullopt;
  match.source = std::move(*source);
  Scope scope = IdentityScope(match);
  scope.complete = !section.table().is_cut;
  const Section* udev = section.GetSection("udev");
  if (scope.complete && udev != nullptr) CheckUdev(section, *udev, match, reporter);
  if (scope.complete) CheckPaths(section, match, reporter);
  if (const Text* id = section.GetText("id")) CheckId(*id, scope, match, reporter);
  if (section.Has("count")) return match;
  if (const Text* group_by = section.GetText("group_by")) {
    CheckGroupBy(*group_by, scope, reporter);
    match.group_by = group_by->value;
  }
  match.require = globs("require");
  return match;
}

}  // namespace patchbay
