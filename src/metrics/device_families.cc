#include "metrics/device_families.h"

#include <array>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/escape.h"

namespace patchbay {
namespace {

using prometheus::MetricFamily;

/// Adds a series. Prometheus rejects a whole scrape with a label value that is not UTF-8, so such
/// a value is escaped.
void Add(MetricFamily& family,
         std::initializer_list<std::pair<const char*, std::string_view>> labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label.reserve(labels.size());
  for (const auto& [name, text] : labels) {
    metric.label.push_back({name, IsUtf8(text) ? std::string(text) : Printable(text)});
  }
  metric.gauge.value = value;
}

void AddUnits(const std::string& resource, const ResourceStatus& status, MetricFamily& family) {
  double healthy = 0, unhealthy = 0;
  if (status.snapshot) {
    const double replicas = status.snapshot->spec ? status.snapshot->spec->replicas : 1;
    for (const ListedDevice& listed : status.snapshot->devices) {
      (listed.health == Health::kHealthy ? healthy : unhealthy) += replicas;
    }
  }
  Add(family, {{"health", "healthy"}, {"resource", resource}}, healthy);
  Add(family, {{"health", "unhealthy"}, {"resource", resource}}, unhealthy);
}

void AddRejected(const std::string& resource, const ResourceStatus& status, MetricFamily& family) {
  std::array<double, std::size(kAllRejectReasons)> by_reason{};
  if (status.snapshot) {
    for (const Rejection& rejection : status.snapshot->rejected) {
      ++by_reason.at(static_cast<std::size_t>(rejection.reason));
    }
  }
  for (const RejectReason reason : kAllRejectReasons) {
    Add(family, {{"reason", Name(reason)}, {"resource", resource}},
        by_reason.at(static_cast<std::size_t>(reason)));
  }
}

void AddInfo(const std::string& resource, const ResourceStatus& status, MetricFamily& family) {
  if (!status.snapshot) return;
  for (const ListedDevice& listed : status.snapshot->devices) {
    const Device& device = *listed.device;
    const std::string_view path =
        device.nodes.empty() ? "" : std::string_view(device.nodes[0].path);
    const std::string numa = device.numa_node ? std::to_string(*device.numa_node) : "";
    Add(family,
        {{"device", device.id}, {"numa_node", numa}, {"path", path}, {"resource", resource}}, 1);
  }
}

void AddHealthy(const std::string& resource, const ResourceStatus& status, MetricFamily& family) {
  if (!status.snapshot) return;
  for (const ListedDevice& listed : status.snapshot->devices) {
    Add(family, {{"device", listed.device->id}, {"resource", resource}},
        listed.health == Health::kHealthy ? 1 : 0);
  }
}

void AddUnitsInUse(const std::string& resource, const ResourceStatus& status,
                   MetricFamily& family) {
  Add(family, {{"resource", resource}},
      status.usage ? static_cast<double>(status.usage->units) : 0);
}

void AddInUse(const std::string& resource, const ResourceStatus& status, MetricFamily& family) {
  if (!status.usage) return;
  for (const auto& [device, holders] : status.usage->holders) {
    for (const Holder& holder : holders) {
      Add(family,
          {{"container", holder.container},
           {"device", device},
           {"namespace", holder.pod_namespace},
           {"pod", holder.pod},
           {"resource", resource}},
          1);
    }
  }
}

struct DeviceFamily {
  const char* name;
  bool each_device;
  void (*add)(const std::string& resource, const ResourceStatus& status, MetricFamily& family);
  const char* help;
};

constexpr DeviceFamily kFamilies[] = {
    {"patchbay_units", false, AddUnits,
     "Units advertised to the kubelet, by health: devices times 'replicas'. Unhealthy units cannot "
     "be allocated. If both are 0 on a node that has the hardware, run 'patchbay explain'. "
     "Formerly patchbay_devices."},
    {"patchbay_rejected_devices", false, AddRejected,
     "Devices that match the resource but are not listed, by reason. It should be 0; 'patchbay "
     "devices' shows each path and the reason."},
    {"patchbay_device_info", true, AddInfo,
     "Always 1, one series per device regardless of 'replicas'; path is the first device node. "
     "Join on it to find the hardware for a device ID."},
    {"patchbay_device_healthy", true, AddHealthy,
     "1 while the device is healthy, 0 while it is unhealthy or missing. Unhealthy devices are not "
     "allocated."},
    {"patchbay_units_in_use", false, AddUnitsInUse,
     "Units of the resource that pods hold, from the kubelet's PodResources API. When it reaches "
     "patchbay_units, the next pod stays Pending. Formerly patchbay_devices_in_use."},
    {"patchbay_device_in_use", true, AddInUse,
     "Always 1, one series per container that holds the device. Join on it to find the pods that "
     "use an unhealthy device."},
};

}  // namespace

void CollectDeviceFamilies(const ResourceStatuses& resources, bool each_device,
                           const std::function<void(MetricFamily)>& emit) {
  for (const DeviceFamily& row : kFamilies) {
    if (row.each_device && !each_device) continue;
    MetricFamily family{row.name, row.help, prometheus::MetricType::Gauge, {}};
    for (const auto& [resource, status] : resources) row.add(resource, status, family);
    emit(std::move(family));
  }
}

}  // namespace patchbay
