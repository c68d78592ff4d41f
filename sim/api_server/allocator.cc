// Candidates are the devices of complete pools on the node, with what other claims use of them.
// Each request takes the first candidates that fit; what it takes counts as used for the next ones.

#include "sim/api_server/allocator.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "model/quantity.h"
#include "sim/api_server/device_selector.h"
#include "sim/api_server/field_errors.h"

namespace patchbay::api_sim {
namespace {

using Selectors = std::vector<DeviceSelector>;
using Objects = std::vector<std::pair<ObjectKey, Object>>;

/// A device with what is in use.
struct Candidate {
  std::string_view driver;
  std::string_view pool;
  const Json* device = nullptr;
  bool is_used = false;
  std::map<std::string, Quantity> consumed = {};

  std::string_view name() const { return Text(*device, "name"); }
  bool is_shared() const { return device->value("allowMultipleAllocations", false); }
};

std::int64_t NumberIn(const Json& object, const char* name) {
  const Json& value = Member(object, name);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

/// Returns the devices of the node in pools all of whose slices are published.
std::vector<Candidate> FindCandidates(const Objects& objects, std::string_view node) {
  using PoolKey = std::pair<std::string_view, std::string_view>;
  std::map<PoolKey, std::int64_t> generations;
  std::map<PoolKey, std::vector<const Json*>> slices;
  for (const auto& [slice_key, slice] : objects) {
    const Json& spec = Member(*slice, "spec");
    const Json& pool = Member(spec, "pool");
    const PoolKey key{Text(spec, "driver"), Text(pool, "name")};
    const std::int64_t generation = NumberIn(pool, "generation");
    if (const auto known = generations.find(key);
        known == generations.end() || known->second < generation) {
      generations[key] = generation;
      slices[key].clear();
    }
    if (generations[key] == generation) slices[key].push_back(&spec);
  }
  std::vector<Candidate> candidates;
  for (const auto& [slice_key, slice] : objects) {
    const Json& spec = Member(*slice, "spec");
    const Json& pool = Member(spec, "pool");
    const auto& complete = slices[{Text(spec, "driver"), Text(pool, "name")}];
    const bool is_current =
        std::find(complete.begin(), complete.end(), &spec) != complete.end() &&
        static_cast<std::int64_t>(complete.size()) == NumberIn(pool, "resourceSliceCount");
    const bool is_here = Text(spec, "nodeName") == node;
    if (!is_current || !is_here) continue;
    for (const Json& device : Member(spec, "devices")) {
      candidates.push_back({Text(spec, "driver"), Text(pool, "name"), &device});
    }
  }
  return candidates;
}

/// Marks what the results of other claims use.
void MarkUsed(const Objects& claims, std::vector<Candidate>& candidates) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, Candidate*> by_name;
  for (Candidate& candidate : candidates) {
    by_name[{candidate.driver, candidate.pool, candidate.name()}] = &candidate;
  }
  for (const auto& [key, claim] : claims) {
    const Json& allocation = Member(Member(*claim, "status"), "allocation");
    for (const Json& result : Member(Member(allocation, "devices"), "results")) {
      const auto found =
          by_name.find({Text(result, "driver"), Text(result, "pool"), Text(result, "device")});
      if (found == by_name.end()) continue;
      found->second->is_used = true;
      for (const auto& [name, value] : Member(result, "consumedCapacity").items()) {
        found->second->consumed[name] +=
            ParseQuantity(value.get_ref<const std::string&>()).value_or(0);
      }
    }
  }
}

bool Tolerates(const Json& toleration, const Json& taint) {
  const std::string_view key = Text(toleration, "key"), effect = Text(toleration, "effect");
  const bool matches_key = key.empty() || key == Text(taint, "key");
  const bool matches_effect = effect.empty() || effect == Text(taint, "effect");
  const bool matches_value =
      Text(toleration, "operator") == "Exists" || Text(toleration, "value") == Text(taint, "value");
  return matches_key && matches_effect && matches_value;
}

bool ToleratesTaints(const Json& request, const Json& device) {
  const Json& taints = Member(device, "taints");
  const Json& tolerations = Member(request, "tolerations");
  return std::all_of(taints.begin(), taints.end(), [&](const Json& taint) {
    return Text(taint, "effect") == "None" ||
           std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const Json& toleration) { return Tolerates(toleration, taint); });
  });
}

/// Returns the amount of a capacity that a request consumes: what it asks for, rounded up as the
/// policy requires, or the default. Nothing if the policy does not allow it.
std::optional<Quantity> Consumption(const Json& capacity, std::string_view asked) {
  const Quantity value = ParseQuantity(Text(capacity, "value")).value_or(0);
  const Json& policy = Member(capacity, "requestPolicy");
  if (asked.empty()) {
    return policy.is_null() ? value : ParseQuantity(Text(policy, "default")).value_or(value);
  }
  Quantity amount = ParseQuantity(asked).value_or(0);
  for (const Json& option : Member(policy, "validValues")) {
    const Quantity number = ParseQuantity(option.get_ref<const std::string&>()).value_or(0);
    if (number >= amount) return number;
  }
  if (policy.contains("validValues")) return std::nullopt;
  const Json& range = Member(policy, "validRange");
  if (range.is_null()) return amount;
  const Quantity min = ParseQuantity(Text(range, "min")).value_or(0);
  const Quantity step = ParseQuantity(Text(range, "step")).value_or(0);
  amount = std::max(amount, min);
  if (step > 0) amount = min + (amount - min + step - 1) / step * step;
  const auto max = ParseQuantity(Text(range, "max"));
  return max && amount > *max ? std::nullopt : std::optional(amount);
}

