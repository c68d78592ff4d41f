// The writer and the reader are inverse for slices that Patchbay wrote: a plan compares what the
// reader returns with what the writer gets.
//
// The reader takes each member in a statement of its own: a TRY that returns from within a braced
// initializer would leak the members before it.

#include "dra/slice_json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/json.h"
#include "dra/device_name.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kSliceVersion = "resource.k8s.io/v1";
constexpr std::string_view kSliceKind = "ResourceSlice";

/// The maximum length of a text of the API: a label name with its domain has 317 bytes.
constexpr std::size_t kMaxApiText = 512;
constexpr std::size_t kMaxTaintsRead = 64;
constexpr std::size_t kMaxOwnersRead = 64;
constexpr const char* kNodeKind = "Node";

/// The API server cuts a longer prefix, possibly after a dot, which makes the name invalid.
constexpr std::size_t kMaxGenerateName = 58;

/// Fields of a device that change where it is scheduled and that Patchbay never writes.
constexpr const char* kForeignDeviceFields[] = {
    "nodeName",
    "nodeSelector",
    "allNodes",
    "consumesCounters",
    "bindsToNode",
    "bindingConditions",
    "nodeAllocatableResources",
    "bindingFailureConditions",
    "skipNodeOperations",
};

OrderedJson CapacityJson(const DeviceCapacity& capacity) {
  OrderedJson json = {{"value", QuantityText(capacity.value)}};
  if (!capacity.policy) return json;
  const auto set = [](OrderedJson& object, const char* key, const std::optional<Quantity>& value) {
    if (value) object[key] = QuantityText(*value);
  };
  OrderedJson& policy = json["requestPolicy"];
  set(policy, "default", capacity.policy->by_default);
  if (!capacity.policy->min) return json;
  OrderedJson& range = policy["validRange"];
  set(range, "min", capacity.policy->min);
  set(range, "max", capacity.policy->max);
  set(range, "step", capacity.policy->step);
  return json;
}

OrderedJson TaintJson(const DeviceTaint& taint) {
  OrderedJson json = {{"key", taint.key}};
  if (!taint.value.empty()) json["value"] = taint.value;
  json["effect"] = Name(taint.effect);
  if (!taint.time_added.empty()) json["timeAdded"] = taint.time_added;
  return json;
}

OrderedJson DeviceJson(const SliceDevice& device) {
  OrderedJson json = {{"name", device.name}};
  for (const auto& [name, value] : device.attributes) {
    json["attributes"][name] = AttributeJson(value);
  }
  for (const auto& [name, capacity] : device.capacity) {
    json["capacity"][name] = CapacityJson(capacity);
  }
  if (device.allow_multiple_allocations) json["allowMultipleAllocations"] = true;
  for (const DeviceTaint& taint : device.taints) json["taints"].push_back(TaintJson(taint));
  return json;
}

OrderedJson SpecJson(const ResourceSlice& slice, const SliceOwner& owner) {
  OrderedJson devices = OrderedJson::array();
  for (const SliceDevice& device : slice.devices) devices.push_back(DeviceJson(device));
  return {{"driver", owner.driver},
          {"nodeName", owner.node_name},
          {"pool",
           {{"name", slice.pool},
            {"generation", slice.generation},
            {"resourceSliceCount", slice.slice_count}}},
          {"devices", std::move(devices)}};
}

