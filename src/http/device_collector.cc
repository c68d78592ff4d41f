#include "http/device_collector.h"

#include <array>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

#include "http/labels.h"

namespace patchbay {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

MetricFamily Gauges(const char* name, const char* help) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void Add(MetricFamily& family, double value,
         std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.gauge.value = value;
  metric.label.reserve(labels.size());
  for (const auto& [name, text] : labels) {
    metric.label.push_back({std::string(name), LabelValue(text)});
  }
}

void AddCounts(const std::string& resource, const Snapshot* snapshot, MetricFamily& devices,
               MetricFamily& rejected) {
  std::array<double, 2> by_health{};
  std::array<double, std::size(kAllRejectReasons)> by_reason{};
  if (snapshot != nullptr) {
    const double replicas = snapshot->spec ? snapshot->spec->replicas : 1;
    for (const ListedDevice& listed : snapshot->devices) {
      by_health[listed.health == Health::kHealthy ? 0 : 1] += replicas;
    }
    for (const Rejection& rejection : snapshot->rejected) {
      ++by_reason.at(static_cast<std::size_t>(rejection.reason));
    }
  }
  Add(devices, by_health[0], {{"health", "healthy"}, {"resource", resource}});
  Add(devices, by_health[1], {{"health", "unhealthy"}, {"resource", resource}});
  for (const RejectReason reason : kAllRejectReasons) {
    Add(rejected, by_reason.at(static_cast<std::size_t>(reason)),
        {{"reason", Name(reason)}, {"resource", resource}});
  }
}

void AddDevices(const std::string& resource, const Snapshot& snapshot, MetricFamily& info,
                MetricFamily& healthy) {
  for (const ListedDevice& listed : snapshot.devices) {
    const Device& device = *listed.device;
    const std::string_view path =
        device.nodes.empty() ? "" : std::string_view(device.nodes[0].path);
    const std::string numa = device.numa_node ? std::to_string(*device.numa_node) : "";
    Add(info, 1,
        {{"device", device.id}, {"numa_node", numa}, {"path", path}, {"resource", resource}});
    Add(healthy, listed.health == Health::kHealthy ? 1 : 0,
        {{"device", device.id}, {"resource", resource}});
  }
}

void AddUnitsInUse(const std::string& resource, const Usage* usage, MetricFamily& in_use) {
  Add(in_use, usage != nullptr ? static_cast<double>(usage->units) : 0, {{"resource", resource}});
}

void AddHolders(const std::string& resource, const DeviceHolders& devices, MetricFamily& held) {
  for (const auto& [device, holders] : devices) {
    for (const Holder& holder : holders) {
      Add(held, 1,
          {{"container", holder.container},
           {"device", device},
           {"namespace", holder.pod_namespace},
           {"pod", holder.pod},
           {"resource", resource}});
    }
  }
}

}  // namespace

std::vector<MetricFamily> DeviceCollector::Collect() const {
  const ResourceStatuses resources = board_.Resources();
  MetricFamily devices = Gauges(
      "patchbay_devices",
      "Units advertised to the kubelet by health: devices times 'replicas' of the resource. "
      "health=\"unhealthy\" above 0 is capacity that pods cannot get; 0 of both on a node that has "
      "the hardware: run 'patchbay devices'.");
  MetricFamily rejected =
      Gauges("patchbay_rejected_devices",
             "What matched the resource but is not advertised, by reason. Should be 0; "
             "'patchbay devices' names each path and what is wrong with it.");
  MetricFamily info = Gauges("patchbay_device_info",
                             "Always 1, one series for each physical device whatever 'replicas' "
                             "says; path is its first node. Join on it to find the hardware behind "
                             "a device ID.");
  MetricFamily healthy = Gauges("patchbay_device_healthy",
                                "1 while the physical device works, 0 while it is broken or gone. "
                                "At 0 for long: repair the device; pods no longer get it.");
  MetricFamily in_use =
      Gauges("patchbay_devices_in_use",
             "Units of the resource that pods hold, as the kubelet last said. Compare it with "
             "patchbay_devices: near it, the next pod has to wait.");
  MetricFamily held = Gauges("patchbay_device_in_use",
                             "Always 1, one series for each container that holds the device. Join "
                             "on it to find which pod a broken device hits.");
  const bool device_metrics = device_metrics_;
  std::size_t count = 0;
  for (const auto& [resource, known] : resources) {
    count += known.snapshot ? known.snapshot->devices.size() : 0;
  }
  if (device_metrics) {
    info.metric.reserve(count);
    healthy.metric.reserve(count);
  }
  for (const auto& [resource, known] : resources) {
    AddCounts(resource, known.snapshot.get(), devices, rejected);
    AddUnitsInUse(resource, known.usage.get(), in_use);
    if (!device_metrics) continue;
    if (known.snapshot) AddDevices(resource, *known.snapshot, info, healthy);
    if (known.usage) AddHolders(resource, known.usage->holders, held);
  }

  std::vector<MetricFamily> families;
  for (MetricFamily* family : {&devices, &rejected, &info, &healthy, &in_use, &held}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
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
