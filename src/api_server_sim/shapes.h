#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "api_server_sim/api_error.h"
#include "api_server_sim/kinds.h"

namespace patchbay::api_sim {

/// The type of a value in an object of the API, as its Go type defines it.
enum class ValueType {
  kString,         ///< left out if empty
  kStringPointer,  ///< kept if empty
  kBool,
  kInt,       ///< int64
  kQuantity,  ///< a string or a number, kept as a string
  kTime,      ///< RFC 3339
  kObject,    ///< with the given fields; others are dropped
  kList,      ///< left out if empty
  kMap,       ///< left out if empty
  kRaw,       ///< any JSON
};

struct FieldShape;

/// The shape of a value: its type, and that of its parts.
struct Shape {
  ValueType type = ValueType::kRaw;
  std::span<const FieldShape> fields = {};  ///< of kObject
  const Shape* element = nullptr;           ///< of kList and kMap
};

struct FieldShape {
  std::string_view name;
  const Shape& shape;
};

extern const Shape kNodeShape;
extern const Shape kResourceSliceShape;
extern const Shape kResourceClaimShape;
extern const Shape kDeviceClassShape;

/// The maximum nesting of a body. The real server accepts 10,000 levels; no valid object comes
/// near.
inline constexpr int kMaxJsonDepth = 100;

/// Parses the body of a request. Fails with 400 if it is not a JSON object or nested too deeply.
ApiResult<Json> ParseBody(std::string_view body);

/// Returns the fields of `object` that the kind has: unknown fields, nulls and empty optional
/// values are dropped without a report, as the real server does unless a client requests strict
/// validation. Fails with 400 if a value has the wrong type.
ApiResult<Json> Decode(const Json& object, const KindInfo& info);

/// Returns the fields of the DeleteOptions in the body of a DELETE that the server supports. Fails
/// with 400 like ParseBody and Decode.
ApiResult<Json> DecodeDeleteOptions(std::string_view body);

}  // namespace patchbay::api_sim
