#include "soak/pods.h"

#include "base/format.h"

namespace patchbay::test {

std::string Pods::Toml() {
  return Format("[[resource]]\nname = \"{}\"\n[[resource.match]]\ncount = 32\n", kResource);
}

Status Pods::ComeAndGo() {
  const std::size_t number = ++pods_;
  const std::string pod = Format("pod-{}", number);
  const auto admitted = kubelet_.Admit(pod, "main", kResource, 1 + static_cast<int>(number % 3));
  kubelet_.Release(pod);
  if (!admitted) {
    if (admitted.error().kind == ErrorKind::kUnavailable) ++cut_off_;
    return Failure(admitted.error());
  }
  // A kubelet that has just started does not know the resource yet and admits without devices.
  if (admitted->device_ids.empty()) return Fail(ErrorKind::kUnavailable, "the resource is unknown");
  ++admitted_;
  devices_ += admitted->device_ids.size();
  return {};
}

}  // namespace patchbay::test
