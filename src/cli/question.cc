// Answer searches the report of the scan for the object, by ID, path, link target and sysfs path,
// first among the devices found, then the rejected ones, then the dropped ones. If the report does
// not mention the object, it may be a child of a USB or PCI device that was found. Otherwise WhyNot
// evaluates the source of the match for this one object: first the pattern, then whether the object
// exists, then the conditions. It never returns "listed": only a scan lists a device.

#include "cli/question.h"

#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "cli/access_hints.h"
#include "cli/match_text.h"
#include "discovery/conditions.h"

namespace patchbay {
namespace {

bool IsKnownAs(const Inquiry& inquiry, const std::string& path) {
  return std::find(inquiry.paths.begin(), inquiry.paths.end(), path) != inquiry.paths.end();
}

/// Returns the path or its target if it is the object of the inquiry.
std::optional<std::string> LeadsToIt(const Question& question, const std::string& path) {
  if (IsKnownAs(question.inquiry, path)) return path;
  auto node = question.sysfs.host().Resolve(path);
  if (!node || !IsKnownAs(question.inquiry, node->path)) return std::nullopt;
  return std::move(node->path);
}

/// Returns whether an entry of the report is the object, by ID, path, link or sysfs device.
bool IsIt(const Question& question, const MatchReport::Thing& thing) {
  if (!thing.id.empty() && thing.id == question.id) return true;
  const auto& syspaths = question.inquiry.syspaths;
  if (std::find(syspaths.begin(), syspaths.end(), thing.syspath) != syspaths.end()) return true;
  return std::any_of(thing.paths.begin(), thing.paths.end(), [&](const std::string& path) {
    return LeadsToIt(question, path).has_value();
  });
}

/// Returns the device of a USB or PCI match that the object belongs to.
const MatchReport::Thing* BearerOf(const Question& question) {
  const auto& found = question.report.found;
  for (const std::string& path : question.inquiry.syspaths) {
    const auto ancestry = question.ancestries.Of(path);
    if (!ancestry) continue;
    for (const SysfsDevice* bearer : {ancestry->UsbDevice(), ancestry->PciDevice()}) {
      const auto it = std::find_if(found.begin(), found.end(), [&](const auto& device) {
        return bearer != nullptr && device.syspath == bearer->path;
      });
      if (it != found.end()) return &*it;
    }
  }
  return nullptr;
}

Fate NotTaken(const Question& question, std::string_view reason, std::string detail) {
  return {{"", {question.inquiry.asked}, ""},
          Outcome::kNotTaken,
          std::string(reason),
          std::move(detail)};
}

Fate NotTaken(const Question& question, DropReason reason, std::string detail) {
  return NotTaken(question, Name(reason), std::move(detail));
}

Fate Unreadable(const Question& question, std::string why, std::string hint) {
  return {{"", {question.inquiry.asked}, ""},
          Outcome::kRejected,
          std::string(Name(RejectReason::kUnreadable)),
          std::move(why),
          std::move(hint)};
}

/// The fate of an object that has no device to compare with the match.
Fate NoDevice(const Question& question, std::string_view if_missing) {
  const HostRoot& host = question.sysfs.host();
  const Inquiry& inquiry = question.inquiry;
  if (inquiry.error && inquiry.error->kind != ErrorKind::kNotFound) {
    return Unreadable(question, inquiry.error->message, inquiry.hint);
  }
  if (inquiry.error) {
    return NotTaken(
        question, if_missing,
        host.ReadLink(inquiry.asked) ? "the link leads nowhere" : "the path does not exist");
  }
  if (inquiry.paths.empty()) {
    return NotTaken(question, kNoMatch, "no device of this match has this ID");
  }
  if (const auto numbers = host.Resolve("/sys/dev"); !numbers) {
    return Unreadable(question, "only /sys identifies it: " + numbers.error().message,
                      AccessHint(CheckAccess(host, "/sys/dev"), host));
  }
  const std::string_view what = inquiry.type ? Describe(*inquiry.type) : "something";
  return NotTaken(question, DropReason::kUnknown,
                  format("it is {} that sysfs does not know", what));
}

Fate LastWord(const Question& question) {
  return NotTaken(question, kNoReason,
                  "nothing excludes it; it may have appeared a moment ago: try again");
}

Fate WhyNotByPath(const Question& question) {
  const MatchSpec& match = question.match;
  const auto& paths = question.inquiry.paths;
  if (paths.empty()) {
    return NotTaken(question, kNoMatch, "it has no path for the pattern to match");
  }
  const bool fits = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return PatternMatches(match, path).value_or(false);
  });
  if (!fits) return NotTaken(question, kNoMatch, "the pattern does not match it");
  const bool is_asked = !match.conditions.empty();
  if (question.inquiry.error || (is_asked && question.inquiry.syspaths.empty())) {
    return NoDevice(question, Name(DropReason::kMissing));
  }
  if (!is_asked) return LastWord(question);
  const auto ancestry = question.ancestries.Of(question.inquiry.syspaths.front());
  if (!ancestry) return Unreadable(question, ancestry.error().message, "");
  auto unmet = Unmet(match.conditions, *ancestry, question.sysfs);
  return unmet ? NotTaken(question, DropReason::kCondition, std::move(*unmet)) : LastWord(question);
}

