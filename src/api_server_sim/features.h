#pragma once

#include <string_view>

#include "api_server_sim/api_error.h"
#include "api_server_sim/kinds.h"

namespace patchbay::api_sim {

/// A release of Kubernetes with its default feature gates.
enum class ApiProfile { k1_34, k1_35, k1_36 };

/// The feature gates that decide about fields of stored objects. Each member is named after its
/// gate.
struct ApiFeatures {
  bool device_taints = true;
  bool consumable_capacity = true;
  bool extended_resource = true;
  bool partitionable_devices = true;
  bool binding_conditions = true;
  bool list_type_attributes = false;  ///< alpha in all profiles
};

/// Returns the gates that are on by default in a release: in 1.34 and 1.35 none of them, in 1.36
/// all but the last one.
ApiFeatures FeaturesOf(ApiProfile profile);
/// "1.36"
std::string_view VersionOf(ApiProfile profile);

/// Removes the fields of features that are off, without a report, as the real server does. A field
/// is kept if the stored object `old` uses the same feature; `old` is null for a new object.
void DropDisabledFields(Kind kind, Json& object, const Json* old, const ApiFeatures& features);

/// Sets the defaults of fields that the server sets when it decodes an object. `now` is the time in
/// the form of the API.
void SetDefaults(Kind kind, Json& object, std::string_view now);

}  // namespace patchbay::api_sim
