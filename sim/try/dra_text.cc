#include "sim/try/dra_text.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/escape.h"
#include "base/format.h"
#include "cli/response_text.h"
#include "dra/claim_metadata.h"
#include "sim/try/host_report.h"

namespace patchbay {
namespace {

std::string TextOf(const AttributeValue& value) {
  return std::visit(
      [](const auto& each) -> std::string {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return each.empty() || each.find(' ') != std::string::npos ? "\"" + each + "\"" : each;
        } else if constexpr (std::is_same_v<T, SemanticVersion>) {
          return each.text;
        } else {
          return Format("{}", each);
        }
      },
      value);
}

std::string DeviceLine(const SliceDevice& device) {
  std::string line;
  for (const auto& [name, value] : device.attributes) {
    if (name != "resource") line += Format(" {}={}", name, TextOf(value));  // the heading has it
  }
  for (const auto& [name, capacity] : device.capacity) {
    line += Format(" {}={}", name, QuantityText(capacity.value));
  }
  for (const DeviceTaint& taint : device.taints) line += " taint=" + TaintText(taint);
  return Format("  {} {}\n", Printable(device.name), Printable(line));
}

std::size_t CountDevices(std::span<const ResourceSlice> slices) {
  std::size_t count = 0;
  for (const ResourceSlice& slice : slices) count += slice.devices.size();
  return count;
}

bool IsReadOnly(const CdiMount& mount) {
  return std::ranges::find(mount.options, "ro") != mount.options.end();
}

/// Adds the edits of a device to what a container gets.
void AddEdits(const CdiEdits& edits, ContainerResponse& response) {
  response.envs.insert(edits.env.begin(), edits.env.end());
  for (const CdiDeviceNode& node : edits.device_nodes) {
    response.devices.push_back(
        {node.path, node.host_path.empty() ? node.path : node.host_path, node.permissions});
  }
  for (const CdiMount& mount : edits.mounts) {
    if (mount.container_path.starts_with(kMetadataDirectory)) continue;  // each claim has it
    response.mounts.push_back({mount.container_path, mount.host_path, IsReadOnly(mount)});
  }
}

}  // namespace

std::vector<std::string> PoolHeading() {
  return {"RESOURCE", "PUBLISHED", "POOL", "GENERATION", "SLICES", "DEVICES"};
}

std::vector<std::string> PoolRow(std::string_view resource, std::span<const ResourceSlice> slices) {
  if (slices.empty()) return {std::string(resource), "no"};
  const ResourceSlice& first = slices.front();
  return {std::string(resource),
          "yes",
          first.pool,
          std::to_string(first.generation),
          std::to_string(slices.size()),
          std::to_string(CountDevices(slices))};
}

std::string DevicesText(std::span<const ResourceSlice> slices) {
  std::string text;
  std::size_t shown = 0;
  for (const ResourceSlice& slice : slices) {
    for (const SliceDevice& device : slice.devices) {
      if (shown == kMaxDevicesShown) {
        return text + Format("  and {} more\n", CountDevices(slices) - shown);
      }
      text += DeviceLine(device);
      ++shown;
    }
  }
  return text;
}

std::string RenderCdiDevices(const CdiSpec& file, std::span<const std::string> cdi_devices) {
  ContainerResponse response;
  std::vector<std::uint32_t> groups;
  std::string hooks;
  for (const std::string& name : cdi_devices) {
    const auto own = std::ranges::find(file.devices, name, [&](const CdiDevice& device) {
      return QualifiedCdiName(file.kind, device.name);
    });
    if (own == file.devices.end()) {
      response.cdi_devices.push_back(name);
      continue;
    }
    AddEdits(own->edits, response);
    const auto& more = own->edits.additional_gids;
    groups.insert(groups.end(), more.begin(), more.end());
    for (const CdiHook& hook : own->edits.hooks) {
      std::string line;
      for (const std::string& word : hook.args) line += " " + word;
      hooks += Format("  {:<11}{}\n", "hook", Printable(line));
    }
  }
  std::string text = RenderResponse(response);
  for (const std::uint32_t group : groups) text += Format("  {:<11} {}\n", "group", group);
  return text + hooks;
}

}  // namespace patchbay
