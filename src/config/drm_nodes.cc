#include "config/drm_nodes.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "config/match.h"
#include "config/path_checks.h"
#include "config/variable_scope.h"

namespace patchbay {
namespace {

constexpr std::string_view kDirectory = "/dev/dri/";
/// Typical names, which stand for all nodes when patterns are tested. Patterns for other numbers
/// only are rare.
constexpr std::string_view kSamples[] = {"renderD128", "renderD129", "card0", "card1"};

bool IsDrmName(std::string_view path) {
  return path.starts_with("/dev/dri/renderD") || path.starts_with("/dev/dri/card");
}

/// Returns a pattern of the match that selects only links below /dev/dri, such as those in by-path.
std::optional<std::string> DrmLinksOf(const MatchSpec& match) {
  const auto is_of_links = [](const auto& pattern) {
    return pattern.fixed_directory().starts_with(kDirectory) &&
           pattern.fixed_directory() != kDirectory;
  };
  if (const auto* globs = std::get_if<PathSource>(&match.source)) {
    for (const Glob& glob : globs->globs) {
      const auto only = OnlyPath(glob);
      const bool is_link = only && only->starts_with(kDirectory) && !IsDrmName(*only);
      if (is_link || is_of_links(glob)) return glob.text();
    }
  }
  const auto* regex = std::get_if<RegexSource>(&match.source);
  return regex != nullptr && is_of_links(regex->regex) ? std::optional(regex->regex.text())
                                                       : std::nullopt;
}

std::optional<std::string> DrmNodeOf(const MatchSpec& match) {
  const auto is_drm = [](const UdevPattern& udev) { return IsOfSubsystem(udev, "drm"); };
  const auto* udev = std::get_if<UdevPattern>(&match.source);
  if ((udev != nullptr && is_drm(*udev)) ||
      (match.conditions.udev && is_drm(*match.conditions.udev))) {
    return std::string(kDirectory).append(kSamples[0]);
  }
  const auto* globs = std::get_if<PathSource>(&match.source);
  const auto* regex = std::get_if<RegexSource>(&match.source);
  for (const std::string_view name : kSamples) {
    const std::string path = std::string(kDirectory).append(name);
    Captures captures;
    const auto matches = [&](const Glob& glob) { return glob.Matches(path); };
    const bool finds = (globs != nullptr && std::ranges::any_of(globs->globs, matches)) ||
                       (regex != nullptr && regex->regex.Match(path, captures));
    if (finds) return path;
  }
  return std::nullopt;
}

/// Returns whether the path in the container can be equal to that of the matched node: it begins
/// with the path of the node, or it is in /dev/dri and contains a variable that can differ from
/// node to node, as the kernel's names do.
bool MayKeepName(const Template& container) {
  const std::string& text = container.text();
  if (text.starts_with("{path}") || text.starts_with("{real_path}")) return true;
  return text.starts_with(kDirectory) && TellsNodesApart(container, MatchSpec());
}

}  // namespace

std::optional<RenamedDrm> RenamedDrmNode(const DeviceNodeSpec& node,
                                         std::span<const MatchSpec* const> matches) {
  const std::string container = node.container_path ? node.container_path->text() : "";
  if (node.host_path) {
    const std::string& host = node.host_path->text();
    if (host.starts_with(kDirectory) && !IsDrmName(host) && node.host_path->fields().empty()) {
      return RenamedDrm{host, true};
    }
    const bool is_renamed = node.container_path && IsDrmName(host) && host != container;
    return is_renamed ? std::optional(RenamedDrm{host}) : std::nullopt;
  }
  if (container.starts_with("{real_path}")) return std::nullopt;
  for (const MatchSpec* match : matches) {
    if (auto links = DrmLinksOf(*match)) return RenamedDrm{*std::move(links), true};
  }
  if (!node.container_path) return std::nullopt;
  if (MayKeepName(*node.container_path)) return std::nullopt;
  for (const MatchSpec* match : matches) {
    auto path = DrmNodeOf(*match);
    if (path && *path != container) return RenamedDrm{*std::move(path)};
  }
  return std::nullopt;
}

}  // namespace patchbay
