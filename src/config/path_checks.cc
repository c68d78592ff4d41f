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
void CheckUseOfExclude(const MatchDraft& draft, const MatchSpec& match, Reporter& reporter) {
  if (std::holds_alternative<UdevPattern>(match.source) && !CanHaveNodes(match)) {
    return reporter.Report(Code::kMatchesNothing, draft.exclude->place,
                           "a path cannot be a network interface, so nothing is excluded",
                           "exclude interfaces with udev = { … } of the match");
  }
  if (match.type != NodeType::kDevice) return;
  for (std::size_t i = 0; i < match.exclude.size(); ++i) {
    if (!IsWithoutNodes(match.exclude[i])) continue;
    reporter.Report(Code::kMatchesNothing, draft.exclude->items[i].place,
                    "/sys contains neither device nodes nor links to them",
                    "use the node, or a link to it below /dev");
  }
}

/// Reports patterns for directories in a match of device nodes.
void CheckDirectories(const MatchDraft& draft, const MatchSpec& match, Reporter& reporter) {
  const auto* path = std::get_if<PathSource>(&match.source);
  if (path == nullptr || match.type != NodeType::kDevice) return;
  for (std::size_t i = 0; i < path->globs.size(); ++i) {
    const auto only = OnlyPath(path->globs[i]);
    if (!only || std::ranges::count(UsualDirectories(), *only) == 0) continue;
    reporter.Report(Code::kMatchesNothing, draft.path->items[i].place,
                    Format("{} is a directory, not a device node", *only),
                    Format("match the nodes in it: \"{}/*\"; with together = true they are one "
                           "device. For the directory itself, add type = \"directory\"",
                           *only));
  }
}

void CheckExclude(const MatchDraft& draft, const MatchSpec& match, Reporter& reporter) {
  if (!draft.count && !draft.command) CheckUseOfExclude(draft, match, reporter);
  const auto* path = std::get_if<PathSource>(&match.source);
  if (path == nullptr || match.exclude.empty()) return;
  const bool all = std::all_of(path->globs.begin(), path->globs.end(),
                               [&](const Glob& g) { return IsExcluded(g, match.exclude); });
  if (!all) return;
  reporter.Report(Code::kMatchesNothing, draft.exclude->place,
                  "everything that \"path\" matches is excluded",
                  "exclude less than the pattern at " + Where(draft.path->place) + " matches");
}

}  // namespace

void CheckPaths(const MatchDraft& draft, const MatchSpec& match, Reporter& reporter) {
  CheckDirectories(draft, match, reporter);
  const bool is_compiled = draft.exclude && draft.exclude->items.size() == match.exclude.size();
  if (is_compiled) CheckExclude(draft, match, reporter);
}

std::span<const std::string_view> UsualDirectories() {
  static constexpr std::string_view kDirectories[] = {
      "/dev/accel",       "/dev/bus/usb",   "/dev/cpu",  "/dev/disk/by-id",   "/dev/disk/by-path",
      "/dev/dma_heap",    "/dev/dri",       "/dev/dvb",  "/dev/infiniband",   "/dev/input",
      "/dev/net",         "/dev/serial",    "/dev/snd",  "/dev/serial/by-id", "/dev/serial/by-path",
      "/dev/v4l/by-path", "/dev/v4l/by-id", "/dev/vfio", "/dev/usb",          "/dev/xfpga"};
  return kDirectories;
}

std::optional<std::string> OnlyPath(const Glob& glob) {
  if (glob.alternatives().size() != 1) return std::nullopt;
  std::string path;
  for (const Glob::Component& component : glob.alternatives().front()) {
    if (component.any_depth || !component.name.literal()) return std::nullopt;
    path.append("/").append(component.name.text());
  }
  return path;
}

}  // namespace patchbay
