#include "convert/pools.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "convert/generic_flags.h"
#include "convert/yaml_json.h"

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
  if (container.node_selector != nullptr && !container.node_selector->entries.empty()) {
    const YamlEntry& label = container.node_selector->entries.back();
    const bool is_switch = label.value.text.empty() || label.value.text == "true";
    const std::string_view key = label.key.text;
    std::string name = NamePart(is_switch ? key.substr(key.rfind('/') + 1) : label.value.text);
    if (!name.empty()) return name;
  }
  return NodesOf(container).empty() ? "all-nodes" : "pool";
}

/// Returns the name with a number, if it is taken.
std::string UniqueName(const std::string& name, const std::vector<Pool>& pools) {
  const auto is_taken = [&](const std::string& candidate) {
    return std::any_of(pools.begin(), pools.end(),
                       [&](const Pool& pool) { return pool.name == candidate; });
  };
  std::string unique = name;
  for (int number = 2; is_taken(unique); ++number) {
    const std::string suffix = Format("-{}", number);
    unique = NamePart(name.substr(0, kMaxPoolName - suffix.size())) + suffix;
  }
  return unique;
}

/// Returns the containers of the plugin: those that are recognizably it, or else those that may be.
std::vector<const Container*> PluginContainers(const Manifest& manifest) {
  std::set<std::string_view> config_maps;
  for (const auto& document : manifest.documents) config_maps.insert(document.config_map);
  std::vector<const Container*> named, others;
  for (const Container& container : manifest.containers) {
    const bool mounts =
        std::any_of(container.config_maps.begin(), container.config_maps.end(),
                    [&](std::string_view mounted) { return config_maps.contains(mounted); });
    if (container.runs_program) {
      named.push_back(&container);
    } else if (mounts || NamesDevices(container)) {
      others.push_back(&container);
    }
  }
  return named.empty() ? others : named;
}

/// Numbers values by their text, each of which is rendered once: many containers can have the
/// nodes of one large value.
class TextNumbers {
 public:
  /// Returns a number that is the same for values with the same text; 0 for null.
  std::size_t Of(const YamlValue* value) {
    if (value == nullptr) return 0;
    const auto known = by_value_.find(value);
    if (known != by_value_.end()) return known->second;
    const std::size_t number = by_text_.emplace(ToJson(*value), by_text_.size() + 1).first->second;
    by_value_.emplace(value, number);
    return number;
  }

 private:
  std::map<const YamlValue*, std::size_t> by_value_;
  std::map<std::string, std::size_t> by_text_;
};

void CheckNodes(const Container& container, const SourceLocation& start, Findings& findings) {
  for (const YamlValue* nodes : {container.node_selector, container.affinity}) {
    if (nodes == nullptr) continue;
    const std::string hint = HintOnTemplate(ToJson(*nodes));
    if (hint.empty()) continue;
    findings.CannotConvert(
        nodes->place,
        Format("the nodes of a pool are not known: {}", Truncate(ToJson(*nodes), 200)), hint);
  }
  if (NodesOf(container).empty()) {
    findings.Assumed(start, "some pods of the plugin run on all nodes, and others on some of them",
                     "give the pool all-nodes a nodeSelector or affinity without the nodes of the "
                     "other pools; a node must have one pod");
  }
}

/// Adds the names of a match expression. Returns false if it is not a list of names.
bool AddNames(const YamlValue& expression, std::string_view key, std::set<std::string>& names) {
  const YamlValue* its_key = expression.Find("key");
  const YamlValue* operation = expression.Find("operator");
  const YamlValue* values = expression.Find("values");
  if (its_key == nullptr || its_key->text != key || operation == nullptr ||
      operation->text != "In" || values == nullptr) {
    return false;
  }
  for (const YamlValue& value : values->items) names.insert(value.text);
  return !values->items.empty();
}

/// Adds the names of all terms of an affinity. Returns false if a term has none.
bool AddNames(const YamlValue* affinity, std::set<std::string>& names) {
  for (const std::string_view key :
       {"nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}) {
    if (affinity != nullptr) affinity = affinity->Find(key);
  }
  if (affinity == nullptr || affinity->items.empty()) return false;
  constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"matchExpressions", "kubernetes.io/hostname"}, {"matchFields", "metadata.name"}};
  return std::all_of(affinity->items.begin(), affinity->items.end(), [&](const YamlValue& term) {
    return std::any_of(std::begin(kLists), std::end(kLists), [&](const auto& list) {
      const YamlValue* expressions = term.Find(list.first);
      return expressions != nullptr &&
             std::any_of(expressions->items.begin(), expressions->items.end(),
                         [&](const auto& item) { return AddNames(item, list.second, names); });
    });
  });
}

bool CanBeNodeName(const std::string& name) {
  return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), [](char c) {
    return IsAlnum(c) || c == '-' || c == '.';
  });
}

}  // namespace

std::vector<Pool> PoolsOf(const Manifest& manifest, Findings& findings) {
  std::vector<Pool> pools;
  TextNumbers numbers;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> by_nodes;
  std::map<const YamlValue*, std::size_t> by_container;
  for (const Container* container : PluginContainers(manifest)) {
    const auto [known, is_new] = by_nodes.emplace(
        std::pair(numbers.Of(container->node_selector), numbers.Of(container->affinity)),
        pools.size());
    if (is_new && pools.size() == kMaxPools) {
      findings.CannotConvert(
          container->value->place,
          Format("the pods of the plugin have more than {} choices of nodes", kMaxPools),
          "convert the input in parts");
      return {};
    }
    if (is_new) {
      pools.push_back({UniqueName(PoolName(*container), pools), {}});
      Manifest& part = pools.back().part;
      part.objects = manifest.objects;
      part.lines = manifest.lines;
      part.budget = manifest.budget;
    }
    pools[known->second].part.containers.push_back(*container);
    by_container.emplace(container->value, known->second);
  }
  if (pools.size() < 2) return {};
  for (const Manifest::Document& document : manifest.documents) {
    const auto readers = ReadersOf(document, manifest);
    std::set<std::size_t> reading;
    for (const Container* reader : readers) {
      const auto known = by_container.find(reader->value);
      if (known != by_container.end()) reading.insert(known->second);
    }
    for (std::size_t i = 0; i < pools.size(); ++i) {
      if (readers.empty() || reading.contains(i)) pools[i].part.documents.push_back(document);
    }
  }
  for (const Pool& pool : pools) {
    const Container& container = pool.part.containers.front();
    CheckNodes(container, container.value->place, findings);
  }
  return pools;
}

std::set<std::string> NodeNamesOf(const Manifest::Container& container) {
  std::set<std::string> names;
  const YamlValue* host = container.node_selector == nullptr
                              ? nullptr
                              : container.node_selector->Find("kubernetes.io/hostname");
  if (host != nullptr) {
    names.insert(host->text);
  } else if (!AddNames(container.affinity, names)) {
    return {};
  }
  const bool usable =
      names.size() <= kMaxNodeNames && std::all_of(names.begin(), names.end(), CanBeNodeName);
  return usable ? names : std::set<std::string>();
}

std::string NodesOf(const Manifest::Container& container) {
  std::string nodes;
  for (const YamlValue* part : {container.node_selector, container.affinity}) {
    if (part != nullptr) nodes += (nodes.empty() ? "" : " and ") + ToJson(*part, kMaxShownNodes);
  }
  return nodes;
}

}  // namespace patchbay
