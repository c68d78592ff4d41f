// The rules of ResourceSlices, in the order of the real server (pkg/apis/resource/validation). A
// list that is too long is not checked further, as there: one error instead of hundreds.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api_server_sim/field_rules.h"
#include "api_server_sim/kind_validation.h"
#include "api_server_sim/validation.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

constexpr std::string_view kListTypes[] = {"ints", "bools", "strings", "versions"};
constexpr std::string_view kScalarTypes[] = {"int", "bool", "string", "version"};

/// Returns the numeric value of a decoded quantity; 0 if it is absent.
Millis QuantityOf(const Json& object, std::string_view name) {
  return ParseQuantity(Text(object, name)).value_or(0);
}

bool HasListAttribute(const Json& device) {
  const Json& attributes = Member(device, "attributes");
  return std::any_of(attributes.begin(), attributes.end(), [](const Json& attribute) {
    return std::any_of(std::begin(kListTypes), std::end(kListTypes),
                       [&](std::string_view type) { return attribute.contains(type); });
  });
}

void CheckIdentifier(std::string_view name, const std::string& path, FieldErrors& errors) {
  if (name.size() > kMaxIdentifierBytes) errors.TooLong(path, kMaxIdentifierBytes);
  errors.Check(IsCIdentifier(name), path, name, kCIdentifierRule);
}

/// The name of an attribute or a capacity: an identifier, optionally with a domain.
void CheckQualifiedName(std::string_view name, const std::string& path, FieldErrors& errors) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return CheckIdentifier(name, path, errors);
  if (name.find('/', slash + 1) != std::string_view::npos) {
    return errors.Invalid(path, name, "must not contain more than one slash");
  }
  const std::string_view domain = name.substr(0, slash);
  if (domain.empty()) {
    errors.Invalid(path, "", "the domain must not be empty");
  } else {
    if (domain.size() > kMaxDriverBytes) errors.TooLong(path, kMaxDriverBytes);
    errors.Check(IsDnsSubdomain(domain), path, domain, kDnsSubdomainRule);
  }
  if (slash + 1 == name.size()) return errors.Invalid(path, "", "the name must not be empty");
  CheckIdentifier(name.substr(slash + 1), path, errors);
}

void CheckAttributeText(std::string_view value, bool is_version, const std::string& path,
                        FieldErrors& errors) {
  if (is_version) {
    errors.Check(IsSemver(value), path, value,
                 "must be a string compatible with semver.org spec 2.0.0");
  }
  if (value.size() > kMaxAttributeBytes) errors.TooLong(path, kMaxAttributeBytes);
}

void CheckAttribute(const Json& attribute, const std::string& path, FieldErrors& errors) {
  for (const char* type : {"string", "version"}) {
    if (!attribute.contains(type)) continue;
    CheckAttributeText(Text(attribute, type), type == std::string_view("version"),
                       path + "." + type, errors);
  }
  for (const char* type : {"strings", "versions"}) {
    std::size_t index = 0;
    for (const Json& item : Member(attribute, type)) {
      CheckAttributeText(item.get_ref<const std::string&>(), type == std::string_view("versions"),
                         At(path + "." + type, index++), errors);
    }
  }
  if (attribute.size() != 1) {
    errors.Invalid(path, attribute.empty() ? Json("") : attribute,
                   "exactly one value must be specified");
  }
}

std::size_t CountValues(const Json& attributes) {
  std::size_t count = 0;
  for (const Json& attribute : attributes) {
    std::size_t elements = 0;
    for (const std::string_view type : kListTypes) elements += Member(attribute, type).size();
    count += std::max<std::size_t>(elements, 1);
  }
  return count;
}

