#include "discovery/grouping.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.h"
#include "model/variables.h"

namespace patchbay {
namespace {

/// Returns the value that selects the group of a candidate, as text.
std::optional<std::string> GroupValue(const Candidate& candidate, const std::string& variable) {
  const auto value = VariablesOf(candidate.device).Find(variable);
  if (!value) return std::nullopt;
  return std::visit([](const auto& v) { return format("{}", v); }, *value);
}

/// Returns the USB port of a candidate whose value is text from a device. Two devices with the same
/// serial number must not become one group: they stay two devices with the same ID.
std::string PortOfChooser(const Candidate& candidate, const std::string& variable) {
  const auto value = VariablesOf(candidate.device).Lookup(variable);
  const bool is_of_device = value && value->origin == Origin::kDevice && variable != "pci_address";
  return is_of_device ? GroupValue(candidate, "usb_port").value_or("") : "";
}

void Merge(Device from, Device& into) {
  std::move(from.nodes.begin(), from.nodes.end(), std::back_inserter(into.nodes));
  MergeValues(std::move(from.values), into.values);
}

/// Returns the first pattern that no node of the device matches.
const Glob* MissingNode(const std::vector<Glob>& require, const Device& device) {
  const auto missing = std::find_if(require.begin(), require.end(), [&](const Glob& glob) {
    return std::none_of(device.nodes.begin(), device.nodes.end(),
                        [&](const DeviceNode& node) { return glob.Matches(node.path); });
  });
  return missing == require.end() ? nullptr : &*missing;
}

/// Returns the first nodes of a device, for a message.
std::string Paths(const Device& device) {
  constexpr std::size_t kShown = 4;
  if (device.nodes.empty()) return "none";
  std::string paths;
  for (std::size_t i = 0; i < std::min(device.nodes.size(), kShown); ++i) {
    paths += (i == 0 ? "" : ", ") + device.nodes[i].path;
  }
  if (device.nodes.size() > kShown) paths += format(" and {} more", device.nodes.size() - kShown);
  return paths;
}

}  // namespace

std::vector<Candidate> Group(const ResourceSpec& spec, ScanContext& scan) {
  std::vector<Candidate> grouped;
  // Indexes in `grouped`, by match, value, and the USB port if the value is text from a device.
  std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> places;
  for (Candidate& candidate : std::exchange(scan.candidates(), {})) {
    const std::string& variable = spec.matches[candidate.match].group_by;
    if (variable.empty()) {
      grouped.push_back(std::move(candidate));
      continue;
    }
    const auto value = GroupValue(candidate, variable);
    if (!value) {
      scan.RejectCandidate(candidate, RejectReason::kMissingVariable,
                           format("group_by: no value for \"{}\"", variable));
      continue;
    }
    const auto [place, is_new] = places.emplace(
        std::tuple(candidate.match, *value, PortOfChooser(candidate, variable)), grouped.size());
    if (is_new) {
      candidate.identity = *value;
      grouped.push_back(std::move(candidate));
    } else {
      Merge(std::move(candidate.device), grouped[place->second].device);
    }
  }
  std::erase_if(grouped, [&](Candidate& candidate) {
    std::sort(candidate.device.nodes.begin(), candidate.device.nodes.end(),
              [](const DeviceNode& a, const DeviceNode& b) { return IdLess(a.path, b.path); });
    const Glob* missing = MissingNode(spec.matches[candidate.match].require, candidate.device);
    if (missing == nullptr) return false;
    scan.RejectCandidate(candidate, RejectReason::kIncomplete,
                         format("the device \"{}\" needs a node {}; it has {}", candidate.identity,
                                missing->text(), Paths(candidate.device)));
    return true;
  });
  return grouped;
}

}  // namespace patchbay
