#include "discovery/sysfs_device.h"

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
  candidate.device.values = scan.lineages().ValuesOf(device);
  candidate.device.numa_node = NumaNode(scan.host(), device.self().path);
  bool any = false;
  for (const std::string& path : members) {
    const auto member = scan.lineages().Of(path);
    if (!member) continue;
    if (auto unmet = scan.UnmetCondition(*member)) {
      scan.Drop(member->self().node.empty() ? path : member->self().node, std::move(*unmet));
      continue;
    }
    any = true;
    NamedValues values = scan.lineages().ValuesOf(*member);
    if (member->self().node.empty()) {
      // A network interface has no node to keep its values.
      MergeValues(std::move(values), candidate.device.values);
    } else if (auto node = scan.NodeAt(member->self().node, nullptr, std::move(values))) {
      candidate.device.nodes.push_back(std::move(*node));
    }
  }
  if (any && scan.Take(device.self())) scan.AddCandidate(std::move(candidate));
}

}  // namespace patchbay
