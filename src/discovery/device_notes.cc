#include "discovery/device_notes.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/format.h"
#include "discovery/udev_rule.h"
#include "model/render.h"

namespace patchbay {
namespace {

constexpr std::string_view kDev = "/dev/", kGraphics = "/dev/dri/";

/// Returns why a container that is not root cannot open the node, although it has the group of the
/// node; empty if it can.
std::string WhyGroupIsOfNoUse(const std::string& path, const std::string& permissions,
                              const MatchSpec& match, ScanContext& scan) {
  const auto node = scan.host().Resolve(path);
  if (!node) return "";
  const bool reads = permissions.find('r') != std::string::npos;
  const bool writes = permissions.find('w') != std::string::npos;
  const unsigned needed = (reads ? 4U : 0U) | (writes ? 2U : 0U);
  const bool others_can = (node->mode & needed) == needed;
  const bool group_can = node->gid != 0 && ((node->mode >> 3U) & needed) == needed;
  if (others_can || group_can) return "";
  const std::string rule = UdevConditionsFor(path, *node, match, scan);
  return Format("{}: {}: a container that is not root cannot open it; set the group by udev{}",
                path, node->gid == 0 ? "group is root" : Format("mode is {:04o}", node->mode),
                rule.empty() ? ""
                             : Format(", with this rule in /etc/udev/rules.d/90-devices.rules: {}, "
                                      "GROUP=\"dialout\", MODE=\"0660\"",
                                      rule));
}

/// Returns that graphics libraries will not find a node of kGraphics; empty if they will.
std::string WhyGraphicsFail(const std::string& real_path, const std::string& container_path) {
  if (real_path == container_path) return "";
  return Format(
      "{} is {} in the container, but libdrm and VA-API open the node by its kernel name; set "
      "container_path = \"{{real_path}}\"",
      real_path, container_path);
}

/// Returns that udev can give a link to another device; empty if only one device requests it.
std::string WhyLinkCanMove(const DeviceNode& node, const ScanContext& scan) {
  if (node.path == node.real_path || !node.path.starts_with(kDev) ||
      node.path.find("/by-id/") == std::string::npos) {
    return "";
  }
  std::vector<std::string> numbers = RequestsOfLink(node.path, scan.host());
  if (numbers.size() < 2) return "";
  const std::size_t count = numbers.size();
  if (numbers.size() > 4) numbers.resize(4);
  return Format(
      "{} devices request the link {}, because they have the same serial number ({}); udev gives "
      "it "
      "to one of them, and can move it, and with it this ID, to another one; match by usb_port, or "
      "by a link in by-path",
      count, node.path, fmt::join(numbers, ", "));
}

std::string_view NodeValue(const NamedValues& values, std::string_view variable) {
  const auto value = std::ranges::find(values, variable, &NamedValues::value_type::first);
  return value == values.end() ? std::string_view() : value->second;
}

/// Returns the values of the nodes of a device. A match without conditions has not read them.
std::vector<NamedValues> ValuesOfNodes(const Device& device, ScanContext& scan) {
  std::vector<NamedValues> values;
  for (const DeviceNode& node : device.nodes) {
    values.push_back(node.values);
    if (!node.values.empty()) continue;
    const auto syspath = scan.sysfs().OfNode(node.type, node.major, node.minor);
    const auto ancestry =
        syspath ? scan.ancestries().Of(*syspath) : tl::unexpected(syspath.error());
    if (ancestry) values.back() = scan.ancestries().ValuesOf(*ancestry);
  }
  return values;
}

/// Returns that a group, or without `group_by` what a path of `together` finds, has nodes of
/// several devices; empty if it does not. USB devices come first: the PCI slot of a USB device is
/// that of its controller, and a card reader has several disks.
std::string WhyGroupIsTooLarge(const std::vector<NamedValues>& nodes, const std::string& group_by) {
  struct Kind {
    std::string_view variable, name;
    bool is_disk = false;
  };
  for (const auto& [variable, name, is_disk] :
       {Kind{"usb_port", "USB devices"}, Kind{"pci_slot", "PCI cards"},
        Kind{"parent", "disks", true}}) {
    std::set<std::string_view> values;
    for (const NamedValues& node : nodes) {
      if (is_disk && NodeValue(node, "DEVTYPE") != "disk") continue;
      if (const auto value = NodeValue(node, variable); !value.empty()) values.insert(value);
    }
    if (values.size() > 1) {
      const std::string why =
          group_by.empty()
              ? "one path of together finds them; name the node of one of them"
              : Format("they have the same {}; group_by = \"{}\" makes a device of each", group_by,
                       variable);
      return Format("its nodes belong to {} {}, such as {} and {}, because {}", values.size(), name,
                    *values.begin(), *values.rbegin(), why);
    }
    if (variable == "usb_port" && !values.empty()) return "";
  }
  return "";
}

class NoteFinder {
 public:
  NoteFinder(const ResourceSpec& spec, ScanContext& scan, Discovery& discovery)
      : spec_(spec), scan_(scan), discovery_(discovery) {}

