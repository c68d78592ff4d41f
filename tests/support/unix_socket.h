#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "os/unique_fd.h"

namespace patchbay::test {

/// Binds a socket at `path`, and listens on it if `listening`. The file stays when it is closed.
inline UniqueFd BindSocket(const std::string& path, bool listening) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  if (listening) {
    EXPECT_EQ(listen(fd.get(), 8), 0);
  }
  return fd;
}

}  // namespace patchbay::test
