#include "dra/health_list.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/escape.h"

namespace patchbay {
namespace {

constexpr std::string_view kEllipsis = "…";
/// The tags, lengths and numbers of one device in the message, at most.
constexpr std::size_t kBytesPerDevice = 48;

std::size_t BytesOf(const PublishedHealth& device) {
  return kBytesPerDevice + device.pool.size() + device.device.size() + device.message.size();
}

std::size_t BytesOf(const std::vector<PublishedHealth>& devices) {
  return std::accumulate(
      devices.begin(), devices.end(), std::size_t{0},
      [](std::size_t sum, const PublishedHealth& device) { return sum + BytesOf(device); });
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

HealthFit FitHealth(HealthList list, std::size_t max_bytes) {
  HealthFit fit;
  auto& devices = list.devices;
  fit.left_out = std::erase_if(devices, [](const PublishedHealth& device) {
    return !IsUtf8(device.pool) || !IsUtf8(device.device);
  });
  for (PublishedHealth& device : devices) device.message = HealthMessage(device.message);
  if (BytesOf(devices) > max_bytes) {
    for (PublishedHealth& device : devices) {
      if (!std::exchange(device.message, {}).empty()) ++fit.without_message;
    }
  }
  if (BytesOf(devices) > max_bytes) {
    std::stable_partition(devices.begin(), devices.end(), [](const PublishedHealth& device) {
      return device.health != Health::kHealthy;
    });
    std::size_t bytes = 0;
    const auto end =
        std::find_if(devices.begin(), devices.end(), [&](const PublishedHealth& device) {
          bytes += BytesOf(device);
          return bytes > max_bytes;
        });
    fit.left_out += static_cast<std::size_t>(devices.end() - end);
    devices.erase(end, devices.end());
  }
  fit.list = std::move(list);
  return fit;
}

}  // namespace patchbay
