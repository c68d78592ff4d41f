#include "daemon/shared_device_monitor.h"

namespace patchbay {

void SharedDeviceMonitor::Compare() {
  if (std::exchange(comparing_, true)) {
    compare_again_ = true;
    return;
  }
  const auto participants = std::make_shared<const Participants>(participants_());
  pool_.Run(
      [participants] {
        std::vector<std::shared_ptr<const Snapshot>> snapshots;
        for (const Participant& participant : *participants)
          snapshots.push_back(participant.snapshot);
        return FindSharedNodes(snapshots);
      },
      lifetime_.Guard(
          [this, participants](const SharedNodes& shared) { OnCompared(*participants, shared); }));
}

void SharedDeviceMonitor::OnCompared(const Participants& participants, const SharedNodes& shared) {
  for (std::size_t i = 0; i < participants.size(); ++i)
    participants[i].observer->OnShared(shared.devices[i]);
  std::set<std::pair<std::string, std::string>> sharing;
  for (const SharedNodes::Pair& pair : shared.pairs) {
    const auto names =
        std::pair(participants[pair.first].resource, participants[pair.second].resource);
    sharing.insert(names);
    if (known_.contains(names)) continue;
    log_.Warning(
        "two resources list the same device node, so it may be allocated twice; exclude it from "
        "one of them, or make one exclusive",
        {{"resource", names.first}, {"other", names.second}, {"path", pair.path}});
  }
  known_ = std::move(sharing);
  comparing_ = false;
  if (std::exchange(compare_again_, false)) Compare();
}

}  // namespace patchbay
