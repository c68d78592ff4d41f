// A value: time is an argument, and the caller runs what is due. A device that hangs in a probe is
// never probed again until that probe ends, and each due probe counts as a failure meanwhile. The
// delay of the first probe and the length of a period have a random part, so that the probes of
// many devices do not start together.

#include "health/probe_scheduler.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace patchbay {
namespace {

constexpr double kJitter = 0.1;

/// Returns whether the devices are the same for a probe. Other values of a device can change during
/// a probe.
bool HaveSameNodes(const Device& a, const Device& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const DeviceNode& x, const DeviceNode& y) {
                      return std::tie(x.path, x.real_path, x.type, x.major, x.minor) ==
                             std::tie(y.path, y.real_path, y.type, y.major, y.minor);
                    });
}

}  // namespace

void ProbeScheduler::SetSpec(const ProbeSpec& spec, Time now) {
  spec_ = spec;
  for (auto& at : entries_) {
    Entry& entry = at.second;
    entry.counts_from = last_run_ + 1;
    entry.thresholds.SetLimits(spec_.failure_threshold, spec_.success_threshold,
                               spec_.before_first);
    if (entry.present) Schedule(at, now + PartOfPeriod(0, kJitter));
  }
}

void ProbeScheduler::SetDevices(const std::vector<Presence>& devices, Time now) {
  ++calls_;
  for (const auto& [device, present] : devices) {
    const auto at = Admit(device->id);
    Entry& entry = at->second;
    const bool is_new = entry.device == nullptr;
    const bool is_back = present && !entry.present;
    const bool is_other =
        !is_new && entry.device != device && !HaveSameNodes(*entry.device, *device);
    entry.device = device;
    entry.present = present;
    entry.seen = calls_;
    if (!present || is_other) entry.counts_from = last_run_ + 1;
    if (!present) {
      Schedule(*at, std::nullopt);
    } else if (is_new) {
      Schedule(*at, now + spec_.initial_delay + PartOfPeriod(0, kJitter));
    } else if (is_back || is_other) {
      Schedule(*at, now);
    }
  }
  Forget(calls_);
}

/// Returns the entry of a device; a new entry has no device yet.
ProbeScheduler::Entries::iterator ProbeScheduler::Admit(const std::string& id) {
  const auto found = entries_.find(id);
  if (found != entries_.end() && found->second.known) return found;
  Entry fresh{.device = nullptr,
              .thresholds = {spec_.failure_threshold, spec_.success_threshold, spec_.before_first},
              .reason = std::string(kNotProbedYet)};
  if (found == entries_.end()) return entries_.emplace(id, std::move(fresh)).first;
  // The entry exists only until its probe ends.
  fresh.run = found->second.run;
  fresh.hang = found->second.hang;
  fresh.counts_from = last_run_ + 1;
  found->second = std::move(fresh);
  return found;
}

/// An entry remains until its probe has ended, so that no device is probed twice at the same time.
void ProbeScheduler::Forget(std::uint64_t not_seen_in) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    Entry& entry = at->second;
    if (entry.seen != not_seen_in) {
      Schedule(*at, std::nullopt);
      entry.known = entry.present = false;
      if (entry.run == 0) entries_.erase(at);
    }
    at = next;
  }
}

void ProbeScheduler::Schedule(Entries::value_type& at, std::optional<Time> due) {
  auto& [id, entry] = at;
  if (entry.due) queue_.erase({*entry.due, id});
  entry.due = due;
  if (entry.due && (entry.run == 0 || entry.hang)) queue_.emplace(*entry.due, id);
  scheduled_.insert(id);
}

std::vector<ProbeScheduler::Scheduled> ProbeScheduler::TakeScheduled() {
  std::vector<Scheduled> scheduled;
  for (const std::string& id : std::exchange(scheduled_, {})) {
    const auto at = entries_.find(id);
    const bool is_running = at != entries_.end() && at->second.present && !at->second.due;
    if (is_running) continue;
    scheduled.push_back({id, at == entries_.end() ? std::nullopt : at->second.due});
  }
  return scheduled;
}

std::optional<ProbeScheduler::Time> ProbeScheduler::NextDue() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first;
}

std::vector<ProbeScheduler::Run> ProbeScheduler::TakeDue(Time now) {
  std::vector<Run> due;
  while (!queue_.empty() && queue_.begin()->first <= now) {
    const auto at = entries_.find(queue_.begin()->second);
    Schedule(*at, std::nullopt);
    Entry& entry = at->second;
    if (entry.run == 0) entry.run = ++last_run_;
    entry.begun = now;
    due.push_back({entry.device, entry.run, entry.hang});
  }
  return due;
}

ProbeScheduler::Change ProbeScheduler::Finish(const std::string& id, std::uint64_t run,
                                              const ProbeOutcome& outcome, Time now) {
  const auto at = entries_.find(id);
  if (at == entries_.end() || run == 0 || at->second.run != run) return Change::kNothing;
  Entry& entry = at->second;
  const bool was_hanging = entry.hang.has_value();
  if (!outcome.hangs) {
    entry.run = 0;
    entry.hang.reset();
  } else if (!was_hanging) {
    entry.hang = outcome.reason;
  }
  if (!entry.known) {
    if (entry.run == 0) entries_.erase(at);
    return Change::kNothing;
  }
  if (!entry.present) return Change::kNothing;
  if (was_hanging && !outcome.hangs) {  // the hang was counted at each due time
    Schedule(*at, now);
    return Change::kNothing;
  }
  const Time next = entry.begun + PartOfPeriod(1 - kJitter, 1 + kJitter);
  Schedule(*at, entry.due.value_or(std::max(now, next)));
  // While a probe hangs, the device cannot be probed, even if that probe was for its predecessor.
  const bool counts = was_hanging || run >= entry.counts_from;
  const Change change = counts ? RecordResult(entry, outcome) : Change::kNothing;
  if (change != Change::kNothing) changed_.insert(id);
  return change;
}

ProbeScheduler::Change ProbeScheduler::RecordResult(Entry& entry, const ProbeOutcome& outcome) {
  const bool success = outcome.result == ProbeResult::kSuccess;
  const bool same_reason = success || entry.reason == outcome.reason;
  if (!success) entry.reason = outcome.reason;
  if (entry.thresholds.Step(success)) return Change::kHealth;
  const bool is_shown = entry.thresholds.health() == Health::kUnhealthy;
  return is_shown && !same_reason ? Change::kReason : Change::kNothing;
}

ProbeScheduler::DeviceHealth ProbeScheduler::HealthOf(const std::string& id) const {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return {};
  const Health health = at->second.thresholds.health();
  return {health, health == Health::kHealthy ? "" : at->second.reason};
}

std::chrono::nanoseconds ProbeScheduler::PartOfPeriod(double least, double most) {
  const double part = std::uniform_real_distribution(least, most)(random_);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spec_.period * part);
}

}  // namespace patchbay
