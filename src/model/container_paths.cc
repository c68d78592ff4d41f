// The paths are sorted so that an ancestor is before all that is below it. One pass over them keeps
// those that contain the current one, outermost first, and compares the current path with these
// only. A node lies in the innermost mount above it, so mounts further out do not matter.

#include "model/container_paths.h"

#include <algorithm>
#include <compare>
#include <tuple>
#include <vector>

#include "base/format.h"
#include "base/path.h"
#include "model/template_shape.h"

namespace patchbay {
namespace {

struct PlacedPath {
  std::string path;  ///< in its shortest form
  PathKind kind;
  std::string_view source;
  std::size_t index;
};

/// Sorts "/a/b" before "/a-b", so that everything below "/a" follows it.
bool IsBefore(const PlacedPath& a, const PlacedPath& b) {
  const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
  const auto order = std::lexicographical_compare_three_way(
      a.path.begin(), a.path.end(), b.path.begin(), b.path.end(),
      [&](char x, char y) { return rank(x) <=> rank(y); });
  if (std::is_neq(order)) return std::is_lt(order);
  return std::tie(a.kind, a.source, a.index) < std::tie(b.kind, b.source, b.index);
}

bool IsAtOrBelow(std::string_view path, std::string_view top) {
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

/// Returns whether two sources can be the same file.
bool CanBeSame(std::string_view a, std::string_view b) {
  const bool a_is_known = !a.ends_with('/');
  const bool b_is_known = !b.ends_with('/');
  if (a_is_known && b_is_known) return a == b;
  return (!a_is_known && b.starts_with(a)) || (!b_is_known && a.starts_with(b));
}

/// Returns what a mount has at `rest` below its path.
std::string SourceBelow(const PlacedPath& mount, std::string_view rest) {
  std::string source(mount.source);
  if (source.ends_with('/')) return source;
  source.append(rest);
  const auto field = source.find(TemplateShape::kField);
  if (field != std::string::npos) source.resize(source.rfind('/', field) + 1);
  return source;
}

/// `top` is at or above `path`.
std::optional<ClashKind> ClashOf(const PlacedPath& top, const PlacedPath& path) {
  if (top.path.size() == path.path.size()) {
    if (CanBeSame(top.source, path.source)) return std::nullopt;
    return ClashKind::kSamePath;
  }
  if (top.kind == PathKind::kNode) return ClashKind::kBelowNode;
  if (path.kind == PathKind::kMount) return std::nullopt;
  const auto rest = std::string_view(path.path).substr(top.path.size());
  if (CanBeSame(SourceBelow(top, rest), path.source)) return std::nullopt;
  return ClashKind::kNodeInMount;
}

std::string Described(const ContainerPath& path) {
  return Format("{}{}{}", path.kind == PathKind::kNode ? "the device node " : "the mount of ",
                path.source, path.owner.empty() ? "" : Format(" of {}", path.owner));
}

}  // namespace

std::optional<PathClash> FindPathClash(std::span<const ContainerPath> paths) {
  if (paths.size() < 2) return std::nullopt;
  std::vector<PlacedPath> sorted;
  sorted.reserve(paths.size());
  for (const ContainerPath& path : paths) {
    sorted.push_back(
        {IsShortestPath(path.path) ? std::string(path.path) : FollowLink("/", path.path), path.kind,
         path.source, sorted.size()});
  }
  std::ranges::sort(sorted, IsBefore);
  std::vector<const PlacedPath*> above;
  for (const PlacedPath& path : sorted) {
    while (!above.empty() && !IsAtOrBelow(path.path, above.back()->path)) above.pop_back();
    const PlacedPath* mount = nullptr;  // the innermost one above the path
    for (auto at = above.rbegin(); at != above.rend(); ++at) {
      const PlacedPath* const top = *at;
      const bool is_outer_mount = top->kind == PathKind::kMount && mount != nullptr;
      if (is_outer_mount && path.kind == PathKind::kNode) continue;
      if (const auto kind = ClashOf(*top, path)) {
        const bool in_order = *kind != ClashKind::kSamePath || top->index < path.index;
        return in_order ? PathClash{*kind, top->index, path.index}
                        : PathClash{*kind, path.index, top->index};
      }
      if (top->kind == PathKind::kMount && top->path.size() < path.path.size()) mount = top;
    }
    const bool is_repeated = !above.empty() && above.back()->path == path.path &&
                             above.back()->kind == path.kind && above.back()->source == path.source;
    if (!is_repeated) above.push_back(&path);
  }
  return std::nullopt;
}

std::string TextOf(const PathClash& clash, std::span<const ContainerPath> paths) {
  const ContainerPath& one = paths[clash.one];
  const ContainerPath& other = paths[clash.other];
  switch (clash.kind) {
    case ClashKind::kSamePath:
      return Format("{} and {} would both be {} in the container; {}", Described(one),
                    Described(other), one.path,
                    one.kind == other.kind
                        ? "use {slot}, {name} or another variable in container_path, or set "
                          "max_per_container = 1"
                        : "use another container_path for one of the two");
    case ClashKind::kNodeInMount:
      return Format(
          "{} would be {} in the container, which is below {} at {}, so the runtime would "
          "create it on the host; use a container_path that is not below the mount",
          Described(other), other.path, Described(one), one.path);
    case ClashKind::kBelowNode: break;
  }
  return Format(
      "{} would be {} in the container, which is below {} at {}, and nothing can be below "
      "a device node; use another container_path for one of the two",
      Described(other), other.path, Described(one), one.path);
}

}  // namespace patchbay
