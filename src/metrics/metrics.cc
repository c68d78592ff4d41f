#include "metrics/metrics.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "metrics/device_families.h"
#include "metrics/families.h"
#include "metrics/process_families.h"
#include "metrics/resource_metrics.h"
#include "metrics/text_format.h"

namespace patchbay {

struct Metrics::Impl {
  explicit Impl(Options given)
      : options(std::move(given)),
        store({.version = options.version,
               .revision = options.revision,
               .node_name = options.node_name,
               .config = {options.config}}),
        devices(store, options.device_metrics),
        process(options.counts),
        config_ok(families.config_last_reload_successful.Add({})),
        config_loaded(families.config_last_reload_success_timestamp.Add({})),
        reloads_accepted(families.config_reloads.Add({{"result", "success"}})),
        reloads_refused(families.config_reloads.Add({{"result", "failure"}})),
        kubelet_up(families.kubelet_up.Add({})),
        kubelet_restarts(families.kubelet_restarts.Add({})) {
    families.build_info.Add({{"revision", options.revision}, {"version", options.version}}).Set(1);
  }

  struct Entry {
    std::unique_ptr<ResourceMetrics> series;
    int observers = 0;
    bool is_going = false;  ///< its series are being removed
  };

  const Options options;
  MetricFamilies families;
  StatusStore store;
  DeviceCollector devices;
  ProcessCollector process;
  prometheus::Gauge& config_ok;
  prometheus::Gauge& config_loaded;
  prometheus::Counter& reloads_accepted;
  prometheus::Counter& reloads_refused;
  prometheus::Gauge& kubelet_up;
  prometheus::Counter& kubelet_restarts;
  std::atomic<std::size_t> last_size = 0;  ///< of the text, in bytes

  std::mutex mutex;
  std::condition_variable gone;            ///< an entry that was going
  std::map<std::string, Entry> resources;  ///< under `mutex`
};

Metrics::Metrics(Options options) : impl_(std::make_shared<Impl>(std::move(options))) {}
Metrics::~Metrics() = default;

std::shared_ptr<ResourceObserver> Metrics::AddResource(const std::string& name) {
  std::unique_lock lock(impl_->mutex);
  // Series that are being removed must not be shared.
  impl_->gone.wait(lock, [&] {
    const auto found = impl_->resources.find(name);
    return found == impl_->resources.end() || !found->second.is_going;
  });
  Impl::Entry& entry = impl_->resources[name];
  if (!entry.series) {
    entry.series =
        std::make_unique<ResourceMetrics>(name, impl_->families, impl_->store, impl_->options.now);
  }
  ++entry.observers;
  const auto release = [impl = impl_, name](ResourceObserver*) {
    std::unique_ptr<ResourceMetrics> going;
    {
      const std::lock_guard release_lock(impl->mutex);
      Impl::Entry& left = impl->resources.at(name);
      if (--left.observers > 0) return;
      left.is_going = true;
      going = std::move(left.series);
    }
    going.reset();  // searches the series of all resources, so not under the lock
    {
      const std::lock_guard release_lock(impl->mutex);
      impl->resources.erase(name);
    }
    impl->gone.notify_all();
  };
  return {entry.series.get(), release};
}

void Metrics::SetKubeletUp(bool up) {
  impl_->kubelet_up.Set(up ? 1 : 0);
  impl_->store.Change([&](NodeStatus& node) { node.kubelet.up = up; });
}

void Metrics::CountKubeletRestart() {
  impl_->kubelet_restarts.Increment();
  impl_->store.Change([](NodeStatus& node) { ++node.kubelet.restarts; });
}

void Metrics::EnablePodResources() { impl_->families.pod_resources_up.Add({}).Set(0); }

void Metrics::SetPodResourcesUp(bool up) {
  impl_->families.pod_resources_up.Add({}).Set(up ? 1 : 0);
  impl_->store.Change([&](NodeStatus& node) { node.kubelet.pod_resources_up = up; });
}

void Metrics::SetConfigReading(ConfigReading reading) {
  const bool accepted = reading.accepted;
  const WallTime at = reading.at;
  impl_->config_ok.Set(accepted ? 1 : 0);
  (accepted ? impl_->reloads_accepted : impl_->reloads_refused).Increment();
  if (accepted) {
    impl_->config_loaded.Set(std::chrono::duration<double>(at.time_since_epoch()).count());
  }
  auto last = std::make_shared<const ConfigReading>(std::move(reading));
  impl_->store.Change([&](NodeStatus& node) {
    if (accepted) node.config.loaded_at = at;
    node.config.last.swap(last);
  });
}

NodeStatus Metrics::Now() const { return impl_->store.Read(); }

void Metrics::BeginShutdown() { impl_->families.is_shutting_down = true; }

void Metrics::SetDeviceMetrics(bool on) { impl_->devices.SetDeviceMetrics(on); }

std::string Metrics::Text() const {
  using prometheus::MetricFamily;
  const std::vector<MetricFamily> kept = impl_->families.registry.Collect();
  const std::vector<MetricFamily> process = impl_->process.Collect();
  std::vector<TextFamily> families = impl_->devices.Collect();
  for (const MetricFamily& family : kept) families.push_back(TextFamilyOf(family));
  for (const MetricFamily& family : process) families.push_back(TextFamilyOf(family));
  std::sort(families.begin(), families.end(),
            [](const TextFamily& a, const TextFamily& b) { return a.name < b.name; });
  std::string text;
  // About as much as the last time: a string that grows to half a megabyte is copied again and
  // again.
  const std::size_t last = impl_->last_size;
  text.reserve(last + last / 16);
  for (const TextFamily& family : families) family.append(text);
  impl_->last_size = text.size();
  return text;
}

}  // namespace patchbay
