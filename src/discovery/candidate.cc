#include "discovery/candidate.h"

#include "base/path.h"

namespace patchbay {

std::string Candidate::label() const {
  if (!device->nodes.empty()) return device->nodes.front().path;
  return syspath.empty() ? identity : std::string(BaseName(syspath));
}

MatchReport::Item Candidate::item() const {
  MatchReport::Item item{device->id, {}, syspath};
  for (const DeviceNode& node : device->nodes) item.paths.push_back(node.path);
  if (device->nodes.empty() && !syspath.empty()) item.paths.push_back(syspath);
  if (device->id.empty() && item.paths.empty()) item.id = identity;
  return item;
}

}  // namespace patchbay