void CheckRange(const Json& policy, Millis capacity, const std::string& path, FieldErrors& errors) {
  const Json& range = Member(policy, "validRange");
  if (!policy.contains("default")) {
    return errors.Required(path + ".default", "required when validRange is defined");
  }
  const std::string place = path + ".validRange";
  if (!range.contains("min")) {
    return errors.Required(place + ".min", "required when validRange is defined");
  }
  const Millis fallback = QuantityOf(policy, "default"), min = QuantityOf(range, "min");
  errors.Check(min <= capacity, place + ".min", range["min"], "min is larger than capacity value");
  errors.Check(fallback >= min, place + ".default", policy["default"], "default is less than min");
  if (range.contains("max")) {
    const Millis max = QuantityOf(range, "max");
    errors.Check(min <= max, place + ".max", range["min"], "min is larger than max");
    errors.Check(max <= capacity, place + ".max", range["max"],
                 "max is larger than capacity value");
    errors.Check(fallback <= max, place + ".default", policy["default"],
                 "default is more than max");
  }
  if (!range.contains("step")) return;
  const Millis step = QuantityOf(range, "step");
  if (step <= 0) return errors.Invalid(place + ".step", range["step"], "must be greater than zero");
  errors.Check(min + step <= capacity, place + ".step", range["step"],
               "one step is larger than capacity value");
  for (const Json* value : {&Member(policy, "default"), &Member(range, "max")}) {
    if (value->is_null()) continue;
    const Millis number = ParseQuantity(value->get_ref<const std::string&>()).value_or(0);
    errors.Check((number - min) % step == 0, place + ".step", *value,
                 "value is not a multiple of a given step from min");
  }
}

void CheckValidValues(const Json& policy, Millis capacity, const std::string& path,
                      FieldErrors& errors) {
  if (!policy.contains("default")) {
    return errors.Required(path + ".default", "required when validValues is defined");
  }
  const Millis fallback = QuantityOf(policy, "default");
  Millis previous = 0;
  bool has_default = false;
  std::size_t index = 0;
  for (const Json& value : policy["validValues"]) {
    const std::string place = At(path + ".validValues", index);
    const Millis number = ParseQuantity(value.get_ref<const std::string&>()).value_or(0);
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
  const Millis value = QuantityOf(capacity, "value");
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
  errors.Check(IsLabelKey(Text(taint, "key")), path + ".key", Text(taint, "key"), kLabelKeyRule);
  errors.Check(IsLabelValue(Text(taint, "value")), path + ".value", Text(taint, "value"),
               kLabelValueRule);
  const std::string_view effect = Text(taint, "effect");
  if (effect.empty()) return errors.Required(path + ".effect");
  if (effect != "NoExecute" && effect != "NoSchedule" && effect != "None") {
    errors.NotSupported(path + ".effect", effect, {"NoExecute", "NoSchedule", "None"});
  }
}

void CheckCounters(const Json& set, std::string_view name, const std::string& path,
                   FieldErrors& errors) {
  CheckLabelName(set, name, path, errors);
  const Json& counters = Member(set, "counters");
  if (counters.is_null()) return errors.Required(path + ".counters");
  if (!errors.CheckSize(counters, kMaxCounters, path + ".counters")) return;
  for (const auto& [key, value] : counters.items()) {
    errors.Check(IsDnsLabel(key), path + ".counters", key, kDnsLabelRule);
  }
}

void CheckBindingConditions(const Json& device, const std::string& path, FieldErrors& errors) {
  for (const char* name : {"bindingConditions", "bindingFailureConditions"}) {
    const std::string place = path + "." + name;
    const Json& conditions = Member(device, name);
    if (!errors.CheckSize(conditions, kMaxBindingConditions, place)) continue;
    std::size_t index = 0;
    for (const Json& condition : conditions) {
      errors.Check(IsLabelKey(condition.get_ref<const std::string&>()), At(place, index++),
                   condition, kLabelKeyRule);
    }
  }
}

void CheckNodeSelection(const Json& object, const std::string& path,
                        std::initializer_list<std::string_view> names, FieldErrors& errors) {
  std::string set, all;
  int count = 0;
  for (const std::string_view name : names) {
    all.append(all.empty() ? "`" : ", `").append(name).append("`");
    const Json& value = Member(object, name);
    if (value.is_null()) continue;
    const std::string place = path + "." + std::string(name);
    if (value.is_string() && value.get_ref<const std::string&>().empty()) {
      errors.Invalid(place, value, "must be either unset or set to a non-empty string");
    } else if (value.is_boolean() && !value.get<bool>()) {
      errors.Invalid(place, value, "must be either unset or set to true");
    } else {
      set.append(set.empty() ? "`" : ", `").append(name).append("`");
      ++count;
    }
  }
  if (count == 0) return errors.Required(path, Format("exactly one of {} is required", all));
  if (count > 1) {
    errors.Invalid(path, "{" + set + "}",
                   Format("exactly one of {} is required, but multiple fields are set", all));
  }
  if (const std::string_view node = Text(object, "nodeName"); !node.empty()) {
    errors.Check(IsDnsSubdomain(node), path + ".nodeName", node, kDnsSubdomainRule);
  }
}

void CheckDevice(const Json& device, bool selects_nodes, const std::string& path,
                 FieldErrors& errors) {
  CheckLabelName(device, "name", path, errors);
  const Json& attributes = Member(device, "attributes");
  const Json& capacity = Member(device, "capacity");
  if (const std::size_t count = attributes.size() + capacity.size();
      count > kMaxAttributesAndCapacities) {
    errors.Invalid(path, count,
                   Format("the total number of attributes and capacities must not exceed {}",
                          kMaxAttributesAndCapacities));
  }
  if (const std::size_t count = CountValues(attributes); count > kMaxAttributeValues) {
    errors.Invalid(
        path, count,
        Format("the total number of attribute values must not exceed {}", kMaxAttributeValues));
  }
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
  if (errors.CheckSize(taints, kMaxTaints, path + ".taints")) {
    std::size_t index = 0;
    for (const Json& taint : taints) CheckTaint(taint, At(path + ".taints", index++), errors);
  }
  const Json& consumed = Member(device, "consumesCounters");
  if (errors.CheckSize(consumed, kMaxConsumedSets, path + ".consumesCounters")) {
    std::size_t index = 0;
    for (const Json& set : consumed) {
      CheckCounters(set, "counterSet", At(path + ".consumesCounters", index++), errors);
    }
  }
  if (selects_nodes) {
    CheckNodeSelection(device, path, {"nodeName", "nodeSelector", "allNodes"}, errors);
  } else if (device.contains("nodeName") || device.contains("nodeSelector") ||
             device.contains("allNodes")) {
    errors.Invalid(path, nullptr,
                   "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                   "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
  }
  CheckBindingConditions(device, path, errors);
}

void CheckDevices(const Json& spec, FieldErrors& errors) {
  const Json& devices = Member(spec, "devices");
  const bool has_features = std::any_of(devices.begin(), devices.end(), [](const Json& device) {
    return device.contains("taints") || device.contains("consumesCounters") ||
           HasListAttribute(device);
  });
  const std::size_t max = has_features ? kMaxDevicesWithFeatures : kMaxDevices;
  if (!errors.CheckSize(devices, max, "spec.devices")) return;
  const bool selects_nodes = spec.value("perDeviceNodeSelection", false);
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const Json& device : devices) {
    const std::string path = At("spec.devices", index++);
    CheckDevice(device, selects_nodes, path, errors);
    const std::string_view name = Text(device, "name");
    if (!name.empty() && !names.insert(name).second) errors.Duplicate(path, name);
  }
}

}  // namespace

