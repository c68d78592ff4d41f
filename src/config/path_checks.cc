#include "config/path_checks.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

bool IsExcluded(const Glob& glob, const std::vector<Glob>& exclude) {
  const auto only = OnlyPath(glob);
  return std::any_of(exclude.begin(), exclude.end(), [&](const Glob& e) {
    return e.text() == glob.text() || (only && e.Matches(*only));
  });
}

/// Returns whether the glob is below /sys, where there are neither device nodes nor links to them.
bool IsWithoutNodes(const Glob& glob) { return glob.fixed_directory().starts_with("/sys/"); }

/// Reports patterns of `exclude` that exclude nothing on any host. Other patterns are not checked,
/// because they can match links to nodes anywhere else; `patchbay explain` shows what they match.
void CheckUseOfExclude(const Section& section, const MatchSpec& match, Reporter& reporter) {
  if (std::holds_alternative<UdevPattern>(match.source) && !CanHaveNodes(match)) {
    return reporter.Report(Code::kBadPattern, section.PlaceOf("exclude"),
                           "a path cannot be a network interface, so nothing is excluded",
                           "exclude interfaces with udev = { … } of the match");
  }
  if (match.type != NodeType::kDevice) return;
  for (std::size_t i = 0; i < match.exclude.size(); ++i) {
    if (!IsWithoutNodes(match.exclude[i])) continue;
    reporter.Report(Code::kBadPattern, section.GetTexts("exclude")[i].place,
                    "/sys contains neither device nodes nor links to them",
                    "use the node, or a link to it below /dev");
  }
}

void CheckExclude(const Section& section, const MatchSpec& match, Reporter& reporter) {
  if (!section.Has("count") && !section.Has("command")) CheckUseOfExclude(section, match, reporter);
  const auto* path = std::get_if<PathSource>(&match.source);
  if (path == nullptr || match.exclude.empty()) return;
  const bool all = std::all_of(path->globs.begin(), path->globs.end(),
                               [&](const Glob& g) { return IsExcluded(g, match.exclude); });
  if (!all) return;
  reporter.Report(
      Code::kBadPattern, section.PlaceOf("exclude"), "everything that \"path\" matches is excluded",
      "exclude less than the pattern at " + Where(section.PlaceOf("path")) + " matches");
}

}  // namespace

void CheckPaths(const Section& section, const MatchSpec& match, Reporter& reporter) {
  const bool is_compiled =
      section.Has("exclude") && section.GetTexts("exclude").size() == match.exclude.size();
  if (is_compiled) CheckExclude(section, match, reporter);
}

std::optional<std::string> OnlyPath(const Glob& glob) {
  if (glob.alternatives().size() != 1) return std::nullopt;
  std::string path;
  for (const Glob::Component& component : glob.alternatives().front()) {
    if (!component.literal()) return std::nullopt;
    path.append("/").append(component.name.text());
  }
  return path;
}

}  // namespace patchbay
