#pragma once

#include <string>
#include <vector>

#include "cli/match_outcome.h"
#include "cli/run_scan.h"

namespace patchbay {

/// Explains why devices of one resource are listed, rejected or filtered. Contains the values that
/// `explain` prints. Texts from the host are not escaped.
struct Explanation {
  struct Look : MatchReport::Look {
    std::string hint;  ///< how to make the place readable; empty if it was read
  };
  struct Match {
    std::string text;  ///< see MatchText
    std::vector<Look> looks;
    std::vector<Fate> fates;   ///< by outcome, then in the order of IdLess, without duplicates
    std::size_t left_out = 0;  ///< number of entries beyond the maximum of a report
    std::string hint;          ///< what to do if nothing was found; may be empty
    bool is_beside = false;    ///< the match does not apply to the object of the inquiry
  };
  /// A node that another resource also has.
  struct Shared {
    std::string path;
    std::string other;
  };

  std::string resource;
  std::size_t listed = 0;
  std::vector<Match> matches;
  std::string numa;  ///< whether NUMA nodes are reported to the kubelet, and if not, why
  std::vector<Shared> shared;
  std::vector<MissingMount> missing_mounts;
};

/// Explains each inspected resource, in the order of `inspections`. Pure.
std::vector<Explanation> Explain(const std::vector<Inspection>& inspections);

/// Returns the label of a fate in a line of text: "ttyS0: /dev/ttyS0".
std::string LabelOf(const Fate& fate);

}  // namespace patchbay
