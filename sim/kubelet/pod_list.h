#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "podresources.pb.h"
#include "sim/kubelet/admission.h"
#include "sim/kubelet/dra_claims.h"
#include "sim/kubelet/registry.h"

namespace patchbay {

/// The names of the claims in `resources.claims` of containers, by pod and container.
using ContainerClaims = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

/// Returns the List response of the PodResources API for the containers with devices or claims.
/// There is one entry for each device and NUMA node, so that a device can be repeated; the NUMA
/// nodes are those of the device's last list. Of the claims, those in `prepared` are reported, with
/// the devices that the driver returned. A pod "ns/name" is in the namespace ns, others in
/// "default".
v1::ListPodResourcesResponse PodList(const PodDevices& pods, const Registry& registry,
                                     const ContainerClaims& claims,
                                     const std::vector<DraClaims::Entry>& prepared);

}  // namespace patchbay
