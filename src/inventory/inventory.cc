#include "inventory/inventory.h"

#include <algorithm>

#include "base/format.h"
#include "inventory/allocation.h"

namespace patchbay {
namespace {

/// Whether the device lies where this time nothing could be read: it is not known to be gone.
bool IsOutOfSight(const Device& device, const std::vector<Rejection>& rejected) {
  if (device.nodes.empty()) return false;
  const std::string& path = device.nodes.front().path;
  return std::any_of(rejected.begin(), rejected.end(), [&](const Rejection& rejection) {
    std::string_view unread = rejection.path;
    while (unread.ends_with('/')) unread.remove_suffix(1);
    return rejection.reason == RejectReason::kUnreadable && path.starts_with(unread) &&
           (path.size() == unread.size() || path[unread.size()] == '/');
  });
}

std::string VanishedReason(const Device& device) {
  if (device.nodes.empty()) return "it is not found any more";
  return format("{} is gone", device.nodes.front().path);
}

}  // namespace

void Inventory::Advance(Discovery discovery, Time now) {
  rejected_ = std::move(discovery.rejected);
  std::vector<Tracked> next;
  next.reserve(discovery.devices.size());
  const auto keep_vanished = [&](Tracked& old) {
    if (!old.vanished_at && !IsOutOfSight(*old.device, rejected_)) old.vanished_at = now;
    next.push_back(std::move(old));
  };

  auto old = tracked_.begin();
  for (Device& device : discovery.devices) {
    for (; old != tracked_.end() && IdLess(old->device->id, device.id); ++old) keep_vanished(*old);
    const bool known = old != tracked_.end() && old->device->id == device.id;
    if (known && *old->device == device) {
      next.push_back({std::move(old->device), std::nullopt});
    } else if (auto problem = ProblemWithDevice(spec_, device, node_name_)) {
      rejected_.push_back(std::move(*problem));
    } else {
      next.push_back({std::make_shared<const Device>(std::move(device)), std::nullopt});
    }
    if (known) ++old;
  }
  for (; old != tracked_.end(); ++old) keep_vanished(*old);
  tracked_ = std::move(next);
  Expire(now);
}

void Inventory::Expire(Time now) {
  std::erase_if(tracked_, [&](const Tracked& tracked) {
    return tracked.vanished_at && now - *tracked.vanished_at >= spec_->forget_after;
  });
  Publish();
}

std::optional<Inventory::Time> Inventory::NextExpiry() const {
  std::optional<Time> next;
  for (const Tracked& tracked : tracked_) {
    if (!tracked.vanished_at) continue;
    const Time expiry = *tracked.vanished_at + spec_->forget_after;
    if (!next || expiry < *next) next = expiry;
  }
  return next;
}

void Inventory::Publish() {
  Snapshot snapshot{spec_, snapshot_ ? snapshot_->generation + 1 : 1, {}, rejected_};
  snapshot.devices.reserve(tracked_.size());
  for (const Tracked& tracked : tracked_) {
    if (tracked.vanished_at) {
      snapshot.devices.push_back(
          {tracked.device, Health::kUnhealthy, VanishedReason(*tracked.device)});
    } else {
      snapshot.devices.push_back({tracked.device, Health::kHealthy, ""});
    }
  }
  if (snapshot_ && snapshot_->devices == snapshot.devices &&
      snapshot_->rejected == snapshot.rejected) {
    return;
  }
  snapshot_ = std::make_shared<const Snapshot>(std::move(snapshot));
}

}  // namespace patchbay
