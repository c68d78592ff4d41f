#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "discovery/pass.h"

namespace patchbay {

/// Keeps account of a pass for people, match by match, where the pass asks for it; else it does
/// nothing. Belongs to the scan of the pass.
class Account {
 public:
  /// Outlived by the pass.
  explicit Account(const Pass& pass) : pass_(pass) {}

  /// What follows is about this match.
  void BeginMatch(const MatchSpec& match, std::size_t index);

  /// While muted, no looks are kept.
  void SetMuted(bool muted) { muted_ = muted; }
  /// A place that was looked at; of a problem there once for each match.
  void Look(MatchReport::Look look);
  /// Something that was seen and is not taken. That nothing is there is left out where a pattern
  /// only could have matched it.
  void Drop(MatchReport::Drop drop);
  void Drop(const std::string& path, DropReason reason, std::string detail);
  /// `beyond_bound` rejections are counted only.
  void Reject(MatchReport::Rejected rejected, std::size_t match, bool beyond_bound);

  /// Whether the match names this very path or one below it, where others only fit a pattern.
  bool Names(const std::string& path) const;

  bool is_kept() const { return pass_.report; }
  /// One for each match so far, where the pass asks for them.
  std::vector<MatchReport>& reports() { return reports_; }

 private:
  bool IsWanted(const MatchReport::Thing& thing) const;

  const Pass& pass_;
  const MatchSpec* match_ = nullptr;
  std::size_t index_ = 0;
  bool muted_ = false;
  std::vector<MatchReport> reports_;
  std::unordered_set<std::string> problems_;  ///< of the match, as they were told
};

}  // namespace patchbay
