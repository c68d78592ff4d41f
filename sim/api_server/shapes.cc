// The shapes repeat the Go types of k8s.io/api, resource/v1. Decode walks an object and its shape
// together: what the shape does not name is dropped, so that the rest of the room works with
// objects of known types only. A shape is an object of fields, a list with the shape of its
// elements, a map with the shape of its values at "*", or the name of a type; "text?" is a pointer
// in Go, whose empty value is kept. Values that no rule reads are "any".

#include "sim/api_server/shapes.h"

#include <cstdint>
#include <utility>

#include "base/format.h"
#include "base/json.h"
#include "model/quantity.h"
#include "sim/api_server/field_errors.h"
#include "sim/api_server/field_rules.h"

namespace patchbay::api_sim {
namespace {

constexpr const char* kMetadata = R"({
  "name": "text", "generateName": "text", "namespace": "text", "uid": "text",
  "resourceVersion": "text", "generation": "int", "creationTimestamp": "time",
  "labels": {"*": "text"}, "annotations": {"*": "text"},
  "ownerReferences": [{"apiVersion": "text", "kind": "text", "name": "text", "uid": "text",
                       "controller": "bool", "blockOwnerDeletion": "bool"}]
})";

constexpr const char* kSlice = R"({
  "driver": "text", "nodeName": "text?",
  "pool": {"name": "text", "generation": "int", "resourceSliceCount": "int"},
  "devices": [{
    "name": "text",
    "attributes": {"*": {"int": "int", "bool": "bool", "string": "text?", "version": "text?"}},
    "capacity": {"*": {
      "value": "quantity",
      "requestPolicy": {
        "default": "quantity", "validValues": ["quantity"],
        "validRange": {"min": "quantity", "max": "quantity", "step": "quantity"}}}},
    "taints": [{"key": "text", "value": "text", "effect": "text", "timeAdded": "time"}],
    "allowMultipleAllocations": "bool"}]
})";

constexpr const char* kClaim = R"({
  "devices": {
    "requests": [{
      "name": "text",
      "exactly": {
        "deviceClassName": "text", "allocationMode": "text", "count": "int",
        "selectors": [{"cel": {"expression": "text"}}],
        "tolerations": [{"key": "text", "operator": "text", "value": "text", "effect": "text",
                         "tolerationSeconds": "int"}],
        "capacity": {"requests": {"*": "quantity"}}}}],
    "constraints": [{"requests": ["text"], "matchAttribute": "text?"}],
    "config": [{"requests": ["text"], "opaque": {"driver": "text", "parameters": "any"}}]}
})";

constexpr const char* kClass = R"({
  "selectors": [{"cel": {"expression": "text"}}], "extendedResourceName": "text?"
})";

/// Returns the shape of a kind with the given spec.
Json WithSpec(Json spec) {
  return {{"apiVersion", "text"},
          {"kind", "text"},
          {"metadata", Json::parse(kMetadata)},
          {"spec", std::move(spec)}};
}

const Json& ShapeOf(Kind kind) {
  /// In the order of Kind.
  static const Json kShapes[] = {WithSpec("any"), WithSpec(Json::parse(kSlice)),
                                 WithSpec(Json::parse(kClaim)), WithSpec(Json::parse(kClass))};
  return kShapes[static_cast<std::size_t>(kind)];
}

ApiFailure WrongType(const Json& value, const std::string& path, std::string_view wanted) {
  return BadRequest(Format("json: cannot unmarshal {} into field {} of type {}", value.type_name(),
                           path, wanted));
}

/// Returns null for a value that is left out.
ApiResult<Json> DecodeText(const Json& value, const std::string& type, const std::string& path) {
  if (type == "quantity") {
    std::string text = value.is_string() ? value.get<std::string>() : Dump(value);
    if (ParseQuantity(text)) return Json(std::move(text));
    return BadRequest(
        Format("field {}: quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
               path));
  }
  if (!value.is_string()) return WrongType(value, path, type == "time" ? "Time" : "string");
  const auto& text = value.get_ref<const std::string&>();
  if (type == "time" && !Accepts(Rule::kTime, text)) return WrongType(value, path, "Time");
  return type == "text" && text.empty() ? Json() : value;
}

ApiResult<Json> DecodeScalar(const Json& value, const std::string& type, const std::string& path) {
  if (type == "any") return value;
  if (type == "bool")
    return value.is_boolean() ? ApiResult<Json>(value) : WrongType(value, path, type);
  if (type != "int") return DecodeText(value, type, path);
  // A number above the maximum of int64 is unsigned.
  const bool is_int64 = value.is_number_integer() &&
                        (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
  return is_int64 ? ApiResult<Json>(value) : WrongType(value, path, "int64");
}

ApiResult<Json> DecodeValue(const Json& value, const Json& shape, const std::string& path) {
  if (shape.is_string()) return DecodeScalar(value, shape.get_ref<const std::string&>(), path);
  const bool is_list = shape.is_array(), is_map = shape.contains("*");
  if (is_list ? !value.is_array() : !value.is_object()) {
    return WrongType(value, path, is_list ? "list" : is_map ? "map" : "object");
  }
  Json decoded = is_list ? Json::array() : Json::object();
  std::size_t index = 0;
  for (const auto& [key, item] : value.items()) {
    const bool is_field = !is_list && !is_map;
    if (is_field && (item.is_null() || !shape.contains(key))) continue;
    const std::string place = is_list  ? At(path, index++)
                              : is_map ? At(path, key)
                                       : path + (path.empty() ? "" : ".") + key;
    const Json& item_shape = is_list ? shape[0] : is_map ? shape["*"] : shape[key];
    auto part = DecodeValue(item, item_shape, place);
    if (!part) return part;
    if (is_field && part->is_null()) continue;
    if (part->is_null()) *part = "";
    if (is_list) {
      decoded.push_back(*std::move(part));
    } else {
      decoded[key] = *std::move(part);
    }
  }
  return (is_list || is_map) && decoded.empty() ? Json() : decoded;
}

}  // namespace

ApiResult<Json> ParseBody(std::string_view body) {
  auto value = ParseJson(body);
  if (!value) return BadRequest("the body " + value.error().message);
  if (!value->is_object()) return BadRequest("the body is not a JSON object");
  return *std::move(value);
}

ApiResult<Json> Decode(const Json& object, const KindInfo& info) {
  auto decoded = DecodeValue(object, ShapeOf(info.kind), "");
  if (!decoded) {
    decoded.error().message = Format("{} in version \"v1\" cannot be handled as a {}: {}",
                                     info.name, info.name, decoded.error().message);
  }
  return decoded;
}

}  // namespace patchbay::api_sim
