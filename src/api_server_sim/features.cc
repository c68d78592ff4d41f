// A feature owns members of three places of a slice (its spec, its devices, and their attributes
// and capacities), of the requests and results of a claim, and of the spec of a class. One table
// lists them; dropping a feature and asking whether an object uses it walk the same places.

#include "api_server_sim/features.h"

#include <functional>

#include "api_server_sim/field_errors.h"

namespace patchbay::api_sim {
namespace {

/// The place of a field within an object.
enum class Place {
  kSliceSpec,
  kDevice,
  kAttribute,
  kCapacity,
  kClassSpec,
  kClaimRequest,  ///< the request, "exactly" and each alternative
  kClaimResult,
};

struct FeatureField {
  bool ApiFeatures::*feature;
  Place place;
  std::string_view name;
};

constexpr FeatureField kFeatureFields[] = {
    {&ApiFeatures::device_taints, Place::kDevice, "taints"},
    {&ApiFeatures::device_taints, Place::kClaimRequest, "tolerations"},
    {&ApiFeatures::device_taints, Place::kClaimResult, "tolerations"},
    {&ApiFeatures::consumable_capacity, Place::kDevice, "allowMultipleAllocations"},
    {&ApiFeatures::consumable_capacity, Place::kCapacity, "requestPolicy"},
    {&ApiFeatures::consumable_capacity, Place::kClaimRequest, "capacity"},
    {&ApiFeatures::consumable_capacity, Place::kClaimResult, "shareID"},
    {&ApiFeatures::consumable_capacity, Place::kClaimResult, "consumedCapacity"},
    {&ApiFeatures::extended_resource, Place::kClassSpec, "extendedResourceName"},
    {&ApiFeatures::partitionable_devices, Place::kSliceSpec, "sharedCounters"},
    {&ApiFeatures::partitionable_devices, Place::kSliceSpec, "perDeviceNodeSelection"},
    {&ApiFeatures::partitionable_devices, Place::kDevice, "consumesCounters"},
    {&ApiFeatures::partitionable_devices, Place::kDevice, "nodeName"},
    {&ApiFeatures::partitionable_devices, Place::kDevice, "nodeSelector"},
    {&ApiFeatures::partitionable_devices, Place::kDevice, "allNodes"},
    {&ApiFeatures::binding_conditions, Place::kDevice, "bindsToNode"},
    {&ApiFeatures::binding_conditions, Place::kDevice, "bindingConditions"},
    {&ApiFeatures::binding_conditions, Place::kDevice, "bindingFailureConditions"},
    {&ApiFeatures::binding_conditions, Place::kClaimResult, "bindingConditions"},
    {&ApiFeatures::binding_conditions, Place::kClaimResult, "bindingFailureConditions"},
    {&ApiFeatures::list_type_attributes, Place::kAttribute, "ints"},
    {&ApiFeatures::list_type_attributes, Place::kAttribute, "bools"},
    {&ApiFeatures::list_type_attributes, Place::kAttribute, "strings"},
    {&ApiFeatures::list_type_attributes, Place::kAttribute, "versions"},
};

using Visit = std::function<void(Place, Json&)>;

/// Calls `visit` for each element of a list or map that may be absent.
void VisitAll(Json& parent, const char* name, const std::function<void(Json&)>& visit) {
  if (!parent.is_object() || !parent.contains(name)) return;
  for (Json& element : parent[name]) visit(element);
}

void VisitSlice(Json& slice, const Visit& visit) {
  if (!slice.contains("spec")) return;
  visit(Place::kSliceSpec, slice["spec"]);
  VisitAll(slice["spec"], "devices", [&](Json& device) {
    visit(Place::kDevice, device);
    VisitAll(device, "attributes", [&](Json& value) { visit(Place::kAttribute, value); });
    VisitAll(device, "capacity", [&](Json& value) { visit(Place::kCapacity, value); });
  });
}

void VisitRequests(Json& claim, const std::function<void(Json&)>& visit) {
  if (!claim.contains("spec") || !claim["spec"].contains("devices")) return;
  VisitAll(claim["spec"]["devices"], "requests", [&](Json& request) {
    if (request.contains("exactly")) visit(request["exactly"]);
    VisitAll(request, "firstAvailable", visit);
  });
}

void VisitClaim(Json& claim, const Visit& visit) {
  VisitRequests(claim, [&](Json& request) { visit(Place::kClaimRequest, request); });
  if (Member(Member(Member(claim, "status"), "allocation"), "devices").is_null()) return;
  VisitAll(claim["status"]["allocation"]["devices"], "results",
           [&](Json& result) { visit(Place::kClaimResult, result); });
}

void VisitPlaces(Kind kind, Json& object, const Visit& visit) {
  switch (kind) {
    case Kind::kNode: return;
    case Kind::kResourceSlice: return VisitSlice(object, visit);
    case Kind::kResourceClaim: return VisitClaim(object, visit);
    case Kind::kDeviceClass:
      if (object.contains("spec")) visit(Place::kClassSpec, object["spec"]);
      return;
  }
}

/// Turns on the features that an object uses.
void AddFeaturesInUse(Kind kind, const Json& object, ApiFeatures& features) {
  Json copy = object;
  VisitPlaces(kind, copy, [&](Place place, Json& value) {
    for (const FeatureField& row : kFeatureFields) {
      if (row.place == place && value.contains(row.name)) features.*row.feature = true;
    }
  });
}

void SetRequestDefaults(Json& request) {
  if (!request.contains("allocationMode")) request["allocationMode"] = "ExactCount";
  if (request["allocationMode"] == "ExactCount" && !request.contains("count")) request["count"] = 1;
  VisitAll(request, "tolerations", [](Json& toleration) {
    if (!toleration.contains("operator")) toleration["operator"] = "Equal";
  });
}

}  // namespace

ApiFeatures FeaturesOf(ApiProfile profile) {
  if (profile == ApiProfile::k1_36) return {};
  return {.device_taints = false,
          .consumable_capacity = false,
          .extended_resource = false,
          .partitionable_devices = false,
          .binding_conditions = false};
}

std::string_view VersionOf(ApiProfile profile) {
  switch (profile) {
    case ApiProfile::k1_34: return "1.34";
    case ApiProfile::k1_35: return "1.35";
    case ApiProfile::k1_36: break;
  }
  return "1.36";
}

void DropDisabledFields(Kind kind, Json& object, const Json* old, const ApiFeatures& features) {
  ApiFeatures kept = features;
  if (old != nullptr) AddFeaturesInUse(kind, *old, kept);
  VisitPlaces(kind, object, [&](Place place, Json& value) {
    for (const FeatureField& row : kFeatureFields) {
      if (row.place == place && !(kept.*row.feature)) value.erase(std::string(row.name));
    }
  });
}

void SetDefaults(Kind kind, Json& object, std::string_view now) {
  if (kind == Kind::kResourceClaim) VisitRequests(object, SetRequestDefaults);
  if (kind != Kind::kResourceSlice || !object.contains("spec")) return;
  if (object["spec"].contains("pool")) {
    Json& pool = object["spec"]["pool"];
    if (!pool.contains("generation")) pool["generation"] = 0;
  }
  VisitAll(object["spec"], "devices", [&](Json& device) {
    VisitAll(device, "taints", [&](Json& taint) {
      if (!taint.contains("timeAdded")) taint["timeAdded"] = now;
    });
  });
}

}  // namespace patchbay::api_sim
