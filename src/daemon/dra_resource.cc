#include "daemon/dra_resource.h"

#include <utility>

namespace patchbay {

DraResource::DraResource(DraService& service, std::string name,
                         std::shared_ptr<ResourceObserver> observer,
                         std::shared_ptr<HookRunner> hooks, const AllocationHost& allocation,
                         Events events)
    : service_(service),
      name_(std::move(name)),
      observer_(std::move(observer)),
      events_(std::move(events)) {
  service_.Add(name_,
               {.hooks = std::move(hooks),
                .lookups = std::make_shared<HostLookups>(allocation),
                .on_stale_list = events_.on_stale,
                .on_held = events_.on_held,
                .on_registration = [this](bool accepted) { observer_->OnRegistration(accepted); },
                .on_state = [this] { OnState(); }});
}

DraResource::~DraResource() {
  if (!has_ended_) service_.Remove(name_);
}

void DraResource::Publish(std::shared_ptr<const Snapshot> snapshot) {
  observer_->OnSnapshot(snapshot);
  service_.Publish(name_, std::move(snapshot));
}

void DraResource::StopServing() {
  if (std::exchange(has_ended_, true)) return;
  service_.Remove(name_);
  observer_->OnRegistrationStatus({RegistrationState::kRetiring});
}

void DraResource::End(const std::function<void()>& done) {
  unused_ = Subscription();
  StopServing();
  done();
}

void DraResource::Drain(std::function<void()> done) {
  StopServing();
  unused_ = service_.AwaitUnused(name_, std::move(done));
}

void DraResource::OnState() {
  const DraService::State state = service_.StateOf(name_);
  observer_->OnRegistrationStatus(
      {state.ready ? RegistrationState::kRegistered : RegistrationState::kWaiting,
       state.waits_for});
  is_registered_ = state.ready;
  events_.on_state();
}

}  // namespace patchbay
