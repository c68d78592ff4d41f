#include "metrics/device_families.h"

#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

namespace patchbay {
namespace {

void WriteUnits(const ResourceStatuses& resources, FamilyText& text) {
  for (const auto& [resource, known] : resources) {
    double healthy = 0, unhealthy = 0;
    if (known.snapshot) {
      const double replicas = known.snapshot->spec ? known.snapshot->spec->replicas : 1;
      for (const ListedDevice& listed : known.snapshot->devices) {
        (listed.health == Health::kHealthy ? healthy : unhealthy) += replicas;
      }
    }
    text.Add({{"health", "healthy"}, {"resource", resource}}, healthy);
    text.Add({{"health", "unhealthy"}, {"resource", resource}}, unhealthy);
  }
}

void WriteRejected(const ResourceStatuses& resources, FamilyText& text) {
  for (const auto& [resource, known] : resources) {
    std::array<double, std::size(kAllRejectReasons)> by_reason{};
    if (known.snapshot) {
      for (const Rejection& rejection : known.snapshot->rejected) {
        ++by_reason.at(static_cast<std::size_t>(rejection.reason));
      }
    }
    for (const RejectReason reason : kAllRejectReasons) {
      text.Add({{"reason", Name(reason)}, {"resource", resource}},
               by_reason.at(static_cast<std::size_t>(reason)));
    }
  }
}

void WriteInfo(const ResourceStatuses& resources, FamilyText& text) {
  for (const auto& [resource, known] : resources) {
    if (!known.snapshot) continue;
    for (const ListedDevice& listed : known.snapshot->devices) {
      const Device& device = *listed.device;
      const std::string_view path =
          device.nodes.empty() ? "" : std::string_view(device.nodes[0].path);
      const std::string numa = device.numa_node ? std::to_string(*device.numa_node) : "";
      text.Add({{"device", device.id}, {"numa_node", numa}, {"path", path}, {"resource", resource}},
               1);
    }
  }
}

void WriteHealthy(const ResourceStatuses& resources, FamilyText& text) {
  for (const auto& [resource, known] : resources) {
    if (!known.snapshot) continue;
    for (const ListedDevice& listed : known.snapshot->devices) {
      text.Add({{"device", listed.device->id}, {"resource", resource}},
               listed.health == Health::kHealthy ? 1 : 0);
    }
  }
}

void WriteUnitsInUse(const ResourceStatuses& resources, FamilyText& text) {
  for (const auto& [resource, known] : resources) {
    text.Add({{"resource", resource}}, known.usage ? static_cast<double>(known.usage->units) : 0);
  }
}

void WriteHolders(const ResourceStatuses& resources, FamilyText& text) {
  for (const auto& [resource, known] : resources) {
    if (!known.usage) continue;
    for (const auto& [device, holders] : known.usage->holders) {
      for (const Holder& holder : holders) {
        text.Add({{"container", holder.container},
                  {"device", device},
                  {"namespace", holder.pod_namespace},
                  {"pod", holder.pod},
                  {"resource", resource}},
                 1);
      }
    }
  }
}

struct DeviceFamily {
  const char* name;
  bool of_each_device;
  void (*write)(const ResourceStatuses& resources, FamilyText& text);
  const char* help;
};

constexpr DeviceFamily kFamilies[] = {
    {"patchbay_devices", false, WriteUnits,
     "Units advertised to the kubelet by health: devices times 'replicas' of the resource. "
     "health=\"unhealthy\" above 0 is capacity that pods cannot get; 0 of both on a node that has "
     "the hardware: run 'patchbay devices'."},
    {"patchbay_rejected_devices", false, WriteRejected,
     "What matched the resource but is not advertised, by reason. Should be 0; 'patchbay devices' "
     "names each path and what is wrong with it."},
    {"patchbay_device_info", true, WriteInfo,
     "Always 1, one series for each physical device whatever 'replicas' says; path is its first "
     "node. Join on it to find the hardware behind a device ID."},
    {"patchbay_device_healthy", true, WriteHealthy,
     "1 while the physical device works, 0 while it is broken or gone. At 0 for long: repair the "
     "device; pods no longer get it."},
    {"patchbay_devices_in_use", false, WriteUnitsInUse,
     "Units of the resource that pods hold, as the kubelet last said. Compare it with "
     "patchbay_devices: near it, the next pod has to wait."},
    {"patchbay_device_in_use", true, WriteHolders,
     "Always 1, one series for each container that holds the device. Join on it to find which pod "
     "a broken device hits."},
};

}  // namespace

std::vector<TextFamily> DeviceCollector::Collect() const {
  const auto resources = std::make_shared<const ResourceStatuses>(store_.Resources());
  const bool device_metrics = device_metrics_;
  std::vector<TextFamily> families;
  for (const DeviceFamily& family : kFamilies) {
    if (family.of_each_device && !device_metrics) continue;
    families.push_back({family.name, [resources, &family](std::string& out) {
                          FamilyText text(out, family.name, family.help,
                                          prometheus::MetricType::Gauge);
                          family.write(*resources, text);
                        }});
  }
  return families;
}

HealthTransitions CountTransitions(const Snapshot& before, const Snapshot& after) {
  HealthTransitions transitions;
  auto old = before.devices.begin();
  for (const ListedDevice& listed : after.devices) {
    while (old != before.devices.end() && IdLess(old->device->id, listed.device->id)) ++old;
    if (old == before.devices.end()) break;
    if (old->device->id != listed.device->id || old->health == listed.health) continue;
    ++(listed.health == Health::kHealthy ? transitions.to_healthy : transitions.to_unhealthy);
  }
  return transitions;
}

}  // namespace patchbay
