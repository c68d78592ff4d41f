#pragma once

#include "kubelet_sim/admission.h"
#include "kubelet_sim/registry.h"
#include "podresources.pb.h"

namespace patchbay {

/// What List of the PodResources API says of the pods that were given devices: one entry for each
/// device and NUMA node, so that a device may come several times (contract 6). The NUMA nodes are
/// those of the device's last list. A pod "ns/name" is in the namespace ns, others in "default".
v1::ListPodResourcesResponse PodList(const PodDevices& pods, const Registry& registry);

}  // namespace patchbay
