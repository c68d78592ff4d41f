// The rules of ResourceClaims and DeviceClasses. The spec of a claim is immutable, so it is checked
// only when the claim is created; its status is checked against the names of its requests. An
// allocation can be set and removed, but not replaced.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api_server_sim/field_rules.h"
#include "api_server_sim/kind_validation.h"
#include "api_server_sim/validation.h"
#include "base/format.h"
#include "model/resource_name.h"

namespace patchbay::api_sim {
namespace {

constexpr std::size_t kMaxExpressionBytes = std::size_t{10} * 1024;

void CheckSelectors(const Json& selectors, const std::string& path, FieldErrors& errors) {
  if (!errors.CheckSize(selectors, kMaxSelectors, path)) return;
  std::size_t index = 0;
  for (const Json& selector : selectors) {
    const std::string place = At(path, index++) + ".cel";
    const std::string_view expression = Text(Member(selector, "cel"), "expression");
    if (expression.empty()) errors.Required(place);
    if (expression.size() > kMaxExpressionBytes) {
      errors.TooLong(place + ".expression", kMaxExpressionBytes);
    }
  }
}

void CheckOpaque(const Json& config, const std::string& path, FieldErrors& errors) {
  if (!config.contains("opaque")) return errors.Required(path + ".opaque");
  const Json& opaque = config["opaque"];
  CheckDriverName(opaque, "driver", path + ".opaque", errors);
  const std::string place = path + ".opaque.parameters";
  const Json& parameters = Member(opaque, "parameters");
  if (parameters.is_null()) return errors.Required(place);
  if (Dump(parameters).size() > kMaxOpaqueBytes) return errors.TooLong(place, kMaxOpaqueBytes);
  errors.Check(parameters.is_object(), place, "<value omitted>", "must be a valid JSON object");
}

/// A request, or one of its alternatives; both name a class and a number of devices.
void CheckRequestOfClass(const Json& request, const std::string& path, FieldErrors& errors) {
  const std::string_view name = Text(request, "deviceClassName");
  if (name.empty()) {
    errors.Required(path + ".deviceClassName");
  } else {
    errors.Check(IsDnsSubdomain(name), path + ".deviceClassName", name, kDnsSubdomainRule);
  }
  CheckSelectors(Member(request, "selectors"), path + ".selectors", errors);
  const std::string_view mode = Text(request, "allocationMode");
  const std::int64_t count = request.value("count", 0L);
  if (mode == "All") {
    errors.Check(count == 0, path + ".count", count,
                 "must not be specified when allocationMode is 'All'");
  } else if (mode == "ExactCount") {
    errors.Check(count > 0, path + ".count", count, "must be greater than zero");
  } else {
    errors.NotSupported(path + ".allocationMode", mode, {"All", "ExactCount"});
  }
}

void CheckRequest(const Json& request, const std::string& path, FieldErrors& errors) {
  CheckLabelName(request, "name", path, errors);
  const bool is_exact = request.contains("exactly");
  const Json& alternatives = Member(request, "firstAvailable");
  if (is_exact && !alternatives.is_null()) {
    errors.Invalid(path, nullptr, "exactly one of `exactly` or `firstAvailable` must be specified");
  } else if (is_exact) {
    CheckRequestOfClass(request["exactly"], path + ".exactly", errors);
  } else if (alternatives.is_null()) {
    errors.Required(path, "exactly one of `exactly` or `firstAvailable` is required");
  } else if (errors.CheckSize(alternatives, kMaxSubRequests, path + ".firstAvailable")) {
    std::size_t index = 0;
    for (const Json& alternative : alternatives) {
      const std::string place = At(path + ".firstAvailable", index++);
      CheckLabelName(alternative, "name", place, errors);
      CheckRequestOfClass(alternative, place, errors);
    }
  }
}

/// Returns the names that a result or a configuration can refer to: "a", "a/b".
std::set<std::string> RequestNames(const Json& claim) {
  std::set<std::string> names;
  for (const Json& request : Member(Member(Member(claim, "spec"), "devices"), "requests")) {
    const std::string name(Text(request, "name"));
    names.insert(name);
    for (const Json& alternative : Member(request, "firstAvailable")) {
      names.insert(name + "/" + std::string(Text(alternative, "name")));
    }
  }
  return names;
}

void CheckRequestRef(const Json& name, const std::set<std::string>& names, const std::string& path,
                     FieldErrors& errors) {
  errors.Check(name.is_string() && names.contains(name.get_ref<const std::string&>()), path, name,
               "must be the name of a request in the claim or the name of a request and a "
               "subrequest separated by '/'");
}

void CheckRequestRefs(const Json& object, const std::set<std::string>& names,
                      const std::string& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const Json& name : Member(object, "requests")) {
    CheckRequestRef(name, names, At(path + ".requests", index++), errors);
  }
}

void CheckAllocation(const Json& allocation, const std::set<std::string>& names,
                     FieldErrors& errors) {
  const std::string path = "status.allocation.devices";
  const Json& devices = Member(allocation, "devices");
  const Json& results = Member(devices, "results");
  if (errors.CheckSize(results, kMaxResults, path + ".results")) {
    std::size_t index = 0;
    for (const Json& result : results) {
      const std::string place = At(path + ".results", index++);
      CheckRequestRef(Member(result, "request"), names, place + ".request", errors);
      CheckDriverName(result, "driver", place, errors);
      CheckPoolName(result, "pool", place, errors);
      CheckLabelName(result, "device", place, errors);
      if (result.contains("shareID")) {
        errors.Check(IsUuid(Text(result, "shareID")), place + ".shareID", result["shareID"],
                     "must be a lowercase UUID in 8-4-4-4-12 format");
      }
    }
  }
  const Json& configs = Member(devices, "config");
  if (!errors.CheckSize(configs, 2 * kMaxConfigs, path + ".config")) return;
  std::size_t index = 0;
  for (const Json& config : configs) {
    const std::string place = At(path + ".config", index++);
    const std::string_view source = Text(config, "source");
    if (source != "FromClass" && source != "FromClaim") {
      errors.NotSupported(place + ".source", source, {"FromClaim", "FromClass"});
    }
    CheckRequestRefs(config, names, place, errors);
    CheckOpaque(config, place, errors);
  }
}

}  // namespace

