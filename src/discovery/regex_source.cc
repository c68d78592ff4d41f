#include "base/path.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

/// Adds matches in `directory`, which ends with a slash, and up to `depth` levels below it.
void Descend(const Regex& regex, const std::string& directory, int depth, ScanContext& scan) {
  Captures captures;
  const auto wanted = [&](const std::string& name) {
    return depth > 0 || regex.Match(directory + name, captures);
  };
  for (const HostEntry& entry : scan.List(directory, depth > 0 ? "**" : "", wanted)) {
    const std::string path = directory + entry.name;
    if (regex.Match(path, captures)) {
      scan.AddNode(path, &entry, captures,
                   regex.depth() > 0 ? path.substr(regex.fixed_directory().size()) : entry.name);
    }
    // Links to directories are not followed, because they can form a loop.
    if (depth > 0 && entry.type == FileType::kDirectory) {
      Descend(regex, path + "/", depth - 1, scan);
    }
  }
}

}  // namespace

void ScanSource(const RegexSource& source, ScanContext& scan) {
  Descend(source.regex, source.regex.fixed_directory(), source.regex.depth(), scan);
  scan.ReportUnmatchedPath([&](const std::string& path) {
    Captures ignored;
    return source.regex.Match(path, ignored);
  });
}

}  // namespace patchbay
