#include "daemon/dra_status_of.h"

namespace patchbay {

DraPoolStatus StatusOfPool(const WantedPool& pool, const NamedDevices& devices) {
  DraPoolStatus status{.pool = pool.name};
  status.devices = pool.devices.size();
  status.not_served = pool.not_served;
  for (const PoolProblem& problem : pool.problems) status.problems.push_back(ProblemText(problem));
  for (const SliceDevice& device : pool.devices) {
    const ListedDevice* listed = device.taints.empty() ? nullptr : devices.Find(device.name);
    if (listed == nullptr) continue;
    status.taints.emplace(listed->device->id, TaintText(device.taints.front()));
  }
  return status;
}

DraClaimStatus StatusOfClaim(const PreparedClaim& prepared) {
  DraClaimStatus status{.uid = prepared.claim.uid,
                        .namespace_name = prepared.claim.namespace_name,
                        .name = prepared.claim.name,
                        .devices = {}};
  for (const PreparedRequest& request : prepared.requests) {
    for (const PreparedDevice& device : request.devices) {
      status.devices.push_back(
          {request.resource, device.device_id, request.request, device.admin_access});
    }
  }
  return status;
}

}  // namespace patchbay
