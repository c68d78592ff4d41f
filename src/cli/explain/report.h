#pragma once

#include <map>
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
struct MatchOutcome : MatchReport::Thing {
  OutcomeKind kind = OutcomeKind::kListed;
  std::string reason = {};   ///< the name of a RejectReason or DropReason, kNoMatch or kNoReason
  std::string detail = {};   ///< the reason in words; if listed: additional facts
  std::string hint = {};     ///< how to fix it; may be empty
  std::string numbers = {};  ///< see MatchReport::Drop
};

/// The match does not select the object. Only used in reports for `explain --path`.
inline constexpr std::string_view kNoMatch = "no_match";
/// The scan did not list the candidate, and no reason was found.
inline constexpr std::string_view kNoReason = "unknown";

/// Hints for paths that could not be read, by the path in the report.
using AccessHints = std::map<std::string, std::string>;

/// Returns the outcome of a device that a match found. It can still be rejected, for example if a
/// template cannot be rendered.
MatchOutcome OutcomeOf(const MatchReport::Thing& found, const Snapshot& snapshot);
MatchOutcome OutcomeOf(const MatchReport::Rejected& rejected, const MatchReport& report,
                       const AccessHints& hints);
MatchOutcome OutcomeOf(const MatchReport::Drop& drop, const AccessHints& hints);

/// Explains why devices of one resource are listed, rejected or filtered. Contains the values that
/// `explain` prints. Texts from the host are not escaped.
struct ExplainReport {
  struct ScannedPlace : MatchReport::ScannedPlace {
    std::string hint;  ///< how to make the place readable; empty if it was read
  };
  struct Match {
    std::string text;  ///< the keys of the match on one line
    std::vector<ScannedPlace> scanned;
    /// By outcome, then in the order of IdLess, without duplicates.
    std::vector<MatchOutcome> outcomes;
    std::size_t left_out = 0;   ///< number of entries beyond the maximum of a report
    std::string hint;           ///< what to do if nothing was found; may be empty
    bool is_unrelated = false;  ///< the match cannot apply to the target
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
  std::optional<SlicePreview> slices;  ///< nothing: served by the device plugin API
  bool has_probe = false;              ///< the taints depend on health probes, which do not run
  bool evicts = false;                 ///< pods of unhealthy devices, if the resource has slices
};

/// Explains each inspected resource on the Kubernetes node, in the order of `inspections`. Pure.
std::vector<ExplainReport> Explain(const std::vector<Inspection>& inspections,
                                   const std::string& node_name);

/// Returns whether each resource has a device or, for reports that FilterByTarget has reduced,
/// whether a match of any resource lists the object.
bool HaveDevices(const std::vector<ExplainReport>& reports, bool is_of_target);

/// Returns the label of an outcome in a line of text: "ttyS0: /dev/ttyS0".
std::string LabelOf(const MatchOutcome& outcome);

}  // namespace patchbay
