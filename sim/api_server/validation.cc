#include "sim/api_server/validation.h"

#include <set>
#include <string_view>

#include "model/resource_name.h"

namespace patchbay::api_sim {
namespace {

constexpr std::size_t kMaxRequests = 32;
constexpr std::size_t kMaxExpressionBytes = std::size_t{10} * 1024;

void CheckMetadata(const KindInfo& info, const Json& metadata, FieldErrors& errors) {
  if (Text(metadata, "name").empty()) {
    errors.Required("metadata.name", "name or generateName is required");
  } else {
    errors.Check(Rule::kDnsSubdomain, "metadata.name", Text(metadata, "name"));
  }
  if (info.is_namespaced) {
    errors.CheckMember(Rule::kDnsLabel, metadata, "metadata", "namespace");
  } else if (metadata.contains("namespace")) {
    errors.Forbidden("metadata.namespace", "not allowed on this type");
  }
  std::size_t index = 0;
  for (const Json& owner : Member(metadata, "ownerReferences")) {
    const std::string path = At("metadata.ownerReferences", index++);
    for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
      errors.Check(!Text(owner, field).empty(), path + "." + field, "", "must not be empty");
    }
  }
}

void CheckSelectors(const Json& object, const std::string& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const Json& selector : Member(object, "selectors")) {
    const std::string place = At(path + ".selectors", index++) + ".cel";
    const std::string_view expression = Text(Member(selector, "cel"), "expression");
    if (expression.empty()) errors.Required(place);
    errors.Check(expression.size() <= kMaxExpressionBytes, place + ".expression", expression.size(),
                 "is too long");
  }
}

void CheckRequest(const Json& request, const std::string& path, FieldErrors& errors) {
  errors.CheckMember(Rule::kDnsLabel, request, path, "name");
  if (!request.contains("exactly")) {
    return errors.Required(path, "exactly one of `exactly` or `firstAvailable` is required");
  }
  const Json& exactly = request["exactly"];
  const std::string place = path + ".exactly";
  errors.CheckMember(Rule::kDnsSubdomain, exactly, place, "deviceClassName");
  CheckSelectors(exactly, place, errors);
  const std::string_view mode = Text(exactly, "allocationMode");
  const std::int64_t count = exactly.value("count", std::int64_t{0});
  errors.Check(mode == "All" || mode == "ExactCount", place + ".allocationMode", mode,
               "must be \"All\" or \"ExactCount\"");
  errors.Check(mode == "All" ? count == 0 : count > 0, place + ".count", count,
               "must be greater than zero, and not be specified when allocationMode is 'All'");
}

void CheckClaim(const Json& spec, FieldErrors& errors) {
  const Json& devices = Member(spec, "devices");
  const Json& requests = Member(devices, "requests");
  if (!errors.CheckSize(requests, kMaxRequests, "spec.devices.requests")) return;
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const Json& request : requests) {
    const std::string path = At("spec.devices.requests", index++);
    CheckRequest(request, path, errors);
    const std::string_view name = Text(request, "name");
    if (!name.empty() && !names.insert(name).second) errors.Duplicate(path + ".name", name);
  }
  for (const char* list : {"constraints", "config"}) {
    index = 0;
    for (const Json& entry : Member(devices, list)) {
      const std::string path = At(std::string("spec.devices.") + list, index++);
      for (const Json& name : Member(entry, "requests")) {
        errors.Check(names.contains(name.get_ref<const std::string&>()), path + ".requests", name,
                     "must be the name of a request in the claim");
      }
      if (entry.contains("matchAttribute")) continue;
      errors.CheckMember(Rule::kDriver, Member(entry, "opaque"), path + ".opaque", "driver");
    }
  }
}

void CheckClass(const Json& spec, FieldErrors& errors) {
  CheckSelectors(spec, "spec", errors);
  const Json& name = Member(spec, "extendedResourceName");
  if (name.is_null()) return;
  errors.Check(!ProblemWithResourceName(Text(spec, "extendedResourceName")),
               "spec.extendedResourceName", name, "must be a valid extended resource name");
}

}  // namespace

std::vector<std::string> Validate(const KindInfo& info, const Json& object, const Json* old) {
  FieldErrors errors;
  CheckMetadata(info, Member(object, "metadata"), errors);
  const Json& spec = Member(object, "spec");
  switch (info.kind) {
    case Kind::kNode: break;
    case Kind::kResourceSlice:
      CheckSlice(spec, old == nullptr ? nullptr : &Member(*old, "spec"), errors);
      break;
    case Kind::kResourceClaim: CheckClaim(spec, errors); break;
    case Kind::kDeviceClass: CheckClass(spec, errors); break;
  }
  return errors.Take();
}

}  // namespace patchbay::api_sim
