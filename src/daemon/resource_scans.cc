// The part of ResourceController that scans the host: requests, the scan in a pool, its limit, and
// the merge of its result. ScanScheduler decides when a scan starts and whether a result counts.

#include <set>
#include <string_view>
#include <utility>

#include "cdi/net_hook.h"
#include "daemon/resource_controller.h"
#include "discovery/match_summary.h"
#include "inventory/allocation_host.h"

namespace patchbay {
namespace {

/// Returns the devices that were found, and those that are listed although they were not: if the
/// runtime did not know one, a container that restarts would fail without the reason.
DeviceList NamedDevices(const DeviceList& found, const Snapshot* before) {
  if (before == nullptr) return found;
  DeviceList::Shared named = found.shared();
  std::set<std::string_view> ids;
  for (const Device& device : found) ids.insert(device.id);
  for (const ListedDevice& listed : before->devices) {
    const bool is_found = ids.contains(listed.device->id);
    if (listed.device->interface && !is_found) named.push_back(listed.device);
  }
  return DeviceList(std::move(named));
}

/// Scans for interfaces that move into containers, and makes available what that needs: without it
/// the devices are unhealthy, because a container runtime reports only that something is missing.
Discovery ScanInterfaces(const ResourceSpec& spec, ScanRequest request,
                         const NetDirectory& networks, const AllocationHost& allocation) {
  Status prepared = networks.Install();
  Discovery discovery = DiscoverInterfaces(spec, allocation.host, request, [&] {
    return networks.Read(std::chrono::system_clock::now());
  });
  if (prepared) {
    prepared = networks.Update(request.interfaces, discovery.interfaces, allocation.host);
  }
  const DeviceList named = NamedDevices(discovery.devices, request.before.get());
  if (prepared && spec.api == Api::kDevicePlugin && !named.empty()) {
    prepared = CdiDirectory(allocation.cdi_dir)
                   .Write(NetFileName(spec.name),
                          NetDevicesOf(spec, named, allocation.node_name, allocation.net_hook));
  }
  if (prepared) return discovery;
  for (const Device& device : discovery.devices) {
    discovery.unusable.insert_or_assign(device.id, prepared.error().message);
  }
  return discovery;
}

}  // namespace

void ResourceController::Refresh() {
  refresh_ = true;
  Scan();
}

void ResourceController::Scan() {
  if (scans_.Request()) StartScan();
}

void ResourceController::StartScan() {
  if (ended_) return;
  const std::uint64_t scan = scans_.Start(deps_.plugin.loop.Now());
  scan_hangs_ = false;
  const Entry& wanted = Wanted();
  scanned_for_ = wanted.spec;
  runs_command_ = HasCommand(*wanted.spec);
  scan_limit_ = deps_.plugin.loop.After(ScanLimit(*wanted.spec), [this] { OnScanHangs(); });
  const auto& before = inventory_.snapshot();
  const ScanRequest request{.node_name = deps_.plugin.allocation.node_name,
                            .exclusive_above = wanted.exclusive_above,
                            .owned_before = owned_,
                            .skips_exclusive = scans_.has_abandoned(),
                            .refresh = std::exchange(refresh_, false),
                            .before = before,
                            .held_long = HeldLong(),
                            // Explains a resource without devices.
                            .report = before == nullptr || before->devices.empty(),
                            .names_found = false,
                            .cache = scan_cache_,
                            .budget = deps_.scan_budget,
                            .cancellation = cancellation_};
  std::optional<DirWatch::Adder> adder;
  if (deps_.watch != nullptr) adder = deps_.watch->adder();
  ThreadPool& pool = runs_command_ ? deps_.commands : deps_.scanner;
  pool.Run(
      [scan, spec = wanted.spec, host = deps_.host, allocation = deps_.plugin.allocation, request,
       networks = deps_.networks, adder] {
        const auto start = std::chrono::steady_clock::now();
        Discovery found = spec->net_device ? ScanInterfaces(*spec, request, networks, allocation)
                                           : Discover(*spec, host, request);
        Outcome outcome{scan, spec, std::move(found), {}, {}, {}};
        outcome.groups = ProvideGroups(*spec, outcome.discovery.devices, AllocationOn(allocation));
        outcome.explanation = Summarize(*spec, outcome.discovery.reports);
        outcome.discovery.reports.clear();
        for (const std::string& directory : outcome.discovery.directories) {
          outcome.directories.insert(host.Local(directory));
        }
        if (spec->net_device) outcome.directories.insert(networks.results());
        // Watched ones are added again, see DirWatch.
        if (adder) outcome.added = adder->Add(outcome.directories);
        outcome.took = std::chrono::steady_clock::now() - start;
        return outcome;
      },
      lifetime_.Guard([this](Outcome outcome) { OnScanned(std::move(outcome)); }));
}

/// The devices stay as they are. Another entry does not wait for the hanging scan. A resource that
/// also scans for exclusive resources scans again without them, and uses their last known devices.
void ResourceController::OnScanHangs() {
  scan_hangs_ = true;
  deps_.plugin.log.Warning(
      "host scan has not completed; a file system that it reads may not be responding",
      {{"resource", name()}, {"seconds", ScanLimit(*Wanted().spec).count()}});
  const bool is_for_another = next_ && scanned_for_ != next_->spec;
  const bool may_be_exclusive = !Wanted().exclusive_above.empty() && !scans_.has_abandoned();
  if (!is_for_another && !may_be_exclusive) return;
  AbandonScan();
  StartScan();
}

void ResourceController::OnScanned(Outcome outcome) {
  // Of an abandoned scan only the watches count, until RetainWatches finds them unused.
  const ScanScheduler::Finished finished = scans_.Finish(outcome.scan);
  if (finished != ScanScheduler::Finished::kCounts) {
    const bool is_last = finished == ScanScheduler::Finished::kLastAbandoned;
    if (is_last && !Wanted().exclusive_above.empty()) Scan();
    return events_.on_scanned(outcome.added, true);
  }
  scan_limit_ = Subscription();
  if (std::exchange(scan_hangs_, false)) {
    deps_.plugin.log.Info("host scan completed", {{"resource", name()}});
  }
  if (ended_) {
    events_.on_scanned(outcome.added, true);
    return CheckPrograms();
  }
  if (outcome.spec != Wanted().spec) {
    // The entry was replaced. Start the next scan first: the event may request one itself.
    StartScan();
    return events_.on_scanned(outcome.added, true);
  }
  ApplyNext();
  LogGroups(outcome.groups);
  const bool complete = outcome.discovery.complete;
  owned_ = outcome.discovery.owned;
  NoteMoved(outcome.discovery.devices);
  const bool moved = outcome.directories != directories_;
  directories_ = std::move(outcome.directories);
  LogDroppedEarly(inventory_.MergeScan(std::move(outcome.discovery), deps_.plugin.loop.Now()));
  const Loop::Duration pause = scans_.Pause(outcome.took, deps_.plugin.loop.Now());
  pause_ = deps_.plugin.loop.After(pause, [this] {
    pause_ = Subscription();
    if (scans_.EndPause()) StartScan();
  });
  Publish(true);
  // After Publish, so that a reader sees the result of the scan.
  observer_->OnExplanation(published_->devices.empty() ? std::make_shared<const MatchSummaries>(
                                                             std::move(outcome.explanation))
                                                       : nullptr);
  observer_->OnScan(outcome.took, complete);
  events_.on_scanned(outcome.added, moved);
}

/// Its thread continues, with data of its own.
void ResourceController::AbandonScan() {
  scans_.Abandon();
  scan_cache_ = std::make_shared<ScanCache>();
  refresh_ = true;
}

/// Logs each error once, until a scan succeeds.
void ResourceController::LogGroups(const Status& groups) {
  const std::string error = groups ? "" : groups.error().message;
  if (std::exchange(groups_error_, error) == error || error.empty()) return;
  deps_.plugin.log.Warning(
      "cannot grant the groups of device nodes; pods with them are not started",
      {{"resource", name()}, {"reason", error}});
}

/// Logs once, until a scan forgets none.
void ResourceController::LogDroppedEarly(std::size_t devices) {
  if (std::exchange(forgets_early_, devices > 0) || devices == 0) return;
  deps_.plugin.log.Warning(
      "devices disappear faster than they expire; keeping only the latest ones",
      {{"resource", name()}, {"forgotten", devices}});
}

}  // namespace patchbay
