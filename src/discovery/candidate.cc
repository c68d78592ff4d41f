#include "discovery/candidate.h"

#include "base/path.h"

namespace patchbay {

std::string Candidate::label() const {
  if (!device->nodes.empty()) return device->nodes.front().path;
  // Only devices with nodes are known from the last scan.
  return draft->syspath.empty() ? draft->identity : std::string(BaseName(draft->syspath));
}

MatchReport::Thing Candidate::thing() const {
  MatchReport::Thing thing{device->id, {}, draft == nullptr ? "" : draft->syspath};
  for (const DeviceNode& node : device->nodes) thing.paths.push_back(node.path);
  if (device->nodes.empty() && !thing.syspath.empty()) thing.paths.push_back(thing.syspath);
  if (device->id.empty() && thing.paths.empty()) thing.id = draft->identity;
  return thing;
}

}  // namespace patchbay
