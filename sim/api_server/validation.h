#pragma once

#include <string>
#include <vector>

#include "sim/api_server/field_errors.h"
#include "sim/api_server/kinds.h"

namespace patchbay::api_sim {

/// Returns the reasons for which the server rejects an object with 422 Invalid, in order of its
/// fields; empty if it is valid. `object` is decoded (shapes.h) and has its defaults and its
/// generated name; `old` is the stored object of an update, or null.
///
/// Slices have all limits of the real server for the fields that Patchbay writes. Claims and
/// classes have the rules against errors in what Patchbay prints and documents: a request names a
/// class, and other parts of a claim refer to requests that exist. CEL is not evaluated.
std::vector<std::string> Validate(const KindInfo& info, const Json& object, const Json* old);

/// The part of Validate for the spec of a slice.
void CheckSlice(const Json& spec, const Json* old_spec, FieldErrors& errors);

}  // namespace patchbay::api_sim
