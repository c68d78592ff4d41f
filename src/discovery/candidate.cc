#include "discovery/candidate.h"

#include "base/path.h"

namespace patchbay {

std::string Candidate::label() const {
  if (!device->nodes.empty()) return device->nodes.front().path;
  // Only devices with nodes are known from the last scan.
  return find->syspath.empty() ? find->identity : std::string(BaseName(find->syspath));
}

MatchReport::Thing Candidate::thing() const {
  MatchReport::Thing thing{device->id, {}, find == nullptr ? "" : find->syspath};
  for (const DeviceNode& node : device->nodes) thing.paths.push_back(node.path);
  if (device->nodes.empty() && !thing.syspath.empty()) thing.paths.push_back(thing.syspath);
  if (device->id.empty() && thing.paths.empty()) thing.id = find->identity;
  return thing;
}

}  // namespace patchbay
