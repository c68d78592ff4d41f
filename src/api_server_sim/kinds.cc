#include "api_server_sim/kinds.h"

#include <algorithm>

#include "api_server_sim/shapes.h"

namespace patchbay::api_sim {
namespace {

constexpr std::string_view kResourceGroup = "resource.k8s.io";
constexpr std::string_view kSliceFields[] = {"spec.driver", "spec.nodeName"};
constexpr std::string_view kNodeFields[] = {"spec.unschedulable"};

constexpr KindInfo kKinds[] = {
    {Kind::kNode, "Node", "nodes", "node", "", "v1", false, true, kNodeFields, kNodeShape},
    {Kind::kResourceSlice, "ResourceSlice", "resourceslices", "resourceslice", kResourceGroup, "v1",
     false, false, kSliceFields, kResourceSliceShape},
    {Kind::kResourceClaim,
     "ResourceClaim",
     "resourceclaims",
     "resourceclaim",
     kResourceGroup,
     "v1",
     true,
     true,
     {},
     kResourceClaimShape},
    {Kind::kDeviceClass,
     "DeviceClass",
     "deviceclasses",
     "deviceclass",
     kResourceGroup,
     "v1",
     false,
     false,
     {},
     kDeviceClassShape},
};

std::string Qualify(std::string_view name, std::string_view group) {
  std::string text(name);
  if (!group.empty()) text.append(".").append(group);
  return text;
}

}  // namespace

std::string KindInfo::ApiVersion() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string KindInfo::QualifiedPlural() const { return Qualify(plural, group); }

std::string KindInfo::QualifiedName() const { return Qualify(name, group); }

std::span<const KindInfo> AllKinds() { return kKinds; }

const KindInfo& InfoOf(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

const KindInfo* FindKind(std::string_view group, std::string_view version,
                         std::string_view plural) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& row) {
        return row.group == group && row.version == version && row.plural == plural;
      });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace patchbay::api_sim
