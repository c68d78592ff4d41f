#include "os/systemd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/number.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

std::string_view EnvironmentText(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<std::int64_t> EnvironmentNumber(const char* name) {
  return ParseNumber<std::int64_t>(EnvironmentText(name));
}

}  // namespace

void NotifySystemd(std::string_view message) {
  const std::string_view path = EnvironmentText("NOTIFY_SOCKET");
  sockaddr_un address = {};
  if (path.size() < 2 || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // an abstract address
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  static_cast<void>(sendto(socket.get(), message.data(), message.size(),
                           MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size())));
}

std::optional<std::chrono::microseconds> SystemdWatchdogTime() {
  const auto time = EnvironmentNumber("WATCHDOG_USEC");
  if (!time || *time <= 0 || EnvironmentNumber("WATCHDOG_PID").value_or(getpid()) != getpid()) {
    return std::nullopt;
  }
  return std::chrono::microseconds(*time);
}

}  // namespace patchbay
