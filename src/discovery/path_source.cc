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
    const GlobVisitor visitor{
        .on_path =
            [&](const std::string& path) { scan.AddNode(path, nullptr, {}, identity(path)); },
        .on_directory =
            [&](const std::string& directory, const NamePattern& name) {
              scan.AddNodes(
                  directory, glob.text(), name.text(),
                  [&](const std::string& entry) { return name.Matches(entry); },
                  [&](const std::string& path) {
                    return NodeMatch{{}, identity(path)};
                  });
            }};
    for (const Glob::Components& pattern : glob.alternatives()) WalkGlob(pattern, scan, visitor);
  }
}

}  // namespace patchbay