void CheckClaim(const Json& claim, const Json* old, FieldErrors& errors) {
  if (old != nullptr) {
    errors.Check(Member(claim, "spec") == Member(*old, "spec"), "spec", "<value omitted>",
                 "field is immutable");
    return;
  }
  const Json& devices = Member(Member(claim, "spec"), "devices");
  const Json& requests = Member(devices, "requests");
  if (errors.CheckSize(requests, kMaxRequests, "spec.devices.requests")) {
    std::set<std::string_view> seen;
    std::size_t index = 0;
    for (const Json& request : requests) {
      const std::string path = At("spec.devices.requests", index++);
      CheckRequest(request, path, errors);
      const std::string_view name = Text(request, "name");
      if (!name.empty() && !seen.insert(name).second) errors.Duplicate(path + ".name", name);
    }
  }
  const std::set<std::string> names = RequestNames(claim);
  std::size_t index = 0;
  for (const Json& constraint : Member(devices, "constraints")) {
    CheckRequestRefs(constraint, names, At("spec.devices.constraints", index++), errors);
  }
  const Json& configs = Member(devices, "config");
  if (!errors.CheckSize(configs, kMaxConfigs, "spec.devices.config")) return;
  index = 0;
  for (const Json& config : configs) {
    const std::string path = At("spec.devices.config", index++);
    CheckRequestRefs(config, names, path, errors);
    CheckOpaque(config, path, errors);
  }
}

void CheckClaimStatus(const Json& claim, const Json& old, FieldErrors& errors) {
  const Json& status = Member(claim, "status");
  const Json& reserved = Member(status, "reservedFor");
  if (errors.CheckSize(reserved, kMaxReservedFor, "status.reservedFor")) {
    std::size_t index = 0;
    for (const Json& consumer : reserved) {
      const std::string path = At("status.reservedFor", index++);
      for (const char* field : {"resource", "name", "uid"}) {
        if (Text(consumer, field).empty()) errors.Required(path + "." + field);
      }
    }
  }
  const Json& allocation = Member(status, "allocation");
  if (!reserved.empty() && allocation.is_null()) {
    errors.Forbidden("status.reservedFor", "may not be specified when `allocated` is not set");
  }
  const Json& old_allocation = Member(Member(old, "status"), "allocation");
  if (allocation.is_null()) return;
  if (!old_allocation.is_null()) {
    errors.Check(allocation == old_allocation, "status.allocation", "<value omitted>",
                 "field is immutable");
    return;
  }
  CheckAllocation(allocation, RequestNames(claim), errors);
}

void CheckClass(const Json& device_class, const Json*, FieldErrors& errors) {
  const Json& spec = Member(device_class, "spec");
  CheckSelectors(Member(spec, "selectors"), "spec.selectors", errors);
  const Json& configs = Member(spec, "config");
  if (errors.CheckSize(configs, kMaxConfigs, "spec.config")) {
    std::size_t index = 0;
    for (const Json& config : configs) CheckOpaque(config, At("spec.config", index++), errors);
  }
  const Json& name = Member(spec, "extendedResourceName");
  if (name.is_string() && ProblemWithResourceName(name.get_ref<const std::string&>())) {
    errors.Invalid("spec.extendedResourceName", name, "must be a valid extended resource name");
  }
}

}  // namespace patchbay::api_sim
