#include <algorithm>

#include "base/path.h"
#include "discovery/glob_walk.h"
#include "discovery/sources.h"

namespace patchbay {

void ScanSource(const PathSource& source, ScanContext& scan) {
  for (const Glob& glob : source.globs) {
    const auto add = [&](const std::string& path, const HostEntry* entry) {
      const std::string_view identity =
          glob.spans_directories() ? std::string_view(path).substr(glob.fixed_directory().size())
                                   : BaseName(path);
      scan.AddNode(path, entry, {}, std::string(identity));
    };
    for (const Glob::Components& pattern : glob.alternatives()) WalkGlob(pattern, scan, add);
  }
  scan.ReportUnmatchedPath([&](const std::string& path) {
    return std::ranges::any_of(source.globs, [&](const Glob& glob) { return glob.Matches(path); });
  });
}

}  // namespace patchbay
