#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/device.h"

namespace patchbay {

/// The health of one published device, as the kubelet writes it to the status of a pod.
struct PublishedHealth {
  std::string device;
  std::optional<Health> health;  ///< nothing: unknown
  std::string message = {};      ///< for the status; see HealthMessage
  bool operator==(const PublishedHealth&) const = default;
};

/// The health of the devices of one pool.
struct PoolHealth {
  std::string pool;
  std::vector<PublishedHealth> devices;
  bool operator==(const PoolHealth&) const = default;
};

/// The health of all devices of a driver. The kubelet regards devices that are not in it as
/// unknown after a time. Lists share pools that did not change; none is null.
struct HealthList {
  std::vector<std::shared_ptr<const PoolHealth>> pools;
  bool operator==(const HealthList& other) const;
  /// Returns the number of devices.
  std::size_t size() const;
};

/// The maximum length of a message in bytes; the kubelet truncates longer ones.
inline constexpr std::size_t kMaxHealthMessage = 1024;

/// Returns a text from outside, such as the output of a probe, as a message: printable UTF-8 of at
/// most kMaxHealthMessage bytes. A longer text ends with "…".
std::string HealthMessage(std::string_view text);

/// A list that the kubelet accepts, and what it lacks.
struct HealthFit {
  HealthList list;
  std::size_t without_message = 0;  ///< devices whose message was removed
  std::size_t left_out = 0;         ///< devices that were left out
};

/// Shortens a list so that its message has at most `max_bytes`: the kubelet receives at most 4 MiB.
/// Messages are removed first, then devices are left out, healthy ones before the others. Also
/// leaves out devices whose names are not UTF-8, which would end the stream. Pools that fit are
/// kept as they are.
HealthFit FitHealth(HealthList list, std::size_t max_bytes = 3'500'000);

}  // namespace patchbay
