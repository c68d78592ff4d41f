#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/device_table.h"
#include "sim/kubelet/options.h"
#include "sim/kubelet/resource_view.h"

namespace patchbay {

/// Identifies a dialed plugin.
using ClientId = std::uint64_t;

/// The clients, endpoints and device tables of the kubelet, and the resulting capacity of the node,
/// with the rules and bugs of each version.
///
/// Pure: the caller performs the calls that the results require, and passes the time. Not
/// thread-safe.
class Registry {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Endpoint {
    ClientId client = 0;  ///< 0: from a checkpoint
    std::string path;
    SimPluginOptions options;
    std::optional<Time> stopped;
  };

  /// `grace` is how long the devices of a disconnected plugin are kept.
  Registry(KubeletProfile profile, bool silent_dedupe, std::chrono::nanoseconds grace);

  /// Adds a resource from the checkpoint of the previous run.
  void Restore(const std::string& resource, Time now);

  /// Called before a plugin is dialed. Returns false if the call must return OK without dialing
  /// (kMulti with silent_dedupe). In kSync, this already replaces the client of the resource.
  bool Begin(const std::string& resource, const std::string& path, ClientId client);
  /// Called when the plugin was dialed. Fails with the error message of the kubelet (kMulti: the
  /// socket is already connected).
  Status Check(const std::string& resource, const std::string& path) const;
  /// Called if Dial, Check or GetDevicePluginOptions failed.
  void Failed(const std::string& resource, const std::string& path);
  /// Called when the plugin is connected and used.
  void Connected(const std::string& resource, const std::string& path, ClientId client,
                 const SimPluginOptions& options);

  void Listed(const std::string& resource, const std::vector<SimDevice>& list);

  /// Called when a stream has ended. Returns the client to disconnect, which in kSync can differ
  /// from that of the stream.
  std::optional<ClientId> StreamEnded(const std::string& resource, const std::string& path,
                                      ClientId client, Time now);
  /// Disconnects the current plugin and returns its client.
  std::optional<ClientId> Disconnect(const std::string& resource, Time now);

  /// Removes the endpoints and the table of a resource whose grace period is over. The node still
  /// has the resource, with 0 devices.
  void Expire(const std::string& resource, Time now);
  /// Does so for all resources.
  void Expire(Time now);
  /// Returns when Expire is due next.
  std::optional<Time> NextExpiry() const;

  bool Has(const std::string& resource) const { return entries_.contains(resource); }
  /// Returns whether the node has the resource.
  bool Known(const std::string& resource) const;
  /// Returns the table of a resource, or null.
  const DeviceTable* Table(const std::string& resource) const;
  /// Returns the endpoint for Allocate, or null.
  const Endpoint* Primary(const std::string& resource) const;
  std::vector<std::string> Resources() const;

 private:
  struct Entry {
    std::vector<Endpoint> endpoints;  ///< the last one is the current one
    std::optional<DeviceTable> table;
    bool zeroed = false;  ///< its table has expired
  };
  using ClientKey = std::pair<std::string, std::string>;

  /// One client per resource in kSync, one per resource and socket in kMulti.
  ClientKey Key(const std::string& resource, const std::string& path) const;
  void StopEndpoint(Entry& entry, const std::string& path, Time now);
  static void MarkUnhealthy(Entry& entry);
  void ExpireEntry(Entry& entry, Time now) const;
  /// Schedules Expire `grace_` after `stopped`.
  void MayExpire(Time stopped);
  static const Endpoint* LastToStop(const Entry& entry);

  KubeletProfile profile_;
  bool silent_dedupe_;
  Time::duration grace_;
  std::map<std::string, Entry> entries_;
  std::map<ClientKey, ClientId> clients_;  ///< unused in kAsync
  std::optional<Time> first_stop_;         ///< Expire is due `grace_` after it
};

}  // namespace patchbay
