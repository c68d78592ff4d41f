#pragma once

#include "cli/inquiry.h"
#include "cli/match_outcome.h"

namespace patchbay {

/// What a match makes of one thing. A view; all it names outlives it.
struct Question {
  const Inquiry& inquiry;
  const std::string& id;  ///< what the inquiry would be as a device of the resource
  const MatchSpec& match;
  const MatchReport& report;
  const Inspection& inspection;
  const Sysfs& sysfs;
  DeviceAncestries& ancestries;
};

/// What became of it in the pass; where the pass left no word of it, what the host says now. Claims
/// that nothing is there only where nothing is. Slow.
Fate Answer(const Question& question);

}  // namespace patchbay
