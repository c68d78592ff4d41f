#include "net/netlink.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace patchbay {

void NetlinkMessage::Put(std::uint16_t type, const void* data, std::size_t size) {
  const std::size_t at = NLMSG_ALIGN(header()->nlmsg_len);
  if (at + RTA_SPACE(size) > sizeof(bytes_)) __builtin_trap();  // no caller adds more
  const rtattr attribute{static_cast<std::uint16_t>(RTA_LENGTH(size)), type};
  std::memcpy(bytes_ + at, &attribute, sizeof(attribute));
  std::memcpy(bytes_ + at + RTA_LENGTH(0), data, size);
  header()->nlmsg_len = static_cast<std::uint32_t>(at + RTA_LENGTH(size));
}

Netlink::~Netlink() {
  if (socket_ >= 0) close(socket_);
}

int Netlink::Open() {
  socket_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  return socket_ < 0 ? errno : 0;
}

int Netlink::Send(NetlinkMessage& message) {
  message.header()->nlmsg_seq = ++sequence_;
  const ssize_t sent = send(socket_, message.header(), message.header()->nlmsg_len, 0);
  return sent < 0 ? errno : 0;
}

int Netlink::Receive(std::size_t& size) {
  sockaddr_nl sender{};
  socklen_t sender_size = sizeof(sender);
  const ssize_t received = recvfrom(socket_, buffer_, sizeof(buffer_), MSG_TRUNC,
                                    reinterpret_cast<sockaddr*>(&sender), &sender_size);
  if (received < 0) return errno;
  if (static_cast<std::size_t>(received) > sizeof(buffer_)) return EMSGSIZE;
  // Only the kernel has the number 0; datagrams of others are ignored.
  size = sender.nl_pid == 0 ? static_cast<std::size_t>(received) : 0;
  return 0;
}

int Netlink::ErrorOf(const nlmsghdr& message) {
  const bool has_error = message.nlmsg_type == NLMSG_ERROR || message.nlmsg_type == NLMSG_DONE;
  return has_error && message.nlmsg_len >= NLMSG_LENGTH(sizeof(int)) ? -BodyOf<int>(message) : 0;
}

}  // namespace patchbay
