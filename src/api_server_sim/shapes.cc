// The tables below repeat the Go types of k8s.io/api, resource/v1, field by field. Decode walks an
// object and its table together: what the table does not name is dropped, so that the rest of the
// room works with objects of known types only. Values that no rule reads, such as the status of a
// node, are kRaw.

#include "api_server_sim/shapes.h"

#include "api_server_sim/field_rules.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

constexpr Shape kString{ValueType::kString};
constexpr Shape kStringPointer{ValueType::kStringPointer};
constexpr Shape kBool{ValueType::kBool};
constexpr Shape kInt{ValueType::kInt};
constexpr Shape kQuantity{ValueType::kQuantity};
constexpr Shape kTime{ValueType::kTime};
constexpr Shape kRaw{ValueType::kRaw};

constexpr Shape ListOf(const Shape& element) { return {ValueType::kList, {}, &element}; }
constexpr Shape MapOf(const Shape& element) { return {ValueType::kMap, {}, &element}; }
constexpr Shape ObjectOf(std::span<const FieldShape> fields) {
  return {ValueType::kObject, fields, nullptr};
}

constexpr Shape kStrings = ListOf(kString);
constexpr Shape kStringMap = MapOf(kString);
constexpr Shape kQuantityMap = MapOf(kQuantity);
constexpr Shape kQuantities = ListOf(kQuantity);

constexpr FieldShape kOwnerFields[] = {{"apiVersion", kString}, {"kind", kString},
                                       {"name", kString},       {"uid", kString},
                                       {"controller", kBool},   {"blockOwnerDeletion", kBool}};
constexpr Shape kOwner = ObjectOf(kOwnerFields);
constexpr Shape kOwners = ListOf(kOwner);
constexpr FieldShape kMetadataFields[] = {{"name", kString},
                                          {"generateName", kString},
                                          {"namespace", kString},
                                          {"uid", kString},
                                          {"resourceVersion", kString},
                                          {"generation", kInt},
                                          {"creationTimestamp", kTime},
                                          {"deletionTimestamp", kTime},
                                          {"deletionGracePeriodSeconds", kInt},
                                          {"labels", kStringMap},
                                          {"annotations", kStringMap},
                                          {"ownerReferences", kOwners},
                                          {"finalizers", kStrings}};
constexpr Shape kMetadata = ObjectOf(kMetadataFields);

constexpr FieldShape kNodeShapeFields[] = {{"apiVersion", kString},
                                           {"kind", kString},
                                           {"metadata", kMetadata},
                                           {"spec", kRaw},
                                           {"status", kRaw}};

// ResourceSlice

constexpr Shape kInts = ListOf(kInt);
constexpr Shape kBools = ListOf(kBool);
constexpr Shape kStringPointers = ListOf(kStringPointer);
constexpr FieldShape kAttributeFields[] = {{"int", kInt},
                                           {"bool", kBool},
                                           {"string", kStringPointer},
                                           {"version", kStringPointer},
                                           {"ints", kInts},
                                           {"bools", kBools},
                                           {"strings", kStringPointers},
                                           {"versions", kStringPointers}};
constexpr Shape kAttribute = ObjectOf(kAttributeFields);
constexpr Shape kAttributes = MapOf(kAttribute);
constexpr FieldShape kRangeFields[] = {{"min", kQuantity}, {"max", kQuantity}, {"step", kQuantity}};
constexpr Shape kRange = ObjectOf(kRangeFields);
constexpr FieldShape kPolicyFields[] = {
    {"default", kQuantity}, {"validValues", kQuantities}, {"validRange", kRange}};
constexpr Shape kPolicy = ObjectOf(kPolicyFields);
constexpr FieldShape kCapacityFields[] = {{"value", kQuantity}, {"requestPolicy", kPolicy}};
constexpr Shape kCapacity = ObjectOf(kCapacityFields);
constexpr Shape kCapacities = MapOf(kCapacity);
constexpr FieldShape kTaintFields[] = {
    {"key", kString}, {"value", kString}, {"effect", kString}, {"timeAdded", kTime}};
