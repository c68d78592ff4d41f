#pragma once

#include "kubelet_sim/admission.h"
#include "kubelet_sim/registry.h"
#include "podresources.pb.h"

namespace patchbay {

/// Returns the List response of the PodResources API for the pods with devices: one entry for each
/// device and NUMA node, so that a device can be repeated. The NUMA nodes are
/// those of the device's last list. A pod "ns/name" is in the namespace ns, others in "default".
v1::ListPodResourcesResponse PodList(const PodDevices& pods, const Registry& registry);

}  // namespace patchbay
