#include "config/match.h"

#include <algorithm>

#include "base/format.h"
#include "config/keys.h"
#include "config/scope.h"

namespace patchbay {
namespace {

std::optional<Glob> CompileGlob(const Text& text, PatternBudget& budget, Reporter& reporter) {
  auto glob = Glob::Compile(text.value);
  if (!glob) {
    reporter.Report(
        Code::kBadGlob, text.At(glob.error().offset), glob.error().message,
        "globs know *, ?, [a-z], {a,b} and **; a backslash takes the next one as it is");
    return std::nullopt;
  }
  if (text.value.ends_with('/') && !text.value.ends_with("\\/")) {
    reporter.Report(Code::kMatchesNothing, text.At(text.value.size() - 1),
                    "no path ends with a slash", "take the slash away");
    return std::nullopt;
  }
  if (glob->alternatives().size() > budget.left) {
    reporter.Report(Code::kBadGlob, text.place, "the input has too many patterns in all",
                    "use wildcards instead of so many names");
    return std::nullopt;
  }
  budget.left -= glob->alternatives().size();
  return std::move(*glob);
}

/// The globs of a list; nothing when one of them is bad.
std::optional<std::vector<Glob>> CompileGlobs(const OneOrMore& list, PatternBudget& budget,
                                              Reporter& reporter) {
  std::vector<Glob> globs;
  for (const Text& text : list.items) {
    if (auto glob = CompileGlob(text, budget, reporter)) globs.push_back(std::move(*glob));
  }
  if (globs.size() != list.items.size()) return std::nullopt;
  return globs;
}

void CheckCaptureNames(const Text& text, const Regex& regex, Reporter& reporter) {
  const std::vector<Variable> builtin = SuppliedBy(MatchSpec());
  for (const std::string& name : regex.capture_names()) {
    const bool taken = std::any_of(builtin.begin(), builtin.end(),
                                   [&](const Variable& v) { return v.name == name; });
    if (!taken) continue;
    const auto at = text.value.find("<" + name + ">");
    reporter.Report(Code::kReservedVariable, text.At(at == std::string::npos ? 0 : at + 1),
                    format("every device has a variable \"{}\" of its own", name),
                    "give the group another name");
  }
}

std::optional<Regex> CompileRegex(const Text& text, Reporter& reporter) {
  auto regex = Regex::Compile(text.value);
  if (!regex) {
    reporter.Report(Code::kBadRegex, text.At(regex.error().offset), regex.error().message,
                    "the syntax is that of RE2; single quotes save doubling the backslashes");
    return std::nullopt;
  }
  const std::string& directory = regex->fixed_directory();
  for (const std::string_view impossible : {"//", "/./", "/../"}) {
    if (directory.find(impossible) == std::string::npos) continue;
    const auto at = text.value.find(impossible);
    reporter.Report(Code::kMatchesNothing, text.At(at == std::string::npos ? 0 : at),
                    format("no path of a device contains \"{}\"", impossible));
    return std::nullopt;
  }
  if (text.value.ends_with('/')) {
    reporter.Report(Code::kMatchesNothing, text.At(text.value.size() - 1),
                    "no path ends with a slash", "name the files below it: …/.+");
    return std::nullopt;
  }
  CheckCaptureNames(text, *regex, reporter);
  return std::move(*regex);
}

std::optional<Source> CompilePathSource(const MatchDraft& draft, PatternBudget& budget,
                                        Reporter& reporter) {
  if (draft.path->items.empty()) {
    reporter.Report(Code::kMatchesNothing, draft.path->place, "the list of patterns is empty",
                    "write path = [\"/dev/…\"]");
    return std::nullopt;
  }
  auto globs = CompileGlobs(*draft.path, budget, reporter);
  if (!globs) return std::nullopt;
  return PathSource{std::move(*globs)};
}

std::optional<Source> CompileRegexSource(const MatchDraft& draft, PatternBudget&,
                                         Reporter& reporter) {
  auto regex = CompileRegex(*draft.regex, reporter);
  if (!regex) return std::nullopt;
  return RegexSource{std::move(*regex)};
}

std::optional<Source> CompileCountSource(const MatchDraft& draft, PatternBudget&, Reporter&) {
  return CountSource{static_cast<int>(draft.count->value)};
}

/// A source by its key in a match: whether the match has it, and what makes a Source of it.
struct SourceKey {
  std::string_view name;
  bool (*present)(const MatchDraft&);
  std::optional<Source> (*compile)(const MatchDraft&, PatternBudget&, Reporter&);
};

constexpr SourceKey kSources[] = {
    {"path", [](const MatchDraft& d) { return d.path.has_value(); }, CompilePathSource},
    {"regex", [](const MatchDraft& d) { return d.regex.has_value(); }, CompileRegexSource},
    {"count", [](const MatchDraft& d) { return d.count.has_value(); }, CompileCountSource},
};

std::optional<Source> CompileSource(const MatchDraft& draft, PatternBudget& budget,
                                    Reporter& reporter) {
  std::vector<std::string_view> names;
  const SourceKey* found = nullptr;
  int sources = 0;
  for (const SourceKey& source : kSources) {
    names.push_back(source.name);
    if (!source.present(draft)) continue;
    found = &source;
    ++sources;
  }
  if (sources == 1) return found->compile(draft, budget, reporter);
  // A key that could not be used may have been the source that is missing.
  if (sources > 1 || !draft.broken) {
    reporter.Report(Code::kMatchSource, draft.place,
                    sources == 0 ? "the match has no source" : "the match has several sources",
                    "give it exactly one of " + OneOf(names));
  }
  return std::nullopt;
}

/// Keys that mean nothing where devices are only numbers.
void CheckCount(const MatchDraft& draft, Reporter& reporter) {
  const auto refuse = [&](std::string_view key, const Place& place) {
    reporter.Report(Code::kNotWithCount, place,
                    format("\"{}\" has no meaning together with \"count\"", key),
                    "devices of a count have no path and are numbered; take the key away");
  };
  if (draft.exclude) refuse("exclude", draft.exclude->place);
  if (draft.id) refuse("id", draft.id->place);
  if (draft.type) refuse("type", draft.type->place);
}

bool IsExcluded(const Glob& glob, const std::vector<Glob>& exclude) {
  const auto only = OnlyPath(glob);
  return std::any_of(exclude.begin(), exclude.end(), [&](const Glob& e) {
    return e.text() == glob.text() || (only && e.Matches(*only));
  });
}

void CheckExclude(const MatchDraft& draft, const MatchSpec& match, Reporter& reporter) {
  const auto* path = std::get_if<PathSource>(&match.source);
  if (path == nullptr || match.exclude.empty()) return;
  const bool all = std::all_of(path->globs.begin(), path->globs.end(),
                               [&](const Glob& g) { return IsExcluded(g, match.exclude); });
  if (!all) return;
  reporter.Report(Code::kMatchesNothing, draft.exclude->place,
                  "everything that \"path\" matches is excluded",
                  "exclude less than the pattern at " + Where(draft.path->place) + " matches");
}

void CheckId(const TemplateText& text, MatchSpec& match, Reporter& reporter) {
  auto id = CompileTemplate(text, IdentityScope(match), reporter);
  if (!id) return;
  if (id->text().empty()) {
    reporter.Report(Code::kBadTemplate, text.place, "an ID may not be empty",
                    "without the key, devices are named after their path");
  } else if (!TellsDevicesApart(*id) && CanFindSeveral(match)) {
    reporter.Report(Code::kConstantId, text.place,
                    "all devices of this match get the same ID and are rejected",
                    "use what tells them apart: {name}, {path} or a named group of the regex");
  }
  match.id = std::move(*id);
}

bool FindsSeveral(const PathSource& source) {
  return source.globs.size() != 1 || !OnlyPath(source.globs.front());
}

bool FindsSeveral(const RegexSource& source) {
  return source.regex.text().find_first_of("\\.+*?()|[]{}^$") != std::string::npos;
}

bool FindsSeveral(const CountSource& source) { return source.count > 1; }

}  // namespace

std::optional<std::string> OnlyPath(const Glob& glob) {
  if (glob.alternatives().size() != 1) return std::nullopt;
  std::string path;
  for (const Glob::Component& component : glob.alternatives().front()) {
    if (component.any_depth || !component.name.literal()) return std::nullopt;
    path.append("/").append(component.name.text());
  }
  return path;
}

bool CanFindSeveral(const MatchSpec& match) {
  return std::visit([](const auto& source) { return FindsSeveral(source); }, match.source);
}

std::optional<MatchSpec> CompileMatch(const MatchDraft& draft, PatternBudget& budget,
                                      Reporter& reporter) {
  MatchSpec match;
  bool good_exclude = true;
  if (draft.exclude) {
    auto globs = CompileGlobs(*draft.exclude, budget, reporter);
    good_exclude = globs.has_value();
    if (globs) match.exclude = std::move(*globs);
  }
  if (draft.type) match.type = static_cast<NodeType>(draft.type->value);
  auto source = CompileSource(draft, budget, reporter);
  if (draft.count) CheckCount(draft, reporter);
  if (!source) return std::nullopt;
  match.source = std::move(*source);
  if (good_exclude) CheckExclude(draft, match, reporter);
  if (draft.id && !draft.count) CheckId(*draft.id, match, reporter);
  return match;
}

}  // namespace patchbay
