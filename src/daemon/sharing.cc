#include "daemon/sharing.h"

namespace patchbay {

void Sharing::Compare() {
  if (std::exchange(comparing_, true)) {
    compare_again_ = true;
    return;
  }
  const auto parties = std::make_shared<const Parties>(parties_());
  pool_.Run(
      loop_,
      [parties] {
        std::vector<std::shared_ptr<const Snapshot>> snapshots;
        for (const Party& party : *parties) snapshots.push_back(party.snapshot);
        return FindSharedNodes(snapshots);
      },
      lifetime_.Guard(
          [this, parties](const SharedNodes& shared) { OnCompared(*parties, shared); }));
}

void Sharing::OnCompared(const Parties& parties, const SharedNodes& shared) {
  for (std::size_t i = 0; i < parties.size(); ++i) parties[i].observer->OnShared(shared.devices[i]);
  std::set<std::pair<std::string, std::string>> sharing;
  for (const SharedNodes::Pair& pair : shared.pairs) {
    const auto names = std::pair(parties[pair.first].resource, parties[pair.second].resource);
    sharing.insert(names);
    if (known_.contains(names)) continue;
    log_.Warning(
        "two resources have the same node, which the kubelet may give out twice; exclude it from "
        "one, or make one exclusive",
        {{"resource", names.first}, {"other", names.second}, {"path", pair.path}});
  }
  known_ = std::move(sharing);
  comparing_ = false;
  if (std::exchange(compare_again_, false)) Compare();
}

}  // namespace patchbay
