#include "chaos/connections.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "os/unique_fd.h"

// The macros of netlink use C-style casts.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"

namespace patchbay::test {
namespace {

struct Request {
  nlmsghdr header;
  unix_diag_req body;
};

/// Returns the inodes of the sockets of this process.
std::set<std::uint32_t> OwnSockets() {
  std::set<std::uint32_t> inodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    unsigned inode = 0;
    const std::string target = std::filesystem::read_symlink(entry.path(), error);
    if (std::sscanf(target.c_str(), "socket:[%u]", &inode) == 1) inodes.insert(inode);
  }
  return inodes;
}

/// Returns whether the message describes a connection that was accepted on a socket below
/// `directory` and whose client is one of `own`.
bool IsFromHere(nlmsghdr* message, std::string_view directory, const std::set<std::uint32_t>& own) {
  auto* const body = static_cast<unix_diag_msg*>(NLMSG_DATA(message));
  std::string_view name;
  std::uint32_t peer = 0;
  std::size_t left = message->nlmsg_len - NLMSG_LENGTH(sizeof *body);
  for (auto* at = reinterpret_cast<rtattr*>(body + 1); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    if (at->rta_type == UNIX_DIAG_NAME) {
      name = {static_cast<const char*>(RTA_DATA(at)), RTA_PAYLOAD(at)};
    } else if (at->rta_type == UNIX_DIAG_PEER) {
      peer = *static_cast<const std::uint32_t*>(RTA_DATA(at));
    }
  }
  return name.starts_with(directory) && own.contains(peer);
}

}  // namespace

std::optional<std::size_t> OpenConnections(const std::string& directory) {
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  Request request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = 1U << TCP_ESTABLISHED;
  request.body.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER;
  if (!netlink || send(netlink.get(), &request, sizeof request, 0) < 0) return std::nullopt;
  const std::set<std::uint32_t> own = OwnSockets();
  std::size_t connections = 0;
  alignas(nlmsghdr) std::array<char, 1 << 16> buffer{};
  while (true) {
    const ssize_t received = recv(netlink.get(), buffer.data(), buffer.size(), 0);
    if (received <= 0) return std::nullopt;
    auto left = static_cast<std::size_t>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return connections;
      if (message->nlmsg_type == NLMSG_ERROR) return std::nullopt;
      connections += IsFromHere(message, directory, own) ? 1 : 0;
    }
  }
}

}  // namespace patchbay::test

#pragma GCC diagnostic pop
