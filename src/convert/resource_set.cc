#include "convert/resource_set.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "config/reporter.h"
#include "convert/pools.h"

namespace patchbay {

bool ResourceSet::Add(const NewResource& resource, const SourceLocation& place,
                      const Manifest::Container& container) {
  auto& known = by_name_[resource.name];
  Added added{WriteToml({{}, {resource}, {}}), place, &container, NodeNamesOf(container),
              resources_.size()};
  const auto equal = std::ranges::find(known, added.toml, &Added::toml);
  const bool is_equal = equal != known.end();
  const auto is_for_other_nodes = [&](const Added& other) {
    return !other.nodes.empty() && std::ranges::none_of(other.nodes, [&](const std::string& node) {
      return added.nodes.contains(node);
    });
  };
  const bool can_differ =
      !added.nodes.empty() && std::ranges::all_of(known, [&](const Added& other) {
        return other.toml == added.toml || is_for_other_nodes(other);
      });
  if (is_equal && (known.size() == 1 || can_differ)) {
    Merge(*equal, added, resource.name);
    return true;
  }
  if (!known.empty() && !can_differ) {
    ReportDuplicate(resource.name, added, known.front());
    return false;
  }
  if (!known.empty()) {
    findings_.Assumed(
        place,
        Format("{} differs from the one at {}; both are converted, with the names of their nodes "
               "in `on_nodes`",
               resource.name, Where(known.front().place)),
        "check that `kubectl get nodes` shows these names");
  }
  known.push_back(std::move(added));
  resources_.push_back(resource);
  return true;
}

void ResourceSet::Merge(Added& known, const Added& added, const std::string& name) {
  findings_.Ignored(added.place, Format("{} is the same as at {}", name, Where(known.place)));
  const bool has_both = !known.nodes.empty() && !added.nodes.empty();
  known.nodes.insert(added.nodes.begin(), added.nodes.end());
  if (!has_both) known.nodes.clear();
}

void ResourceSet::ReportDuplicate(const std::string& name, const Added& added, const Added& first) {
  const bool has_other_nodes =
      added.container != first.container && !NodesOf(*added.container).empty();
  findings_.CannotConvert(
      added.place, Format("duplicate device {}, first defined at {}", name, Where(first.place)),
      has_other_nodes
          ? Format("it is for the nodes with {}: use --output helm, which writes a pool for them, "
                   "or give both resources `on_nodes` with the names of their nodes",
                   Truncate(NodesOf(*added.container), 300))
          : "combine the groups of both in one device");
}

std::vector<NewResource> ResourceSet::Take() && {
  for (const auto& [name, all] : by_name_) {
    if (all.size() == 1) continue;
    for (const Added& added : all) {
      resources_[added.index].on_nodes = {added.nodes.begin(), added.nodes.end()};
    }
  }
  return std::move(resources_);
}

}  // namespace patchbay
