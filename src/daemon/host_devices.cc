#include "daemon/host_devices.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/utc_text.h"
#include "inventory/snapshot_json.h"

namespace patchbay {
namespace {

using nlohmann::ordered_json;

std::string DevicesJson(std::optional<std::chrono::system_clock::time_point> read_at,
                        const Suggestions& found) {
  return JsonText({{"read_at", read_at ? ordered_json(UtcText(*read_at)) : ordered_json()},
                   {"used_disks", found.used_disks},
                   {"left_out", found.left_out},
                   {"notes", found.notes},
                   {"suggestions", SuggestionsJson(found)}});
}

}  // namespace

HostDevices::HostDevices(Loop& loop, ThreadPool& pool, HostRoot host,
                         std::function<ServedNodes()> served)
    : loop_(loop),
      pool_(pool),
      host_(std::move(host)),
      served_(std::move(served)),
      json_(DevicesJson(std::nullopt, {})) {}

std::string HostDevices::Json() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_current_, true)) loop_.Post(lifetime_.Guard([this] { Read(); }));
  return json_;
}

/// If the host hangs, the last result stays, and one thread waits.
void HostDevices::Read() {
  pool_.Run(
      [host = host_, served = served_()] {
        const Suggestions found = Suggest(host, {.served = served, .lists_served = true});
        return DevicesJson(std::chrono::system_clock::now(), found);
      },
      lifetime_.Guard([this](std::string json) {
        {
          const std::lock_guard lock(mutex_);
          json_ = std::move(json);
        }
        expiry_ = loop_.After(kMaxAge, [this] {
          const std::lock_guard lock(mutex_);
          is_current_ = false;
        });
      }));
}

}  // namespace patchbay
