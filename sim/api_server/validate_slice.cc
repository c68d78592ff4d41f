// The rules of ResourceSlices, in the order of the real server (pkg/apis/resource/validation). A
// list that is too long is not checked further, as there: one error instead of hundreds.

#include <algorithm>
#include <set>
#include <string>

#include "base/format.h"
#include "model/quantity.h"
#include "sim/api_server/validation.h"

namespace patchbay::api_sim {
namespace {

constexpr std::size_t kMaxDevices = 128;
constexpr std::size_t kMaxDevicesWithTaints = 64;
constexpr std::size_t kMaxAttributesAndCapacities = 32;
constexpr std::size_t kMaxTaints = 16;

/// Returns the numeric value of a decoded quantity; 0 if it is absent.
Quantity QuantityOf(const Json& object, std::string_view name) {
  return ParseQuantity(Text(object, name)).value_or(0);
}

/// The name of an attribute or a capacity: an identifier, optionally with a domain.
void CheckQualifiedName(std::string_view name, const std::string& path, FieldErrors& errors) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return errors.Check(Rule::kIdentifier, path, name);
  errors.Check(Rule::kDriver, path, name.substr(0, slash));
  errors.Check(Rule::kIdentifier, path, name.substr(slash + 1));
}

void CheckAttribute(const Json& attribute, const std::string& path, FieldErrors& errors) {
  if (attribute.contains("string")) {
    errors.Check(Rule::kAttributeText, path + ".string", Text(attribute, "string"));
  }
  if (attribute.contains("version")) {
    errors.Check(Rule::kVersion, path + ".version", Text(attribute, "version"));
  }
  errors.Check(attribute.size() == 1, path, attribute, "exactly one value must be specified");
}

void CheckRange(const Json& policy, Quantity capacity, const std::string& path,
                FieldErrors& errors) {
  const Json& range = Member(policy, "validRange");
  if (!policy.contains("default")) {
    return errors.Required(path + ".default", "required when validRange is defined");
  }
  const std::string place = path + ".validRange";
  if (!range.contains("min")) {
    return errors.Required(place + ".min", "required when validRange is defined");
  }
  const Quantity fallback = QuantityOf(policy, "default"), min = QuantityOf(range, "min");
  errors.Check(min <= capacity, place + ".min", range["min"], "min is larger than capacity value");
  errors.Check(fallback >= min, place + ".default", policy["default"], "default is less than min");
  if (range.contains("max")) {
    const Quantity max = QuantityOf(range, "max");
    errors.Check(min <= max, place + ".max", range["min"], "min is larger than max");
    errors.Check(max <= capacity, place + ".max", range["max"],
                 "max is larger than capacity value");
    errors.Check(fallback <= max, place + ".default", policy["default"],
                 "default is more than max");
  }
  if (!range.contains("step")) return;
  const Quantity step = QuantityOf(range, "step");
  errors.Check(step > 0, place + ".step", range["step"], "must be greater than zero");
  if (step <= 0) return;
  errors.Check(min + step <= capacity, place + ".step", range["step"],
               "one step is larger than capacity value");
  for (const Json* value : {&Member(policy, "default"), &Member(range, "max")}) {
    if (value->is_null()) continue;
    const Quantity number = ParseQuantity(value->get_ref<const std::string&>()).value_or(0);
    errors.Check((number - min) % step == 0, place + ".step", *value,
                 "value is not a multiple of a given step from min");
  }
}

void CheckValidValues(const Json& policy, Quantity capacity, const std::string& path,
                      FieldErrors& errors) {
  if (!policy.contains("default")) {
    return errors.Required(path + ".default", "required when validValues is defined");
  }
  const Quantity fallback = QuantityOf(policy, "default");
  Quantity previous = 0;
  bool has_default = false;
  std::size_t index = 0;
  for (const Json& value : policy["validValues"]) {
    const std::string place = At(path + ".validValues", index);
    const Quantity number = ParseQuantity(value.get_ref<const std::string&>()).value_or(0);
    errors.Check(index++ == 0 || previous <= number, place, value,
                 "values must be sorted in ascending order");
    errors.Check(number <= capacity, place, value, "option is larger than capacity value");
    has_default = has_default || number == fallback;
    previous = number;
  }
  errors.Check(has_default, path + ".validValues", policy["default"],
               "default value is not valid according to the requestPolicy");
}

void CheckCapacity(const Json& capacity, bool is_shared, const std::string& path,
                   FieldErrors& errors) {
  if (!capacity.contains("requestPolicy")) return;
  const std::string place = path + ".requestPolicy";
  if (!is_shared) return errors.Forbidden(place, "allowMultipleAllocations must be true");
  const Json& policy = capacity["requestPolicy"];
  const Quantity value = QuantityOf(capacity, "value");
  const bool has_values = policy.contains("validValues"), has_range = policy.contains("validRange");
  if (has_values && has_range) {
    return errors.Forbidden(place,
                            "exactly one policy can be specified, cannot specify \"validValues\" "
                            "and \"validRange\" at the same time");
  }
  if (has_values) CheckValidValues(policy, value, place, errors);
  if (has_range) CheckRange(policy, value, place, errors);
}

void CheckTaint(const Json& taint, const std::string& path, FieldErrors& errors) {
  errors.Check(Rule::kLabelKey, path + ".key", Text(taint, "key"));
  errors.Check(Rule::kLabelValue, path + ".value", Text(taint, "value"));
  const std::string_view effect = Text(taint, "effect");
  if (effect.empty()) return errors.Required(path + ".effect");
  errors.Check(effect == "NoExecute" || effect == "NoSchedule" || effect == "None",
               path + ".effect", effect, "must be \"NoExecute\", \"NoSchedule\" or \"None\"");
}

void CheckDevice(const Json& device, const std::string& path, FieldErrors& errors) {
  errors.CheckMember(Rule::kDnsLabel, device, path, "name");
  const Json& attributes = Member(device, "attributes");
  const Json& capacity = Member(device, "capacity");
  const std::size_t count = attributes.size() + capacity.size();
  errors.Check(count <= kMaxAttributesAndCapacities, path, count,
               Format("the total number of attributes and capacities must not exceed {}",
                      kMaxAttributesAndCapacities));
  for (const auto& [name, attribute] : attributes.items()) {
    CheckQualifiedName(name, path + ".attributes", errors);
    CheckAttribute(attribute, At(path + ".attributes", name), errors);
  }
  for (const auto& [name, value] : capacity.items()) {
    CheckQualifiedName(name, path + ".capacity", errors);
    CheckCapacity(value, device.value("allowMultipleAllocations", false),
                  At(path + ".capacity", name), errors);
  }
  const Json& taints = Member(device, "taints");
  if (!errors.CheckSize(taints, kMaxTaints, path + ".taints")) return;
  std::size_t index = 0;
  for (const Json& taint : taints) CheckTaint(taint, At(path + ".taints", index++), errors);
}

void CheckDevices(const Json& devices, FieldErrors& errors) {
  const bool has_taints =
      std::ranges::any_of(devices, [](const Json& device) { return device.contains("taints"); });
  const std::size_t max = has_taints ? kMaxDevicesWithTaints : kMaxDevices;
  if (!errors.CheckSize(devices, max, "spec.devices")) return;
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const Json& device : devices) {
    const std::string path = At("spec.devices", index++);
    CheckDevice(device, path, errors);
    const std::string_view name = Text(device, "name");
    if (!name.empty() && !names.insert(name).second) errors.Duplicate(path, name);
  }
}

}  // namespace

