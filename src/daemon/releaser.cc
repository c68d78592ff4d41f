#include "daemon/releaser.h"

namespace patchbay {

Releaser::Releaser(std::shared_ptr<const ResourceSpec> spec, std::string node_name, Log& log,
                   std::shared_ptr<HookRunner> hooks)
    : spec_(std::move(spec)),
      node_name_(std::move(node_name)),
      log_(log),
      hooks_(std::move(hooks)) {}

void Releaser::OnHolders(const HoldersReport& report, const Snapshot* snapshot) {
  const Releases::Verdict verdict = releases_.Take(report);
  for (const std::string& device : verdict.released) {
    if (const Status status = Release(device, snapshot); !status) {
      Report(device, status.error().message);
    }
  }
  for (const std::string& device : verdict.missed) {
    Report(device, "the kubelet did not answer before the next container started");
  }
}

void Releaser::OnBlindStart(const std::set<std::string>& devices) {
  for (const std::string& device : devices) releases_.OnBlindStart(device);
}

Status Releaser::Release(const std::string& device, const Snapshot* snapshot) {
  const FoundDevice found = snapshot != nullptr
                                ? FindAdvertised(*snapshot, AdvertisedId(*spec_, device, 0))
                                : FoundDevice();
  if (found.listed == nullptr) return Fail(ErrorKind::kNotFound, "it is not known any more");
  const Variables variables = VariablesOf(*found.listed->device, spec_->name, node_name_);
  HookCall call = TRY(PlanHook(Hook::kRelease, *spec_, {&variables, 1}));
  log_.Info("releasing device", {{"resource", spec_->name}, {"device", device}});
  hooks_->Run(std::move(call), [](const Status&) {});
  return {};
}

void Releaser::Report(const std::string& device, const std::string& reason) {
  log_.Warning("the release hook was not run",
               {{"resource", spec_->name}, {"device", device}, {"reason", reason}});
}

}  // namespace patchbay
