// Two things happen with each event that an observer reports: counters and gauges of the resource
// change (resource_metrics.h), and the status store keeps the current state. The series of single
// devices are made from the status store for each scrape.

#include "metrics/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "metrics/device_families.h"
#include "metrics/families.h"
#include "metrics/process_families.h"
#include "metrics/resource_metrics.h"

namespace patchbay {

struct Metrics::Impl {
  explicit Impl(Options given)
      : options(std::move(given)),
        store({.version = options.version,
               .revision = options.revision,
               .node_name = options.node_name,
               .config = {options.config},
               .kubelet = {.up_changed_at = options.now(), .socket = options.kubelet_socket}}),
        device_metrics(options.device_metrics),
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
    bool is_being_removed = false;  ///< its series are being removed
  };

  const Options options;
  MetricFamilies families;
  StatusStore store;
  std::atomic<bool> device_metrics;
  prometheus::Gauge& config_ok;
  prometheus::Gauge& config_loaded;
  prometheus::Counter& reloads_accepted;
  prometheus::Counter& reloads_refused;
  prometheus::Gauge& kubelet_up;
  prometheus::Counter& kubelet_restarts;

  std::mutex mutex;
  std::condition_variable removed;         ///< the series of an entry were removed
  std::map<std::string, Entry> resources;  ///< under `mutex`
};

Metrics::Metrics(Options options) : impl_(std::make_shared<Impl>(std::move(options))) {}
Metrics::~Metrics() = default;

std::shared_ptr<ResourceObserver> Metrics::AddResource(const std::string& name) {
  std::unique_lock lock(impl_->mutex);
  // Series that are being removed must not be shared.
  impl_->removed.wait(lock, [&] {
    const auto found = impl_->resources.find(name);
    return found == impl_->resources.end() || !found->second.is_being_removed;
  });
  Impl::Entry& entry = impl_->resources[name];
  if (!entry.series) {
    entry.series =
        std::make_unique<ResourceMetrics>(name, impl_->families, impl_->store, impl_->options.now);
  }
  ++entry.observers;
  const auto release = [impl = impl_, name](ResourceObserver*) {
    std::unique_ptr<ResourceMetrics> removed_series;
    {
      const std::lock_guard release_lock(impl->mutex);
      Impl::Entry& left = impl->resources.at(name);
      if (--left.observers > 0) return;
      left.is_being_removed = true;
      removed_series = std::move(left.series);
    }
    removed_series.reset();  // searches the series of all resources, so not under the lock
    {
      const std::lock_guard release_lock(impl->mutex);
      impl->resources.erase(name);
    }
    impl->removed.notify_all();
  };
  return {entry.series.get(), release};
}

std::shared_ptr<DraMetrics> Metrics::AddDra() {
  struct Kept {
    explicit Kept(std::shared_ptr<Impl> given) : impl(std::move(given)), dra(impl->families) {}

    std::shared_ptr<Impl> impl;
    DraMetrics dra;
  };
  auto kept = std::make_shared<Kept>(impl_);
  return {kept, &kept->dra};
}

void Metrics::SetKubeletUp(bool up) {
  impl_->kubelet_up.Set(up ? 1 : 0);
  impl_->store.Change([&, at = impl_->options.now()](NodeStatus& node) {
    if (std::exchange(node.kubelet.up, up) != up) node.kubelet.up_changed_at = at;
  });
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

void Metrics::SetHiddenResources(HiddenResources hidden) {
  auto next = std::make_shared<const HiddenResources>(std::move(hidden));
  impl_->store.Change([&](NodeStatus& node) { node.hidden.swap(next); });
}

void Metrics::SetDra(std::shared_ptr<const DraStatus> dra) {
  impl_->store.Change([&](NodeStatus& node) { node.dra.swap(dra); });
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

void Metrics::SetDeviceMetrics(bool on) { impl_->device_metrics = on; }

std::string Metrics::Text() const {
  const prometheus::TextSerializer serializer;
  std::ostringstream text;
  const auto append = [&](prometheus::MetricFamily family) {
    if (family.metric.empty()) return;
    // The registry keeps its series in hash tables.
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
    serializer.Serialize(text, {std::move(family)});
  };
  for (auto& family : impl_->families.registry.Collect()) append(std::move(family));
  CollectDeviceFamilies(impl_->store.Resources(), impl_->device_metrics, append);
  for (auto& family : ProcessFamilies(impl_->options.log_lines_dropped())) {
    append(std::move(family));
  }
  return std::move(text).str();
}

}  // namespace patchbay
