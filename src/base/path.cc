#include "base/path.h"

#include <algorithm>

namespace patchbay {

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

bool IsShortestPath(std::string_view path) {
  if (!path.starts_with('/')) return false;
  std::size_t start = 1;  // of the component
  for (std::size_t i = 1; i <= path.size(); ++i) {
    const char c = i == path.size() ? '/' : path[i];
    if (c == '\0') return false;
    if (c != '/') continue;
    const std::string_view part = path.substr(start, i - start);
    if (part.empty() || part == "." || part == "..") return false;
    start = i + 1;
  }
  return true;
}

std::string FollowLink(std::string_view directory, std::string_view link) {
  std::vector<std::string_view> parts;
  if (!link.starts_with('/')) parts = SplitPath(directory);
  for (const std::string_view part : SplitPath(link)) {
    if (part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string path;
  for (const std::string_view part : parts) path.append("/").append(part);
  return path;
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string DirectoryOf(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

}  // namespace patchbay
