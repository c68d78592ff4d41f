#pragma once

#include <span>
#include <string>
#include <string_view>

namespace patchbay::api_sim {

struct Shape;

/// The kinds of objects that the server stores.
enum class Kind { kNode, kResourceSlice, kResourceClaim, kDeviceClass };

/// The properties of a kind in the API.
struct KindInfo {
  Kind kind;
  std::string_view name;      ///< "ResourceSlice"
  std::string_view plural;    ///< "resourceslices"
  std::string_view singular;  ///< "resourceslice"
  std::string_view group;     ///< "resource.k8s.io"; "" for the core group
  std::string_view version;   ///< "v1"
  bool is_namespaced;
  bool has_status;  ///< has the subresource "status"
  /// The fields that a fieldSelector can name, other than those of metadata.
  std::span<const std::string_view> selectable_fields;
  const Shape& shape;

  /// "v1", "resource.k8s.io/v1"
  std::string ApiVersion() const;
  /// "nodes", "resourceslices.resource.k8s.io", as messages of the server have it
  std::string QualifiedPlural() const;
  /// "Node", "ResourceSlice.resource.k8s.io"
  std::string QualifiedName() const;
};

/// All kinds.
std::span<const KindInfo> AllKinds();
const KindInfo& InfoOf(Kind kind);
/// Returns null if the server has no such resource.
const KindInfo* FindKind(std::string_view group, std::string_view version, std::string_view plural);

}  // namespace patchbay::api_sim