constexpr Shape kTaint = ObjectOf(kTaintFields);
constexpr Shape kTaints = ListOf(kTaint);
constexpr FieldShape kCounterFields[] = {{"value", kQuantity}};
constexpr Shape kCounter = ObjectOf(kCounterFields);
constexpr Shape kCounterMap = MapOf(kCounter);
constexpr FieldShape kConsumptionFields[] = {{"counterSet", kString}, {"counters", kCounterMap}};
constexpr Shape kConsumption = ObjectOf(kConsumptionFields);
constexpr Shape kConsumptions = ListOf(kConsumption);
constexpr FieldShape kCounterSetFields[] = {{"name", kString}, {"counters", kCounterMap}};
constexpr Shape kCounterSet = ObjectOf(kCounterSetFields);
constexpr Shape kCounterSets = ListOf(kCounterSet);
constexpr FieldShape kDeviceFields[] = {{"name", kString},
                                        {"attributes", kAttributes},
                                        {"capacity", kCapacities},
                                        {"consumesCounters", kConsumptions},
                                        {"nodeName", kStringPointer},
                                        {"nodeSelector", kRaw},
                                        {"allNodes", kBool},
                                        {"taints", kTaints},
                                        {"bindsToNode", kBool},
                                        {"bindingConditions", kStrings},
                                        {"bindingFailureConditions", kStrings},
                                        {"allowMultipleAllocations", kBool}};
constexpr Shape kDevice = ObjectOf(kDeviceFields);
constexpr Shape kDevices = ListOf(kDevice);
constexpr FieldShape kPoolFields[] = {
    {"name", kString}, {"generation", kInt}, {"resourceSliceCount", kInt}};
constexpr Shape kPool = ObjectOf(kPoolFields);
constexpr FieldShape kSliceSpecFields[] = {{"driver", kString},
                                           {"pool", kPool},
                                           {"nodeName", kStringPointer},
                                           {"nodeSelector", kRaw},
                                           {"allNodes", kBool},
                                           {"devices", kDevices},
                                           {"perDeviceNodeSelection", kBool},
                                           {"sharedCounters", kCounterSets}};
constexpr Shape kSliceSpec = ObjectOf(kSliceSpecFields);
constexpr FieldShape kSliceShapeFields[] = {
    {"apiVersion", kString}, {"kind", kString}, {"metadata", kMetadata}, {"spec", kSliceSpec}};

// ResourceClaim

constexpr FieldShape kCelFields[] = {{"expression", kString}};
constexpr Shape kCel = ObjectOf(kCelFields);
constexpr FieldShape kSelectorFields[] = {{"cel", kCel}};
constexpr Shape kSelector = ObjectOf(kSelectorFields);
constexpr Shape kSelectors = ListOf(kSelector);
constexpr FieldShape kTolerationFields[] = {{"key", kString},
                                            {"operator", kString},
                                            {"value", kString},
                                            {"effect", kString},
                                            {"tolerationSeconds", kInt}};
constexpr Shape kToleration = ObjectOf(kTolerationFields);
constexpr Shape kTolerations = ListOf(kToleration);
constexpr FieldShape kRequirementFields[] = {{"requests", kQuantityMap}};
constexpr Shape kRequirements = ObjectOf(kRequirementFields);
constexpr FieldShape kExactFields[] = {{"deviceClassName", kString}, {"selectors", kSelectors},
                                       {"allocationMode", kString},  {"count", kInt},
                                       {"adminAccess", kBool},       {"tolerations", kTolerations},
                                       {"capacity", kRequirements}};
constexpr Shape kExact = ObjectOf(kExactFields);
constexpr FieldShape kSubRequestFields[] = {
    {"name", kString},           {"deviceClassName", kString},
    {"selectors", kSelectors},   {"count", kInt},
    {"allocationMode", kString}, {"tolerations", kTolerations},
    {"capacity", kRequirements}};
constexpr Shape kSubRequest = ObjectOf(kSubRequestFields);
constexpr Shape kSubRequests = ListOf(kSubRequest);
constexpr FieldShape kRequestFields[] = {
    {"name", kString}, {"exactly", kExact}, {"firstAvailable", kSubRequests}};
constexpr Shape kRequest = ObjectOf(kRequestFields);
constexpr Shape kRequests = ListOf(kRequest);
constexpr FieldShape kConstraintFields[] = {{"requests", kStrings},
                                            {"matchAttribute", kStringPointer},
                                            {"distinctAttribute", kStringPointer}};
constexpr Shape kConstraint = ObjectOf(kConstraintFields);
constexpr Shape kConstraints = ListOf(kConstraint);
constexpr FieldShape kOpaqueFields[] = {{"driver", kString}, {"parameters", kRaw}};
constexpr Shape kOpaque = ObjectOf(kOpaqueFields);
constexpr FieldShape kClaimConfigFields[] = {{"requests", kStrings}, {"opaque", kOpaque}};
constexpr Shape kClaimConfig = ObjectOf(kClaimConfigFields);
constexpr Shape kClaimConfigs = ListOf(kClaimConfig);
constexpr FieldShape kDeviceClaimFields[] = {
    {"requests", kRequests}, {"constraints", kConstraints}, {"config", kClaimConfigs}};