/// Returns the capacity that a request would consume of a device; nothing if it does not fit.
std::optional<std::map<std::string, Quantity>> FitCapacity(const Json& request,
                                                           const Candidate& candidate) {
  std::map<std::string, Quantity> consumed;
  const Json& asked = Member(Member(request, "capacity"), "requests");
  const Json& capacities = Member(*candidate.device, "capacity");
  for (const auto& [name, value] : asked.items()) {
    if (!capacities.contains(name)) return std::nullopt;
  }
  for (const auto& [name, capacity] : capacities.items()) {
    const auto amount = Consumption(capacity, Text(asked, name));
    const auto used = candidate.consumed.find(name);
    const Quantity total =
        amount.value_or(0) + (used == candidate.consumed.end() ? 0 : used->second);
    if (!amount || *amount < 0 || total > ParseQuantity(Text(capacity, "value")).value_or(0))
      return std::nullopt;
    consumed[name] = *amount;
  }
  return consumed;
}

Json ResultFor(const Json& request, const Candidate& candidate,
               const std::map<std::string, Quantity>& consumed,
               const std::function<std::string()>& new_uid) {
  Json result{{"request", Text(request, "name")},
              {"driver", candidate.driver},
              {"pool", candidate.pool},
              {"device", candidate.name()}};
  const Json& exactly = request["exactly"];
  if (exactly.contains("tolerations")) result["tolerations"] = exactly["tolerations"];
  if (!candidate.is_shared()) return result;
  result["shareID"] = new_uid();
  for (const auto& [name, amount] : consumed) {
    result["consumedCapacity"][name] = QuantityText(amount);
  }
  return result;
}

Result<Selectors> SelectorsOf(const Json& request, const Json& device_class) {
  Selectors selectors;
  for (const Json* list :
       {&Member(Member(device_class, "spec"), "selectors"), &Member(request, "selectors")}) {
    for (const Json& selector : *list) {
      selectors.push_back(TRY(ParseSelector(Text(Member(selector, "cel"), "expression"))));
    }
  }
  return selectors;
}

/// Takes devices for one request, and appends its results.
Status TakeDevices(const Json& request, const std::string& node, const ObjectStore& store,
                   std::vector<Candidate>& candidates, Json& results,
                   const std::function<std::string()>& new_uid) {
  const std::string_view name = Text(request, "name");
  const Json& exactly = request["exactly"];
  const std::string class_name(Text(exactly, "deviceClassName"));
  const Object device_class = store.Find({.kind = Kind::kDeviceClass, .name = class_name});
  if (!device_class) {
    return Fail(ErrorKind::kNotFound,
                Format("request {}: device class {} does not exist; create it, or correct the name",
                       name, class_name));
  }
  const Selectors selectors = TRY(SelectorsOf(exactly, *device_class));
  const bool takes_all = Text(exactly, "allocationMode") == "All";
  const std::int64_t count = takes_all ? 0 : std::max<std::int64_t>(NumberIn(exactly, "count"), 1);
  std::int64_t taken = 0;
  for (Candidate& candidate : candidates) {
    if (!takes_all && taken == count) break;
    const bool matches = std::ranges::all_of(selectors, [&](const DeviceSelector& selector) {
      return Matches(selector, candidate.driver, *candidate.device);
    });
    if (!matches || !ToleratesTaints(exactly, *candidate.device)) continue;
    if (candidate.is_used && !candidate.is_shared()) continue;
    const auto consumed = FitCapacity(exactly, candidate);
    if (!consumed) continue;
    results.push_back(ResultFor(request, candidate, *consumed, new_uid));
    ++taken;
    candidate.is_used = true;
    for (const auto& [capacity, amount] : *consumed) candidate.consumed[capacity] += amount;
  }
  if (taken > 0 && taken >= count) return {};
  return Fail(ErrorKind::kPrecondition,
              Format("request {}: {} of {} devices of class {} are available on node {}; others "
                     "are in use, tainted or not published",
                     name, taken, std::max<std::int64_t>(count, 1), class_name, node));
}

/// Appends the configurations that apply to a request.
void AddConfig(const Json& request, const Json& devices, Json& configs) {
  const Json& name = request["name"];
  for (const Json& config : Member(devices, "config")) {
    const Json& requests = Member(config, "requests");
    if (!requests.empty() && std::ranges::find(requests, name) == requests.end()) continue;
    configs.push_back(
        {{"source", "FromClaim"}, {"requests", Json::array({name})}, {"opaque", config["opaque"]}});
  }
}

}  // namespace

Result<Json> Allocate(const Json& claim, const std::string& node, const ObjectStore& store,
                      const std::function<std::string()>& new_uid) {
  const Json& wanted = Member(Member(claim, "spec"), "devices");
  if (!Member(wanted, "constraints").empty()) {
    return Fail(ErrorKind::kInvalid,
                "the built-in API server does not support constraints of claims; remove them, or "
                "use a cluster");
  }
  const Objects slices = store.List(Kind::kResourceSlice);
  const Objects claims = store.List(Kind::kResourceClaim);
  std::vector<Candidate> candidates = FindCandidates(slices, node);
  MarkUsed(claims, candidates);
  Json results = Json::array(), configs = Json::array();
  for (const Json& request : Member(wanted, "requests")) {
    TRY(TakeDevices(request, node, store, candidates, results, new_uid));
    AddConfig(request, wanted, configs);
  }
  Json allocation{{"devices", {{"results", std::move(results)}}}};
  if (!configs.empty()) allocation["devices"]["config"] = std::move(configs);
  return allocation;
}

}  // namespace patchbay::api_sim
