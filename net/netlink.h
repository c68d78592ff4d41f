#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace patchbay {

/// A message of rtnetlink(7): a header, a body of its type, and attributes.
class NetlinkMessage {
 public:
  template <class Body>
  NetlinkMessage(std::uint16_t type, std::uint16_t flags, const Body& body) {
    header()->nlmsg_len = NLMSG_LENGTH(sizeof(body));
    header()->nlmsg_type = type;
    header()->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    std::memcpy(bytes_ + NLMSG_HDRLEN, &body, sizeof(body));
  }

  /// Adds an attribute. All of a message fit into 512 bytes.
  void Put(std::uint16_t type, const void* data, std::size_t size);

  nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_); }

 private:
  alignas(nlmsghdr) char bytes_[512] = {};
};

/// Returns the body of a message, which the kernel has made complete.
template <class Body>
const Body& BodyOf(const nlmsghdr& message) {
  return *reinterpret_cast<const Body*>(reinterpret_cast<const char*>(&message) + NLMSG_HDRLEN);
}

/// Calls `on_attribute(type, data, size)` for each attribute in the data of another one.
template <class F>
void ForEachAttributeIn(const void* data, int left, F on_attribute) {
  const auto* one = static_cast<const rtattr*>(data);
  for (; RTA_OK(one, left); one = RTA_NEXT(one, left)) {
    on_attribute(one->rta_type & NLA_TYPE_MASK, RTA_DATA(one), RTA_PAYLOAD(one));
  }
}

/// Calls `on_attribute(type, data, size)` for each attribute behind the body of a message.
template <class Body, class F>
void ForEachAttribute(const nlmsghdr& message, F on_attribute) {
  const int left =
      static_cast<int>(message.nlmsg_len) - static_cast<int>(NLMSG_SPACE(sizeof(Body)));
  ForEachAttributeIn(reinterpret_cast<const char*>(&message) + NLMSG_SPACE(sizeof(Body)), left,
                     on_attribute);
}

/// A socket of rtnetlink in the network namespace that the process had at Open. Errors are values
/// of errno, 0 without one. For one thread; blocks until the kernel answers.
class Netlink {
 public:
  Netlink() = default;
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;
  ~Netlink();

  int Open();

  /// Sends a request, with NLM_F_DUMP or for a change, and waits until it is answered. Calls
  /// `on_message(header)` for each message of the answer; for a dump again, as something changed
  /// while the kernel wrote it.
  template <class F>
  int Request(NetlinkMessage message, F on_message, int tries = 10) {
    int error = Send(message);
    bool is_answered = false, is_interrupted = false;
    while (error == 0 && !is_answered) {
      std::size_t size = 0;
      error = Receive(size);
      for (std::size_t at = 0; error == 0 && at + NLMSG_HDRLEN <= size;) {
        const auto* one = reinterpret_cast<const nlmsghdr*>(buffer_ + at);
        if (one->nlmsg_len < NLMSG_HDRLEN || one->nlmsg_len > size - at) break;
        at += NLMSG_ALIGN(one->nlmsg_len);
        if (one->nlmsg_seq != sequence_) continue;
        is_interrupted = is_interrupted || (one->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        error = ErrorOf(*one);
        is_answered = one->nlmsg_type == NLMSG_ERROR || one->nlmsg_type == NLMSG_DONE;
        if (!is_answered) on_message(*one);
      }
    }
    if (error != 0 || !is_interrupted) return error;
    return tries > 1 ? Request(message, on_message, tries - 1) : EINTR;
  }
  int Request(const NetlinkMessage& message) {
    return Request(message, [](const nlmsghdr&) {});
  }

 private:
  int Send(NetlinkMessage& message);
  int Receive(std::size_t& size);
  static int ErrorOf(const nlmsghdr& message);

  int socket_ = -1;
  std::uint32_t sequence_ = 0;
  alignas(nlmsghdr) char buffer_[1U << 17] = {};  // a pod can give an interface 64 KiB of names
};

}  // namespace patchbay
