#include "config/drm_nodes.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "config/match.h"

namespace patchbay {
namespace {

constexpr std::string_view kDirectory = "/dev/dri/";
/// Typical names, which stand for all nodes when patterns are tested. Patterns for other numbers
/// only are rare.
constexpr std::string_view kSamples[] = {"renderD128", "renderD129", "card0", "card1"};

bool IsDrmName(std::string_view path) {
  return path.starts_with("/dev/dri/renderD") || path.starts_with("/dev/dri/card");
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
    const bool finds =
        (globs != nullptr && std::any_of(globs->globs.begin(), globs->globs.end(),
                                         [&](const Glob& glob) { return glob.Matches(path); })) ||
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
  constexpr std::string_view kOwnNumbers[] = {"slot",     "index",     "id",       "replica",
                                              "resource", "node_name", "numa_node"};
  return text.starts_with(kDirectory) &&
         std::any_of(container.fields().begin(), container.fields().end(), [&](const auto& field) {
           return std::find(std::begin(kOwnNumbers), std::end(kOwnNumbers), field.name) ==
                  std::end(kOwnNumbers);
         });
}

}  // namespace

std::optional<std::string> RenamedDrmNode(const DeviceNodeSpec& node,
                                          std::span<const MatchSpec* const> matches) {
  if (!node.container_path) return std::nullopt;
  const std::string& container = node.container_path->text();
  if (node.host_path) {
    const std::string& host = node.host_path->text();
    if (!IsDrmName(host) || host == container) return std::nullopt;
    return host;
  }
  if (MayKeepName(*node.container_path)) return std::nullopt;
  for (const MatchSpec* match : matches) {
    auto path = DrmNodeOf(*match);
    if (path && *path != container) return path;
  }
  return std::nullopt;
}

}  // namespace patchbay
