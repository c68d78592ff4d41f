#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace patchbay {

/// The protocol of sd_notify(3), by which a service of Type=notify reports its state. Any thread.

/// Sends a message such as "READY=1" as one datagram, without waiting. Does nothing if systemd did
/// not start this process with NOTIFY_SOCKET, and ignores errors: nothing else depends on it.
void NotifySystemd(std::string_view message);

/// Returns the time within which systemd expects the next "WATCHDOG=1", from WatchdogSec= of the
/// unit; nothing if it expects none from this process.
std::optional<std::chrono::microseconds> SystemdWatchdogTime();

}  // namespace patchbay
