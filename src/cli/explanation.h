#pragma once

#include <string>
#include <vector>

#include "cli/match_outcome.h"
#include "cli/run_scan.h"

namespace patchbay {

/// Why the devices of one resource are there, and others are not. Plain values, as `explain` prints
/// them; texts are of the host and not yet made printable.
struct Explanation {
  struct Look : MatchReport::Look {
    std::string hint;  ///< what lets it be read; empty where it could be
  };
  struct Match {
    std::string text;  ///< see MatchText
    std::vector<Look> looks;
    std::vector<Fate> fates;   ///< by outcome, then in the order of IdLess, each once
    std::size_t left_out = 0;  ///< that would be too many
    std::string hint;          ///< what to do where nothing was found; may be empty
    bool is_beside = false;    ///< the one thing that is asked about is no business of it
  };
  /// A node that another resource has as well.
  struct Shared {
    std::string path;
    std::string other;
  };

  std::string resource;
  std::size_t listed = 0;
  std::vector<Match> matches;
  std::string numa;  ///< whether the kubelet is told of NUMA nodes, and why not
  std::vector<Shared> shared;
  std::vector<MissingMount> missing_mounts;
};

/// Explains every inspected resource. Pure.
std::vector<Explanation> Explain(const std::vector<Inspection>& inspections);

/// What a fate or a place is called in a line of text: "ttyS0: /dev/ttyS0".
std::string LabelOf(const Fate& fate);

}  // namespace patchbay
