#pragma once

#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// Walks two device lists, each ordered by IdLess, in the order of IDs. Calls `visit(before,
/// after)` with pointers to the devices of one ID; a list without the ID passes null. Linear.
template <class Visit>
void VisitPairs(const std::vector<ListedDevice>& before, const std::vector<ListedDevice>& after,
                Visit visit) {
  const ListedDevice* const none = nullptr;
  auto old = before.begin();
  for (const ListedDevice& now : after) {
    if (old != before.end() && old->device == now.device) {  // most devices are in both lists
      visit(&*old++, &now);
      continue;
    }
    for (; old != before.end() && IdLess(old->device->id, now.device->id); ++old) {
      visit(&*old, none);
    }
    const bool is_same = old != before.end() && old->device->id == now.device->id;
    visit(is_same ? &*old++ : none, &now);
  }
  for (; old != before.end(); ++old) visit(&*old, none);
}

}  // namespace patchbay