void CheckSlice(const Json& slice, const Json* old, FieldErrors& errors) {
  static const Json kNoSpec = Json::object();
  const Json& spec = slice.contains("spec") ? slice["spec"] : kNoSpec;
  CheckDriverName(spec, "driver", "spec", errors);
  const Json& pool = Member(spec, "pool");
  CheckPoolName(pool, "name", "spec.pool", errors);
  const std::int64_t count = pool.is_object() ? pool.value("resourceSliceCount", 0L) : 0;
  errors.Check(count > 0, "spec.pool.resourceSliceCount", count, "must be greater than zero");
  const std::int64_t generation = pool.is_object() ? pool.value("generation", 0L) : 0;
  errors.Check(generation >= 0, "spec.pool.generation", generation,
               "must be greater than or equal to zero");
  if (old != nullptr) {
    const Json& old_spec = Member(*old, "spec");
    CheckImmutable(pool, Member(old_spec, "pool"), "name", "spec.pool", errors);
    CheckImmutable(spec, old_spec, "driver", "spec", errors);
    CheckImmutable(spec, old_spec, "nodeName", "spec", errors);
  }
  CheckNodeSelection(spec, "spec",
                     {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"}, errors);
  if (spec.contains("sharedCounters") && spec.contains("devices")) {
    errors.Invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed");
  }
  CheckDevices(spec, errors);
  const Json& sets = Member(spec, "sharedCounters");
  if (!errors.CheckSize(sets, kMaxCounterSets, "spec.sharedCounters")) return;
  std::size_t index = 0;
  for (const Json& set : sets) {
    CheckCounters(set, "name", At("spec.sharedCounters", index++), errors);
  }
}

}  // namespace patchbay::api_sim
