#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kubelet_sim/device_table.h"
#include "kubelet_sim/options.h"
#include "kubelet_sim/resource_view.h"

namespace patchbay {

/// Names a dialled plugin.
using ClientId = std::uint64_t;

/// Who is registered for what, and what the node makes of it: the kubelet's bookkeeping of clients,
/// endpoints and device tables, with the rules and the bugs of each era (contract 1.6, 2.9, 4.5).
///
/// Decides and dials nobody: the caller does what the answers say. Time comes in as an argument.
/// Not thread-safe.
class Registry {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Endpoint {
    ClientId client = 0;  ///< 0: out of a checkpoint
    std::string path;
    SimPluginOptions options;
    std::optional<Time> stopped;
  };

  /// `grace` is how long the devices of a plugin that went are remembered.
  Registry(KubeletProfile profile, bool silent_dedupe, std::chrono::nanoseconds grace);

  /// Adds a resource from the checkpoint of the previous run.
  void Restore(const std::string& resource, Time now);

  /// A plugin is about to be dialled. False: say OK and do nothing (kMulti with silent_dedupe). In
  /// kSync the client of the resource is replaced here, before anything is known of the new one.
  bool Begin(const std::string& resource, const std::string& path, ClientId client);
  /// The dial is done; fails with the text of a refusal (kMulti: this socket is connected).
  Status Check(const std::string& resource, const std::string& path) const;
  /// Dial, Check or the call for options failed.
  void Failed(const std::string& resource, const std::string& path);
  /// The plugin is in use from now on.
  void Connected(const std::string& resource, const std::string& path, ClientId client,
                 const SimPluginOptions& options);

  void Listed(const std::string& resource, const std::vector<SimDevice>& list);

  /// A stream ended. Returns the client to disconnect, which in kSync may be another one than that
  /// of the stream.
  std::optional<ClientId> StreamEnded(const std::string& resource, const std::string& path,
                                      ClientId client, Time now);
  /// Disconnects the plugin in use; returns its client.
  std::optional<ClientId> Disconnect(const std::string& resource, Time now);

  /// Forgets the endpoints and the table of a resource whose grace is over; the node keeps showing
  /// 0 devices.
  void Expire(const std::string& resource, Time now);
  /// Of all resources.
  void Expire(Time now);
  /// Before that, Expire has nothing to do.
  std::optional<Time> NextExpiry() const;

  bool Has(const std::string& resource) const { return entries_.contains(resource); }
  /// The node shows the resource.
  bool Known(const std::string& resource) const;
  /// Null when there is none.
  const DeviceTable* Table(const std::string& resource) const;
  /// The endpoint that is asked to allocate; null when there is none.
  const Endpoint* Primary(const std::string& resource) const;
  std::vector<std::string> Resources() const;

 private:
  struct Entry {
    std::vector<Endpoint> endpoints;  ///< the last one is in use
    std::optional<DeviceTable> table;
    bool zeroed = false;  ///< had a table, which expired
  };
  using ClientKey = std::pair<std::string, std::string>;

  /// One client per resource in kSync, one per resource and socket in kMulti.
  ClientKey Key(const std::string& resource, const std::string& path) const;
  void StopEndpoint(Entry& entry, const std::string& path, Time now);
  static void MarkUnhealthy(Entry& entry);
  void ExpireEntry(Entry& entry, Time now) const;
  /// Expire may have something to do `grace_` after `stopped`.
  void MayExpire(Time stopped);
  static const Endpoint* LastToStop(const Entry& entry);

  KubeletProfile profile_;
  bool silent_dedupe_;
  Time::duration grace_;
  std::map<std::string, Entry> entries_;
  std::map<ClientKey, ClientId> clients_;  ///< unused in kAsync
  std::optional<Time> first_stop_;         ///< Expire has nothing to do until `grace_` after it
};

}  // namespace patchbay
