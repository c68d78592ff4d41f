#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dra/wanted_pool.h"

namespace patchbay::test {

/// Returns a device with an ID and nothing else.
inline ListedDevice Listed(const std::string& id, Health health = Health::kHealthy,
                           const std::string& reason = "") {
  Device device;
  device.id = id;
  return {std::make_shared<const Device>(std::move(device)), health, reason};
}

/// Returns a snapshot of a resource with these devices, which are ordered by ID.
inline std::shared_ptr<const Snapshot> SnapshotOf(std::vector<ListedDevice> devices,
                                                  int replicas = 1,
                                                  const std::string& name = "example.com/serial") {
  auto spec = std::make_shared<ResourceSpec>();
  spec->name = name;
  spec->replicas = replicas;
  spec->claim_env = {"A", "B"};
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->spec = std::move(spec);
  snapshot->devices = std::move(devices);
  return snapshot;
}

}  // namespace patchbay::test