void CheckSlice(const Json& spec, const Json* old_spec, FieldErrors& errors) {
  errors.CheckMember(Rule::kDriver, spec, "spec", "driver");
  const Json& pool = Member(spec, "pool");
  errors.CheckMember(Rule::kPool, pool, "spec.pool", "name");
  const std::int64_t count = pool.is_object() ? pool.value("resourceSliceCount", 0L) : 0;
  errors.Check(count > 0, "spec.pool.resourceSliceCount", count, "must be greater than zero");
  const std::int64_t generation = pool.is_object() ? pool.value("generation", 0L) : 0;
  errors.Check(generation >= 0, "spec.pool.generation", generation,
               "must be greater than or equal to zero");
  errors.CheckMember(Rule::kDnsSubdomain, spec, "spec", "nodeName");
  if (old_spec != nullptr) {
    constexpr std::string_view kImmutable = "field is immutable";
    const Json& old_pool = Member(*old_spec, "pool");
    errors.Check(Text(pool, "name") == Text(old_pool, "name"), "spec.pool.name", Text(pool, "name"),
                 kImmutable);
    for (const char* field : {"driver", "nodeName"}) {
      errors.Check(Text(spec, field) == Text(*old_spec, field), std::string("spec.") + field,
                   Text(spec, field), kImmutable);
    }
  }
  CheckDevices(Member(spec, "devices"), errors);
}

}  // namespace patchbay::api_sim