  void Look(Variables variables) {
    const MatchSpec& match = spec_.matches[variables.device->match];
    if (!match.group_by.empty() && variables.device->nodes.size() > 1) {
      Add(variables, WhyGroupIsTooLarge(ValuesOfNodes(*variables.device, scan_), match.group_by));
    }
    if (match.together) LookAtPaths(match, variables);
    for (const DeviceNode& node : variables.device->nodes) {
      Add(variables, WhyLinkCanMove(node, scan_));
    }
    for (const DeviceNodeSpec& given : DeviceNodesOf(spec_, variables.device->match)) {
      if (given.host_path) {
        LookAtChosen(given, variables);
        continue;
      }
      for (const DeviceNode& node : variables.device->nodes) {
        variables.node = &node;
        LookAtNode(given, node.path, node.real_path, variables);
      }
    }
  }

 private:
  void LookAtPaths(const MatchSpec& match, const Variables& variables) {
    const auto* source = std::get_if<PathSource>(&match.source);
    if (source == nullptr) return;
    const std::vector<NamedValues> values = ValuesOfNodes(*variables.device, scan_);
    for (const Glob& glob : source->globs) {
      std::vector<NamedValues> found;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (glob.Matches(variables.device->nodes[i].path)) found.push_back(values[i]);
      }
      Add(variables, WhyGroupIsTooLarge(found, ""));
    }
  }

  void LookAtChosen(const DeviceNodeSpec& given, const Variables& variables) {
    if (!spec_.grant_group && !given.host_path->text().starts_with(kGraphics)) return;
    const auto path = RenderPath(*given.host_path, variables, "host_path");
    const auto node = path ? scan_.host().Resolve(*path) : Failure(path.error());
    if (node) LookAtNode(given, *path, node->path, variables);
  }

  void LookAtNode(const DeviceNodeSpec& given, const std::string& path,
                  const std::string& real_path, const Variables& variables) {
    if (spec_.grant_group) {
      const MatchSpec& match = spec_.matches[variables.device->match];
      Add(variables, WhyGroupIsOfNoUse(path, given.permissions, match, scan_));
    }
    if (!real_path.starts_with(kGraphics)) return;
    const auto target = given.container_path
                            ? RenderPath(*given.container_path, variables, "container_path")
                            : Result<std::string>(path);
    if (target) Add(variables, WhyGraphicsFail(real_path, *target));
  }
  void Add(const Variables& variables, std::string text) {
    if (text.empty() || discovery_.notes.size() == kMaxDeviceNotes) return;
    discovery_.notes.push_back({variables.device->id, std::move(text)});
  }

  const ResourceSpec& spec_;
  ScanContext& scan_;
  Discovery& discovery_;
};

}  // namespace

std::vector<std::string> RequestsOfLink(const std::string& link, const HostRoot& host) {
  std::vector<std::string> numbers;
  if (!link.starts_with(kDev)) return numbers;
  // The name of the directory in which udev lists the devices that request the link; older versions
  // keep the first slash.
  std::string name;
  for (const char c : link.substr(kDev.size())) {
    name += c == '/' ? "\\x2f" : c == '\\' ? "\\x5c" : std::string(1, c);
  }
  for (const std::string_view slash : {"", "\\x2f"}) {
    const auto entries = host.List(Format("/run/udev/links/{}{}", slash, name),
                                   [](const std::string&) { return true; });
    if (!entries || !numbers.empty()) continue;
    for (const HostEntry& entry : *entries) numbers.push_back(entry.name);
  }
  std::ranges::sort(numbers);
  return numbers;
}

void FindNotes(const ResourceSpec& spec, const std::string& node_name, ScanContext& scan,
               Discovery& discovery) {
  NoteFinder finder(spec, scan, discovery);
  for (const Device& device : discovery.devices) {
    finder.Look(VariablesOf(device, spec.name, node_name));
  }
}

}  // namespace patchbay
