#pragma once

#include "cli/inquiry.h"
#include "cli/match_outcome.h"

namespace patchbay {

/// The input of Answer: one match and the object of the inquiry. Everything it refers to must
/// outlive it.
struct Question {
  const Inquiry& inquiry;
  const std::string& id;  ///< the device ID of the object in this resource, if it is listed
  const MatchSpec& match;
  const MatchReport& report;
  const Inspection& inspection;
  const Sysfs& sysfs;
  DeviceAncestries& ancestries;
};

/// Returns what the scan did with the object. If the report does not mention it, inspects the host
/// to find the reason. Reports an object as missing only if it does not exist; an object that
/// cannot be read is reported as unreadable. May block.
Fate Answer(const Question& question);

}  // namespace patchbay
