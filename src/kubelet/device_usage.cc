#include "kubelet/device_usage.h"

#include <utility>

namespace patchbay {

DeviceUsage::DeviceUsage(Loop& loop, std::weak_ptr<PodResources> pod_resources,
                         OnUnverified on_unverified)
    : loop_(&loop),
      pod_resources_(std::move(pod_resources)),
      on_unverified_(std::move(on_unverified)) {
  if (const auto source = pod_resources_.lock()) request_poll_ = source->RequestPoll();
}

void DeviceUsage::OnAllocated() const { request_poll_(); }

void DeviceUsage::QueueReleasesThen(std::set<std::string> devices,
                                    std::function<void()> then) const {
  if (loop_ == nullptr) return then();
  loop_->Post([source = pod_resources_, on_unverified = on_unverified_,
               devices = std::move(devices), then = std::move(then)]() mutable {
    auto finish = [on_unverified = std::move(on_unverified), devices = std::move(devices),
                   then = std::move(then)](bool answered) {
      if (!answered) on_unverified(devices);
      then();
    };
    const auto pod_resources = source.lock();
    return pod_resources ? pod_resources->PollNow(std::move(finish)) : finish(false);
  });
}

}  // namespace patchbay
