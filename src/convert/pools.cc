#include "convert/pools.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "convert/readers.h"

namespace patchbay {
namespace {

using Container = Manifest::Container;

constexpr std::size_t kMaxPoolName = 12;  // the limit of the chart
constexpr std::size_t kMaxNodeNames = 100;
constexpr std::size_t kMaxShownNodes = 300;  // bytes

/// Returns a part of a name of a pool: "Rack_1" becomes "rack-1".
std::string NamePart(std::string_view text) {
  std::string part;
  for (const char c : text) {
    if (IsAlnum(c)) {
      part.push_back(ToLower(c));
    } else if (!part.empty() && part.back() != '-') {
      part.push_back('-');
    }
    if (part.size() == kMaxPoolName) break;
  }
  while (part.ends_with('-')) part.pop_back();
  return part;
}

/// Returns a name for the nodes of a container: the value of its last label, or else its key.
std::string PoolName(const Container& container) {
  const auto labels = PodSetting(container, "nodeSelector").entries();
  if (!labels.empty()) {
    const std::string key = labels.back().key.text();
    const std::string value = labels.back().value.text();
    const bool is_switch = value.empty() || value == "true";
    std::string name = NamePart(is_switch ? key.substr(key.rfind('/') + 1) : value);
    if (!name.empty()) return name;
  }
  return NodesOf(container).empty() ? "all-nodes" : "pool";
}

/// Returns the name with a number, if it is taken.
std::string UniqueName(const std::string& name, const std::vector<Pool>& pools) {
  std::string unique = name;
  for (int number = 2; std::ranges::find(pools, unique, &Pool::name) != pools.end(); ++number) {
    const std::string suffix = Format("-{}", number);
    unique = NamePart(name.substr(0, kMaxPoolName - suffix.size())) + suffix;
  }
  return unique;
}

void CheckNodes(const Container& container, Findings& findings) {
  for (const char* key : {"nodeSelector", "affinity"}) {
    const YamlValue nodes = PodSetting(container, key);
    const std::string hint = HintOnTemplate(ToJson(nodes));
    if (hint.empty()) continue;
    findings.CannotConvert(
        nodes.place(),
        Format("the nodes of a pool are not known: {}", Truncate(ToJson(nodes), 200)), hint);
  }
  if (NodesOf(container).empty()) {
    findings.Assumed(container.value.place(),
                     "some pods of the plugin run on all nodes, and others on some of them",
                     "give the pool all-nodes a nodeSelector or affinity without the nodes of the "
                     "other pools; a node must have one pod");
  }
}

/// Adds the names in a match expression. Returns false if it is not a list of names.
bool AddNames(const YamlValue& expression, std::string_view key, std::set<std::string>& names) {
  const auto values = expression.Find("values").items();
  if (expression.Find("key").text() != key || expression.Find("operator").text() != "In") {
    return false;
  }
  for (const YamlValue& value : values) names.insert(value.text());
  return !values.empty();
}

/// Adds the names in all terms of an affinity. Returns false if a term has none.
bool AddNames(const YamlValue& affinity, std::set<std::string>& names) {
  const auto terms = affinity.Find("nodeAffinity")
                         .Find("requiredDuringSchedulingIgnoredDuringExecution")
                         .Find("nodeSelectorTerms")
                         .items();
  const auto add = [&](const YamlValue& expressions, std::string_view key) {
    return std::ranges::any_of(expressions.items(), [&](const YamlValue& expression) {
      return AddNames(expression, key, names);
    });
  };
  return !terms.empty() && std::ranges::all_of(terms, [&](const YamlValue& term) {
    return add(term.Find("matchExpressions"), "kubernetes.io/hostname") ||
           add(term.Find("matchFields"), "metadata.name");
  });
}

bool CanBeNodeName(const std::string& name) {
  return !name.empty() && name.size() <= 253 &&
         std::ranges::all_of(name, [](char c) { return IsAlnum(c) || c == '-' || c == '.'; });
}

}  // namespace

std::vector<Pool> PoolsOf(const Manifest& manifest, Findings& findings) {
  std::vector<Pool> pools;
  std::map<std::string, std::size_t> by_nodes;
  std::map<const Container*, std::size_t> by_container;
  for (const Container& container : manifest.containers) {
    const auto [known, is_new] = by_nodes.emplace(
        ToJson(PodSetting(container, "nodeSelector")) + ToJson(PodSetting(container, "affinity")),
        pools.size());
    if (is_new && pools.size() == kMaxPools) {
      findings.CannotConvert(
          container.value.place(),
          Format("the pods of the plugin have more than {} choices of nodes", kMaxPools),
          "convert the input in parts");
      return {};
    }
    if (is_new) {
      pools.push_back({UniqueName(PoolName(container), pools), {}});
      Manifest& part = pools.back().part;
      part.objects = manifest.objects;
      part.lines = manifest.lines;
      part.budget = manifest.budget;
    }
    pools[known->second].part.containers.push_back(container);
    by_container.emplace(&container, known->second);
  }
  if (pools.size() < 2) return {};
  for (const Manifest::Document& document : manifest.documents) {
    const auto readers = ReadersOf(document, manifest);
    std::set<std::size_t> reading;
    for (const Container* reader : readers) {
      const auto known = by_container.find(reader);
      if (known != by_container.end()) reading.insert(known->second);
    }
    for (std::size_t i = 0; i < pools.size(); ++i) {
      if (readers.empty() || reading.contains(i)) pools[i].part.documents.push_back(document);
    }
  }
  for (const Pool& pool : pools) CheckNodes(pool.part.containers.front(), findings);
  return pools;
}

std::set<std::string> NodeNamesOf(const Container& container) {
  std::set<std::string> names;
  const YamlValue host = PodSetting(container, "nodeSelector").Find("kubernetes.io/hostname");
  if (host) {
    names.insert(host.text());
  } else if (!AddNames(PodSetting(container, "affinity"), names)) {
    return {};
  }
  const bool usable = names.size() <= kMaxNodeNames && std::ranges::all_of(names, CanBeNodeName);
  return usable ? names : std::set<std::string>();
}

std::string NodesOf(const Container& container) {
  std::string nodes;
  for (const char* key : {"nodeSelector", "affinity"}) {
    const YamlValue part = PodSetting(container, key);
    if (part) nodes += (nodes.empty() ? "" : " and ") + Truncate(ToJson(part), kMaxShownNodes);
  }
  return nodes;
}

}  // namespace patchbay
