#include "daemon/release_hooks.h"

namespace patchbay {
namespace {

/// More devices than this at once are logged in one line.
constexpr std::size_t kMaxReleasesLogged = 20;

}  // namespace

ReleaseHooks::ReleaseHooks(std::shared_ptr<const ResourceSpec> spec, std::string node_name,
                           std::shared_ptr<ResourceObserver> observer, Log& log,
                           std::shared_ptr<HookRunner> hooks)
    : spec_(std::move(spec)),
      node_name_(std::move(node_name)),
      observer_(std::move(observer)),
      log_(log),
      hooks_(std::move(hooks)) {}

void ReleaseHooks::OnHolders(const HoldersReport& report, const Snapshot* snapshot) {
  const ReleaseTracker::Decision decision = tracker_.Update(report);
  const bool many = decision.released.size() + decision.missed.size() > kMaxReleasesLogged;
  if (many) {
    log_.Info("releasing devices", {{"resource", spec_->name},
                                    {"devices", decision.released.size()},
                                    {"too_late", decision.missed.size()}});
  }
  for (const std::string& device : decision.released) {
    if (!many) log_.Info("releasing device", {{"resource", spec_->name}, {"device", device}});
    if (const Status status = Release(device, snapshot); !status) {
      ReportMissed(device, status.error().message, many);
    }
  }
  for (const std::string& device : decision.missed) {
    ReportMissed(device,
                 "the kubelet did not report device usage before the next container started", many);
  }
}

void ReleaseHooks::OnUnverifiedStart(const std::set<std::string>& devices) {
  for (const std::string& device : devices) tracker_.OnUnverifiedStart(device);
}

Status ReleaseHooks::Release(const std::string& device, const Snapshot* snapshot) {
  const FoundDevice found = snapshot != nullptr
                                ? FindAdvertised(*snapshot, AdvertisedId(*spec_, device, 0))
                                : FoundDevice();
  if (found.listed == nullptr) return Fail(ErrorKind::kNotFound, "the device is no longer listed");
  const Variables variables = VariablesOf(*found.listed->device, spec_->name, node_name_);
  HookCall call = TRY(PlanHook(Hook::kRelease, *spec_, {&variables, 1}));
  hooks_->Run(std::move(call), [](const Status&) {});
  return {};
}

void ReleaseHooks::ReportMissed(const std::string& device, const std::string& reason, bool many) {
  observer_->OnHook(Hook::kRelease, false, {});
  if (many) return;
  log_.Warning("release hook was not run",
               {{"resource", spec_->name}, {"device", device}, {"reason", reason}});
}

}  // namespace patchbay
