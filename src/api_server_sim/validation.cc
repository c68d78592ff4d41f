#include "api_server_sim/validation.h"

#include <algorithm>

#include "api_server_sim/field_errors.h"
#include "api_server_sim/field_rules.h"
#include "api_server_sim/kind_validation.h"
#include "base/ascii.h"

namespace patchbay::api_sim {
namespace {

constexpr std::size_t kMaxAnnotationBytes = std::size_t{256} * 1024;

void CheckObjectName(const KindInfo& info, const Json& metadata, FieldErrors& errors) {
  const Json& name = Member(metadata, "name");
  if (name.is_null()) return errors.Required("metadata.name", "name or generateName is required");
  const std::string_view text = Text(metadata, "name");
  if (text.size() > kMaxDnsSubdomain) {
    errors.Invalid("metadata.name", name, "must be no more than 253 characters");
  }
  errors.Check(IsDnsSubdomain(text), "metadata.name", name, kDnsSubdomainRule);
  if (info.is_namespaced) {
    errors.Check(IsDnsLabel(Text(metadata, "namespace")), "metadata.namespace",
                 Member(metadata, "namespace"), kDnsLabelRule);
  } else if (metadata.contains("namespace")) {
    errors.Forbidden("metadata.namespace", "not allowed on this type");
  }
}

void CheckLabels(const Json& metadata, FieldErrors& errors) {
  for (const auto& [key, value] : Member(metadata, "labels").items()) {
    errors.Check(IsLabelKey(key), "metadata.labels", key, kLabelKeyRule);
    errors.Check(IsLabelValue(value.get_ref<const std::string&>()), "metadata.labels", value,
                 kLabelValueRule);
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : Member(metadata, "annotations").items()) {
    errors.Check(IsLabelKey(key), "metadata.annotations", key, kLabelKeyRule);
    bytes += key.size() + value.get_ref<const std::string&>().size();
  }
  if (bytes > kMaxAnnotationBytes) errors.TooLong("metadata.annotations", kMaxAnnotationBytes);
  std::size_t index = 0;
  for (const Json& finalizer : Member(metadata, "finalizers")) {
    errors.Check(IsLabelKey(finalizer.get_ref<const std::string&>()),
                 At("metadata.finalizers", index++), finalizer, kLabelKeyRule);
  }
}

void CheckOwners(const Json& metadata, FieldErrors& errors) {
  const std::string path = "metadata.ownerReferences";
  bool has_controller = false;
  std::size_t index = 0;
  for (const Json& owner : Member(metadata, "ownerReferences")) {
    const std::string place = At(path, index++);
    for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
      if (Text(owner, field).empty()) {
        errors.Invalid(place + "." + field, "", std::string(field) + " must not be empty");
      }
    }
    if (!owner.value("controller", false)) continue;
    if (has_controller) {
      errors.Invalid(path, owner, "Only one reference can have Controller set to true");
    }
    has_controller = true;
  }
}

void CheckImmutableMetadata(const Json& metadata, const Json& old, FieldErrors& errors) {
  for (const char* field : {"name", "namespace", "uid", "creationTimestamp"}) {
    errors.Check(Member(metadata, field) == Member(old, field), std::string("metadata.") + field,
                 Member(metadata, field), "field is immutable");
  }
}

void CheckNothingMore(const Json&, const Json*, FieldErrors&) {}

/// The rules of each kind beyond those of metadata, in the order of Kind.
constexpr void (*kRules[])(const Json&, const Json*, FieldErrors&) = {CheckNothingMore, CheckSlice,
                                                                      CheckClaim, CheckClass};

}  // namespace

void CheckImmutable(const Json& object, const Json& old, std::string_view name,
                    const std::string& path, FieldErrors& errors) {
  errors.Check(Member(object, name) == Member(old, name), path + "." + std::string(name),
               Member(object, name), "field is immutable");
}

void CheckDriverName(const Json& object, std::string_view name, const std::string& path,
                     FieldErrors& errors) {
  const std::string field = path.empty() ? std::string(name) : path + "." + std::string(name);
  const std::string_view driver = Text(object, name);
  if (driver.empty()) return errors.Required(field);
  if (driver.size() > kMaxDriverBytes) errors.TooLong(field, kMaxDriverBytes);
  errors.Check(IsDnsSubdomain(ToLower(driver)), field, driver, kDnsSubdomainRule);
}

void CheckPoolName(const Json& object, std::string_view name, const std::string& path,
                   FieldErrors& errors) {
  const std::string field = path + "." + std::string(name);
  std::string_view pool = Text(object, name);
  if (pool.empty()) return errors.Required(field);
  if (pool.size() > kMaxPoolBytes) errors.TooLong(field, kMaxPoolBytes);
  for (;;) {
    const std::size_t slash = pool.find('/');
    const std::string_view part = pool.substr(0, slash);
    errors.Check(IsDnsSubdomain(part), field, part, kDnsSubdomainRule);
    if (slash == std::string_view::npos) return;
    pool.remove_prefix(slash + 1);
  }
}

void CheckLabelName(const Json& object, std::string_view name, const std::string& path,
                    FieldErrors& errors) {
  const std::string field = path + "." + std::string(name);
  const std::string_view text = Text(object, name);
  if (text.empty()) return errors.Required(field);
  errors.Check(text.size() <= kMaxDnsLabel, field, text, "must be no more than 63 characters");
  errors.Check(IsDnsLabel(text), field, text, kDnsLabelRule);
}

std::vector<Cause> Validate(const KindInfo& info, const Json& object, const Json* old,
                            WriteTarget target) {
  FieldErrors errors;
  const Json& metadata = Member(object, "metadata");
  if (old == nullptr) CheckObjectName(info, metadata, errors);
  if (old != nullptr) CheckImmutableMetadata(metadata, Member(*old, "metadata"), errors);
  CheckLabels(metadata, errors);
  CheckOwners(metadata, errors);
  if (target == WriteTarget::kObject) {
    kRules[static_cast<std::size_t>(info.kind)](object, old, errors);
  } else if (info.kind == Kind::kResourceClaim && old != nullptr) {
    CheckClaimStatus(object, *old, errors);
  }
  return errors.Take();
}

}  // namespace patchbay::api_sim
