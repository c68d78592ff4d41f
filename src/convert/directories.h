#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml_writer.h"
#include "convert/convert.h"
#include "convert/diagnostics.h"

namespace patchbay {

/// Determines which paths are directories of device nodes. The other plugins treat a directory like
/// a device node and leave it to the container runtime; a Patchbay match must distinguish them.
/// Uses the given content of /dev, and otherwise a list of common directories such as /dev/snd.
class Directories {
 public:
  explicit Directories(const std::optional<std::vector<SeenName>>& dev);

  /// Returns whether `path`, which has no wildcards, is a directory of device nodes. If it is only
  /// assumed to be a device node, records the path and adds a finding at `place`.
  bool Has(const std::string& path, const SourceLocation& place, Findings& findings);
  /// Adds a note with the recorded paths, if there are any.
  void AddAssumptions(Notes& notes) const;

 private:
  std::map<std::string, bool> seen_;
  std::set<std::string> assumed_nodes_;
};

/// Matches the relative path of a node below a directory, unless the path starts with "by-". Such
/// directories contain symbolic links to the nodes, which container runtimes do not pass to the
/// container. An `exclude` cannot be used, because it would also exclude the nodes.
inline constexpr std::string_view kBelow = "(?:[^b]|b[^y]|by[^-]).*";
/// Returns a comment that explains kBelow.
std::string NoteOnBelow();

/// Returns a match that groups the nodes below `path`, a directory in /dev, into one device.
/// `program` is the name of the plugin for the note. If `group` is not empty, the regular
/// expression captures the path below the directory in a group of this name.
NewMatch MatchOfDirectory(const std::string& path, std::string_view program,
                          std::string_view group = "");

}  // namespace patchbay
