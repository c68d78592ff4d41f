#include "model/hidden_resources.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace patchbay {

HiddenResources HiddenFrom(const Model& model, const ResourceSpecs& here) {
  std::set<std::string_view> served;
  for (const auto& spec : here) served.insert(spec->name);
  HiddenResources hidden;
  for (const ResourceSpec& spec : model.resources) {
    if (served.contains(spec.name)) continue;
    auto known = std::find_if(hidden.begin(), hidden.end(),
                              [&](const HiddenResource& other) { return other.name == spec.name; });
    if (known == hidden.end()) {
      hidden.push_back({spec.name, spec.description, {}});
      known = hidden.end() - 1;
    }
    HiddenResource& resource = *known;
    for (std::string& pattern : spec.on_nodes.Texts()) {
      resource.on_nodes.push_back(std::move(pattern));
    }
  }
  return hidden;
}

}  // namespace patchbay
