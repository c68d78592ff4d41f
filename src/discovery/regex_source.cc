#include <utility>

#include "base/path.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

/// Returns the parts of a path that matches.
NodeMatch Describe(const Regex& regex, const std::string& path, Captures captures) {
  return {std::move(captures), regex.depth() > 0 ? path.substr(regex.fixed_directory().size())
                                                 : std::string(BaseName(path))};
}

/// Adds matches in `directory`, which ends with a slash, and up to `depth` levels below it.
void Descend(const Regex& regex, const std::string& directory, int depth, ScanContext& scan) {
  Captures captures;
  if (depth == 0) {
    return scan.AddNodes(
        directory, regex.text(), "",
        [&](const std::string& name) { return regex.Match(directory + name, captures); },
        [&](const std::string& path) {
          regex.Match(path, captures);
          return Describe(regex, path, captures);
        });
  }
  const auto any = [](const std::string&) { return true; };
  for (const HostEntry& entry : scan.List(directory, regex.text(), "**", any)) {
    const std::string path = directory + entry.name;
    if (regex.Match(path, captures)) {
      NodeMatch match = Describe(regex, path, captures);
      scan.AddNode(path, &entry, std::move(match.captures), std::move(match.identity));
    }
    // Links to directories are not followed, because they can form a loop.
    if (entry.type == FileType::kDirectory) Descend(regex, path + "/", depth - 1, scan);
  }
}

}  // namespace

void ScanSource(const RegexSource& source, ScanContext& scan) {
  Descend(source.regex, source.regex.fixed_directory(), source.regex.depth(), scan);
}

}  // namespace patchbay
