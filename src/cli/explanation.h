#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/inspect.h"

namespace patchbay {

/// Why the devices of one resource are there, and others are not. Plain values, as `explain` prints
/// them; texts are of the host and not yet made printable.
struct Explanation {
  struct Look : MatchReport::Look {
    std::string hint;  ///< what lets it be read; empty where it could be
  };
  /// Something that was seen, and what became of it.
  struct Verdict {
    std::string outcome;    ///< "listed", "rejected", "not taken"
    std::string what;       ///< an ID with its paths, or a path
    std::string why;        ///< empty for what is listed
    std::string hint = {};  ///< what lets it be read, where that is why
  };
  struct Match {
    std::string text;  ///< see MatchText
    std::vector<Look> looks;
    std::vector<Verdict> verdicts;  ///< listed first, then rejected, then not taken
    std::size_t left_out = 0;       ///< lines that would be too many
    std::string hint;               ///< what to do where nothing was found; may be empty
  };

  std::string resource;
  std::size_t listed = 0;
  std::vector<Match> matches;
  std::string numa;                 ///< whether the kubelet is told of NUMA nodes, and why not
  std::vector<std::string> shared;  ///< "/dev/x also belongs to example.com/other"
};

/// Explains every inspected resource. Pure.
std::vector<Explanation> Explain(const std::vector<Inspection>& inspections);

/// The same for one path alone: one verdict for each match.
void NarrowToPath(const std::vector<Inspection>& inspections, const std::string& path,
                  std::vector<Explanation>& explanations);

}  // namespace patchbay
