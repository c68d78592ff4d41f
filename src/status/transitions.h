#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// A change of the health of a device, or of its presence in the list.
struct Transition {
  std::chrono::system_clock::time_point at{};
  std::string resource = {};
  std::string device = {};  ///< its ID
  /// Nothing: it is not listed, or was not probed yet.
  std::optional<Health> from = {};
  std::optional<Health> to = {};
  std::string reason = {};  ///< of the unhealthy one; that of `to` if both are

  bool operator==(const Transition&) const = default;
};

/// The maximum number of transitions that the node remembers.
inline constexpr std::size_t kMaxTransitions = 100;

/// Returns the transitions from `before` to `after`, in the order of IDs, and only the last
/// kMaxTransitions of them. At the start, when `before` is null, every device is new: only
/// unhealthy ones are returned. Linear in the number of devices.
std::vector<Transition> TransitionsBetween(const Snapshot* before, const Snapshot& after,
                                           std::chrono::system_clock::time_point at);

/// The last transitions of all devices of the node, oldest first. The parts are immutable, so that
/// readers can share them.
using TransitionHistory = std::vector<std::shared_ptr<const Transition>>;

/// Returns `history` with `latest` at the end, without the oldest ones beyond kMaxTransitions.
TransitionHistory Extended(const TransitionHistory& history, std::vector<Transition> latest);

}  // namespace patchbay
