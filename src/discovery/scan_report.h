#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "discovery/scan_request.h"

namespace patchbay {

/// Collects the reports of a scan, match by match, if the request asks for them; otherwise it does
/// nothing. Belongs to the thread of the scan.
class ScanReport {
 public:
  /// The request must outlive it.
  explicit ScanReport(const ScanRequest& request) : request_(request) {}

  /// The next calls are about this match.
  void BeginMatch(const MatchSpec& match, std::size_t index);

  /// While muted, searched places are not reported.
  void SetMuted(bool muted) { muted_ = muted; }
  /// Adds a place that was searched; a problem is added once per match.
  void AddPlace(MatchReport::ScannedPlace place);
  /// Adds something that is skipped, to the current match or another one. A path that does not
  /// exist is left out if only a pattern of the current match could have matched it.
  void Drop(MatchReport::Drop drop) { Drop(std::move(drop), index_); }
  void Drop(MatchReport::Drop drop, std::size_t match);
  void Drop(const std::string& path, DropReason reason, std::string detail);
  /// Adds a device for which `not` compared nothing; `path` is that of its node or in sysfs.
  void AddNotCompared(const std::string& path, const std::string& why);
  /// Adds a rejection; those `beyond_bound` are only counted.
  void Reject(MatchReport::Rejected rejected, std::size_t match, bool beyond_bound);

  /// Returns whether the match names this path or one below it literally, not by a pattern.
  bool Names(const std::string& path) const;

  bool is_kept() const { return request_.report; }
  /// Returns one report for each match so far, if requested.
  std::vector<MatchReport>& reports() { return reports_; }

 private:
  bool IsWanted(const MatchReport::Item& item) const;

  const ScanRequest& request_;
  const MatchSpec* match_ = nullptr;
  std::size_t index_ = 0;
  bool muted_ = false;
  std::vector<MatchReport> reports_;
  std::unordered_set<std::string> problems_;  ///< the reported problems of the match
};

}  // namespace patchbay
