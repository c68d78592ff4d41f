#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery/discover.h"

namespace patchbay::test {

/// Compiled parts of a ResourceSpec. An invalid pattern in a test throws.
inline Template MakeTemplate(std::string_view text) { return Template::Compile(text).value(); }

inline MatchSpec PathMatch(const std::vector<std::string_view>& globs,
                           NodeType type = NodeType::kDevice) {
  PathSource source;
  for (const std::string_view glob : globs) source.globs.push_back(Glob::Compile(glob).value());
  MatchSpec match;
  match.source = std::move(source);
  match.type = type;
  return match;
}

inline MatchSpec RegexMatch(std::string_view pattern, NodeType type = NodeType::kDevice) {
  MatchSpec match;
  match.source = RegexSource{Regex::Compile(pattern).value()};
  match.type = type;
  return match;
}

inline MatchSpec CountMatch(int count) {
  MatchSpec match;
  match.source = CountSource{count};
  return match;
}

inline MatchSpec WithId(MatchSpec match, std::string_view id) {
  match.id = MakeTemplate(id);
  return match;
}

inline MatchSpec Without(MatchSpec match, std::string_view exclude) {
  match.exclude.push_back(Glob::Compile(exclude).value());
  return match;
}

inline MatchSpec Grouped(MatchSpec match, std::string_view by,
                         const std::vector<std::string_view>& require = {}) {
  match.group_by = by;
  for (const std::string_view glob : require) match.require.push_back(Glob::Compile(glob).value());
  return match;
}

/// The default after validation: every node, at the same path.
inline ResourceSpec Resource(std::vector<MatchSpec> matches) {
  ResourceSpec spec;
  spec.name = "example.com/thing";
  spec.matches = std::move(matches);
  spec.device_nodes.emplace_back();
  return spec;
}

inline std::vector<std::string> Ids(const Discovery& discovery) {
  std::vector<std::string> ids;
  for (const Device& device : discovery.devices) ids.push_back(device.id);
  return ids;
}

/// The matched paths, sorted.
inline std::vector<std::string> Paths(const Discovery& discovery) {
  std::vector<std::string> paths;
  for (const Device& device : discovery.devices) {
    for (const DeviceNode& node : device.nodes) paths.push_back(node.path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// "reason path" for each rejection, sorted.
inline std::vector<std::string> Rejected(const std::vector<Rejection>& rejections) {
  std::vector<std::string> rejected;
  for (const Rejection& r : rejections) {
    rejected.push_back(std::string(Name(r.reason)) + " " + r.path);
  }
  std::sort(rejected.begin(), rejected.end());
  return rejected;
}

/// Returns whether every kubelet accepts `id`.
inline bool IsLegalId(std::string_view id) {
  return !id.empty() && id.size() <= 63 &&
         id.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "._:@+-") == std::string_view::npos;
}

}  // namespace patchbay::test
