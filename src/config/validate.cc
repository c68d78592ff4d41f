// Compiles [daemon] and then each [[resource]]: first its matches, because they determine the
// variables that templates may use, then the container parts, the health probe and the hooks. An
// invalid part is reported and skipped, so that one run reports all errors. If a match is invalid,
// the Scope is incomplete and unknown variables are not reported, because that match might have
// provided them. Checks that involve several resources or [daemon] come last.

#include "config/validate.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "config/container.h"
#include "config/dra.h"
#include "config/health.h"
#include "config/match.h"
#include "config/normalize.h"
#include "config/patterns.h"
#include "config/variable_scope.h"
#include "model/object_name.h"
#include "model/resource_name.h"
#include "model/validators.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxResources = 1000;  // of all files: one configuration can serve a fleet
constexpr std::size_t kMaxResourcesOfNode = 128;  // each has a socket, a server and a registration

/// Checks a path of this machine, in which no variables are replaced.
void CheckLiteralPath(const Text& path, std::string_view hint, Reporter& reporter) {
  const bool is_relative = !path.value.empty() && path.value[0] != '/';
  const Problem problem = is_relative ? SyntaxError{0, "a path must be absolute: begin with \"/\""}
                                      : ProblemWithPath(LiteralShape(path.value));
  if (problem) reporter.Report(Code::kBadPath, path, *problem, std::string(hint));
}

/// Checks the path of a directory and stores it in `out` without trailing slashes.
void ReadDirectory(const Section& daemon, std::string_view key, Reporter& reporter,
                   std::string& out) {
  const Text* text = daemon.GetText(key);
  if (text == nullptr) return;
  CheckLiteralPath(*text, "use the absolute path of a directory", reporter);
  out = text->value;
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
}

/// Compiles the path of the PodResources socket; "" disables the API.
void CompilePodResources(const Text& text, Reporter& reporter, DaemonSpec& spec) {
  spec.pod_resources = text.value;
  if (text.value.empty()) return;
  CheckLiteralPath(text, "use the absolute path of the socket, or \"\" to disable it", reporter);
  if (text.value.size() > kMaxSocketPath) {
    reporter.Report(Code::kBadValue, text.place,
                    Format("the path of a socket is limited to {} bytes", kMaxSocketPath),
                    "mount it elsewhere");
  }
}

/// Returns whether the API that serves the resource is known. A key that is unknown or invalid may
/// be a misspelled `api`.
bool IsApiKnown(const Section& document, const Section& resource) {
  const Section* daemon = document.GetSection("daemon");
  const bool has_default = daemon == nullptr || !daemon->is_broken();
  return resource.Has("api") || (has_default && !resource.is_broken());
}

/// Reports a release hook if the PodResources API is disabled. Without it, Patchbay cannot detect
/// that a device is free again, unless it is released by a call, as those of claims are.
void CheckReleaseHook(const Section& resource, const DaemonSpec& daemon, Api api,
                      Reporter& reporter) {
  const Section* hooks = resource.GetSection("hooks");
  const bool has_release = hooks != nullptr && hooks->Has("release");
  if (!has_release || !daemon.pod_resources.empty() || api == Api::kDra) return;
  reporter.Report(Code::kWrongCombination, hooks->PlaceOf("release"),
                  "a release hook needs pod_resources, which is disabled",
                  "only the kubelet reports when a device is free again; remove pod_resources = "
                  "\"\" from [daemon]");
}

/// Returns whether no part of a name between two dots begins or ends with a dash, or is empty, as
/// far as a pattern has its text.
bool HasLabels(std::string_view pattern) {
  return std::ranges::none_of(
             std::initializer_list<std::string_view>{"-.", ".-", ".."},
             [&](std::string_view part) { return pattern.find(part) != std::string_view::npos; }) &&
         pattern.find_first_of("-.") != 0 && pattern.find_last_of("-.") + 1 != pattern.size();
}

constexpr NameKind kHostName{
    .notation = PatternKind::kHost,
    .bytes = "abcdefghijklmnopqrstuvwxyz0123456789-._*",
    .can_match = [](const NamePattern& pattern) { return !pattern.text().empty(); },
    .code = Code::kBadValue,
    .what = "a valid host name",
    .hint =
        "use the name only, as in \"patchbay.example.com\", without scheme, port or path; IP "
        "addresses are always accepted"};
