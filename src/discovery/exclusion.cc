#include "discovery/exclusion.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "discovery/glob_walk.h"
#include "discovery/scan_context.h"

namespace patchbay {
namespace {

/// Returns whether a glob such as "/**/x" would scan the whole host. Such a glob is only matched
/// against paths.
bool IsTooWide(const Glob::Components& pattern) {
  const Glob::Component& first = pattern.front();
  return (first.any_depth || !first.name.literal()) &&
         std::any_of(pattern.begin(), pattern.end(),
                     [](const Glob::Component& component) { return component.any_depth; });
}

const Glob* FirstMatch(const std::vector<Glob>& globs, const std::string& path) {
  const auto found = std::find_if(globs.begin(), globs.end(),
                                  [&](const Glob& glob) { return glob.Matches(path); });
  return found == globs.end() ? nullptr : &*found;
}

}  // namespace

Exclusion Exclusion::Of(const std::vector<Glob>& globs, ScanContext& scan) {
  Exclusion exclusion;
  exclusion.globs_ = globs;
  std::vector<std::string> unused;
  scan.report().SetMuted(true);  // these directories are not searched for devices
  for (const Glob& glob : globs) {
    bool names_any = false, is_too_wide = false, is_undecided = false;
    const auto follow = [&](const std::string& path, const HostEntry* entry) {
      const auto node = scan.Follow(path, entry);
      names_any = names_any || node.has_value();
      is_undecided = is_undecided || (!node && node.error().kind != ErrorKind::kNotFound);
      if (node && node->path != path) {
        exclusion.links_.emplace(node->path, Link{path, glob.text()});
      }
    };
    const GlobVisitor visitor{
        .on_path = [&](const std::string& path) { follow(path, nullptr); },
        .on_directory =
            [&](const std::string& directory, const NamePattern& name) {
              const auto wanted = [&](const std::string& entry) { return name.Matches(entry); };
              for (const HostEntry& entry : scan.List(directory, "", name.text(), wanted)) {
                follow(directory + entry.name, &entry);
              }
            }};
    const std::size_t unreadable = scan.unreadable();
    for (const Glob::Components& pattern : glob.alternatives()) {
      if (IsTooWide(pattern)) {
        is_too_wide = true;
        continue;
      }
      WalkGlob(pattern, scan, visitor);
    }
    if (is_undecided || scan.unreadable() != unreadable) exclusion.undecided_ = glob.text();
    if (!names_any && !is_too_wide) unused.push_back(glob.text());
  }
  scan.report().SetMuted(false);
  for (const std::string& glob : unused) {
    scan.report().AddPlace({.place = glob,
                            .problem = glob + " excludes nothing: the host has no such path now",
                            .is_exclude = true});
  }
  return exclusion;
}

std::optional<std::string> Exclusion::OfName(const std::string& path) const {
  const Glob* glob = FirstMatch(globs_, path);
  if (glob == nullptr) return std::nullopt;
  return "it is excluded by " + glob->text();
}

std::optional<std::string> Exclusion::OfNode(const std::string& path,
                                             const std::string& real_path) const {
  if (empty()) return std::nullopt;
  if (auto why = OfName(path)) return why;
  if (const Glob* glob = FirstMatch(globs_, real_path)) {
    return Format("it is a link to {}, which is excluded by {}", real_path, glob->text());
  }
  const auto link = links_.find(real_path);
  if (link == links_.end()) {
    if (undecided_.empty()) return std::nullopt;
    return Format("{}, which may exclude it, cannot be looked up now", undecided_);
  }
  const auto& [name, glob] = link->second;
  if (name == glob) return Format("it is excluded by {}, a link to the same node", glob);
  return Format("it is excluded by {}, as {} is a link to the same node", glob, name);
}

}  // namespace patchbay
