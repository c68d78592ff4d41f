// Owns the instance that runs now, and what survives a restart of it. Start, Stop and Crash replace
// the instance; all other functions take a reference to it and call the function of the same name,
// or RemoveEndedPods for Release.

#include "sim/kubelet/kubelet_sim.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "model/spec.h"
#include "sim/kubelet/kubelet_instance.h"
#include "sim/kubelet/registration_rules.h"
#include "sim/kubelet/sim_state.h"

namespace patchbay {
namespace {

KubeletSimOptions Complete(KubeletSimOptions options) {
  if (!options.cleanup) {
    options.cleanup = options.profile == KubeletProfile::kMulti ? KubeletCleanup::kSocketsOnly
                                                                : KubeletCleanup::kAllFiles;
  }
  if (!options.authority) {
    options.authority = options.profile == KubeletProfile::kAsync ? KubeletAuthority::kSocketPath
                                                                  : KubeletAuthority::kLocalhost;
  }
  options.directory = JoinEndpoint(options.directory, "");
  return options;
}

}  // namespace

class KubeletSim::Impl {
 public:
  explicit Impl(KubeletSimOptions given)
      : options(Complete(std::move(given))), socket_path(options.directory + "/kubelet.sock") {}

  std::shared_ptr<KubeletInstance> Instance() const {
    const std::lock_guard lock(state->mutex);
    return instance;
  }

  /// Stops the running instance. Returns false if there is none.
  bool StopInstance() {
    std::shared_ptr<KubeletInstance> ended;
    {
      const std::lock_guard lock(state->mutex);
      ended = std::exchange(instance, nullptr);
      state->Changed();
    }
    if (ended) ended->End();
    return ended != nullptr;
  }

  const KubeletSimOptions options;
  const std::string socket_path;
  const std::shared_ptr<SimState> state = std::make_shared<SimState>();
  std::shared_ptr<KubeletInstance> instance;  ///< under the state's mutex; null while not running
};

Result<std::unique_ptr<KubeletSim>> KubeletSim::Create(KubeletSimOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  for (const std::string& path : {impl->socket_path, impl->options.pod_resources}) {
    if (path.size() <= kMaxSocketPath) continue;
    return Fail(ErrorKind::kInvalid,
                Format("{}: longer than the {} bytes of a socket path", path, kMaxSocketPath));
  }
  return std::unique_ptr<KubeletSim>(new KubeletSim(std::move(impl)));
}

KubeletSim::KubeletSim(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

KubeletSim::~KubeletSim() { Stop(); }

Status KubeletSim::Start() {
  if (Running()) return Fail(ErrorKind::kPrecondition, "the kubelet is running");
  const auto instance =
      TRY(KubeletInstance::Begin(impl_->options, impl_->socket_path, impl_->state));
  {
    const std::lock_guard lock(impl_->state->mutex);
    impl_->instance = instance;
    impl_->state->Changed();
  }
  instance->RemoveEndedPods();
  return {};
}

void KubeletSim::Stop() {
  if (!Running()) return;
  // Removes the paths first, so that no client finds a socket that rejects connections.
  unlink(impl_->socket_path.c_str());
  unlink(impl_->options.pod_resources.c_str());
  impl_->StopInstance();
}

void KubeletSim::Crash() { impl_->StopInstance(); }

Status KubeletSim::Restart() {
  Stop();
  return Start();
}

bool KubeletSim::Running() const { return impl_->Instance() != nullptr; }
const std::string& KubeletSim::directory() const { return impl_->options.directory; }
const std::string& KubeletSim::socket_path() const { return impl_->socket_path; }

std::optional<ResourceView> KubeletSim::View(const std::string& resource) const {
  const std::lock_guard lock(impl_->state->mutex);
  if (!impl_->instance) return std::nullopt;
  impl_->instance->Expire(resource);
  return impl_->instance->View(resource);
}

std::vector<std::string> KubeletSim::Resources() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->instance ? impl_->instance->Resources() : std::vector<std::string>{};
}

std::vector<RegisterCall> KubeletSim::RegisterCalls() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->calls;
}