constexpr NameKind kNodeName{
    .notation = PatternKind::kHost,
    .bytes = "abcdefghijklmnopqrstuvwxyz0123456789-.*?[]!^\\",
    .can_match =
        [](const NamePattern& pattern) {
          return pattern.literal() ? IsDnsSubdomain(pattern.text()) : HasLabels(pattern.text());
        },
    .what = "a name that a node can have",
    .hint =
        "names of nodes have lowercase letters, digits, - and ., see `kubectl get nodes`; the "
        "list has globs, such as edge-* and edge-[0-9], and !edge-7 excludes a node"};

DaemonSpec CompileDaemon(const Section& daemon, PatternCompiler& patterns) {
  Reporter& reporter = patterns.reporter();
  DaemonSpec spec;
  daemon.Read("rescan", spec.rescan);
  daemon.Read("max_probes", spec.max_probes);
  daemon.Read("device_metrics", spec.device_metrics);
  daemon.Read("suggest_page", spec.suggest_page);
  daemon.Read("log_level", spec.log_level);
  daemon.Read("api", spec.api);
  if (const Text* listen = daemon.GetText("listen")) {
    if (auto address = NormalizedListenAddress(listen->value)) {
      spec.listen = std::move(*address);
    } else {
      reporter.Report(Code::kBadValue, listen->place,
                      Format("\"{}\" is not an address and a port", listen->value.substr(0, 100)),
                      std::string(kHintOnListen));
    }
  }
  if (daemon.Has("hosts")) {
    std::vector<Text> hosts = daemon.GetTexts("hosts");
    for (Text& host : hosts) host.value = ToLower(host.value);
    spec.hosts = patterns.Names(hosts, kHostName);
  }
  ReadDirectory(daemon, "kubelet_dir", reporter, spec.kubelet_dir);
  ReadDirectory(daemon, "host_root", reporter, spec.host_root);
  ReadDirectory(daemon, "cdi_dir", reporter, spec.cdi_dir);
  if (spec.kubelet_dir.size() > kMaxKubeletDir) {
    reporter.Report(Code::kBadValue, daemon.PlaceOf("kubelet_dir"),
                    Format("a directory path of {} bytes makes socket paths longer than {}",
                           spec.kubelet_dir.size(), kMaxSocketPath),
                    Format("the path of the directory is limited to {} bytes; mount it elsewhere",
                           kMaxKubeletDir));
  }
  if (const Text* socket = daemon.GetText("pod_resources")) {
    CompilePodResources(*socket, reporter, spec);
  }
  CompileDraDaemon(daemon, reporter, spec);
  return spec;
}

void CompileOnNodes(const Section& resource, PatternCompiler& patterns, ResourceSpec& spec) {
  for (Text text : resource.GetTexts("on_nodes")) {
    const bool excludes = text.value.starts_with('!');
    if (excludes) text.value.erase(0, 1);
    if (excludes && text.inset >= 0) ++text.inset;
    std::ranges::move(patterns.Names({text}, kNodeName),
                      std::back_inserter(excludes ? spec.on_nodes.except : spec.on_nodes.only));
  }
  if (std::ranges::count(spec.on_nodes.except, "*", &NamePattern::text) > 0) {
    patterns.reporter().Report(Code::kBadPattern, resource.PlaceOf("on_nodes"),
                               "\"!*\" excludes every node", "exclude fewer, as in \"!rack-*\"");
  }
}

void CheckSeparator(const Text& separator, Reporter& reporter) {
  if (const auto nul = separator.value.find('\0'); nul != std::string::npos) {
    reporter.Report(Code::kBadTemplate, separator.At(nul), "the value cannot contain a NUL byte");
  }
}

/// Returns whether the template is one of these nodes, and not a copy.
bool IsOfNodes(const Template* compiled, const std::vector<DeviceNodeSpec>& nodes) {
  const auto is_it = [&](const std::optional<Template>& t) { return t && &*t == compiled; };
  return std::ranges::any_of(nodes, [&](const DeviceNodeSpec& node) {
    return is_it(node.host_path) || is_it(node.container_path);
  });
}

