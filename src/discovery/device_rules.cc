// Each rule marks the candidates that it rejects and erases them at the end, so that all of them
// are compared with each other. A device that had its ID in the previous snapshot has precedence in
// each rule.

#include "discovery/device_rules.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/format.h"

namespace patchbay {
namespace {

void EraseMarked(const std::vector<bool>& marked, std::vector<Candidate>& found) {
  std::size_t i = 0;
  std::erase_if(found, [&](const Candidate&) { return marked[i++]; });
}

/// Returns a property of the device; empty if it has none.
std::string_view PropertyOf(const Device& device, std::string_view property) {
  for (const auto& [name, value] : device.values) {
    if (name == property) return value;
  }
  return "";
}

/// Returns the syspath of the device; empty if only its nodes were matched.
std::string_view SysfsPathOf(const Device& device) { return PropertyOf(device, "DEVPATH"); }

/// Returns whether both are the same device: by syspath, or otherwise by all their nodes. Two sysfs
/// devices can share a node, like the functions of an IOMMU group.
bool IsSameDevice(const Device& a, const Device& b) {
  const std::string_view path_of_a = SysfsPathOf(a), path_of_b = SysfsPathOf(b);
  if (!path_of_a.empty() || !path_of_b.empty()) return path_of_a == path_of_b;
  std::set<NodeKey> keys_of_a, keys_of_b;
  for (const DeviceNode& node : a.nodes) keys_of_a.insert(KeyOf(node));
  for (const DeviceNode& node : b.nodes) keys_of_b.insert(KeyOf(node));
  return keys_of_a == keys_of_b;
}

/// Returns whether the device had its ID before this scan.
bool HadId(const Device& device, const ScanRequest& request) {
  const ListedDevice* before =
      request.before == nullptr ? nullptr : FindDevice(*request.before, device.id);
  return before != nullptr && IsSameDevice(*before->device, device);
}

/// Returns whether the text of a template exists for each candidate and differs.
bool IsDistinct(std::span<const Candidate> candidates, const Template& id) {
  std::set<std::string> seen;
  return std::ranges::all_of(candidates, [&](const Candidate& candidate) {
    const auto text = id.Render(VariablesOf(*candidate.device));
    return text && seen.insert(*text).second;
  });
}

/// Returns the first ID that differs for each candidate; empty if none does. `path` comes last,
/// because the kernel numbers nodes in the order in which devices are plugged in.
std::string_view DistinctIdFor(std::span<const Candidate> candidates) {
  for (const std::string_view id :
       {"{usb_port}", "{usb_port}-{usb_interface}", "{pci_address}", "{path}"}) {
    if (IsDistinct(candidates, *Template::Compile(id))) return id;
  }
  return "";
}

/// Returns the variable that names the one device whose nodes all candidates are, such as the nodes
/// of a camera; empty if they are several devices. The PCI address of a USB device is that of its
/// controller, which has many devices.
std::string_view SharedDeviceOf(std::span<const Candidate> candidates) {
  for (const std::string_view variable : {"usb_port", "pci_address"}) {
    const Template value = *Template::Compile(Format("{{{}}}", variable));
    std::set<std::string> values;
    std::size_t with_value = 0;
    for (const Candidate& candidate : candidates) {
      if (candidate.device->nodes.empty()) return "";
      const auto text = value.Render(VariablesOf(*candidate.device));
      if (text) values.insert(*text), ++with_value;
    }
    if (with_value == 0) continue;
    return with_value == candidates.size() && values.size() == 1 ? variable : "";
  }
  return "";
}

/// Returns a hint if one device is a child of another one, such as a partition of its disk or a
/// Bluetooth connection of its adapter; otherwise an empty text.
std::string HintOnChild(std::span<const Candidate> sharing) {
  std::unordered_map<std::string_view, const Candidate*> by_path;
  for (const Candidate& candidate : sharing) {
    const std::string_view path = SysfsPathOf(*candidate.device);
    if (!path.empty()) by_path.emplace(path, &candidate);
  }
  for (const auto& [path, child] : by_path) {
    for (auto end = path.rfind('/'); end != 0 && end != path.npos; end = path.rfind('/', end - 1)) {
      const auto parent = by_path.find(path.substr(0, end));
      if (parent == by_path.end()) continue;
      const std::string_view kind = PropertyOf(*parent->second->device, "DEVTYPE");
      if (kind.empty()) return "";
      return Format(
          "{} is a child of {}; to list only the parents, add properties = {{ DEVTYPE = \"{}\" }} "
          "to udev",
          child->label(), parent->second->label(), kind);
    }
  }
  return "";
}

/// Returns what an administrator can do about devices with the same ID.
std::string HintOnSharedId(std::span<const Candidate> sharing) {
  if (std::string hint = HintOnChild(sharing); !hint.empty()) return hint;
  const std::string_view id = DistinctIdFor(sharing);
  if (const std::string_view device = SharedDeviceOf(sharing); !device.empty()) {
    return Format(
        "they are nodes of one device: set group_by = \"{}\" in the match to list them as one{}",
        device, id.empty() ? "" : Format(", or id = \"{}\" to list each", id));
  }
  if (id.empty()) return "set an id in the match that differs for each device";
  return Format("set id = \"{}\" in the match, which differs for each", id);
}

/// Usually none is shared, so numbers are only collected and sorted.
bool SharesNodes(const std::vector<Candidate>& found) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(found.size());
  std::unordered_set<std::string> others;
  for (const Candidate& candidate : found) {
    for (const DeviceNode& node : candidate.device->nodes) {
      if (const std::uint64_t number = NumberOf(node); number != 0) {
        numbers.push_back(number);
      } else if (!others.insert(node.real_path).second) {
        return true;
      }
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end();
}

}  // namespace

void RejectSharedIds(std::vector<Candidate>& found, const ScanRequest& request, ScanContext& scan) {
  std::vector<bool> rejected(found.size(), false);
  for (std::size_t first = 0, last = 0; first < found.size(); first = last) {
    while (last < found.size() && found[last].device->id == found[first].device->id) ++last;
    if (last - first == 1) continue;
    const std::span<const Candidate> sharing(found.data() + first, last - first);
    const auto had = [&](const Candidate& candidate) { return HadId(*candidate.device, request); };
    const bool is_known = std::count_if(sharing.begin(), sharing.end(), had) == 1;
    const auto owner = is_known ? std::find_if(sharing.begin(), sharing.end(), had) : sharing.end();
    const std::string& id = sharing.front().device->id;
    const std::string detail = is_known ? Format("the ID \"{}\" is already used by {}; {}", id,
                                                 owner->label(), HintOnSharedId(sharing))
                                        : Format("{} devices have the ID \"{}\"; {}",
                                                 sharing.size(), id, HintOnSharedId(sharing));
    for (auto at = sharing.begin(); at != sharing.end(); ++at) {
      if (at == owner) continue;
      rejected[first + static_cast<std::size_t>(at - sharing.begin())] = true;
      scan.RejectCandidate(*at, RejectReason::kDuplicateId, detail);
    }
  }
  EraseMarked(rejected, found);
}

void RejectSharedNodes(std::vector<Candidate>& found, const ScanRequest& request,
                       ScanContext& scan) {
  if (!SharesNodes(found)) return;
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return HadId(*found[i].device, request); });
  std::unordered_map<NodeKey, std::size_t, NodeKeyHash> by_node;
  std::vector<bool> rejected(found.size(), false);
  for (const std::size_t i : order) {
    const auto& nodes = found[i].device->nodes;
    const auto shared = std::find_if(nodes.begin(), nodes.end(), [&](const DeviceNode& node) {
      return by_node.contains(KeyOf(node));
    });
    if (shared == nodes.end()) {
      for (const DeviceNode& node : nodes) by_node.emplace(KeyOf(node), i);
      continue;
    }
    rejected[i] = true;
    const Device& owner = *found[by_node.at(KeyOf(*shared))].device;
    if (IsSameDevice(owner, *found[i].device)) {
      scan.report().Drop({{"", {shared->path}},
                          DropReason::kFoundBefore,
                          Format("it is another path of the device \"{}\"", owner.id)},
                         found[i].device->match);
    } else {
      scan.RejectCandidate(found[i], RejectReason::kDuplicateNode,
                           Format("the device \"{}\" has a node of the device \"{}\"",
                                  found[i].device->id, owner.id));
    }
  }
  EraseMarked(rejected, found);
}

void RejectBeyondLimits(const ResourceSpec& spec, std::vector<Candidate>& found,
                        const ScanRequest& request, ScanContext& scan) {
  std::vector<int> room;
  for (const MatchSpec& match : spec.matches) room.push_back(match.max_devices);
  if (std::all_of(room.begin(), room.end(), [](int limit) { return limit == 0; })) return;
  std::vector<bool> rejected(found.size(), false);
  for (const bool had_id : {true, false}) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const int limit = spec.matches[found[i].device->match].max_devices;
      if (limit == 0 || HadId(*found[i].device, request) != had_id) continue;
      if (int& left = room[found[i].device->match]; left > 0) {
        --left;
        continue;
      }
      rejected[i] = true;
      scan.RejectCandidate(found[i], RejectReason::kLimit,
                           Format("max_devices of the match is {}, and other devices were listed "
                                  "before or have lower IDs; narrow the match, or raise "
                                  "max_devices",
                                  limit));
    }
  }
  EraseMarked(rejected, found);
}

}  // namespace patchbay