constexpr Shape kDeviceClaim = ObjectOf(kDeviceClaimFields);
constexpr FieldShape kClaimSpecFields[] = {{"devices", kDeviceClaim}};
constexpr Shape kClaimSpec = ObjectOf(kClaimSpecFields);
constexpr FieldShape kResultFields[] = {{"request", kString},
                                        {"driver", kString},
                                        {"pool", kString},
                                        {"device", kString},
                                        {"adminAccess", kBool},
                                        {"tolerations", kTolerations},
                                        {"bindingConditions", kStrings},
                                        {"bindingFailureConditions", kStrings},
                                        {"shareID", kString},
                                        {"consumedCapacity", kQuantityMap}};
constexpr Shape kAllocated = ObjectOf(kResultFields);
constexpr Shape kAllocatedList = ListOf(kAllocated);
constexpr FieldShape kAllocationConfigFields[] = {
    {"source", kString}, {"requests", kStrings}, {"opaque", kOpaque}};
constexpr Shape kAllocationConfig = ObjectOf(kAllocationConfigFields);
constexpr Shape kAllocationConfigs = ListOf(kAllocationConfig);
constexpr FieldShape kAllocationDevicesFields[] = {{"results", kAllocatedList},
                                                   {"config", kAllocationConfigs}};
constexpr Shape kAllocationDevices = ObjectOf(kAllocationDevicesFields);
constexpr FieldShape kAllocationFields[] = {
    {"devices", kAllocationDevices}, {"nodeSelector", kRaw}, {"allocationTimestamp", kTime}};
constexpr Shape kAllocation = ObjectOf(kAllocationFields);
constexpr FieldShape kConsumerFields[] = {
    {"apiGroup", kString}, {"resource", kString}, {"name", kString}, {"uid", kString}};
constexpr Shape kConsumer = ObjectOf(kConsumerFields);
constexpr Shape kConsumers = ListOf(kConsumer);
constexpr FieldShape kDeviceStatusFields[] = {
    {"driver", kString},  {"pool", kString}, {"device", kString},  {"shareID", kString},
    {"conditions", kRaw}, {"data", kRaw},    {"networkData", kRaw}};
constexpr Shape kDeviceStatus = ObjectOf(kDeviceStatusFields);
constexpr Shape kDeviceStatuses = ListOf(kDeviceStatus);
constexpr FieldShape kClaimStatusFields[] = {
    {"allocation", kAllocation}, {"reservedFor", kConsumers}, {"devices", kDeviceStatuses}};
constexpr Shape kClaimStatus = ObjectOf(kClaimStatusFields);
constexpr FieldShape kClaimShapeFields[] = {{"apiVersion", kString},
                                            {"kind", kString},
                                            {"metadata", kMetadata},
                                            {"spec", kClaimSpec},
                                            {"status", kClaimStatus}};

// DeviceClass

constexpr FieldShape kClassConfigFields[] = {{"opaque", kOpaque}};
constexpr Shape kClassConfig = ObjectOf(kClassConfigFields);
constexpr Shape kClassConfigs = ListOf(kClassConfig);
constexpr FieldShape kClassSpecFields[] = {
    {"selectors", kSelectors}, {"config", kClassConfigs}, {"extendedResourceName", kStringPointer}};
constexpr Shape kClassSpec = ObjectOf(kClassSpecFields);
constexpr FieldShape kClassShapeFields[] = {
    {"apiVersion", kString}, {"kind", kString}, {"metadata", kMetadata}, {"spec", kClassSpec}};

// DeleteOptions

constexpr FieldShape kPreconditionsFields[] = {{"uid", kStringPointer},
                                               {"resourceVersion", kStringPointer}};
constexpr Shape kPreconditions = ObjectOf(kPreconditionsFields);
constexpr FieldShape kDeleteOptionsFields[] = {{"preconditions", kPreconditions},
                                               {"dryRun", kStrings}};
constexpr Shape kDeleteOptions = ObjectOf(kDeleteOptionsFields);

// Decoding

ApiFailure WrongType(const Json& value, const std::string& path, std::string_view wanted) {
  return BadRequest(Format("json: cannot unmarshal {} into field {} of type {}", value.type_name(),
                           path, wanted));
}

ApiResult<Json> DecodeValue(const Json& value, const Shape& shape, const std::string& path);