/// Warns if all devices of a match lack a variable that templates of the resource need and other
/// matches provide.
void CheckEveryMatch(const Section& resource, const Scope& scope, const ResourceSpec& spec,
                     Reporter& reporter) {
  for (std::size_t i = 0; i < spec.matches.size(); ++i) {
    const Section& match = resource.GetSections("match")[i];
    if (match.is_broken()) continue;
    std::set<std::string_view> names;
    for (const Template* compiled : DeviceTemplates(spec, i)) {
      if (IsOfNodes(compiled, spec.matches[i].device_nodes)) continue;  // checked with this match
      for (const Template::Field& field : compiled->fields()) {
        if (scope.TypeOf(field.name)) names.insert(field.name);
      }
    }
    const Scope own = ContainerScope({&spec.matches[i], 1}, true);
    const auto missing = std::find_if(names.begin(), names.end(),
                                      [&](std::string_view name) { return !own.TypeOf(name); });
    if (missing == names.end()) continue;
    reporter.Report(Code::kMissingVariable, match.place(),
                    Format("devices of this match have no \"{}\" for the templates of the "
                           "resource, so all of them are rejected",
                           *missing),
                    "move the match to a resource of its own, or use a variable that all devices "
                    "have, such as {id}");
  }
}

ResourceSpec CompileResource(const Section& resource, const DaemonSpec& daemon,
                             PatternCompiler& patterns) {
  Reporter& reporter = patterns.reporter();
  ResourceSpec spec;
  resource.Read("description", spec.description);
  spec.api = daemon.api;
  resource.Read("api", spec.api);
  resource.Read("replicas", spec.replicas);
  resource.Read("max_per_container", spec.max_per_container);
  resource.Read("preferred_allocation", spec.preferred_allocation);
  spec.topology = spec.replicas == 1;
  resource.Read("topology", spec.topology);
  resource.Read("exclusive", spec.exclusive);
  resource.Read("grant_group", spec.grant_group);
  resource.Read("forget_after", spec.forget_after);
  if (const Text* name = resource.GetText("name")) {
    spec.name = name->value;
    if (auto problem = ProblemWithResourceName(spec.name)) {
      reporter.Report(Code::kBadValue, name->place, std::move(*problem),
                      "as in \"example.com/serial\"");
    }
  }
  if (const Text* separator = resource.GetText("env_separator")) {
    CheckSeparator(*separator, reporter);
    spec.env_separator = separator->value;
  }
  CompileOnNodes(resource, patterns, spec);
  const std::span<const Section> matches = resource.GetSections("match");
  bool complete = !matches.empty() && !resource.table().is_cut;
  std::vector<const Section*> compiled_matches;
  std::set<std::string> ids_of_counts;
  for (const Section& match : matches) {
    auto compiled = CompileMatch(match, patterns);
    complete = complete && compiled;
    if (!compiled) continue;
    const Text* id = match.GetText("id");
    if (match.Has("count") && !match.is_broken() &&
        !ids_of_counts.insert(id ? id->value : "").second) {
      reporter.Report(Code::kConstantId, match.place(),
                      "its devices have the same IDs as those of another count, and are rejected",
                      "give it an id of its own, as in id = \"b-{index}\"");
    }
    spec.matches.push_back(std::move(*compiled));
    compiled_matches.push_back(&match);
  }
  if (spec.exclusive && HasCommand(spec)) {
    reporter.Report(Code::kWrongCombination, resource.PlaceOf("exclusive"),
                    "\"exclusive\" cannot be combined with \"command\"",
                    "its nodes are known only after the command has run; exclude them from the "
                    "other resources");
  }
  const Scope containers = ContainerScope(spec.matches, complete);
  CompileContainer(resource, compiled_matches, containers, reporter, spec);
  if (complete && spec.grant_group && !GivesDeviceNodes(spec)) {
    reporter.Report(Code::kWrongCombination, resource.PlaceOf("grant_group"),
                    "devices of this resource have no device node whose group could be granted",
                    "remove grant_group");
  }
  const Scope devices = DeviceScope(spec.matches, complete);
  if (const Section* health = resource.GetSection("health")) {
    spec.health = CompileHealth(*health, devices, !complete || HasNodes(spec), patterns);
  }
  if (const Section* hooks = resource.GetSection("hooks")) {
    CompileHooks(*hooks, devices, containers, reporter, spec);
  }
  CompileDraKeys(resource, daemon, devices, reporter, spec);
  if (complete) CheckEveryMatch(resource, containers, spec, reporter);
  return spec;
}

