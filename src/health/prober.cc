#include "health/prober.h"

#include "base/hash.h"

namespace patchbay {

std::chrono::milliseconds PatienceFor(const ProbeSpec& probe) {
  constexpr std::chrono::milliseconds kKillTime{3000};
  const bool runs_program = std::holds_alternative<CommandProbe>(probe.kind);
  return probe.timeout + (runs_program ? kKillTime : std::chrono::milliseconds(0));
}

Prober::Prober(Loop& loop, ProbePool& pool, std::shared_ptr<const ResourceSpec> spec,
               ProbeContext context, Events events)
    : loop_(loop),
      pool_(pool),
      spec_(std::move(spec)),
      context_(std::move(context)),
      events_(std::move(events)),
      // Nodes of a cluster must not probe what they share at the same moments.
      timetable_(*spec_->health,
                 static_cast<std::uint32_t>(StableHash(spec_->name + "@" + context_.node_name))) {}

Prober::~Prober() { pool_.Drop(spec_->name); }

void Prober::SetSpec(std::shared_ptr<const ResourceSpec> spec) {
  const bool is_other = *spec->health != *spec_->health;
  spec_ = std::move(spec);
  if (!is_other) return;
  timetable_.SetSpec(*spec_->health, loop_.Now());
  AwaitNext();
}

void Prober::SetDevices(const std::vector<Timetable::Presence>& devices) {
  timetable_.SetDevices(devices, loop_.Now());
  AwaitNext();
}

void Prober::AwaitNext() {
  timer_ = Subscription();
  if (const auto when = timetable_.NextDue()) {
    const auto delay = std::max(*when - loop_.Now(), Loop::Duration::zero());
    timer_ = loop_.After(delay, [this] { ProbeDue(); });
  }
}

void Prober::ProbeDue() {
  for (const auto& device : timetable_.TakeDue(loop_.Now())) Begin(device);
  AwaitNext();
}

void Prober::Begin(const std::shared_ptr<const Device>& device) {
  const auto left = left_behind_.find(device->id);
  if (left != left_behind_.end()) {
    if (!HasEnded(left->second)) {
      return OnOutcome(device->id, {.result = ProbeResult::kTimeout,
                                    .reason = "its last probe hangs in the kernel and cannot be "
                                              "killed; it is not probed again before that ends"});
    }
    left_behind_.erase(left);
  }
  pool_.Run(
      spec_->name, PatienceFor(*spec_->health),
      [spec = spec_, device, context = context_] {
        return RunProbe(*spec->health, *device, context);
      },
      [this, id = device->id](ProbeOutcome outcome) { OnOutcome(id, std::move(outcome)); });
}

void Prober::OnOutcome(const std::string& id, ProbeOutcome outcome) {
  if (outcome.left_behind) left_behind_[id] = std::move(outcome.left_behind);
  events_.on_probe(id, outcome);
  const auto change = timetable_.Finish(id, outcome, loop_.Now());
  AwaitNext();
  if (change != Timetable::Change::kNothing) events_.on_change(change);
}

}  // namespace patchbay
