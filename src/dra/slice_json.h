#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dra/resource_slice.h"
#include "dra/slice_plan.h"

namespace patchbay {

/// The JSON of ResourceSlice and DeviceClass of resource.k8s.io/v1. What the API server returns is
/// untrusted. Pure.

/// Returns the DeviceClass of a resource, by which pods request its devices, with its keys in the
/// order of manifests. It is an object of the cluster that an administrator applies; the daemon
/// never writes it. It selects the devices that `driver` publishes with the attribute `resource`,
/// and serves requests in `limits`. Both are valid names.
nlohmann::ordered_json DeviceClassJson(std::string_view resource, std::string_view driver);

/// Returns an attribute as {"string": "…"}, with the key of its type.
nlohmann::ordered_json AttributeJson(const AttributeValue& value);

/// The driver and the Kubernetes node of all slices that the daemon writes.
struct SliceOwner {
  std::string driver;
  std::string node_name;
  std::string node_uid;  ///< of the Node object, which owns the slices: they are deleted with it
};

/// Return the body of a POST, a PUT and a DELETE. Keys have a fixed order. The deletion applies
/// only to the version of the slice that the plan has seen, or to any if the key has none.
std::string CreationJson(const SliceCreation& creation, const SliceOwner& owner);
std::string UpdateJson(const SliceUpdate& update, const SliceOwner& owner);
std::string DeletionJson(const SliceKey& key);

/// Reads all of a slice but its content: only the pool of `slice`, "" if that is not valid. Fails
/// with kInvalid.
Result<PublishedSlice> ReadSliceHead(const nlohmann::json& object);

/// Reads the content of a slice. Unknown fields are ignored, because new releases of Kubernetes add
/// fields with defaults; fields that exist today and that Patchbay never writes set
/// has_foreign_fields. Fails with kInvalid if a known field is not of its type, if anything is
/// longer than the API server accepts, or if there are more devices than Patchbay writes.
Result<ResourceSlice> ReadSliceContent(const nlohmann::json& object);

/// Parses a whole slice. Fails like the functions above.
Result<PublishedSlice> ParseSlice(std::string_view json);

/// Parses the spec of a slice that was sent with dryRun=All: it has no resource version, because it
/// was not stored. Fails like ParseSlice.
Result<ResourceSlice> ParseUnstoredSlice(std::string_view json);

}  // namespace patchbay