/// Returns a pattern or name of nodes that certainly have both resources; "" is any node. Returns
/// nothing if no pattern of one has the same text, or is a name that matches, a pattern of the
/// other. Decreases `budget` for each comparison, and finds nothing once it is 0.
std::optional<std::string> CommonNodes(const NodeFilter& a, const NodeFilter& b,
                                       std::size_t& budget) {
  if (a.only.empty() && b.only.empty()) {
    const bool excludes_only_names = std::ranges::all_of(a.except, &NamePattern::literal) &&
                                     std::ranges::all_of(b.except, &NamePattern::literal);
    return excludes_only_names ? std::optional<std::string>("") : std::nullopt;
  }
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const NamePattern& pattern : one->only) {
      budget -= std::min(budget, a.only.size() + b.only.size());
      if (budget == 0) return std::nullopt;
      const std::string& text = pattern.text();
      // An excluded pattern may exclude all that another one matches.
      const bool is_common =
          pattern.literal() ? a.Matches(text) && b.Matches(text)
                            : a.except.empty() && b.except.empty() &&
                                  (other->only.empty() ||
                                   std::ranges::count(other->only, text, &NamePattern::text) > 0);
      if (is_common) return text;
    }
  }
  return std::nullopt;
}

/// Reports entries with the same name that one node has. Patterns with different wildcards are
/// compared only on that node: both match `node`, the name of a Kubernetes node, or "" if that is
/// not known. Invalid patterns of `on_nodes` have errors of their own.
void CheckDuplicates(std::span<const Section> resources, const std::vector<ResourceSpec>& specs,
                     const std::string& node, Reporter& reporter) {
  struct Entry {
    std::size_t index;
    bool is_here;  ///< for `node`
  };
  std::size_t budget = 1'000'000;  // some hundredths of a second, for the whole input
  std::map<std::string_view, std::vector<Entry>> known;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Text* name = resources[i].GetText("name");
    const bool is_cut = resources[i].table().is_cut && !resources[i].Has("on_nodes");
    if (name == nullptr || is_cut) continue;
    if (specs[i].on_nodes.Texts().size() < resources[i].GetTexts("on_nodes").size()) continue;
    const bool is_here = !node.empty() && specs[i].on_nodes.Matches(node);
    auto& others = known[name->value];
    for (const Entry& other : others) {
      auto nodes = CommonNodes(specs[other.index].on_nodes, specs[i].on_nodes, budget);
      if (!nodes && is_here && other.is_here) nodes = node;
      if (!nodes) continue;
      reporter.Report(
          Code::kDuplicate, name->place,
          Format("{} is already defined at {}{}", name->value.substr(0, 400),
                 Where(resources[other.index].PlaceOf("name")),
                 nodes->empty() ? "" : Format(", also for the node {}", QuoteJson(*nodes))),
          "one resource can have several [[resource.match]]; for different nodes, give each entry "
          "`on_nodes`, and no node to two of them");
      break;
    }
    others.push_back({i, is_here});
  }
}

/// Reports the first entry that is one too many for `node`, or for every node if that is "".
void CheckResourcesOfNode(std::span<const Section> resources,
                          const std::vector<ResourceSpec>& specs, const std::string& node,
                          Reporter& reporter) {
  std::size_t served = 0;
  std::size_t first_excess = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (resources[i].Has("on_nodes") && !specs[i].on_nodes.Matches(node)) continue;
    if (++served == kMaxResourcesOfNode + 1) first_excess = i;
  }
  if (served <= kMaxResourcesOfNode) return;
  reporter.Report(
      Code::kOutOfRange, resources[first_excess].place(),
      Format("there are {} resources for {}, more than {}", served,
             node.empty() ? "every node" : "the node " + QuoteJson(node), kMaxResourcesOfNode),
      "one resource can have several [[resource.match]]; give resources of other "
      "nodes `on_nodes`");
}

}  // namespace

Model Validate(const Section& document, const std::string& node, Reporter& reporter) {
  Model model;
  PatternCompiler patterns(reporter);
  if (const Section* daemon = document.GetSection("daemon")) {
    model.daemon = CompileDaemon(*daemon, patterns);
  }
  const std::span<const Section> resources = document.GetSections("resource");
  if (resources.size() > kMaxResources) {
    reporter.Report(Code::kOutOfRange, resources[kMaxResources].place(),
                    Format("there are {} resources, more than {}", resources.size(), kMaxResources),
                    "one resource can have several [[resource.match]]");
    return model;
  }
  for (const Section& resource : resources) {
    model.resources.push_back(CompileResource(resource, model.daemon, patterns));
    if (!IsApiKnown(document, resource)) continue;
    WarnOfKeysOfTheOtherApi(resource, model.resources.back(), reporter);
    CheckReleaseHook(resource, model.daemon, model.resources.back().api, reporter);
  }
  CheckResourcesOfNode(resources, model.resources, node, reporter);
  CheckDuplicates(resources, model.resources, node, reporter);
  return model;
}

}  // namespace patchbay