/// Bytes that are not UTF-8 cannot occur in what ComputePool returns.
std::string SliceText(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string ObjectJson(OrderedJson metadata, const ResourceSlice& slice, const SliceOwner& owner) {
  metadata["ownerReferences"] = OrderedJson::array({{{"apiVersion", "v1"},
                                                     {"kind", kNodeKind},
                                                     {"name", owner.node_name},
                                                     {"uid", owner.node_uid},
                                                     {"controller", true}}});
  return SliceText({{"apiVersion", kSliceVersion},
                    {"kind", kSliceKind},
                    {"metadata", std::move(metadata)},
                    {"spec", SpecJson(slice, owner)}});
}

std::string GenerateName(std::size_t index, const SliceOwner& owner) {
  std::string name = Format("{:05x}-{}-{}", index, owner.driver, owner.node_name);
  name.resize(std::min(name.size(), kMaxGenerateName - 1));
  while (name.ends_with('.') || name.ends_with('-')) name.pop_back();
  return name + "-";
}

Result<SliceKey> ReadSliceKey(const nlohmann::json& metadata) {
  SliceKey key;
  key.name = TRY(TextMember(metadata, "name", kMaxApiText));
  key.uid = TRY(TextMember(metadata, "uid", kMaxApiText));
  key.resource_version = TRY(TextMember(metadata, "resourceVersion", kMaxApiText));
  if (!IsDnsSubdomain(key.name))
    return Fail(ErrorKind::kInvalid, "\"name\" must be a DNS subdomain");
  if (!IsUid(key.uid)) {
    return Fail(ErrorKind::kInvalid, "\"uid\" must be letters, digits and \"-\"");
  }
  if (key.resource_version.empty() || !IsPrintable(key.resource_version)) {
    return Fail(ErrorKind::kInvalid, "\"resourceVersion\" must not be empty");
  }
  return key;
}

/// Returns the value of an attribute; nothing for a type that Patchbay does not write.
std::optional<AttributeValue> ReadAttribute(const nlohmann::json& attribute) {
  if (!attribute.is_object() || attribute.size() != 1) return std::nullopt;
  const std::string& key = attribute.begin().key();
  const nlohmann::json& value = attribute.begin().value();
  if (value.is_string() && value.get_ref<const std::string&>().size() > kMaxApiText) {
    return std::nullopt;
  }
  const auto* const name = std::ranges::find(kAttributeTypeNames, key);
  switch (static_cast<AttributeType>(name - std::begin(kAttributeTypeNames))) {
    case AttributeType::kString:
      if (value.is_string()) return value.get<std::string>();
      break;
    case AttributeType::kVersion:
      if (value.is_string()) return SemanticVersion{value.get<std::string>()};
      break;
    case AttributeType::kBool:
      if (value.is_boolean()) return value.get<bool>();
      break;
    case AttributeType::kInt: {
      const bool is_too_large =
          value.is_number_unsigned() &&
          value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
      if (value.is_number_integer() && !is_too_large) return value.get<std::int64_t>();
      break;
    }
  }
  return std::nullopt;
}

Status ReadAttributes(const nlohmann::json& object, SliceDevice& device) {
  const nlohmann::json* const attributes = TRY(ObjectMember(object, "attributes"));
  if (attributes == nullptr) return {};
  device.attributes.reserve(std::min(attributes->size(), kMaxAttributes));
  for (const auto& [name, attribute] : attributes->items()) {
    auto value = ReadAttribute(attribute);
    if (value && name.size() <= kMaxApiText && device.attributes.size() < kMaxAttributes) {
      device.attributes.emplace(name, std::move(*value));
    } else {
      device.has_foreign_fields = true;
    }
  }
  return {};
}

/// Returns a quantity, or nothing if it is absent. Any other value is foreign.
Result<std::optional<Quantity>> ReadQuantity(const nlohmann::json& object, const char* key,
                                             SliceDevice& device) {
  if (!HasMember(object, key)) return std::optional<Quantity>();
  const auto quantity = ParseQuantity(TRY(TextMember(object, key, kMaxApiText)));
  if (!quantity) device.has_foreign_fields = true;
  return quantity;
}

Result<SharePolicy> ReadPolicy(const nlohmann::json& object, SliceDevice& device) {
  SharePolicy policy;
  const auto by_default = TRY(ReadQuantity(object, "default", device));
  if (!by_default || HasMember(object, "validValues")) device.has_foreign_fields = true;
  policy.by_default = by_default.value_or(0);
  const nlohmann::json* const range = TRY(ObjectMember(object, "validRange"));
  if (range == nullptr) return policy;
  policy.min = TRY(ReadQuantity(*range, "min", device));
  if (!policy.min) {
    device.has_foreign_fields = true;
    return policy;
  }
  policy.max = TRY(ReadQuantity(*range, "max", device));
  policy.step = TRY(ReadQuantity(*range, "step", device));
  return policy;
}

Status ReadCapacities(const nlohmann::json& object, SliceDevice& device) {
  const nlohmann::json* const capacities = TRY(ObjectMember(object, "capacity"));
  if (capacities == nullptr) return {};
  for (const auto& [name, capacity] : capacities->items()) {
    if (!capacity.is_object()) {
      return Fail(ErrorKind::kInvalid, "each entry of \"capacity\" must be an object");
    }
    if (name.size() > kMaxApiText || device.capacity.size() == kMaxAttributes) {
      device.has_foreign_fields = true;
      continue;
    }
    DeviceCapacity read;
    const auto value = TRY(ReadQuantity(capacity, "value", device));
    if (!value) device.has_foreign_fields = true;
    read.value = value.value_or(0);
    if (const nlohmann::json* const policy = TRY(ObjectMember(capacity, "requestPolicy"))) {
      read.policy = TRY(ReadPolicy(*policy, device));
    }
    device.capacity.emplace(name, read);
  }
  return {};
}

Status ReadTaints(const nlohmann::json& object, SliceDevice& device) {
  const nlohmann::json* const taints = TRY(ObjectsMember(object, "taints", kMaxTaintsRead));
  if (taints == nullptr) return {};
  for (const nlohmann::json& taint : *taints) {
    const std::string effect = TRY(TextMember(taint, "effect", kMaxApiText));
    const auto* const known = std::ranges::find(kTaintEffectNames, effect);
    if (known == std::end(kTaintEffectNames)) {
      device.has_foreign_fields = true;
      continue;
    }
    DeviceTaint read;
    read.key = TRY(TextMember(taint, "key", kMaxApiText));
    read.value = TRY(TextMember(taint, "value", kMaxApiText));
    read.effect = static_cast<TaintEffect>(known - std::begin(kTaintEffectNames));
    read.time_added = TRY(TextMember(taint, "timeAdded", kMaxApiText));
    device.taints.push_back(std::move(read));
  }
  return {};
}

Result<SliceDevice> ReadDevice(const nlohmann::json& object) {
  SliceDevice device;
  device.name = TRY(TextMember(object, "name", kMaxLabel));
  TRY(ReadAttributes(object, device));
  TRY(ReadCapacities(object, device));
  device.allow_multiple_allocations = TRY(BoolMember(object, "allowMultipleAllocations"));
  TRY(ReadTaints(object, device));
  for (const char* field : kForeignDeviceFields) {
    if (HasMember(object, field)) device.has_foreign_fields = true;
  }
  return device;
}

/// Returns the UID of the Node that owns the object; empty if there is none.
Result<std::string> ReadOwnerUid(const nlohmann::json& metadata) {
  const nlohmann::json* const owners =
      TRY(ObjectsMember(metadata, "ownerReferences", kMaxOwnersRead));
  if (owners == nullptr) return std::string();
  for (const nlohmann::json& owner : *owners) {
    if (TRY(TextMember(owner, "kind", kMaxApiText)) == kNodeKind) {
      return TextMember(owner, "uid", kMaxApiText);
    }
  }
  return std::string();
}

}  // namespace