std::size_t KubeletSim::PodResourcesCalls() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->pod_resources_calls;
}

bool KubeletSim::Await(const std::function<bool()>& predicate,
                       std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    std::unique_lock lock(impl_->state->mutex);
    const std::uint64_t seen = impl_->state->version;
    lock.unlock();
    if (predicate()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    lock.lock();
    auto until = deadline;
    if (impl_->instance) {
      // The predicate sees a grace period that ends now in the next iteration.
      until = std::min(until, impl_->instance->NextExpiry().value_or(until));
      impl_->instance->Expire();
    }
    impl_->state->changed.wait_until(lock, until, [&] { return impl_->state->version != seen; });
  }
}

Result<Admitted> KubeletSim::Admit(const std::string& pod, const std::string& container,
                                   const std::string& resource, int n,
                                   const std::set<std::int64_t>& numa) {
  const auto instance = impl_->Instance();
  if (!instance) return Fail(ErrorKind::kUnavailable, "the kubelet is not running");
  return instance->Admit({pod, container, resource}, static_cast<std::size_t>(std::max(n, 0)),
                         numa);
}

Status KubeletSim::StartContainer(const std::string& pod, const std::string& container) {
  const auto instance = impl_->Instance();
  if (!instance) return Fail(ErrorKind::kUnavailable, "the kubelet is not running");
  return instance->StartContainer(pod, container);
}

void KubeletSim::UseClaims(const std::string& pod, const std::string& container,
                           const std::set<std::string>& claims) {
  const std::lock_guard lock(impl_->state->mutex);
  impl_->state->container_claims[{pod, container}] = claims;
  impl_->state->Changed();
}

void KubeletSim::Release(const std::string& pod) {
  {
    const std::lock_guard lock(impl_->state->mutex);
    std::erase_if(impl_->state->container_claims,
                  [&](const auto& entry) { return entry.first.first == pod; });
    impl_->state->ended_pods[pod] = ++impl_->state->last_end;
  }
  if (const auto instance = impl_->Instance()) instance->RemoveEndedPods();
}

void KubeletSim::SetRegisterFault(RegisterFault fault, const std::string& resource,
                                  const std::string& text) {
  const std::lock_guard lock(impl_->state->mutex);
  impl_->state->faults[resource] = {fault, text};
  impl_->state->Changed();
}

Status KubeletSim::SetPodResourcesFault(PodResourcesFault fault) {
  {
    const std::lock_guard lock(impl_->state->mutex);
    impl_->state->pod_resources_fault = fault;
  }
  const auto instance = impl_->Instance();
  return instance ? instance->SetPodResourcesFault(fault) : Status();
}

void KubeletSim::DropStreams(const std::string& resource) {
  if (const auto instance = impl_->Instance()) instance->DropStreams(resource);
}

void KubeletSim::ZombieCancel(const std::string& resource) {
  if (const auto instance = impl_->Instance()) instance->ZombieCancel(resource);
}

Status KubeletSim::OpenExtraStreams(const std::string& resource, int n, bool reading) {
  const auto instance = impl_->Instance();
  if (!instance) return Fail(ErrorKind::kPrecondition, "the kubelet is not running");
  return instance->OpenExtraStreams(resource, n, reading);
}

void KubeletSim::CloseExtraStreams(const std::string& resource) {
  if (const auto instance = impl_->Instance()) instance->CloseExtraStreams(resource);
}

void KubeletSim::StopReading(const std::string& resource) {
  if (const auto instance = impl_->Instance()) instance->SetReading(resource, false);
}

void KubeletSim::ResumeReading(const std::string& resource) {
  if (const auto instance = impl_->Instance()) instance->SetReading(resource, true);
}

}  // namespace patchbay
