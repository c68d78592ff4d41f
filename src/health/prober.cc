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
      // The seed differs between nodes, so that they do not probe shared devices at the same time.
      scheduler_(*spec_->health,
                 static_cast<std::uint32_t>(StableHash(spec_->name + "@" + context_.node_name))) {}

Prober::~Prober() { pool_.Drop(spec_->name); }

void Prober::SetSpec(std::shared_ptr<const ResourceSpec> spec) {
  const bool is_other = *spec->health != *spec_->health;
  spec_ = std::move(spec);
  if (!is_other) return;
  scheduler_.SetSpec(*spec_->health, loop_.Now());
  AwaitNext();
}

void Prober::SetDevices(const std::vector<ProbeScheduler::Presence>& devices) {
  scheduler_.SetDevices(devices, loop_.Now());
  AwaitNext();
}

/// Every change of the schedule ends here.
void Prober::AwaitNext() {
  for (const auto& [device, due] : scheduler_.TakeScheduled()) {
    if (events_.on_scheduled) events_.on_scheduled(device, due);
  }
  timer_ = Subscription();
  if (const auto when = scheduler_.NextDue()) {
    const auto delay = std::max(*when - loop_.Now(), Loop::Duration::zero());
    timer_ = loop_.After(delay, [this] { ProbeDue(); });
  }
}

void Prober::ProbeDue() {
  for (const ProbeScheduler::Run& run : scheduler_.TakeDue(loop_.Now())) Begin(run);
  AwaitNext();
}

void Prober::Begin(const ProbeScheduler::Run& run) {
  if (run.hang) {
    ProbeOutcome outcome{ProbeResult::kTimeout, *run.hang};
    outcome.took = spec_->health->timeout;
    outcome.hangs = true;
    return OnOutcome(run.device->id, run.number, outcome);
  }
  pool_.Run(
      {spec_->name, run.device->id}, PatienceFor(*spec_->health),
      [spec = spec_, device = run.device, context = context_] {
        return RunProbe(*spec->health, *device, context);
      },
      [this, id = run.device->id, number = run.number](const ProbeOutcome& outcome) {
        OnOutcome(id, number, outcome);
      });
}

void Prober::OnOutcome(const std::string& id, std::uint64_t run, const ProbeOutcome& outcome) {
  if (!outcome.over) events_.on_probe(id, outcome);
  const auto change = scheduler_.Finish(id, run, outcome, loop_.Now());
  AwaitNext();
  if (change != ProbeScheduler::Change::kNothing) events_.on_change(change);
}

}  // namespace patchbay
