#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace patchbay::test {

/// Expects that programs do not inherit the IPv4 sockets of this process with the local port
/// `port`, or with that port of the peer for getpeername, and returns their number.
inline int ExpectNotInherited(std::uint16_t port, decltype(&getsockname) name = &getsockname) {
  int sockets = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sin_family != AF_INET || ntohs(address.sin_port) != port) continue;
    ++sockets;
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
  return sockets;
}

}  // namespace patchbay::test
