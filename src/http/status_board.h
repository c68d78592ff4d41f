#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "http/node_status.h"

namespace patchbay {

/// Where what is so now is written up, for metrics and the page alike. Whoever knows something
/// writes it here, and nobody is asked when it is read: a loop that hangs keeps no reader waiting.
///
/// Thread-safe. No call holds the lock for longer because there are many devices; what Change is
/// given runs under the lock, so it is to assign or swap and no more.
class StatusBoard {
 public:
  /// `origin` has what never changes.
  explicit StatusBoard(NodeStatus origin) : status_(std::move(origin)) {}

  NodeStatus Read() const;
  ResourceStatuses Resources() const;

  void AddResource(const std::string& resource);
  void RemoveResource(const std::string& resource);
  /// Replaces the snapshot of a resource; returns the one before, null for the first.
  std::shared_ptr<const Snapshot> Exchange(const std::string& resource,
                                           std::shared_ptr<const Snapshot> snapshot);
  void SetProbe(const std::string& resource, const std::string& device, LastProbe probe);
  /// Whatever else is written of a resource; nothing for one that was not added.
  void Change(const std::string& resource, const std::function<void(ResourceStatus&)>& change);
  /// The same of the node as a whole.
  void Change(const std::function<void(NodeStatus&)>& change);

 private:
  void Changed();

  mutable std::mutex mutex_;
  NodeStatus status_;
};

}  // namespace patchbay
