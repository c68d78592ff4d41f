#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_scan.h"
#include "cli/slice_preview.h"
#include "discovery/scan_request.h"
#include "model/snapshot.h"

namespace patchbay {

enum class OutcomeKind { kListed, kRejected, kFiltered };
/// "listed", "rejected", "filtered".
std::string_view Name(OutcomeKind kind);

/// The outcome of a scan for one candidate. Texts from the host are not escaped.
struct MatchOutcome : MatchReport::Item {
  OutcomeKind kind = OutcomeKind::kListed;
  std::string reason = {};   ///< the name of a RejectReason or DropReason; empty if listed
  std::string detail = {};   ///< the reason in words; if listed: additional facts
  std::string numbers = {};  ///< see MatchReport::Drop

  bool operator==(const MatchOutcome&) const = default;
};

/// Explains why devices of one resource are listed, rejected or filtered. Contains the values that
/// `explain` prints. Texts from the host are not escaped.
struct ExplainReport {
  struct Match {
    std::string text;  ///< the keys of the match on one line
    std::vector<MatchReport::ScannedPlace> scanned;
    /// By outcome, then in the order of IdLess, without duplicates.
    std::vector<MatchOutcome> outcomes;
    std::size_t left_out = 0;   ///< number of entries beyond the maximum of a report
    std::string hint;           ///< what to do if nothing was found; may be empty
    std::string nearest;        ///< the entry for the nearest device if nothing was found, or ""
    bool is_unrelated = false;  ///< the match cannot apply to the object of the report
  };
  /// A node that another resource also has.
  struct Shared {
    std::string path;
    std::string other;
  };

  std::string resource;
  std::size_t listed = 0;
  std::vector<Match> matches;
  std::string numa;  ///< whether NUMA nodes are reported, and if not, why; empty for one object
  std::vector<Shared> shared;
  std::vector<MissingMount> missing_mounts;
  std::optional<SlicePreview> slices;  ///< nothing: served by the device plugin API
  bool has_probe = false;              ///< the taints depend on health probes, which do not run
  bool evicts = false;                 ///< pods of unhealthy devices, if the resource has slices
};

/// Explains each inspected resource on the Kubernetes node, in the order of `inspections`. Pure.
std::vector<ExplainReport> Explain(const std::vector<Inspection>& inspections,
                                   const std::string& node_name);

/// Returns the label of an outcome in a line of text: "ttyS0: /dev/ttyS0".
std::string LabelOf(const MatchOutcome& outcome);

}  // namespace patchbay
