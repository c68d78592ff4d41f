#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dra/resource_slice.h"

namespace patchbay {

/// A slice that has a new content.
struct SliceUpdate {
  SliceKey key;
  ResourceSlice slice;
};

/// A new slice. Its name begins with `index`, because the scheduler allocates in the order of
/// names.
struct SliceCreation {
  std::size_t index = 0;
  ResourceSlice slice;
};

/// Writes to the API server, in this order: deletions, updates, creations. The plan can be
/// abandoned after any of them; the next plan continues.
struct SlicePlan {
  std::vector<SliceKey> deletions;
  std::vector<SliceUpdate> updates;
  std::vector<SliceCreation> creations;

  bool IsEmpty() const { return deletions.empty() && updates.empty() && creations.empty(); }
};

/// Returns the key for the deletion of a slice. A foreign one is deleted in any version: its writer
/// must not keep it by changing it all the time.
SliceKey DeletionOf(const PublishedSlice& slice);

/// Returns the writes after which the pool has exactly `devices`, whose names are distinct, in
/// slices that the Node with the UID `owner_uid` owns. Slices of other pools in `published` are
/// ignored, and foreign ones are deleted. Pure; independent of the order of `published`.
///
/// A device stays in its slice, new ones fill the slices that change anyway, and a slice without
/// devices is deleted unless it is the only one. If one slice changes, it alone is updated, with
/// the same generation. Otherwise the generation rises and all slices are written. After each write
/// the scheduler either sees the pool as it was, sees all of it as it shall be, or ignores it as
/// incomplete.
///
/// The generation rises at least to `min_generation`, for slices that are not in `published`.
SlicePlan PlanSlices(const std::string& pool, std::span<const SliceDevice> devices,
                     std::span<const PublishedSlice> published, std::string_view owner_uid,
                     std::int64_t min_generation = 0);

}  // namespace patchbay
