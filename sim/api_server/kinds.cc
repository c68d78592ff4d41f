#include "sim/api_server/kinds.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay::api_sim {
namespace {

constexpr std::string_view kResourceApi = "resource.k8s.io/v1";

/// In the order of Kind.
constexpr KindInfo kKinds[] = {
    {Kind::kNode, "Node", "nodes", "v1", false},
    {Kind::kResourceSlice, "ResourceSlice", "resourceslices", kResourceApi, false},
    {Kind::kResourceClaim, "ResourceClaim", "resourceclaims", kResourceApi, true},
    {Kind::kDeviceClass, "DeviceClass", "deviceclasses", kResourceApi, false},
};

}  // namespace

std::string KindInfo::WithGroup(std::string_view name_or_plural) const {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return std::string(name_or_plural);
  return Format("{}.{}", name_or_plural, api_version.substr(0, slash));
}

const KindInfo& InfoOf(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

const KindInfo* FindKind(std::string_view api_version, std::string_view plural) {
  const auto* const found = std::ranges::find_if(kKinds, [&](const KindInfo& row) {
    return row.api_version == api_version && row.plural == plural;
  });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace patchbay::api_sim