template <class Pattern>
Fate WhyNotBySysfs(const Question& question, const Pattern& pattern) {
  const Sysfs& sysfs = question.sysfs;
  if (question.inquiry.syspaths.empty()) return NoDevice(question, kNoMatch);
  Fate answer;
  for (const std::string& path : question.inquiry.syspaths) {
    const auto ancestry = question.ancestries.Of(path);
    if (!ancestry) {
      answer = Unreadable(question, ancestry.error().message, "");
    } else if (IsOfOtherKind(pattern, *ancestry, sysfs)) {
      // Another device with the same name may be a closer match.
      answer = NotTaken(question, DropReason::kOtherKind, *Unmet(pattern, *ancestry, sysfs));
    } else {
      auto unmet = Unmet(pattern, *ancestry, sysfs);
      if (!unmet) unmet = Unmet(question.match.conditions, *ancestry, sysfs);
      return unmet ? NotTaken(question, DropReason::kCondition, std::move(*unmet))
                   : LastWord(question);
    }
  }
  return answer;
}

Fate WhyNotByCommand(const Question& question) {
  const auto& rejected = question.report.rejected;
  const bool failed = std::any_of(rejected.begin(), rejected.end(), [](const auto& one) {
    return one.reason == RejectReason::kCommandFailed;
  });
  return failed ? NotTaken(question, kNoReason, "the command printed no usable entry for it")
                : NotTaken(question, kNoMatch, "the command did not print it");
}

/// Returns why the match did not find the object, by the source of the match.
struct WhyNot {
  const Question& question;

  Fate operator()(const CountSource&) const {
    return NotTaken(question, kNoMatch, "a count has no devices on the host");
  }
  Fate operator()(const CommandSource&) const { return WhyNotByCommand(question); }
  Fate operator()(const PathSource&) const { return WhyNotByPath(question); }
  Fate operator()(const RegexSource&) const { return WhyNotByPath(question); }
  template <class Pattern>
  Fate operator()(const Pattern& pattern) const {
    return WhyNotBySysfs(question, pattern);
  }
};

Fate Listed(const Question& question, const MatchReport::Thing& found, std::string detail) {
  Fate fate = FateOf(found, *question.inspection.snapshot);
  if (fate.outcome == Outcome::kListed && !detail.empty()) {
    fate.detail = fate.detail.empty() ? std::move(detail) : detail + "; " + fate.detail;
  }
  return fate;
}

/// Returns a note if the match found the device only through a link.
std::string ByLink(const Question& question, const MatchReport::Thing& found) {
  for (const std::string& path : found.paths) {
    const auto target = LeadsToIt(question, path);
    if (target) return *target == path ? "" : "a link to " + *target;
  }
  return "";
}

}  // namespace

Fate Answer(const Question& question) {
  const auto& [found, rejected, drops] =
      std::tie(question.report.found, question.report.rejected, question.report.drops);
  const auto& hints = question.inspection.hints;
  const auto is_it = [&](const MatchReport::Thing& thing) { return IsIt(question, thing); };
  if (const auto it = std::find_if(found.begin(), found.end(), is_it); it != found.end()) {
    return Listed(question, *it, ByLink(question, *it));
  }
  // An unreadable object can be rejected twice: as unreadable, and for what follows from that. The
  // first is the cause.
  auto why = std::find_if(rejected.begin(), rejected.end(), [&](const auto& one) {
    return one.reason == RejectReason::kUnreadable && is_it(one);
  });
  if (why == rejected.end()) why = std::find_if(rejected.begin(), rejected.end(), is_it);
  if (why != rejected.end()) return FateOf(*why, question.report, hints);
  if (const auto it = std::find_if(drops.begin(), drops.end(), is_it); it != drops.end()) {
    return FateOf(*it, hints);
  }
  if (const auto* bearer = BearerOf(question)) {
    return Listed(question, *bearer, "which it is a part of");
  }
  return std::visit(WhyNot{question}, question.match.source);
}

}  // namespace patchbay
