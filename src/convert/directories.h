#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "convert/convert.h"
#include "convert/toml_writer.h"

namespace patchbay {

/// Which paths are directories of devices. The other programs hand them over whole without knowing;
/// here a match has to say so. Known are the usual ones, such as /dev/snd, and what somebody saw.
class Directories {
 public:
  explicit Directories(const std::optional<std::vector<SeenName>>& dev);

  /// Whether a path without wildcards is one. Remembers those of which nobody can tell.
  bool Has(const std::string& path);
  /// Adds a note that names them, if there are any.
  void TellWhatWasAssumed(Notes& notes) const;

 private:
  std::map<std::string, bool> seen_;
  std::set<std::string> assumed_nodes_;
};

/// The regular expression of what lies below a directory, without what begins with "by-": those are
/// links to the nodes, which no runtime hands over. An `exclude` would take the nodes as well.
inline constexpr std::string_view kBelow = "(?:[^b]|b[^y]|by[^-]).*";

/// The nodes below a directory of /dev that `program` hands over, as one device. Where `group` is
/// not empty, it is a group of the regular expression that holds the path below the directory.
NewMatch MatchOfDirectory(const std::string& path, std::string_view program,
                          std::string_view group = "");

}  // namespace patchbay
