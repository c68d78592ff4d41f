#include "discovery/glob_walk.h"

#include <span>

namespace patchbay {
namespace {

/// The maximum depth for "**".
constexpr int kMaxDepth = 16;

using OnPath = std::function<void(const std::string& path, const HostEntry* entry)>;

struct Walk {
  ScanContext& scan;
  const OnPath& on_path;

  /// `directory` does not end with a slash; the root directory is "".
  void Down(const std::string& directory, std::span<const Glob::Component> pattern, int depth) {
    const Glob::Component& component = pattern.front();
    const auto rest = pattern.subspan(1);
    if (component.any_depth) return AnyDepth(directory, rest, depth);
    if (component.name.literal()) {
      const std::string path = directory + "/" + component.name.text();
      if (rest.empty()) return on_path(path, nullptr);
      if (scan.IsDirectory(path)) Down(path, rest, depth);
      return;
    }
    const auto wanted = [&](const std::string& name) { return component.name.Matches(name); };
    for (const HostEntry& entry : scan.List(directory + "/", component.name.text(), wanted)) {
      const std::string path = directory + "/" + entry.name;
      if (rest.empty()) {
        on_path(path, &entry);
      } else if (entry.type == FileType::kDirectory ||
                 (entry.type == FileType::kSymlink && scan.IsDirectory(path))) {
        Down(path, rest, depth);
      }
    }
  }

  void AnyDepth(const std::string& directory, std::span<const Glob::Component> rest, int depth) {
    Down(directory, rest, depth);
    if (depth == kMaxDepth) return;
    // Links to directories are not followed, because they can form a loop.
    const auto visible = [](const std::string& name) { return !name.starts_with('.'); };
    for (const HostEntry& entry : scan.List(directory + "/", "**", visible)) {
      if (entry.type == FileType::kDirectory) {
        AnyDepth(directory + "/" + entry.name, rest, depth + 1);
      }
    }
  }
};

}  // namespace

void WalkGlob(const Glob::Components& pattern, ScanContext& scan, const OnPath& on_path) {
  Walk{scan, on_path}.Down("", pattern, 0);
}

}  // namespace patchbay
