#include "daemon/hidden_resources.h"

#include <set>
#include <string_view>

namespace patchbay {

HiddenResources HiddenFrom(const Model& model, const ResourceSpecs& here) {
  std::set<std::string_view> served;
  for (const auto& spec : here) served.insert(spec->name);
  HiddenResources hidden;
  for (const ResourceSpec& spec : model.resources) {
    if (served.contains(spec.name)) continue;
    HiddenResource& resource = hidden.emplace_back(HiddenResource{spec.name, spec.description, {}});
    for (const NamePattern& pattern : spec.on_nodes) resource.on_nodes.push_back(pattern.text());
  }
  return hidden;
}

}  // namespace patchbay
