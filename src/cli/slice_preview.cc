#include "cli/slice_preview.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "dra/device_name.h"
#include "dra/wanted_pool.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

Json ValueJson(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, SemanticVersion>) {
          return v.text;
        } else {
          return v;
        }
      },
      value);
}

}  // namespace

std::optional<SlicePreview> PreviewSlices(const std::shared_ptr<const Snapshot>& snapshot,
                                          const std::string& node_name) {
  if (snapshot->spec->api != Api::kDra) return std::nullopt;
  const NamedDevices named(snapshot);
  const DeviceIds allocated;
  WantedPool pool = ComputePool({.devices = named, .node_name = node_name, .allocated = allocated});
  SlicePreview preview{.pool = std::move(pool.name),
                       .device_class = DeviceClassName(snapshot->spec->name),
                       .slices = pool.not_served.empty() ? SlicesFor(pool.devices.size()) : 0,
                       .devices = {},
                       .problems = {},
                       .not_served = std::move(pool.not_served)};
  preview.devices.reserve(pool.devices.size());
  for (SliceDevice& device : pool.devices) {
    preview.devices.push_back({named.Find(device.name)->device->id, std::move(device)});
  }
  preview.problems.reserve(pool.problems.size());
  for (const PoolProblem& problem : pool.problems) preview.problems.push_back(ProblemText(problem));
  return preview;
}

std::optional<std::string> IdOfSliceName(const std::shared_ptr<const Snapshot>& snapshot,
                                         std::string_view name) {
  if (snapshot->spec->api != Api::kDra) return std::nullopt;
  const NamedDevices named(snapshot);
  const ListedDevice* listed = named.Find(name);
  return listed == nullptr ? std::nullopt : std::optional(listed->device->id);
}

Json AttributesJson(const Attributes& attributes) {
  Json json = Json::object();
  for (const auto& [name, value] : attributes) json[name] = ValueJson(value);
  return json;
}

Json EntryJson(const SliceDevice* entry) {
  Json json = {{"slice_name", nullptr},
               {"attributes", Json::object()},
               {"slots", nullptr},
               {"capacity", Json::object()},
               {"taints", Json::array()}};
  if (entry == nullptr) return json;
  json["slice_name"] = entry->name;
  json["attributes"] = AttributesJson(entry->attributes);
  for (const auto& [name, capacity] : entry->capacity) {
    if (name == kSlots) {
      json["slots"] = CountOf(capacity.value).value_or(0);
    } else {
      json["capacity"][name] = QuantityText(capacity.value);
    }
  }
  for (const DeviceTaint& taint : entry->taints) {
    json["taints"].push_back({{"key", taint.key}, {"effect", Name(taint.effect)}});
  }
  return json;
}

Json PreviewJson(const SlicePreview& preview) {
  Json devices = Json::array();
  for (const SlicePreview::Device& device : preview.devices) {
    Json& json = devices.emplace_back(Json{{"id", device.id}});
    json.update(EntryJson(&device.entry));
  }
  return {{"pool", preview.pool},         {"device_class", preview.device_class},
          {"slices", preview.slices},     {"devices", std::move(devices)},
          {"problems", preview.problems}, {"not_served", preview.not_served}};
}

}  // namespace patchbay
