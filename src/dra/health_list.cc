#include "dra/health_list.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/escape.h"

namespace patchbay {
namespace {

constexpr std::string_view kEllipsis = "…";
/// The tags, lengths and numbers of one device in the message, at most.
constexpr std::size_t kBytesPerDevice = 48;

std::size_t BytesOf(const PoolHealth& pool, const PublishedHealth& device) {
  return kBytesPerDevice + pool.pool.size() + device.device.size() + device.message.size();
}

std::size_t BytesOf(const HealthList& list) {
  std::size_t bytes = 0;
  for (const auto& pool : list.pools) {
    for (const PublishedHealth& device : pool->devices) bytes += BytesOf(*pool, device);
  }
  return bytes;
}

bool IsValid(const PoolHealth& pool) {
  return IsUtf8(pool.pool) && std::ranges::all_of(pool.devices, [](const PublishedHealth& device) {
           return IsUtf8(device.device) && device.message == HealthMessage(device.message);
         });
}

/// Makes messages valid, and removes devices whose names are not.
void MakeValid(PoolHealth& pool) {
  std::erase_if(pool.devices, [&](const PublishedHealth& device) {
    return !IsUtf8(pool.pool) || !IsUtf8(device.device);
  });
  for (PublishedHealth& device : pool.devices) device.message = HealthMessage(device.message);
}

/// Replaces a pool by a copy that `change` may change.
template <class Change>
void Replace(std::shared_ptr<const PoolHealth>& pool, Change change) {
  PoolHealth copy = *pool;
  change(copy);
  pool = std::make_shared<const PoolHealth>(std::move(copy));
}

/// Returns the devices that fit, preferring those that are not healthy.
HealthList Truncated(const HealthList& list, std::size_t max_bytes) {
  std::set<const PublishedHealth*> kept;
  std::size_t bytes = 0;
  for (const bool is_healthy : {false, true}) {
    for (const auto& pool : list.pools) {
      for (const PublishedHealth& device : pool->devices) {
        if ((device.health == Health::kHealthy) != is_healthy) continue;
        bytes += BytesOf(*pool, device);
        if (bytes <= max_bytes) kept.insert(&device);
      }
    }
  }
  HealthList truncated;
  for (const auto& pool : list.pools) {
    PoolHealth part{pool->pool, {}};
    std::ranges::copy_if(pool->devices, std::back_inserter(part.devices),
                         [&](const PublishedHealth& device) { return kept.contains(&device); });
    truncated.pools.push_back(std::make_shared<const PoolHealth>(std::move(part)));
  }
  return truncated;
}

}  // namespace

std::string HealthMessage(std::string_view text) {
  std::string printable = Printable(text.substr(0, kMaxHealthMessage));
  if (text.size() <= kMaxHealthMessage && printable.size() <= kMaxHealthMessage) return printable;
  std::size_t end = kMaxHealthMessage - kEllipsis.size();
  // Does not split a character.
  while (end > 0 && (static_cast<unsigned char>(printable[end]) & 0xc0U) == 0x80) --end;
  return printable.substr(0, end).append(kEllipsis);
}

bool HealthList::operator==(const HealthList& other) const {
  return std::ranges::equal(pools, other.pools,
                            [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

std::size_t HealthList::size() const {
  std::size_t devices = 0;
  for (const auto& pool : pools) devices += pool->devices.size();
  return devices;
}

HealthFit FitHealth(HealthList list, std::size_t max_bytes) {
  HealthFit fit;
  const std::size_t all = list.size();
  for (auto& pool : list.pools) {
    if (!IsValid(*pool)) Replace(pool, MakeValid);
  }
  if (BytesOf(list) > max_bytes) {
    for (auto& pool : list.pools) {
      Replace(pool, [&](PoolHealth& copy) {
        for (PublishedHealth& device : copy.devices) {
          if (!std::exchange(device.message, {}).empty()) ++fit.without_message;
        }
      });
    }
  }
  if (BytesOf(list) > max_bytes) list = Truncated(list, max_bytes);
  fit.left_out = all - list.size();
  fit.list = std::move(list);
  return fit;
}

}  // namespace patchbay