ApiResult<Json> DecodeObject(const Json& value, const Shape& shape, const std::string& path) {
  if (!value.is_object()) return WrongType(value, path, "object");
  Json object = Json::object();
  for (const FieldShape& field : shape.fields) {
    const auto found = value.find(field.name);
    if (found == value.end() || found->is_null()) continue;
    const std::string name(field.name);
    auto decoded = DecodeValue(*found, field.shape, path.empty() ? name : path + "." + name);
    if (!decoded) return ApiFailure(std::move(decoded).error());
    if (!decoded->is_null()) object[name] = *std::move(decoded);
  }
  return object;
}

ApiResult<Json> DecodeElements(const Json& value, const Shape& shape, const std::string& path) {
  const bool is_list = shape.type == ValueType::kList;
  if (is_list ? !value.is_array() : !value.is_object()) {
    return WrongType(value, path, is_list ? "list" : "map");
  }
  Json elements = is_list ? Json::array() : Json::object();
  std::size_t index = 0;
  for (const auto& [key, item] : value.items()) {
    const std::string place = Format("{}[{}]", path, is_list ? std::to_string(index++) : key);
    auto decoded = DecodeValue(item, *shape.element, place);
    if (!decoded) return ApiFailure(std::move(decoded).error());
    if (is_list) {
      elements.push_back(decoded->is_null() ? Json("") : *std::move(decoded));
    } else {
      elements[key] = decoded->is_null() ? Json("") : *std::move(decoded);
    }
  }
  return elements.empty() ? Json() : elements;
}

ApiResult<Json> DecodeQuantity(const Json& value, const std::string& path) {
  const std::string text = value.is_string() ? value.get<std::string>() : Dump(value);
  if (!ParseQuantity(text)) {
    return BadRequest(
        Format("field {}: quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
               path));
  }
  return Json(text);
}

ApiResult<Json> DecodeNamed(const Json& object, const Shape& shape, std::string_view name,
                            std::string_view version) {
  auto decoded = DecodeObject(object, shape, "");
  if (!decoded) {
    decoded.error().message = Format("{} in version \"{}\" cannot be handled as a {}: {}", name,
                                     version, name, decoded.error().message);
  }
  return decoded;
}

/// Returns null for a value that is left out.
ApiResult<Json> DecodeValue(const Json& value, const Shape& shape, const std::string& path) {
  switch (shape.type) {
    case ValueType::kString:
      if (!value.is_string()) return WrongType(value, path, "string");
      return value.get_ref<const std::string&>().empty() ? Json() : value;
    case ValueType::kStringPointer:
      if (!value.is_string()) return WrongType(value, path, "string");
      return value;
    case ValueType::kBool:
      if (!value.is_boolean()) return WrongType(value, path, "bool");
      return value;
    case ValueType::kInt:
      // A number above the maximum of int64 is unsigned.
      if (!value.is_number_integer() ||
          (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
        return WrongType(value, path, "int64");
      }
      return value;
    case ValueType::kQuantity: return DecodeQuantity(value, path);
    case ValueType::kTime:
      if (!value.is_string() || !IsTime(value.get_ref<const std::string&>())) {
        return WrongType(value, path, "Time, as in 2026-01-31T12:00:00Z");
      }
      return value;
    case ValueType::kObject: return DecodeObject(value, shape, path);
    case ValueType::kList:
    case ValueType::kMap: return DecodeElements(value, shape, path);
    case ValueType::kRaw: break;
  }
  return value;
}

}  // namespace

constexpr Shape kNodeShape = ObjectOf(kNodeShapeFields);
constexpr Shape kResourceSliceShape = ObjectOf(kSliceShapeFields);
constexpr Shape kResourceClaimShape = ObjectOf(kClaimShapeFields);
constexpr Shape kDeviceClassShape = ObjectOf(kClassShapeFields);

ApiResult<Json> ParseBody(std::string_view body) {
  bool too_deep = false;
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMaxJsonDepth;
    return !too_deep;
  };
  Json value = Json::parse(body, limit_depth, /*allow_exceptions=*/false);
  if (too_deep) return BadRequest("the body is nested too deeply");
  if (value.is_discarded()) return BadRequest("the body is not valid JSON");
  if (!value.is_object()) return BadRequest("the body is not a JSON object");
  return value;
}

ApiResult<Json> Decode(const Json& object, const KindInfo& info) {
  return DecodeNamed(object, info.shape, info.name, info.version);
}

ApiResult<Json> DecodeDeleteOptions(std::string_view body) {
  auto options = ParseBody(body);
  if (!options) return options;
  return DecodeNamed(*options, kDeleteOptions, "DeleteOptions", "v1");
}

}  // namespace patchbay::api_sim
