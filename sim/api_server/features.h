#pragma once

#include <string_view>

#include "sim/api_server/api_error.h"
#include "sim/api_server/kinds.h"

namespace patchbay::api_sim {

/// A release of Kubernetes with its default feature gates. 1.35 has those of 1.34.
enum class ApiProfile { k1_34, k1_36 };

/// Removes the fields of features that are off, without a report, as the real server does. A field
/// is kept if the stored object `old` uses the same feature; `old` is null for a new object.
void DropDisabledFields(Kind kind, Json& object, const Json* old, ApiProfile profile);

/// Sets the defaults of fields that the server sets when it decodes an object. `now` is the time in
/// the form of the API.
void SetDefaults(Kind kind, Json& object, std::string_view now);

}  // namespace patchbay::api_sim
