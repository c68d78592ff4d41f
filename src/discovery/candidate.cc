#include "discovery/candidate.h"

#include "base/number.h"
#include "base/path.h"
#include "model/variables.h"

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

Result<std::string> IdentityOf(const ResourceSpec& spec, const Candidate& candidate,
                               const std::string& node_name) {
  const MatchSpec& match = spec.matches[candidate.device->match];
  if (!match.id) return candidate.identity;
  Variables variables = VariablesOf(*candidate.device);
  variables.resource = spec.name;
  variables.node_name = node_name;
  if (std::holds_alternative<CountSource>(match.source)) {
    variables.index = ParseNumber<std::int64_t>(candidate.identity).value();
  }
  return match.id->Render(variables);
}

}  // namespace patchbay
