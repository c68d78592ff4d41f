#include "soak/pods.h"

#include "base/format.h"

namespace patchbay::test {

std::string Pods::Toml() {
  return format("[[resource]]\nname = \"{}\"\n[[resource.match]]\ncount = 32\n", kResource);
}

void Pods::ComeAndGo() {
  const std::size_t number = ++pods_;
  const std::string pod = format("pod-{}", number);
  const auto admitted = kubelet_.Admit(pod, "main", kResource, 1 + static_cast<int>(number % 3));
  if (admitted) {
    // A kubelet that has just started does not know the resource yet and admits without devices.
    admitted_ += admitted->device_ids.empty() ? 0 : 1;
    devices_ += admitted->device_ids.size();
  } else if (admitted.error().kind == ErrorKind::kUnavailable) {
    ++cut_off_;
  }
  kubelet_.Release(pod);
}

}  // namespace patchbay::test