nlohmann::ordered_json AttributeJson(const AttributeValue& value) {
  nlohmann::ordered_json json;
  const auto set = [&, key = kAttributeTypeNames[value.index()]](const auto& v) {
    if constexpr (std::is_same_v<std::decay_t<decltype(v)>, SemanticVersion>) {
      json[key] = v.text;
    } else {
      json[key] = v;
    }
  };
  std::visit(set, value);
  return json;
}

nlohmann::ordered_json DeviceClassJson(std::string_view resource, std::string_view driver) {
  nlohmann::ordered_json json;
  json["apiVersion"] = kSliceVersion;
  json["kind"] = "DeviceClass";
  json["metadata"]["name"] = DeviceClassName(resource);
  json["spec"]["extendedResourceName"] = resource;
  // Strings of CEL in single quotes need no escapes in JSON and YAML. Neither name has a quote.
  json["spec"]["selectors"].emplace_back()["cel"]["expression"] = Format(
      "device.driver == '{0}' && device.attributes['{0}'].resource == '{1}'", driver, resource);
  return json;
}

std::string CreationJson(const SliceCreation& creation, const SliceOwner& owner) {
  return ObjectJson({{"generateName", GenerateName(creation.index, owner)}}, creation.slice, owner);
}

std::string UpdateJson(const SliceUpdate& update, const SliceOwner& owner) {
  return ObjectJson({{"name", update.key.name},
                     {"uid", update.key.uid},
                     {"resourceVersion", update.key.resource_version}},
                    update.slice, owner);
}

