#include "api_server_sim/claim_allocation.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "api_server_sim/allocator.h"
#include "api_server_sim/field_errors.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

constexpr std::string_view kDeleteProtection = "resource.kubernetes.io/delete-protection";

std::vector<Object> ObjectsOf(const Api& api, Kind kind) {
  std::vector<Object> objects;
  const auto stored = api.store().List(kind);
  objects.reserve(stored.size());
  for (const auto& [key, object] : stored) objects.push_back(object);
  return objects;
}

Result<Json> FindClaim(const Api& api, const std::string& namespace_name, const std::string& name) {
  const Object stored = api.store().Find({Kind::kResourceClaim, namespace_name, name});
  if (stored) return *stored;
  return Fail(ErrorKind::kNotFound,
              Format("resource claim {}/{} does not exist; create it first", namespace_name, name));
}

/// Writes a claim, or its status, over any version of it.
Status WriteClaim(Api& api, Json claim, std::string_view subresource, Api::Time now) {
  Json& metadata = claim["metadata"];
  metadata.erase("resourceVersion");
  const std::string target =
      Format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}{}",
             Text(metadata, "namespace"), Text(metadata, "name"), subresource);
  const HttpResponse response =
      api.Handle({.method = "PUT", .target = target, .body = Dump(claim)}, now);
  if (response.status == 200) return {};
  const Json status = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  return Fail(response.status == 409 ? ErrorKind::kPrecondition : ErrorKind::kInvalid,
              std::string(Text(status, "message")));
}

}  // namespace

Status AllocateClaim(Api& api, const std::string& namespace_name, const std::string& name,
                     const std::string& node, Api::Time now) {
  Json claim = TRY(FindClaim(api, namespace_name, name));
  if (!Member(Member(claim, "status"), "allocation").is_null()) return {};
  const AllocationInput input{.node = node,
                              .classes = ObjectsOf(api, Kind::kDeviceClass),
                              .slices = ObjectsOf(api, Kind::kResourceSlice),
                              .claims = ObjectsOf(api, Kind::kResourceClaim)};
  Json allocation = TRY(Allocate(claim, input, [&] { return api.NewUid(); }));
  Json& finalizers = claim["metadata"]["finalizers"];
  if (std::find(finalizers.begin(), finalizers.end(), kDeleteProtection) == finalizers.end()) {
    finalizers.push_back(kDeleteProtection);
  }
  TRY(WriteClaim(api, claim, "", now));
  claim["status"]["allocation"] = std::move(allocation);
  return WriteClaim(api, std::move(claim), "/status", now);
}

Status DeallocateClaim(Api& api, const std::string& namespace_name, const std::string& name,
                       Api::Time now) {
  Json claim = TRY(FindClaim(api, namespace_name, name));
  claim.erase("status");
  TRY(WriteClaim(api, claim, "/status", now));
  Json& finalizers = claim["metadata"]["finalizers"];
  const auto found = std::find(finalizers.begin(), finalizers.end(), kDeleteProtection);
  if (found != finalizers.end()) finalizers.erase(found);
  return WriteClaim(api, std::move(claim), "", now);
}

}  // namespace patchbay::api_sim
