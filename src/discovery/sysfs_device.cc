#include "discovery/sysfs_device.h"

#include <algorithm>

#include "base/format.h"
#include "discovery/numa.h"

namespace patchbay {
namespace {

/// A part of a device that does not meet the conditions of the match.
struct UnfitPart {
  const SysfsDevice* part;
  std::string why;
};

/// Returns the reason of a part as that of its device.
std::string TextOfPart(const SysfsDevice& part, const SysfsDevice& device, const std::string& why) {
  if (part.path == device.path) return why;
  return Format("{}: {}", part.node.empty() ? part.name : part.node, why);
}

/// Reports the parts that do not meet the conditions. If no part meets them, reports the device
/// with the reason of the deepest part. Otherwise reports only parts with a node.
void DropParts(const std::string& identity, const SysfsDevice& device, bool any_fits,
               const std::vector<UnfitPart>& parts, ScanReport& report) {
  if (!any_fits && !parts.empty()) {
    const auto& [part, why] = parts.back();
    const std::string reason = TextOfPart(*part, device, why);
    return report.Drop({{identity, {device.path}, device.path},
                        DropReason::kCondition,
                        reason == why ? why : "no part of it meets the conditions; " + reason});
  }
  for (const auto& [part, why] : parts) {
    if (part->node.empty()) continue;
    report.Drop({{"", {part->node}, part->path}, DropReason::kCondition, why});
  }
}

}  // namespace

void AddSysfsDevice(const DeviceAncestry& device, std::string identity,
                    const std::function<bool(const SysfsDevice&)>& is_other,
                    const std::vector<std::string>& also, ScanContext& scan) {
  const Sysfs& sysfs = scan.sysfs();
  const SysfsPaths below = sysfs.Below(device.self().path, [&](const std::string& path) {
    const auto other = scan.ancestries().Of(path);
    return path != device.self().path && other && is_other(other->self());
  });
  for (const Error& error : below.errors) scan.RejectUnreadable(device.self().path, error);
  std::vector<std::string> members = below.paths;
  members.insert(members.end(), also.begin(), also.end());

  Device found;
  found.values = scan.ancestries().ValuesOf(device);
  found.numa_node = NumaNode(scan.host(), device.self().path);
  std::vector<UnfitPart> unfit, without_node;
  std::optional<MatchReport::Drop> excluded;
  bool any = false, any_excluded = false;
  std::string interface;
  for (const std::string& path : members) {
    auto member = scan.ancestries().Of(path);
    if (!member) continue;
    // Parts that are not descendants have the drivers and attributes of the device, too.
    const bool is_apart = std::find(also.begin(), also.end(), path) != also.end();
    if (is_apart) {
      member->devices.insert(member->devices.end(), device.devices.begin(), device.devices.end());
    }
    const std::string& node_path = member->self().node;
    const auto exclude = [&](DropReason reason, const std::string& why) {
      if (!excluded) {
        excluded = {{identity, {device.self().path}, device.self().path},
                    reason,
                    TextOfPart(member->self(), device.self(), why)};
      }
    };
    auto unselected = scan.WhyUnselected(*member);
    const auto node_excluded =
        node_path.empty() ? std::nullopt
                          : scan.ExcludeNode(node_path, unselected && !unselected->is_negated());
    if (node_excluded && node_excluded->with_device) {
      exclude(DropReason::kExcluded, node_excluded->why);
    }
    if (unselected) {
      if (unselected->is_negated()) exclude(DropReason::kCondition, unselected->why);
      unfit.push_back({&member->self(), std::move(unselected->why)});
      continue;
    }
    if (std::string why = WhyNodeIsMissing(member->self()); !why.empty()) {
      without_node.push_back({&member->self(), std::move(why)});
    } else {
      any = true;
    }
    if (member->self().subsystem == "net") {
      if (!interface.empty()) {
        scan.report().Drop(
            {{"", {path}, path},
             DropReason::kFoundBefore,
             Format("the device has the variables of its interface {}; with udev, and without usb "
                    "and pci, each interface is a device",
                    interface)});
        continue;
      }
      interface = member->self().name;
    }
    NamedValues values = scan.ancestries().ValuesOf(*member);
    if (node_path.empty()) {
      // A network interface has no node for its values.
      MergeValues(std::move(values), found.values);
    } else if (node_excluded) {
      any_excluded = true;
    } else if (auto node = scan.NodeOf(member->self(), std::move(values))) {
      found.nodes.push_back(std::move(*node));
    } else {
      return scan.RejectOnce(
          node_path, RejectReason::kIncomplete,
          Format("sysfs has this node of the device \"{}\", but the node is not accessible; check "
                 "that the host's /dev is mounted and readable",
                 identity));
    }
  }
  if (excluded) {
    scan.AddExcluded(std::move(found), device.self().path, excluded->detail);
    return scan.report().Drop(std::move(*excluded));
  }
  // These count only together with other parts, for their values.
  if (!any) unfit.insert(unfit.end(), without_node.begin(), without_node.end());
  DropParts(identity, device.self(), any, unfit, scan.report());
  if (!any || (any_excluded && found.nodes.empty())) return;
  if (!scan.Take(device.self())) return;
  scan.AddCandidate(std::move(found), std::move(identity), device.self().path);
}

}  // namespace patchbay
