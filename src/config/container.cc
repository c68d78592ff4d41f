// Each method of ContainerCompiler compiles one part of a resource into the ResourceSpec. Invalid
// values are reported and left out, so that the other ones are still checked.
//
// Every path in the container is recorded as a ConfiguredPath. CheckPath warns if two host paths
// can map to the same one: if a container can get several devices, if a device can have several
// nodes, or if two entries have the same path. The first two checks need all matches, so they are
// skipped if a match is invalid. What is left, clashes of nodes with mounts and of paths with their
// ancestors, is found by the rule of Allocate.

#include "config/container.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "config/drm_nodes.h"
#include "config/foreign_notation.h"
#include "config/match.h"
#include "config/normalize.h"
#include "config/path_clashes.h"
#include "model/validators.h"

namespace patchbay {
namespace {

using Check = Problem (*)(const TemplateShape&);

/// Returns whether the path is /sys/fs/cgroup or below it.
bool IsInCgroups(const Template& path) {
  return (FollowLink("/", ShapeOf(path).text) + "/").starts_with("/sys/fs/cgroup/");
}

/// The path in the container of a device_node without paths.
Template MatchedPath() { return Template::Compile("{path}").value(); }

/// Compiles the parts of one resource, one part per method.
class ContainerCompiler {
 public:
  ContainerCompiler(const Section& resource, const Scope& scope, Reporter& reporter,
                    ResourceSpec& spec)
      : resource_(resource), scope_(&scope), reporter_(reporter), spec_(spec) {}

  void DeviceNodes(std::span<const Section* const> matches);
  void Mounts();
  void PathClashes();
  void Env();
  void Annotations();
  void CdiDevices();
  void NetDevice();

 private:
  std::optional<Template> Checked(const Text& text, Check check, Code code, std::string_view hint);
  std::optional<Template> Path(const Text* text, Check check);
  DeviceNodeSpec DeviceNode(const Section& section, const void* group);
  void CheckDrmNames(const DeviceNodeSpec& node, const SourceLocation& place);
  void CheckChoiceOfNode(const Template& host_path, const Text& text);
  void CheckPath(const ConfiguredPath& target);
  void ReportClash(const SourceLocation& place, std::string message, std::string hint) {
    reporter_.Report(Code::kContainerPathClash, place, std::move(message), std::move(hint));
  }
  bool CanHoldSeveral() const;
  bool NodesCanClash(const Template& container) const;

