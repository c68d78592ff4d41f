#include "sim/api_server/features.h"

#include <algorithm>
#include <string>

namespace patchbay::api_sim {
namespace {

/// Named after the gates.
enum class Feature { kDeviceTaints, kConsumableCapacity, kExtendedResource };

/// A field that the server drops if the feature is off.
struct FeatureField {
  Feature feature;
  Kind kind;
  std::string_view parent;  ///< see EachValue
  std::string_view name;
};

constexpr std::string_view kRequests = "spec.devices.requests.*.exactly";
constexpr FeatureField kFeatureFields[] = {
    {Feature::kDeviceTaints, Kind::kResourceSlice, "spec.devices.*", "taints"},
    {Feature::kDeviceTaints, Kind::kResourceClaim, kRequests, "tolerations"},
    {Feature::kConsumableCapacity, Kind::kResourceSlice, "spec.devices.*",
     "allowMultipleAllocations"},
    {Feature::kConsumableCapacity, Kind::kResourceSlice, "spec.devices.*.capacity.*",
     "requestPolicy"},
    {Feature::kConsumableCapacity, Kind::kResourceClaim, kRequests, "capacity"},
    {Feature::kExtendedResource, Kind::kDeviceClass, "spec", "extendedResourceName"},
};

/// Calls `visit` with each value at a path of names, in which "*" stands for all elements.
template <class AnyJson, class Visit>
void EachValue(AnyJson& value, std::string_view path, const Visit& visit) {
  if (path.empty()) return visit(value);
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view name = path.substr(0, dot);
  const std::string_view rest = path.substr(std::min(dot + 1, path.size()));
  if (name == "*") {
    for (AnyJson& element : value) EachValue(element, rest, visit);
  } else if (const auto member = value.find(name); member != value.end()) {
    EachValue(*member, rest, visit);
  }
}

bool Uses(const Json& object, Kind kind, Feature feature) {
  return std::ranges::any_of(kFeatureFields, [&](const FeatureField& row) {
    bool uses = false;
    if (row.feature != feature || row.kind != kind) return uses;
    EachValue(object, row.parent,
              [&](const Json& parent) { uses = uses || parent.contains(row.name); });
    return uses;
  });
}

void SetDefault(Json& object, const char* name, const Json& value) {
  if (!object.contains(name)) object[name] = value;
}

}  // namespace

void DropDisabledFields(Kind kind, Json& object, const Json* old, ApiProfile profile) {
  if (profile == ApiProfile::k1_36) return;
  for (const FeatureField& row : kFeatureFields) {
    if (row.kind != kind || (old != nullptr && Uses(*old, kind, row.feature))) continue;
    EachValue(object, row.parent, [&](Json& parent) { parent.erase(std::string(row.name)); });
  }
}

void SetDefaults(Kind kind, Json& object, std::string_view now) {
  if (kind == Kind::kResourceClaim) {
    EachValue(object, kRequests, [](Json& request) {
      SetDefault(request, "allocationMode", "ExactCount");
      if (request["allocationMode"] == "ExactCount") SetDefault(request, "count", 1);
    });
    EachValue(object, std::string(kRequests) + ".tolerations.*",
              [](Json& toleration) { SetDefault(toleration, "operator", "Equal"); });
  } else if (kind == Kind::kResourceSlice) {
    EachValue(object, "spec.pool", [](Json& pool) { SetDefault(pool, "generation", 0); });
    EachValue(object, "spec.devices.*.taints.*",
              [&](Json& taint) { SetDefault(taint, "timeAdded", now); });
  }
}

}  // namespace patchbay::api_sim
