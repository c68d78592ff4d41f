#pragma once

#include <string>
#include <string_view>

namespace patchbay::api_sim {

/// The kinds of objects that the server stores.
enum class Kind { kNode, kResourceSlice, kResourceClaim, kDeviceClass };

/// The properties of a kind in the API.
struct KindInfo {
  Kind kind;
  std::string_view name;         ///< "ResourceSlice"
  std::string_view plural;       ///< "resourceslices"
  std::string_view api_version;  ///< "resource.k8s.io/v1"; "v1" in the core group
  bool is_namespaced;

  /// Returns a name as messages of the server have it: "nodes", "resourceslices.resource.k8s.io".
  std::string WithGroup(std::string_view name_or_plural) const;
};

const KindInfo& InfoOf(Kind kind);
/// Returns null if the server has no such resource.
const KindInfo* FindKind(std::string_view api_version, std::string_view plural);

}  // namespace patchbay::api_sim
