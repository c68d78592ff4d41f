#include "discovery/candidate.h"

#include "base/path.h"

namespace patchbay {

std::string Candidate::label() const {
  if (!device->nodes.empty()) return device->nodes.front().path;
  return syspath.empty() ? identity : std::string(BaseName(syspath));
}

MatchReport::Thing Candidate::thing() const {
  MatchReport::Thing thing{device->id, {}, syspath};
  for (const DeviceNode& node : device->nodes) thing.paths.push_back(node.path);
  if (device->nodes.empty() && !syspath.empty()) thing.paths.push_back(syspath);
  if (device->id.empty() && thing.paths.empty()) thing.id = identity;
  return thing;
}

}  // namespace patchbay