std::string DeletionJson(const SliceKey& key) {
  OrderedJson preconditions = {{"uid", key.uid}};
  if (!key.resource_version.empty()) preconditions["resourceVersion"] = key.resource_version;
  return SliceText({{"apiVersion", "v1"},
                    {"kind", "DeleteOptions"},
                    {"preconditions", std::move(preconditions)}});
}

Result<PublishedSlice> ReadSliceHead(const nlohmann::json& object) {
  // Items of a list have no kind of their own.
  const std::string kind = TRY(TextMember(object, "kind", kMaxApiText));
  const std::string version = TRY(TextMember(object, "apiVersion", kMaxApiText));
  if ((!kind.empty() && kind != kSliceKind) || (!version.empty() && version != kSliceVersion)) {
    return Fail(ErrorKind::kInvalid,
                Format("the object is not a {} {}", kSliceVersion, kSliceKind));
  }
  const nlohmann::json* const metadata = TRY(ObjectMember(object, "metadata"));
  const nlohmann::json* const spec = TRY(ObjectMember(object, "spec"));
  if (metadata == nullptr || spec == nullptr) {
    return Fail(ErrorKind::kInvalid, "a ResourceSlice must have \"metadata\" and \"spec\"");
  }
  auto key = ReadSliceKey(*metadata);
  if (!key) return Within("metadata of a ResourceSlice", std::move(key).error());
  PublishedSlice published;
  published.key = std::move(*key);
  published.driver = TRY(TextMember(*spec, "driver", kMaxLabel));
  published.node_name = TRY(TextMember(*spec, "nodeName", kMaxSubdomain));
  published.owner_uid = ReadOwnerUid(*metadata).value_or("");
  const auto pool = spec->find("pool");
  if (pool != spec->end()) {
    published.slice.pool = TextMember(*pool, "name", kMaxSubdomain).value_or("");
    published.slice.generation = CountMember(*pool, "generation").value_or(0);
  }
  return published;
}

Result<ResourceSlice> ReadSliceContent(const nlohmann::json& object) {
  const nlohmann::json* const spec = TRY(ObjectMember(object, "spec"));
  if (spec == nullptr) return Fail(ErrorKind::kInvalid, "a ResourceSlice must have \"spec\"");
  const nlohmann::json* const pool = TRY(ObjectMember(*spec, "pool"));
  if (pool == nullptr) return Fail(ErrorKind::kInvalid, "\"pool\" must be an object");
  ResourceSlice slice;
  slice.pool = TRY(TextMember(*pool, "name", kMaxSubdomain));
  slice.generation = TRY(CountMember(*pool, "generation"));
  slice.slice_count = TRY(CountMember(*pool, "resourceSliceCount"));
  const nlohmann::json* const devices = TRY(ObjectsMember(*spec, "devices", kMaxDevicesPerSlice));
  if (devices == nullptr) return slice;
  slice.devices.reserve(devices->size());
  for (const nlohmann::json& each : *devices) {
    auto device = ReadDevice(each);
    if (!device) {
      return Within(Format("devices[{}]", slice.devices.size()), std::move(device).error());
    }
    slice.devices.push_back(std::move(*device));
  }
  return slice;
}

Result<PublishedSlice> ParseSlice(std::string_view json) {
  const auto object = ParseJson(json);
  if (!object) return Within("the ResourceSlice", object.error());
  PublishedSlice published = TRY(ReadSliceHead(*object));
  auto slice = ReadSliceContent(*object);
  if (!slice) {
    return Within(Format("spec of the ResourceSlice \"{}\"", published.key.name),
                  std::move(slice).error());
  }
  published.slice = std::move(*slice);
  return published;
}

Result<ResourceSlice> ParseUnstoredSlice(std::string_view json) {
  const auto object = ParseJson(json);
  if (!object) return Within("the ResourceSlice", object.error());
  return ReadSliceContent(*object);
}

}  // namespace patchbay
