#include "base/path.h"
#include "discovery/glob_walk.h"
#include "discovery/sources.h"

namespace patchbay {

void ScanSource(const PathSource& source, ScanContext& scan) {
  for (const Glob& glob : source.globs) {
    const auto identity = [&](const std::string& path) {
      return glob.spans_directories() ? path.substr(glob.fixed_directory().size())
                                      : std::string(BaseName(path));
    };
    for (const Glob::Components& pattern : glob.alternatives()) {
      WalkGlob(pattern, scan, [&](const std::string& path, const HostEntry* entry) {
        scan.AddNode(path, entry, {}, identity(path));
      });
    }
  }
}

}  // namespace patchbay
