#include "chaos/holders.h"

#include "base/format.h"

namespace patchbay::test {

std::string Holders::Begin() {
  std::set<Device> devices;
  std::string wrong = Hold("holder", devices);
  // After the start: a container waits for the release of its devices' previous holders.
  if (wrong.empty()) runs_ = RunsOf(devices);
  return wrong;
}

std::string Holders::HandOver() {
  for (const auto& [resource, held] : held_) {
    world_.daemon.kubelet().Release("holder-of-" + resource);
  }
  last_.clear();
  return Hold("successor", last_);
}

/// Collects the `devices` of resources that have a release hook.
std::string Holders::Hold(const std::string& role, std::set<Device>& devices) {
  KubeletSim& kubelet = world_.daemon.kubelet();
  held_.clear();
  for (const auto& resource : world_.configuration.resources()) {
    held_[resource.name] = 0;
    const auto view = kubelet.View(resource.name);
    if (!view || view->allocatable == 0) continue;
    const std::string pod = Format("{}-of-{}", role, resource.name);
    const auto admitted = kubelet.Admit(pod, "main", resource.name, 1);
    if (!admitted) return Format("  {}: {}\n", resource.name, admitted.error().message);
    held_[resource.name] = 1;
    const Status started = kubelet.StartContainer(pod, "main");
    if (!started) return Format("  {}: {}\n", resource.name, started.error().message);
    if (!resource.has_release) continue;
    const std::string unit = admitted->device_ids.front();
    devices.emplace(resource.name, unit.substr(0, unit.find("::")));
  }
  return "";
}

std::string Holders::FindErrors() {
  if (port_ == 0) port_ = world_.daemon.Port();
  const auto metrics = DaemonProcess::GetMetrics(port_);
  std::string wrong;
  if (metrics["patchbay_pod_resources_up"] != 1) wrong += "  the kubelet's pods are not known\n";
  for (const auto& [resource, held] : held_) {
    const double now = metrics[Format("patchbay_units_in_use{{resource=\"{}\"}}", resource)];
    if (now == static_cast<double>(held)) continue;
    wrong += Format("  {} devices of {} are in use, not {}\n", held, resource, now);
  }
  return wrong;
}

Holders::Runs Holders::RunsOf(const std::set<Device>& devices) const {
  const Runs all = world_.release.Runs();
  Runs runs;
  for (const Device& device : devices) {
    const auto of_device = all.find(device);
    runs[device] = of_device == all.end() ? 0 : of_device->second;
  }
  return runs;
}

std::string Holders::ListUnreleased() const {
  const Runs runs = world_.release.Runs();
  std::string wrong;
  for (const auto& [device, before] : runs_) {
    const auto now = runs.find(device);
    const std::size_t count = (now == runs.end() ? 0 : now->second) - before;
    if (count == 1) continue;
    wrong += Format("  {} of {} was released {} times\n", device.second, device.first, count);
  }
  return wrong;
}

void Holders::End() {
  last_runs_ = RunsOf(last_);
  checked_ += runs_.size() + last_.size();
  for (auto& [resource, held] : held_) {
    world_.daemon.kubelet().Release("successor-of-" + resource);
    held = 0;
  }
}

std::string Holders::ListKept() const {
  std::string wrong;
  for (const auto& [device, now] : RunsOf(last_)) {
    // A pod of the checker that held it later may have been released as well.
    if (now > last_runs_.at(device)) continue;
    wrong += Format("  {} of {} was not released\n", device.second, device.first);
  }
  return wrong;
}

}  // namespace patchbay::test
