// Each function causes one fault and records what End must undo: whether the kubelet must be
// started, which resources have faults, and how often a plugin had a reason to back off. A plugin
// that has backed off too often waits longer than the checks do, which is correct behavior. End
// then restarts the kubelet, because a plugin registers at once with a new kubelet.

#include "chaos/kubelet_faults.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/format.h"

namespace patchbay::test {
namespace {

namespace fs = std::filesystem;

/// After more consecutive setbacks, a plugin may back off for longer than the checks wait.
constexpr int kMaxSetbacks = 2;

/// Without kRateLimited, after which the daemon correctly sends no calls for a minute.
constexpr std::pair<PodResourcesFault, const char*> kPodResources[] = {
    {PodResourcesFault::kNone, "answered"},
    {PodResourcesFault::kAbsent, "absent"},
    {PodResourcesFault::kOnlyV1alpha1, "old"},
    {PodResourcesFault::kUnimplemented, "unimplemented"},
    {PodResourcesFault::kUnknownError, "failed"},
    {PodResourcesFault::kHang, "hung"},
    {PodResourcesFault::kGarbage, "garbage"},
    {PodResourcesFault::kTooLong, "too long"}};

std::string NameOf(PodResourcesFault fault) {
  return std::find_if(std::begin(kPodResources), std::end(kPodResources),
                      [&](const auto& known) { return known.first == fault; })
      ->second;
}

/// Removes a directory while other processes may create files in it.
void RemoveBusy(const std::string& path) {
  std::error_code error;
  do {
    fs::remove_all(path, error);
  } while (error);
}

}  // namespace

std::string KubeletFaults::FreshStart() {
  setbacks_.clear();
  needs_start_ = false;
  ++starts_;
  const Status started = kubelet_.Start();
  return started ? "" : ", which failed: " + started.error().message;
}

std::string KubeletFaults::Restart() {
  kubelet_.Stop();
  return "the kubelet restarts" + FreshStart();
}

std::string KubeletFaults::Crash() {
  kubelet_.Crash();
  needs_start_ = true;
  return "the kubelet crashes";
}

std::string KubeletFaults::Stop() {
  kubelet_.Stop();
  needs_start_ = true;
  return "the kubelet stops";
}

std::string KubeletFaults::Start() {
  if (kubelet_.Running()) return "the kubelet runs";
  return "the kubelet starts" + FreshStart();
}

std::string KubeletFaults::WipeDirectory() {
  std::error_code error;
  for (fs::directory_iterator entry(kubelet_.directory(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    fs::remove(entry->path(), gone);
  }
  needs_start_ = true;
  return "the kubelet's directory is wiped";
}

std::string KubeletFaults::ReplaceDirectory(Random& random) {
  kubelet_.Crash();
  const std::string directory = kubelet_.directory(), old = directory + ".old";
  std::error_code error;
  fs::rename(directory, old, error);
  const bool starts = random.OneIn(2);
  const std::string with =
      starts ? " as the kubelet starts" + FreshStart() : ", the kubelet is down";
  if (!starts) {
    needs_start_ = true;
    if (random.OneIn(2)) fs::create_directory(directory, error);
  }
  RemoveBusy(old);
  return "the kubelet's directory is replaced" + with;
}

std::string KubeletFaults::FailRegister(const std::string& resource, Random& random) {
  static constexpr RegisterFault kFaults[] = {RegisterFault::kNeverDial, RegisterFault::kNeverWatch,
                                              RegisterFault::kUnimplemented,
                                              RegisterFault::kUnknownError, RegisterFault::kHang};
  const std::string of = random.OneIn(3) ? "" : resource;
  const RegisterFault fault = random.OneOf(kFaults);
  kubelet_.SetRegisterFault(fault, of);
  faults_.insert(of);
  return Format("Register of {} fails in way {}", of.empty() ? "all" : of, static_cast<int>(fault));
}

std::string KubeletFaults::BreakStreams(const std::string& resource, Random& random) {
  ++setbacks_[resource];
  // If the connection breaks before the stream has started, the registration counts as failed, and
  // the plugin correctly waits longer, too.
  const auto view = kubelet_.View(resource);
  if (!view || view->streams == 0 || view->silent_streams > 0) setbacks_[resource] += kMaxSetbacks;
  if (random.OneIn(2)) {
    kubelet_.ZombieCancel(resource);
    return "the kubelet takes the end of an old stream for one of " + resource;
  }
  kubelet_.DropStreams(resource);
  return "the streams of " + resource + " break";
}

std::string KubeletFaults::OpenStreams(const std::string& resource, Random& random) {
  const std::size_t streams = 1 + random.Below(3);
  const bool reading = random.OneIn(2);
  (void)kubelet_.OpenExtraStreams(resource, static_cast<int>(streams), reading);
  extra_.insert(resource);
  extra_streams_ += streams;
  return Format("{} more streams of {}{}", streams, resource, reading ? "" : ", which do not read");
}

void KubeletFaults::CloseStreams() {
  for (const std::string& resource : extra_) kubelet_.CloseExtraStreams(resource);
  extra_.clear();
  extra_streams_ = 0;
}

std::string KubeletFaults::StopReading(const std::string& resource) {
  kubelet_.StopReading(resource);
  unread_.insert(resource);
  return "the kubelet does not read the streams of " + resource;
}

std::string KubeletFaults::ResumeReading(const std::string& resource) {
  kubelet_.ResumeReading(resource);
  unread_.erase(resource);
  return "the kubelet reads the streams of " + resource;
}

std::string KubeletFaults::DeleteSocket(const std::string& resource) {
  ++setbacks_[resource];
  std::error_code gone;
  if (const auto view = kubelet_.View(resource)) fs::remove(view->endpoint, gone);
  return "the socket of " + resource + " is deleted";
}

std::string KubeletFaults::BreakPodResources() {
  SetPodResources(kPodResources[++pod_resources_turn_ % std::size(kPodResources)].first);
  return "the PodResources API is " + NameOf(pod_resources_);
}

std::string KubeletFaults::RepairPodResources() {
  SetPodResources(PodResourcesFault::kNone);
  return "the PodResources API responds";
}

bool KubeletFaults::WasPodResourcesCalled() const {
  return pod_resources_ == PodResourcesFault::kAbsent ||
         kubelet_.PodResourcesCalls() > calls_before_;
}

void KubeletFaults::SetPodResources(PodResourcesFault fault) {
  const std::size_t calls = kubelet_.PodResourcesCalls();
  calls_[NameOf(pod_resources_)] += calls - calls_before_;
  // Without a socket there are no calls.
  if (fault == PodResourcesFault::kAbsent) ++calls_[NameOf(fault)];
  calls_before_ = calls;
  pod_resources_ = fault;
  (void)kubelet_.SetPodResourcesFault(fault);
}

std::string KubeletFaults::End(Random& random) {
  for (const std::string& resource : unread_) kubelet_.ResumeReading(resource);
  if (random.OneIn(2)) CloseStreams();
  for (const std::string& resource : faults_) {
    kubelet_.SetRegisterFault(RegisterFault::kNone, resource);
  }
  const bool is_any_cautious =
      !faults_.empty() || std::any_of(setbacks_.begin(), setbacks_.end(),
                                      [](const auto& s) { return s.second > kMaxSetbacks; });
  unread_.clear();
  faults_.clear();
  if (kubelet_.Running() && !needs_start_ && !is_any_cautious) return "the kubelet is well";
  return Restart();
}

}  // namespace patchbay::test
