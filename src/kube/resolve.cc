#include "kube/resolve.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include "base/format.h"

namespace patchbay {

using boost::asio::ip::tcp;

Result<std::vector<tcp::endpoint>> Resolve(const std::string& host, std::uint16_t port) {
  constexpr std::size_t kMaxAddresses = 8;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot resolve {}: {}; check the name and the DNS of this node", host,
                       gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<tcp::endpoint> endpoints;
  endpoints.reserve(kMaxAddresses);
  for (const addrinfo* next = list; next != nullptr && endpoints.size() < kMaxAddresses;
       next = next->ai_next) {
    tcp::endpoint endpoint;
    if (next->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), next->ai_addr, next->ai_addrlen);
    endpoint.resize(next->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  if (endpoints.empty()) {
    return Fail(ErrorKind::kUnavailable, Format("{} has no address; check the name", host));
  }
  return endpoints;
}

}  // namespace patchbay
