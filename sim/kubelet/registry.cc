// The rules of three generations of the kubelet, kAsync, kSync and kMulti. They differ in what a
// second registration of a resource replaces, and in which client is disconnected when a stream
// ends. The bugs of real kubelets are intended.

#include "sim/kubelet/registry.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay {

Registry::Registry(KubeletProfile profile, bool silent_dedupe, std::chrono::nanoseconds grace)
    : profile_(profile),
      silent_dedupe_(silent_dedupe),
      grace_(std::chrono::duration_cast<Time::duration>(grace)) {}

Registry::ClientKey Registry::Key(const std::string& resource, const std::string& path) const {
  return {resource, profile_ == KubeletProfile::kMulti ? path : ""};
}

void Registry::Restore(const std::string& resource, Time now) {
  Entry& entry = entries_[resource];
  entry.endpoints = {{.client = 0, .path = "", .options = {}, .stopped = now}};
  entry.table.emplace();
  MayExpire(now);
}

bool Registry::Begin(const std::string& resource, const std::string& path, ClientId client) {
  if (profile_ == KubeletProfile::kAsync) return true;
  if (profile_ == KubeletProfile::kMulti && silent_dedupe_ && !Check(resource, path)) return false;
  clients_[Key(resource, path)] = client;
  return true;
}

Status Registry::Check(const std::string& resource, const std::string& path) const {
  const auto entry = entries_.find(resource);
  if (profile_ != KubeletProfile::kMulti || entry == entries_.end()) return {};
  for (const Endpoint& endpoint : entry->second.endpoints) {
    if (endpoint.path == path && !endpoint.stopped) {
      return Fail(ErrorKind::kPrecondition, Format("device plugin already connected: {}", path));
    }
  }
  return {};
}

void Registry::Failed(const std::string& resource, const std::string& path) {
  // The recorded client, even if it is connected.
  clients_.erase(Key(resource, path));
}

void Registry::Connected(const std::string& resource, const std::string& path, ClientId client,
                         const SimPluginOptions& options) {
  Entry& entry = entries_[resource];
  if (profile_ == KubeletProfile::kMulti) {
    std::erase_if(entry.endpoints, [&](const Endpoint& e) { return e.stopped || e.path == path; });
  } else {
    entry.endpoints.clear();
  }
  entry.endpoints.push_back({client, path, options, {}});
}

void Registry::Listed(const std::string& resource, const std::vector<SimDevice>& list) {
  Entry& entry = entries_[resource];
  if (!entry.table) entry.table.emplace();
  entry.table->Update(list);
  entry.zeroed = false;
  if (entry.endpoints.empty()) MayExpire(Time::min());
}

std::optional<ClientId> Registry::StreamEnded(const std::string& resource, const std::string& path,
                                              ClientId client, Time now) {
  Entry& entry = entries_[resource];
  if (profile_ == KubeletProfile::kAsync) {
    const bool in_use = !entry.endpoints.empty() && entry.endpoints.back().client == client;
    if (in_use) StopEndpoint(entry, path, now);
    return client;
  }
  // The lookup by resource instead of client is the "zombie" bug of kSync.
  const auto record = clients_.find(Key(resource, path));
  if (record == clients_.end()) return std::nullopt;
  const ClientId disconnected = record->second;
  clients_.erase(record);
  StopEndpoint(entry, path, now);
  return disconnected;
}

std::optional<ClientId> Registry::Disconnect(const std::string& resource, Time now) {
  const Endpoint* const primary = Primary(resource);
  if (primary == nullptr || primary->stopped) return std::nullopt;
  const Endpoint endpoint = *primary;
  clients_.erase(Key(resource, endpoint.path));
  StopEndpoint(entries_[resource], endpoint.path, now);
  return endpoint.client;
}

void Registry::StopEndpoint(Entry& entry, const std::string& path, Time now) {
  if (entry.endpoints.empty()) return;
  if (profile_ == KubeletProfile::kMulti) {
    const auto found = std::find_if(entry.endpoints.begin(), entry.endpoints.end(),
                                    [&](const Endpoint& e) { return e.path == path; });
    if (found == entry.endpoints.end()) return;
    if (entry.endpoints.size() > 1) {
      entry.endpoints.erase(found);
      return;
    }
  }
  entry.endpoints.back().stopped = now;
  MayExpire(now);
  MarkUnhealthy(entry);
}

void Registry::MarkUnhealthy(Entry& entry) {
  if (!entry.table) entry.table.emplace();
  entry.table->MarkUnhealthy();
  entry.zeroed = false;
}

const Registry::Endpoint* Registry::LastToStop(const Entry& entry) {
  const Endpoint* last = nullptr;
  for (const Endpoint& endpoint : entry.endpoints) {
    if (!endpoint.stopped) return &endpoint;
    if (last == nullptr || *endpoint.stopped > *last->stopped) last = &endpoint;
  }
  return last;
}

void Registry::ExpireEntry(Entry& entry, Time now) const {
  if (!entry.table) return;
  const Endpoint* const last = LastToStop(entry);
  const bool alive = last != nullptr && (!last->stopped || *last->stopped + grace_ > now);
  if (alive) return;
  entry.endpoints.clear();
  entry.table.reset();
  entry.zeroed = true;
}

void Registry::Expire(const std::string& resource, Time now) {
  const auto entry = entries_.find(resource);
  if (entry != entries_.end()) ExpireEntry(entry->second, now);
}

void Registry::Expire(Time now) {
  if (!first_stop_ || *first_stop_ + grace_ > now) return;
  first_stop_.reset();
  for (auto& [resource, entry] : entries_) {
    ExpireEntry(entry, now);
    const Endpoint* const last = LastToStop(entry);
    if (entry.table && last->stopped) MayExpire(*last->stopped);
  }
}

std::optional<Registry::Time> Registry::NextExpiry() const {
  if (!first_stop_) return std::nullopt;
  return std::max(*first_stop_ + grace_, Time());
}

void Registry::MayExpire(Time stopped) {
  first_stop_ = std::min(first_stop_.value_or(stopped), stopped);
}

bool Registry::Known(const std::string& resource) const {
  const auto entry = entries_.find(resource);
  return entry != entries_.end() && (entry->second.table || entry->second.zeroed);
}

const DeviceTable* Registry::Table(const std::string& resource) const {
  const auto entry = entries_.find(resource);
  return entry == entries_.end() || !entry->second.table ? nullptr : &*entry->second.table;
}

const Registry::Endpoint* Registry::Primary(const std::string& resource) const {
  const auto entry = entries_.find(resource);
  return entry == entries_.end() || entry->second.endpoints.empty()
             ? nullptr
             : &entry->second.endpoints.back();
}

std::vector<std::string> Registry::Resources() const {
  std::vector<std::string> names;
  for (const auto& [resource, entry] : entries_) names.push_back(resource);
  return names;
}

}  // namespace patchbay