  const Section& resource_;
  const Scope* scope_;                     ///< of the devices that the current part is for
  std::vector<const MatchSpec*> matches_;  ///< that find these devices
  Reporter& reporter_;
  ResourceSpec& spec_;
  std::vector<ConfiguredPath> paths_;
  bool has_same_path_ = false;  ///< reported
};

std::optional<Template> ContainerCompiler::Checked(const Text& text, Check check, Code code,
                                                   std::string_view hint) {
  auto compiled = CompileTemplate(text, *scope_, reporter_);
  if (!compiled) return std::nullopt;
  if (const auto problem = check(ShapeOf(*compiled))) {
    reporter_.Report(code, text, *problem, std::string(hint));
    return std::nullopt;
  }
  return compiled;
}

std::optional<Template> ContainerCompiler::Path(const Text* text, Check check) {
  if (text == nullptr) return std::nullopt;
  auto path = Checked(*text, check, Code::kBadPath, "use an absolute path, as in /dev/{name}");
  if (path) WarnOfForeignParts(*text, PatternKind::kPlain, reporter_);
  return path;
}

/// Returns whether a container can get two different devices.
bool ContainerCompiler::CanHoldSeveral() const {
  if (spec_.max_per_container == 1 || !scope_->complete) return false;
  return matches_.size() > 1 ||
         std::ranges::any_of(matches_, [](const MatchSpec* m) { return CanFindSeveral(*m); });
}

/// Returns whether a device can have two nodes that would get the same path.
bool ContainerCompiler::NodesCanClash(const Template& container) const {
  return scope_->complete && std::ranges::any_of(matches_, [&](const MatchSpec* match) {
           return CanHaveSeveralNodes(*match) && !TellsNodesApart(container, *match);
         });
}

/// `target` has a container_path of its own, or is a mount.
void ContainerCompiler::CheckPath(const ConfiguredPath& target) {
  const bool host_differs = !target.host || IsUniquePerDevice(*target.host);
  if (host_differs && !IsUniquePerDevice(target.container) && CanHoldSeveral()) {
    ReportClash(target.place,
                "a container with two devices would get both at this path, so it is rejected",
                "add a variable such as {slot} or {name}, or set max_per_container = 1");
  }
  if (!target.host && NodesCanClash(target.container)) {
    ReportClash(
        target.place,
        "a device with several nodes would have all of them at this path, so it is rejected",
        "add a variable that differs, such as {name} or a named group; this is harmless if every "
        "device has one node");
  }
  for (const ConfiguredPath& other : paths_) {
    if (other.kind != target.kind || other.container != target.container ||
        (target.host && other.host == target.host)) {
      continue;
    }
    const bool is_same_device =
        target.group == nullptr || other.group == nullptr || target.group == other.group;
    if (is_same_device && other.host == target.host) continue;
    if (!is_same_device) {
      if (spec_.max_per_container == 1 || IsUniquePerDevice(target.container)) continue;
      ReportClash(
          target.place,
          Format("a container with devices of two matches would get both at this path, as at {}, "
                 "so it is rejected",
                 Where(other.place)),
          "use another container_path for one of the two, or set max_per_container = 1");
      break;
    }
    has_same_path_ = true;
    ReportClash(target.place, "this path in the container is already used at " + Where(other.place),
                "use another container_path for one of the two");
    break;
  }
}

/// Reports variables in `host_path` whose text comes from the device itself. With these, a
/// malicious device could make Patchbay expose any device node of the host.
void ContainerCompiler::CheckChoiceOfNode(const Template& host_path, const Text& text) {
  for (const Template::Field& field : host_path.fields()) {
    const bool is_of_device = std::ranges::any_of(matches_, [&](const MatchSpec* match) {
      return OriginOf(field.name, *match) == Origin::kDevice;
    });
    if (!is_of_device) continue;
    reporter_.Report(Code::kBadPath, text.At(field.offset),
                     Format("{{{}}} is text from a device, which must not select a device node",
                            Truncate(field.name, 100)),
                     "use {path}, {name} or a named group of a regex; or let the match find the "
                     "node too, since a container gets all nodes of its device");
    return;
  }
}

DeviceNodeSpec ContainerCompiler::DeviceNode(const Section& section, const void* group) {
  DeviceNodeSpec node;
  const Text* host_path = section.GetText("host_path");
  const Text* container_path = section.GetText("container_path");
  node.host_path = Path(host_path, ProblemWithPath);
  if (node.host_path) CheckChoiceOfNode(*node.host_path, *host_path);
  node.container_path = Path(container_path, ProblemWithNodeTarget);
  section.Read("optional", node.optional);
  if (const Text* text = section.GetText("permissions")) {
    if (auto permissions = NormalizedPermissions(text->value)) {
      node.permissions = std::move(*permissions);
    } else {
      reporter_.Report(
          Code::kBadValue, text->place,
          Format("\"{}\" is not a combination of r, w and m", text->value.substr(0, 100)),
          "use each letter at most once, as in \"rw\"");
    }
  }
  const bool has_no_nodes =
      scope_->complete && !matches_.empty() &&
      std::ranges::none_of(matches_, [](const MatchSpec* m) { return CanHaveNodes(*m); });
  if (has_no_nodes && host_path == nullptr && !section.is_broken()) {
    reporter_.Report(Code::kWrongCombination, section.place(),
                     "devices of this resource have no device node",
                     "set host_path, or remove this device_node");
  }
  ConfiguredPath path{PathKind::kNode, MatchedPath(), node.host_path, section.place(), group};
  if (node.container_path) {
    path.container = *node.container_path;
    path.place = container_path->place;
    CheckPath(path);
  } else if (node.host_path) {
    path.container = *node.host_path;
    path.place = host_path->place;
  }
  const bool is_complete = node.container_path.has_value() == (container_path != nullptr) &&
                           node.host_path.has_value() == (host_path != nullptr);
  if (is_complete) paths_.push_back(std::move(path));
  CheckDrmNames(node, section.PlaceOf("container_path"));
  return node;
}

void ContainerCompiler::CheckDrmNames(const DeviceNodeSpec& node, const SourceLocation& place) {
  const auto drm = RenamedDrmNode(node, matches_);
  if (!drm) return;
  if (!drm->is_link) {
    return reporter_.Report(Code::kRenamedDrmNode, place,
                            Format("{} is renamed in the container, but libdrm and VA-API open the "
                                   "node by its kernel name",
                                   drm->path),
                            "remove container_path, or keep the name: /dev/dri/{name}");
  }
  reporter_.Report(
      Code::kRenamedDrmNode, place,
      Format("{} selects links, but libdrm and VA-API open the node by its kernel name", drm->path),
      node.host_path ? "find the node by a match, with container_path = \"{real_path}\""
                     : "set container_path = \"{real_path}\" in the device_node");
}

/// Compiles the nodes of single matches first, with the variables of that match, and then those of
/// the resource, which are for the other matches.
void ContainerCompiler::DeviceNodes(std::span<const Section* const> matches) {
  const Scope* all = scope_;
  std::vector<const MatchSpec*> others;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    MatchSpec& match = spec_.matches[i];
    const std::span<const Section> nodes = matches[i]->GetSections("device_node");
    if (nodes.empty()) others.push_back(&match);
    const Scope own = ContainerScope({&match, 1}, !matches[i]->is_broken());
    scope_ = &own;
    matches_ = {&match};
    for (const Section& node : nodes) match.device_nodes.push_back(DeviceNode(node, &match));
  }
  scope_ = all;
  matches_ = std::move(others);
  for (const Section& node : resource_.GetSections("device_node")) {
    spec_.device_nodes.push_back(DeviceNode(node, &spec_));
  }
  const bool no_nodes = scope_->complete && !HasNodes(spec_);
  if (spec_.device_nodes.empty() && !no_nodes) {
    spec_.device_nodes.emplace_back();
    CheckDrmNames(spec_.device_nodes.back(), resource_.place());
    paths_.push_back({PathKind::kNode, MatchedPath(), std::nullopt, resource_.place(), &spec_});
  }
  matches_.clear();
  for (const MatchSpec& match : spec_.matches) matches_.push_back(&match);
}

void ContainerCompiler::Mounts() {
  for (const Section& section : resource_.GetSections("mount")) {
    const Text* host_path = section.GetText("host_path");
    const Text* container_path = section.GetText("container_path");
    const bool is_same = container_path == nullptr && !section.is_broken();
    const auto host = Path(host_path, is_same ? ProblemWithMountTarget : ProblemWithPath);
    const auto container = is_same ? host : Path(container_path, ProblemWithMountTarget);
    if (!host || !container) continue;
    ConfiguredPath path{PathKind::kMount, *container, host,
                        (is_same ? host_path : container_path)->place};
    CheckPath(path);
    if (IsInCgroups(*container)) {
      ReportClash(path.place, "the container runtime mounts the cgroups of the container here",
                  "mount it at another path, or give the pod the host's cgroups in its own spec");
    }
    paths_.push_back(std::move(path));
    MountSpec& mount = spec_.mounts.emplace_back(MountSpec{*host, *container});
    section.Read("read_only", mount.read_only);
    section.Read("optional", mount.optional);
  }
}

void ContainerCompiler::PathClashes() {
  if (has_same_path_ || !scope_->complete) return;
  // Allocate rejects the clashes of files that are too large for this.
  if (spec_.matches.size() * paths_.size() > 100'000) return;
  for (const MatchSpec& match : spec_.matches) {
    const void* const group = match.device_nodes.empty() ? static_cast<void*>(&spec_) : &match;
    if (ReportPathClash(paths_, match, group, reporter_)) return;
  }
}

void ContainerCompiler::Env() {
  for (const auto& [key, value] : resource_.GetPairs("env")) {
    auto name = Checked(key, ProblemWithEnvName, Code::kBadValue,
                        "a name must match [A-Za-z_][A-Za-z0-9_]*; it can contain variables");
    auto text = CompileTemplate(value, *scope_, reporter_);
    if (name && IsReservedEnv(ShapeOf(*name).text)) {
      reporter_.Report(Code::kReservedName, key.place,
                       Format("{} controls which programs or libraries run in the container",
                              key.value.substr(0, 100)),
                       "set it in the pod or in the image, or choose another name");
    }
    if (name && text) spec_.env.emplace_back(std::move(*name), std::move(*text));
  }
}

void ContainerCompiler::Annotations() {
  for (const auto& [key, value] : resource_.GetPairs("annotations")) {
    auto name = Checked(key, ProblemWithAnnotationKey, Code::kBadValue,
                        "write \"example.com/name\" = \"…\"");
    auto text = CompileTemplate(value, *scope_, reporter_);
    if (name && text) spec_.annotations.emplace_back(std::move(*name), std::move(*text));
  }
}

void ContainerCompiler::CdiDevices() {
  for (const Text& text : resource_.GetTexts("cdi_devices")) {
    auto name =
        Checked(text, ProblemWithCdiName, Code::kBadValue, "as in \"example.com/card={id}\"");
    if (name) spec_.cdi_devices.push_back(std::move(*name));
  }
}

void ContainerCompiler::NetDevice() {
  const std::span<const Section> sections = resource_.GetSections("net_device");
  if (sections.empty()) return;
  const Section& section = sections.front();
  const auto refuse = [&](const SourceLocation& place, std::string message, std::string hint) {
    reporter_.Report(Code::kWrongCombination, place, std::move(message), std::move(hint));
  };
  if (sections.size() > 1) {
    refuse(sections[1].place(), "a device has one network interface, which moves once",
           "keep one [[resource.net_device]]");
  }
  const bool finds_others = std::ranges::any_of(
      matches_, [](const MatchSpec* match) { return !FindsInterfaces(*match); });
  if (scope_->complete && finds_others) {
    refuse(section.place(), "a match of this resource finds other devices than network interfaces",
           "find the interfaces with udev = {subsystem = \"net\"}, and without usb and pci, which "
           "find whole cards: driver, attributes and pci_address are conditions");
  }
  if (spec_.replicas > 1) {
    refuse(resource_.PlaceOf("replicas"), "an interface can be in one pod only",
           "remove replicas, or net_device");
  }
  const auto is_name = [](const Template::Field& field) { return field.name == "INTERFACE"; };
  for (const Section& match : resource_.GetSections("match")) {
    const Text* id = match.GetText("id");
    const auto compiled = id ? Template::Compile(id->value) : Template();
    if (!compiled || std::ranges::none_of(compiled->fields(), is_name)) continue;
    reporter_.Report(Code::kRenamedInterface, id->place,
                     "an interface can return from a pod under another name, and its device would "
                     "have another ID",
                     "remove id: by default it is the address of the bus device, which stays");
  }
  NetDeviceSpec& spec = spec_.net_device.emplace();
  section.Read("up", spec.up);
  section.Read("mtu", spec.mtu);
  const auto check = [&](const Template& value, const Text& text) {
    for (const Template::Field& field : value.fields()) {
      if (field.name != "index" && field.name != "replica") continue;
      refuse(text.At(field.offset),
             Format("{{{}}} cannot be used here, because a container that restarts keeps its "
                    "interface",
                    field.name),
             "use {slot} or {id}");
    }
    if (IsUniquePerDevice(value) || !CanHoldSeveral()) return;
    ReportClash(text.place, "two interfaces of a container would both have this",
                "add a variable such as {slot}, or set max_per_container = 1");
  };
  if (const Text* text = section.GetText("name")) {
    spec.name = Checked(*text, ProblemWithInterfaceName, Code::kBadValue, "as in \"can{slot}\"");
    if (spec.name) {
      check(*spec.name, *text);
      reporter_.Report(
          Code::kRenamedInterface, text->place,
          "the host gets the interface back under this name, and udev keeps it",
          "remove name; or set its name on the host by a .link file of systemd that has Path= in "
          "[Match] and Name= in [Link]");
    }
  }
  const std::vector<Text> addresses = section.GetTexts("addresses");
  if (addresses.size() > kMaxNetAddresses) {
    reporter_.Report(Code::kOutOfRange, addresses[kMaxNetAddresses].place,
                     Format("an interface can have at most {} addresses here", kMaxNetAddresses),
                     "set the others in the container");
  }
  for (const Text& text : addresses) {
    auto address =
        Checked(text, ProblemWithPrefixedAddress, Code::kBadValue, "as in \"192.0.2.7/24\"");
    if (!address) continue;
    check(*address, text);
    spec.addresses.push_back(std::move(*address));
  }
}

}  // namespace

void CompileContainer(const Section& resource, std::span<const Section* const> matches,
                      const Scope& scope, Reporter& reporter, ResourceSpec& spec) {
  ContainerCompiler compiler(resource, scope, reporter, spec);
  compiler.DeviceNodes(matches);
  compiler.Mounts();
  compiler.PathClashes();
  compiler.Env();
  compiler.Annotations();
  compiler.CdiDevices();
  compiler.NetDevice();
}

}  // namespace patchbay
