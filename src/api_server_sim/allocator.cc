// Candidates are the devices of complete pools on the node, with what other claims use of them.
// Each request takes the first candidates that fit; what it takes counts as used for the next ones.
// Alternatives of a request are tried in their order, each from the same state.

#include "api_server_sim/allocator.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "api_server_sim/device_selector.h"
#include "api_server_sim/field_errors.h"
#include "api_server_sim/field_rules.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

using Selectors = std::vector<DeviceSelector>;

/// A device with what is in use.
struct Candidate {
  std::string_view driver;
  std::string_view pool;
  const Json* device = nullptr;
  bool is_used = false;
  std::map<std::string, Millis> consumed = {};

  std::string_view name() const { return Text(*device, "name"); }
  bool is_shared() const { return device->value("allowMultipleAllocations", false); }
};

/// A request, or one of its alternatives.
struct Wanted {
  std::string name;  ///< as results have it: "a", "a/b"
  const Json* request = nullptr;
};

std::int64_t NumberIn(const Json& object, const char* name) {
  const Json& value = Member(object, name);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

/// Returns the devices of the node in pools all of whose slices are published.
std::vector<Candidate> FindCandidates(const AllocationInput& input) {
  using PoolKey = std::pair<std::string_view, std::string_view>;
  std::map<PoolKey, std::int64_t> generations;
  std::map<PoolKey, std::vector<const Json*>> slices;
  for (const Object& slice : input.slices) {
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
  for (const Object& slice : input.slices) {
    const Json& spec = Member(*slice, "spec");
    const Json& pool = Member(spec, "pool");
    const auto& complete = slices[{Text(spec, "driver"), Text(pool, "name")}];
    const bool is_current =
        std::find(complete.begin(), complete.end(), &spec) != complete.end() &&
        static_cast<std::int64_t>(complete.size()) == NumberIn(pool, "resourceSliceCount");
    const bool is_here = spec.value("allNodes", false) || Text(spec, "nodeName") == input.node;
    if (!is_current || !is_here) continue;
    for (const Json& device : Member(spec, "devices")) {
      candidates.push_back({Text(spec, "driver"), Text(pool, "name"), &device});
    }
  }
  return candidates;
}

/// Marks what the results of other claims use.
void MarkUsed(const AllocationInput& input, std::vector<Candidate>& candidates) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, Candidate*> by_name;
  for (Candidate& candidate : candidates) {
    by_name[{candidate.driver, candidate.pool, candidate.name()}] = &candidate;
  }
  for (const Object& claim : input.claims) {
    const Json& allocation = Member(Member(*claim, "status"), "allocation");
    for (const Json& result : Member(Member(allocation, "devices"), "results")) {
      const auto found =
          by_name.find({Text(result, "driver"), Text(result, "pool"), Text(result, "device")});
      if (found == by_name.end() || result.value("adminAccess", false)) continue;
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
std::optional<Millis> Consumption(const Json& capacity, std::string_view asked) {
  const Millis value = ParseQuantity(Text(capacity, "value")).value_or(0);
  const Json& policy = Member(capacity, "requestPolicy");
  if (asked.empty()) {
    return policy.is_null() ? value : ParseQuantity(Text(policy, "default")).value_or(value);
  }
  Millis amount = ParseQuantity(asked).value_or(0);
  for (const Json& option : Member(policy, "validValues")) {
    const Millis number = ParseQuantity(option.get_ref<const std::string&>()).value_or(0);
    if (number >= amount) return number;
  }
  if (policy.contains("validValues")) return std::nullopt;
  const Json& range = Member(policy, "validRange");
  if (range.is_null()) return amount;
  const Millis min = ParseQuantity(Text(range, "min")).value_or(0);
  const Millis step = ParseQuantity(Text(range, "step")).value_or(0);
  amount = std::max(amount, min);
  if (step > 0) amount = min + (amount - min + step - 1) / step * step;
  const auto max = ParseQuantity(Text(range, "max"));
  return max && amount > *max ? std::nullopt : std::optional(amount);
}

/// Returns the capacity that a request would consume of a device; nothing if it does not fit.
std::optional<std::map<std::string, Millis>> FitCapacity(const Json& request,
                                                         const Candidate& candidate) {
  std::map<std::string, Millis> consumed;
  const Json& asked = Member(Member(request, "capacity"), "requests");
  const Json& capacities = Member(*candidate.device, "capacity");
  for (const auto& [name, value] : asked.items()) {
    if (!capacities.contains(name)) return std::nullopt;
  }
  for (const auto& [name, capacity] : capacities.items()) {
    const auto amount = Consumption(capacity, Text(asked, name));
    const auto used = candidate.consumed.find(name);
    const Millis total = amount.value_or(0) + (used == candidate.consumed.end() ? 0 : used->second);
    if (!amount || total > ParseQuantity(Text(capacity, "value")).value_or(0)) return std::nullopt;
    consumed[name] = *amount;
  }
  return consumed;
}

Json ResultFor(const Wanted& wanted, const Candidate& candidate,
               const std::map<std::string, Millis>& consumed,
               const std::function<std::string()>& new_uid) {
  Json result{{"request", wanted.name},
              {"driver", candidate.driver},
              {"pool", candidate.pool},
              {"device", candidate.name()}};
  for (const char* field : {"adminAccess", "tolerations"}) {
    if (wanted.request->contains(field)) result[field] = (*wanted.request)[field];
  }
  if (!candidate.is_shared()) return result;
  result["shareID"] = new_uid();
  for (const auto& [name, amount] : consumed) {
    result["consumedCapacity"][name] = QuantityText(amount);
  }
  return result;
}

const Json* FindClass(const AllocationInput& input, std::string_view name) {
  for (const Object& object : input.classes) {
    if (Text(Member(*object, "metadata"), "name") == name) return object.get();
  }
  return nullptr;
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
Status TakeDevices(const Wanted& wanted, const AllocationInput& input,
                   std::vector<Candidate>& candidates, Json& results,
                   const std::function<std::string()>& new_uid) {
  const Json& request = *wanted.request;
  const std::string_view class_name = Text(request, "deviceClassName");
  const Json* const device_class = FindClass(input, class_name);
  if (device_class == nullptr) {
    return Fail(ErrorKind::kNotFound,
                Format("request {}: device class {} does not exist; create it, or correct the name",
                       wanted.name, class_name));
  }
  const Selectors selectors = TRY(SelectorsOf(request, *device_class));
  const bool takes_all = Text(request, "allocationMode") == "All";
  const bool is_admin = request.value("adminAccess", false);
  const std::int64_t count = takes_all ? 0 : std::max<std::int64_t>(NumberIn(request, "count"), 1);
  std::int64_t taken = 0;
  for (Candidate& candidate : candidates) {
    if (!takes_all && taken == count) break;
    const bool matches =
        std::all_of(selectors.begin(), selectors.end(), [&](const DeviceSelector& selector) {
          return Matches(selector, candidate.driver, *candidate.device);
        });
    if (!matches || !ToleratesTaints(request, *candidate.device)) continue;
    if (candidate.is_used && !candidate.is_shared() && !is_admin) continue;
    const auto consumed = FitCapacity(request, candidate);
    if (!consumed) continue;
    results.push_back(ResultFor(wanted, candidate, *consumed, new_uid));
    ++taken;
    if (is_admin) continue;
    candidate.is_used = true;
    for (const auto& [name, amount] : *consumed) candidate.consumed[name] += amount;
  }
  if (taken > 0 && taken >= count) return {};
  return Fail(ErrorKind::kPrecondition,
              Format("request {}: {} of {} devices of class {} are available on node {}; others "
                     "are in use, tainted or not published",
                     wanted.name, taken, std::max<std::int64_t>(count, 1), class_name, input.node));
}

/// Appends the configurations that apply to a request.
void AddConfig(const Wanted& wanted, const Json& claim, const AllocationInput& input,
               Json& configs) {
  const Json* const device_class = FindClass(input, Text(*wanted.request, "deviceClassName"));
  for (const Json& config : Member(Member(*device_class, "spec"), "config")) {
    configs.push_back({{"source", "FromClass"},
                       {"requests", Json::array({wanted.name})},
                       {"opaque", config["opaque"]}});
  }
  const std::string parent = wanted.name.substr(0, wanted.name.find('/'));
  for (const Json& config : Member(Member(Member(claim, "spec"), "devices"), "config")) {
    const Json& requests = Member(config, "requests");
    const bool applies =
        requests.empty() || std::any_of(requests.begin(), requests.end(), [&](const Json& name) {
          return name == wanted.name || name == parent;
        });
    if (!applies) continue;
    configs.push_back({{"source", "FromClaim"},
                       {"requests", Json::array({wanted.name})},
                       {"opaque", config["opaque"]}});
  }
}

std::vector<Wanted> AlternativesOf(const Json& request) {
  const std::string name(Text(request, "name"));
  if (request.contains("exactly")) return {{name, &request["exactly"]}};
  std::vector<Wanted> alternatives;
  const Json& list = Member(request, "firstAvailable");
  alternatives.reserve(list.size());
  for (const Json& alternative : list) {
    alternatives.push_back({name + "/" + std::string(Text(alternative, "name")), &alternative});
  }
  return alternatives;
}

}  // namespace

Result<Json> Allocate(const Json& claim, const AllocationInput& input,
                      const std::function<std::string()>& new_uid) {
  const Json& wanted_devices = Member(Member(claim, "spec"), "devices");
  if (!Member(wanted_devices, "constraints").empty()) {
    return Fail(ErrorKind::kInvalid,
                "the built-in API server does not support constraints of claims; remove them, or "
                "use a cluster");
  }
  std::vector<Candidate> candidates = FindCandidates(input);
  MarkUsed(input, candidates);
  Json results = Json::array(), configs = Json::array();
  for (const Json& request : Member(wanted_devices, "requests")) {
    Status last = Fail(ErrorKind::kInvalid, "the claim has a request without a device class");
    for (const Wanted& wanted : AlternativesOf(request)) {
      std::vector<Candidate> left = candidates;
      Json found = Json::array();
      last = TakeDevices(wanted, input, left, found, new_uid);
      if (!last) continue;
      candidates = std::move(left);
      results.insert(results.end(), found.begin(), found.end());
      AddConfig(wanted, claim, input, configs);
      break;
    }
    if (!last) return Failure(std::move(last).error());
  }
  Json devices = Json::object();
  if (!results.empty()) devices["results"] = std::move(results);
  if (!configs.empty()) devices["config"] = std::move(configs);
  const Json field{
      {"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({input.node})}};
  return Json{{"devices", std::move(devices)},
              {"nodeSelector",
               {{"nodeSelectorTerms", Json::array({{{"matchFields", Json::array({field})}}})}}}};
}

}  // namespace patchbay::api_sim
