#pragma once

#include <string_view>

#include "sim/api_server/api_error.h"

namespace patchbay::api_sim {

/// Parses the body of a request. Fails with 400 if it is not a JSON object, or beyond the limits of
/// base/json.h.
ApiResult<Json> ParseBody(std::string_view body);

/// Returns the fields of `object` that the kind has: unknown fields, nulls and empty optional
/// values are dropped without a report, as the real server does unless a client requests strict
/// validation. Fields that Patchbay does not use are unknown here. Fails with 400 if a value has
/// the wrong type.
ApiResult<Json> Decode(const Json& object, const KindInfo& info);

}  // namespace patchbay::api_sim
