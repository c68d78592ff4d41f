// Owns the run that is active now, and what survives a restart of it. Start and Stop replace the
// run; all other functions take a reference to it and call the function of the same name.

#include "sim/kubelet/dra_manager.h"

#include <mutex>
#include <utility>

#include "sim/kubelet/dra_run.h"

namespace patchbay {

class DraManager::Impl {
 public:
  explicit Impl(DraSimOptions given) : options(std::move(given)) {}

  /// Returns the run, or an error for its callers.
  Result<std::shared_ptr<DraRun>> Run() const {
    const std::lock_guard lock(state->mutex);
    if (!run) return Fail(ErrorKind::kUnavailable, "the kubelet is not running");
    return run;
  }

  const DraSimOptions options;
  const std::shared_ptr<DraState> state = std::make_shared<DraState>();
  std::shared_ptr<DraRun> run;  ///< under the state's mutex; null while not running
};

DraManager::DraManager(DraSimOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

DraManager::~DraManager() { Stop(); }

Status DraManager::Start() {
  if (impl_->Run()) return Fail(ErrorKind::kPrecondition, "the kubelet is running");
  auto run = TRY(DraRun::Begin(impl_->options, impl_->state));
  const std::lock_guard lock(impl_->state->mutex);
  impl_->run = std::move(run);
  impl_->state->Changed();
  return {};
}

void DraManager::Stop() {
  std::shared_ptr<DraRun> ended;
  {
    const std::lock_guard lock(impl_->state->mutex);
    ended = std::exchange(impl_->run, nullptr);
    impl_->state->Changed();
  }
  if (ended) ended->End();
}

Status DraManager::Restart() {
  Stop();
  return Start();
}

std::vector<std::string> DraManager::Sockets() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->run ? impl_->run->Sockets() : std::vector<std::string>{};
}

std::vector<DraInstanceView> DraManager::Instances(const std::string& driver) const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->run ? impl_->run->Instances(driver) : std::vector<DraInstanceView>{};
}

std::vector<DraRegistration> DraManager::Registrations() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->registrations;
}

std::vector<DraClaims::Entry> DraManager::Claims() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->run ? impl_->run->Claims() : std::vector<DraClaims::Entry>{};
}

std::vector<SimDeviceHealth> DraManager::Health(const std::string& driver) const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->health.List(driver, impl_->options.clock());
}

bool DraManager::Await(const std::function<bool()>& predicate,
                       std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    std::unique_lock lock(impl_->state->mutex);
    const std::uint64_t seen = impl_->state->version;
    lock.unlock();
    if (predicate()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    lock.lock();
    impl_->state->changed.wait_until(lock, deadline, [&] { return impl_->state->version != seen; });
  }
}

Result<SimPreparedClaims> DraManager::PrepareClaims(const std::string& pod,
                                                    const std::vector<SimClaim>& claims) {
  return TRY(impl_->Run())->PrepareClaims(pod, claims);
}

Status DraManager::UnprepareClaims(const std::string& pod) {
  return TRY(impl_->Run())->UnprepareClaims(pod);
}

Status DraManager::Reconcile(const std::set<std::string>& running) {
  return TRY(impl_->Run())->Reconcile(running);
}

void DraManager::SetRegistrationFault(DraRegistrationFault fault, const std::string& text) {
  const std::lock_guard lock(impl_->state->mutex);
  impl_->state->fault = fault;
  impl_->state->fault_text = text;
  ++impl_->state->fault_version;
  impl_->state->Changed();
}

void DraManager::CancelCalls(const std::string& driver) {
  if (const auto run = impl_->Run()) (*run)->CancelCalls(driver);
}

}  // namespace patchbay
