#include "discovery/sysfs_device.h"

#include <algorithm>

#include "base/format.h"
#include "discovery/numa.h"

namespace patchbay {

void AddSysfsDevice(const Lineage& device, std::string identity,
                    const std::function<bool(const SysfsDevice&)>& is_other,
                    const std::vector<std::string>& also, Scan& scan) {
  const Sysfs& sysfs = scan.sysfs();
  const SysfsPaths below = sysfs.Below(device.self().path, [&](const std::string& path) {
    const auto other = scan.lineages().Of(path);
    return path != device.self().path && other && is_other(other->self());
  });
  for (const Error& error : below.errors) scan.RejectUnreadable(device.self().path, error);
  std::vector<std::string> members = below.paths;
  members.insert(members.end(), also.begin(), also.end());

  Candidate candidate;
  candidate.identity = std::move(identity);
  candidate.name = device.self().name;
  candidate.device.values = scan.lineages().ValuesOf(device);
  candidate.device.numa_node = NumaNode(scan.host(), device.self().path);
  bool any = false, any_excluded = false;
  std::string interface;
  for (const std::string& path : members) {
    auto member = scan.lineages().Of(path);
    if (!member) continue;
    // What belongs to it without lying below it has its drivers and attributes all the same.
    const bool is_apart = std::find(also.begin(), also.end(), path) != also.end();
    if (is_apart) {
      member->devices.insert(member->devices.end(), device.devices.begin(), device.devices.end());
    }
    const std::string& node_path = member->self().node;
    if (auto unmet = scan.UnmetCondition(*member)) {
      scan.Drop(node_path.empty() ? path : node_path, std::move(*unmet));
      continue;
    }
    any = true;
    if (member->self().subsystem == "net") {
      if (!interface.empty()) {
        scan.Drop(path, format("the device has the variables of its interface {}; with udev, and "
                               "without usb and pci, each interface is a device",
                               interface));
        continue;
      }
      interface = member->self().name;
    }
    NamedValues values = scan.lineages().ValuesOf(*member);
    if (node_path.empty()) {
      // A network interface has no node to keep its values.
      MergeValues(std::move(values), candidate.device.values);
    } else if (scan.IsExcluded(node_path)) {
      any_excluded = true;
    } else if (auto node = scan.NodeAt(node_path, nullptr, std::move(values))) {
      candidate.device.nodes.push_back(std::move(*node));
    } else {
      return scan.Reject(node_path, RejectReason::kIncomplete,
                         format("sysfs has this node of the device \"{}\", but it is not there; "
                                "is the host's /dev mounted?",
                                candidate.identity));
    }
  }
  if (!any || (any_excluded && candidate.device.nodes.empty())) return;
  if (scan.Take(device.self())) scan.AddCandidate(std::move(candidate));
}

}  // namespace patchbay
