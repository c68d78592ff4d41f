#include "config/path_checks.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format.h"

namespace patchbay {
namespace {

bool IsExcluded(const Glob& glob, const std::vector<Glob>& exclude) {
  const auto only = OnlyPath(glob);
  return std::ranges::any_of(
      exclude, [&](const Glob& e) { return e == glob || (only && e.Matches(*only)); });
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
  const bool all = std::ranges::all_of(
      path->globs, [&](const Glob& glob) { return IsExcluded(glob, match.exclude); });
  if (!all) return;
  reporter.Report(
      Code::kBadPattern, section.PlaceOf("exclude"), "everything that \"path\" matches is excluded",
      "exclude less than the pattern at " + Where(section.PlaceOf("path")) + " matches");
}

/// Reports directories. Other programs give a container all nodes of a directory.
void CheckDirectories(const std::vector<Text>& paths, Reporter& reporter) {
  constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
      {"/dev", "/dev/ttyUSB*"},
      {"/dev/bus/usb", "/dev/bus/usb/*/*"},
      {"/dev/disk/by-id", "/dev/disk/by-id/*"},
      {"/dev/dri", "/dev/dri/renderD*"},
      {"/dev/infiniband", "/dev/infiniband/uverbs*"},
      {"/dev/input", "/dev/input/event*"},
      {"/dev/mapper", "/dev/mapper/*"},
      {"/dev/net", "/dev/net/tun"},
      {"/dev/serial/by-id", "/dev/serial/by-id/*"},
      {"/dev/serial/by-path", "/dev/serial/by-path/*"},
      {"/dev/snd", "/dev/snd/*"},
      {"/dev/vfio", "/dev/vfio/*"},
  };
  for (const Text& path : paths) {
    for (const auto& [directory, example] : kExamples) {
      if (path.value != directory) continue;
      reporter.Report(Code::kForeignNotation, path.place,
                      Format("\"{}\" is a directory, and does not stand for its nodes", directory),
                      Format("name the nodes in it, as in \"{}\"", example));
    }
  }
}

}  // namespace

void CheckPaths(const Section& section, const MatchSpec& match, Reporter& reporter) {
  if (match.type == NodeType::kDevice) {
    for (const std::string_view key : {"path", "exclude", "require"}) {
      CheckDirectories(section.GetTexts(key), reporter);
    }
  }
  const bool is_compiled =
      section.Has("exclude") && section.GetTexts("exclude").size() == match.exclude.size();
  if (is_compiled) CheckExclude(section, match, reporter);
}

std::optional<std::string> LiteralPath(const Glob::Components& alternative) {
  std::string path;
  for (const Glob::Component& component : alternative) {
    if (!component.literal()) return std::nullopt;
    path.append("/").append(component.name.text());
  }
  return path;
}

std::optional<std::string> OnlyPath(const Glob& glob) {
  return glob.alternatives().size() == 1 ? LiteralPath(glob.alternatives().front()) : std::nullopt;
}

}  // namespace patchbay
