// The part of DraService that determines which devices claims hold, from their files.

#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/format.h"
#include "daemon/dra_service.h"
#include "dra/device_name.h"

namespace patchbay {
namespace {

/// The limit for reading the files of claims: their file system can hang.
constexpr std::chrono::seconds kReadLimit{5};
constexpr std::chrono::seconds kReadRetry{5};
constexpr const char* kClaimsUnwatched =
    "cannot watch the CDI files of claims; reading them at each rescan";

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

void DraService::ReadClaims() {
  if (is_reading_) {
    must_read_again_ = true;
    return;
  }
  is_reading_ = true;
  read_retry_ = Subscription();
  const auto read = std::make_shared<Result<ClaimFiles::All>>();
  const auto post = [&loop = deps_.loop,
                     on_read = lifetime_.Guard([this](const Result<ClaimFiles::All>& result) {
                       is_reading_ = false;
                       OnClaims(result);
                       if (std::exchange(must_read_again_, false)) ReadClaims();
                     })](Result<ClaimFiles::All> result) {
    loop.Post([on_read, result = std::move(result)]() mutable { on_read(result); });
  };
  ThreadPool::Job job{.work = [read, files = files_] { *read = files.ReadAll(); },
                      .then = [read, post] { post(std::move(*read)); },
                      .limit = kReadLimit,
                      .needs_thread = true};
  job.on_late = [post,
                 text = Format("timed out after {} s; the file system of {} is not responding",
                               kReadLimit.count(), options_.cdi_dir)] {
    post(Fail(ErrorKind::kUnavailable, text));
  };
  if (!file_pool_.Run(std::move(job))) {
    post(Fail(ErrorKind::kUnavailable, "no thread is available for the files of claims"));
  }
}

/// The other process of a rolling update prepares and releases claims too. A directory that hangs
/// delays only the report of changes.
void DraService::WatchClaims() {
  auto watch =
      PathWatch::Create(deps_.loop, file_pool_, {options_.cdi_dir}, [this] { ReadClaims(); });
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
    deps_.log.Warning("cannot read the CDI files of claims; using the last known claims",
                      {{"reason", reason}});
  }
  read_retry_ = deps_.loop.After(kReadRetry, [this] { ReadClaims(); });
  OnState();
}

/// Returns the IDs of the devices that claims hold, as last read, by resource.
std::map<std::string, DeviceIds> DraService::HeldDevices() const {
  std::map<std::string, DeviceIds> held;
  for (const PreparedClaim& claim : claims_) {
    for (const PreparedRequest& request : claim.requests) {
      for (const PlannedDevice& device : request.devices) {
        held[request.resource].insert(device.device_id);
      }
    }
  }
  return held;
}

void DraService::ReportHeld(const Served& served) {
  served.parts.on_held({served.held.begin(), served.held.end()});
}

void DraService::OnClaims(const Result<ClaimFiles::All>& read) {
  if (!read) return OnClaimsUnreadable(read.error().message);
  const std::string had_error = std::exchange(read_error_, "");
  for (const std::string& file : read->damaged) {
    if (damaged_.contains(file)) continue;
    deps_.log.Warning("CDI file of a claim is damaged; delete it if no pod uses the claim",
                      {{"reason", file}});
  }
  damaged_ = {read->damaged.begin(), read->damaged.end()};
  if (has_claims_ && claims_ == read->claims && had_error.empty()) return;
  claims_ = read->claims;
  std::map<std::string, DeviceIds> held = HeldDevices();
  const bool is_first = !std::exchange(has_claims_, true);
  for (auto& [name, served] : resources_) {
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

}  // namespace patchbay
