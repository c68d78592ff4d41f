#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/toml_writer.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"

namespace patchbay {

/// The resources of a file while it is converted. Equal resources are written once. Several with
/// the same name that differ have `on_nodes`, if the names of their nodes are known and no node has
/// two of them.
class ResourceSet {
 public:
  /// `findings` must outlive it.
  explicit ResourceSet(Findings& findings) : findings_(findings) {}

  /// Adds the resource at `place`, which `container` reads; empty if it is not known. Returns
  /// false, with an error, if there is another one of its name that it cannot be combined with.
  bool Add(const NewResource& resource, const SourceLocation& place,
           const Manifest::Container& container);

  /// Returns the resources in the order in which they were added.
  std::vector<NewResource> Take() &&;

 private:
  struct Added {
    std::string toml;
    SourceLocation place;
    const Manifest::Container* container;
    std::set<std::string> nodes;  ///< their names; empty if they are not known
    std::size_t index;            ///< in resources_
  };
  void Merge(Added& known, const Added& added, const std::string& name);
  void ReportDuplicate(const std::string& name, const Added& added, const Added& first);

  Findings& findings_;
  std::vector<NewResource> resources_;
  std::map<std::string, std::vector<Added>> by_name_;
};

}  // namespace patchbay
