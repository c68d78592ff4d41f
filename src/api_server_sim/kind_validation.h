#pragma once

#include <string>
#include <string_view>

#include "api_server_sim/field_errors.h"

namespace patchbay::api_sim {

/// The rules of Validate by kind, and those that several kinds share. `old` is null for a new
/// object.

void CheckSlice(const Json& slice, const Json* old, FieldErrors& errors);
void CheckClaim(const Json& claim, const Json* old, FieldErrors& errors);
void CheckClaimStatus(const Json& claim, const Json& old, FieldErrors& errors);
void CheckClass(const Json& device_class, const Json* old, FieldErrors& errors);

/// Each of these checks the member `name` of `object`, which is at `path`.

void CheckImmutable(const Json& object, const Json& old, std::string_view name,
                    const std::string& path, FieldErrors& errors);
/// A DNS subdomain of at most 63 bytes.
void CheckDriverName(const Json& object, std::string_view name, const std::string& path,
                     FieldErrors& errors);
/// DNS subdomains joined by "/", of at most 253 bytes.
void CheckPoolName(const Json& object, std::string_view name, const std::string& path,
                   FieldErrors& errors);
/// A DNS label.
void CheckLabelName(const Json& object, std::string_view name, const std::string& path,
                    FieldErrors& errors);

}  // namespace patchbay::api_sim
