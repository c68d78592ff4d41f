// The part of DraService that determines which devices claims hold, from their records, and shows
// devices that moved.

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/format.h"
#include "daemon/dra_service.h"
#include "dra/device_name.h"
#include "os/threads.h"

namespace patchbay {
namespace {

/// The limit for reading the records of claims: their file system can hang.
constexpr std::chrono::seconds kReadLimit{5};
constexpr std::chrono::seconds kReadRetry{5};
constexpr const char* kClaimsUnwatched =
    "cannot watch the files of claims; reading them at each rescan";

}  // namespace

DeviceHolders DraService::HoldersOf(const std::string& name, const DriverHolders& holders) const {
  DeviceHolders by_id;
  const auto found = resources_.find(name);
  if (found == resources_.end() || found->second.devices == nullptr) return by_id;
  const std::string pool = PoolName(options_.node_name, name);
  for (const auto& [device, claims] : holders) {
    if (device.pool != pool) continue;
    const ListedDevice* listed = found->second.devices->Find(device.device);
    if (listed == nullptr) continue;
    for (const ClaimHolder& claim : claims) by_id[listed->device->id].insert(claim.holder);
  }
  return by_id;
}

struct DraService::ReadResult {
  Result<std::shared_ptr<const ClaimRecords>> records;
  std::vector<ClaimKey> wrong;  ///< claims whose CDI files are not as they should be
};

void DraService::ReadClaims() {
  if (read_limit_) {
    must_read_again_ = true;
    return;
  }
  read_retry_ = Subscription();
  read_limit_ = deps_.loop.After(kReadLimit, [this] {
    OnRead({Fail(ErrorKind::kUnavailable,
                 Format("timed out after {} s; the file system of {} or {} is not responding",
                        kReadLimit.count(), preparer_->store()->directory(), options_.cdi_dir)),
            {}});
  });
  std::set<std::string> moved;
  for (const auto& [uid, why] : preparer_->moved()) moved.insert(uid);
  const Status runs = file_pool_.TryRun(
      [moved = std::move(moved), store = preparer_->store(), is_first = records_ == nullptr] {
        if (is_first) store->RemoveOrphans();
        auto records = store->Read();
        return ReadResult{std::move(records), store->FindWrongFiles(moved)};
      },
      lifetime_.Guard([this, read = ++reads_](const ReadResult& result) {
        if (read == reads_ && read_limit_) OnRead(result);
      }));
  if (!runs) {
    deps_.loop.Post(lifetime_.Guard([this, error = runs.error()] {
      OnRead({tl::unexpected(error), {}});
    }));
  }
}

void DraService::OnRead(const ReadResult& result) {
  read_limit_ = Subscription();
  OnClaims(result);
  if (std::exchange(must_read_again_, false)) ReadClaims();
}

/// The other process of a rolling update prepares and releases claims too. A directory that hangs
/// delays only the report of changes.
void DraService::WatchClaims() {
  auto watch =
      PathWatch::Create(deps_.loop, file_pool_, {options_.cdi_dir, preparer_->store()->directory()},
                        [this] { ReadClaims(); });
  if (!watch) {
    deps_.log.Warning(kClaimsUnwatched, {{"reason", watch.error().message}});
  } else {
    claims_watch_ = *std::move(watch);
  }
  RefreshClaims();
}

/// The first read reports a directory that hangs, the second one what changed before it was
/// watched.
void DraService::RefreshClaims() {
  ReadClaims();
  // Nodes that belong to no device can come back without an event.
  std::vector<ClaimKey> moved;
  for (const auto& [uid, why] : moved_) {
    if (!records_ || !records_->claims.contains(uid)) continue;
    moved.push_back(records_->claims.at(uid)->claim);
  }
  preparer_->Refresh(moved);
  if (!claims_watch_) return;
  claims_watch_->Watch([this] {
    const std::vector<Error>& failed = claims_watch_->failed();
    if (!failed.empty() && !is_unwatched_) {
      deps_.log.Warning(kClaimsUnwatched, {{"reason", failed.front().message}});
    }
    is_unwatched_ = !failed.empty();
    ReadClaims();
  });
}

/// Pools depend on the claims, so the first reading is tried again.
void DraService::OnClaimsUnreadable(const std::string& reason) {
  if (std::exchange(read_error_, reason) != reason) {
    deps_.log.Warning("cannot read the records of claims; using the last known claims",
                      {{"reason", reason}});
  }
  read_retry_ = deps_.loop.After(kReadRetry, [this] { ReadClaims(); });
  OnState();
}

/// Returns the IDs of the devices that claims hold, as last read, by resource.
std::map<std::string, DeviceIds> DraService::HeldDevices() const {
  std::map<std::string, DeviceIds> held;
  if (!records_) return held;
  for (const auto& [uid, claim] : records_->claims) {
    for (const PreparedRequest& request : claim->requests) {
      for (const PreparedDevice& device : request.devices) {
        held[request.resource].insert(device.device_id);
      }
    }
  }
  return held;
}

void DraService::ReportHeld(const Served& served) {
  served.parts.resource->OnHeld({served.held.begin(), served.held.end()});
}

void DraService::OnClaims(const ReadResult& read) {
  if (!read.records) return OnClaimsUnreadable(read.records.error().message);
  const std::string had_error = std::exchange(read_error_, "");
  std::set<std::string> damaged;
  for (const auto& [uid, bad] : (*read.records)->bad) {
    damaged.insert(bad.why.message);
    if (damaged_.contains(bad.why.message)) continue;
    deps_.log.Warning("record of a claim cannot be read; delete it if no container uses the claim",
                      {{"reason", bad.why.message}});
  }
  damaged_ = std::move(damaged);
  preparer_->Refresh(read.wrong);
  if (records_ == *read.records && had_error.empty()) return;
  const bool is_first = records_ == nullptr;
  records_ = *read.records;
  if (!is_first) RefreshPrepared();
  std::map<std::string, DeviceIds> held = HeldDevices();
  for (auto& [name, served] : resources_) {
    if (is_first && served.devices) RefreshMoved(name, nullptr, *served.devices);
    if (served.held == held[name]) {
      if (is_first) ComputePoolOf(name, served);
      continue;
    }
    served.held = held[name];
    ReportHeld(served);
    ComputePoolOf(name, served);
  }
  OnState();
}

void DraService::OnRunEnded(ClaimPreparer::Action action) {
  if (action != ClaimPreparer::Action::kRefresh) ReadClaims();
  if (moved_ == preparer_->moved()) return;
  moved_ = preparer_->moved();
  for (auto& [name, served] : resources_) {
    if (served.devices) Show(name, served);
  }
  OnState();
}

/// Compares the claims with the devices of a resource that have changed. `before` is null at first.
void DraService::RefreshMoved(const std::string& name, const NamedDevices* before,
                              const NamedDevices& now) {
  if (!records_) return;
  const auto has_changed = [&](const PreparedDevice& device) {
    const ListedDevice* const is = FindDevice(now.snapshot(), device.device_id);
    const ListedDevice* const was =
        before == nullptr ? nullptr : FindDevice(before->snapshot(), device.device_id);
    return is == nullptr || was == nullptr ||
           (is->device != was->device && *is->device != *was->device) ||
           is->is_missing != was->is_missing || is->never_found != was->never_found;
  };
  std::vector<ClaimKey> changed;
  for (const auto& [uid, claim] : records_->claims) {
    const bool is_changed = std::ranges::any_of(claim->requests, [&](const auto& request) {
      return request.resource == name && std::ranges::any_of(request.devices, has_changed);
    });
    if (is_changed) changed.push_back(claim->claim);
  }
  preparer_->Refresh(changed);
}

/// Compares the claims with their devices, which can have moved before their records were there.
void DraService::RefreshPrepared() {
  const ServedResources resources = Resources();
  std::vector<ClaimKey> moved;
  for (const auto& [uid, claim] : records_->claims) {
    if (preparer_->moved().contains(uid)) continue;
    if (!CompareDevices(*claim, resources).reason.empty()) moved.push_back(claim->claim);
  }
  preparer_->Refresh(moved);
}

/// Computes what the kubelet and the scheduler see of a resource.
void DraService::Show(const std::string& name, Served& served) {
  served.shown = served.devices;
  std::shared_ptr<Snapshot> marked;
  for (const auto& [uid, why] : moved_) {
    if (!records_ || !records_->claims.contains(uid)) continue;
    for (const PreparedRequest& request : records_->claims.at(uid)->requests) {
      if (request.resource != name) continue;
      if (!marked) marked = std::make_shared<Snapshot>(served.devices->snapshot());
      for (ListedDevice& listed : marked->devices) {
        const bool is_of_claim = std::ranges::any_of(request.devices, [&](const auto& device) {
          return device.device_id == listed.device->id;
        });
        if (!is_of_claim || listed.is_missing) continue;
        listed.health = Health::kUnhealthy;
        listed.reason = why;
      }
    }
  }
  if (marked) served.shown = std::make_shared<const NamedDevices>(std::move(marked));
  ComputePoolOf(name, served);
  PublishHealthSoon();
}

}  // namespace patchbay
