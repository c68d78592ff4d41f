#pragma once

#include <string>
#include <vector>

#include "model/glob.h"

namespace patchbay {

/// The Kubernetes nodes that serve a resource: those whose names match a pattern of `only`, or all
/// if it is empty, but no pattern of `except`. A plain value.
struct NodeFilter {
  std::vector<NamePattern> only;
  std::vector<NamePattern> except;

  bool empty() const { return only.empty() && except.empty(); }
  bool Matches(const std::string& node) const;
  /// Returns the patterns as in the file, those of `except` last: "rack-*", "!rack-1".
  std::vector<std::string> Texts() const;
  bool operator==(const NodeFilter&) const = default;
};

}  // namespace patchbay
