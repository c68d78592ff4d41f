#include "http/listen.h"

#include <boost/asio/ip/v6_only.hpp>
#include <cstdint>
#include <string_view>

#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"

namespace patchbay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct Target {
  tcp::endpoint endpoint;
  bool any = false;  ///< all addresses of both families
};

Failure NotAnAddress(const std::string& listen, std::string_view why) {
  return Fail(ErrorKind::kInvalid,
              Format("cannot listen on \"{}\": {}; write it as \"127.0.0.1:9478\" or \"[::]:9478\"",
                     Printable(listen), why));
}

Result<Target> Parse(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return NotAnAddress(listen, "there is no port");
  const std::string_view digits = std::string_view(listen).substr(colon + 1);
  const auto port = ParseNumber<std::uint16_t>(digits);
  if (!port) return NotAnAddress(listen, "the port is not a number up to 65535");
  const std::string host = listen.substr(0, colon);
  if (host.empty()) return Target{{tcp::v6(), *port}, true};

  error_code error;
  asio::ip::address address;
  if (host.starts_with('[') && host.ends_with(']')) {
    address = asio::ip::make_address_v6(host.substr(1, host.size() - 2), error);
  } else {
    address = asio::ip::make_address_v4(host, error);
  }
  if (error) return NotAnAddress(listen, "the host is not an IP address");
  return Target{{address, *port}, address.is_v6() && address.is_unspecified()};
}

error_code Open(tcp::acceptor& acceptor, const Target& target) try {
  acceptor.open(target.endpoint.protocol());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  if (target.any && target.endpoint.protocol() == tcp::v6()) {
    // Do not depend on the default of the host (net.ipv6.bindv6only).
    acceptor.set_option(asio::ip::v6_only(false));
  }
  acceptor.bind(target.endpoint);
  acceptor.listen(asio::socket_base::max_listen_connections);
  acceptor.non_blocking(true);
  return {};
} catch (const boost::system::system_error& failure) {
  return failure.code();
}

bool MeansNoIpv6(const error_code& error) {
  return error == asio::error::address_family_not_supported ||
         error == boost::system::errc::address_not_available ||
         error == asio::error::no_protocol_option;
}

std::string_view HintOn(const error_code& error) {
  if (error == asio::error::address_in_use) {
    return "; is it another Patchbay? set another address with --listen, or listen in the file";
  }
  if (error == asio::error::access_denied) return "; run as root, or use a port above 1023";
  if (error == boost::system::errc::address_not_available) {
    return "; use an address of this host, or [::] for all";
  }
  return "";
}

}  // namespace

Result<tcp::acceptor> Listen(asio::io_context& context, const std::string& listen) {
  Target target = TRY(Parse(listen));
  tcp::acceptor acceptor(context);
  error_code error = Open(acceptor, target);
  if (error && target.any && MeansNoIpv6(error)) {
    acceptor = tcp::acceptor(context);
    target.endpoint = tcp::endpoint(tcp::v4(), target.endpoint.port());
    error = Open(acceptor, target);
  }
  if (error) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot listen on {}: {}{}", listen, error.message(), HintOn(error)));
  }
  return acceptor;
}

std::string Address(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  if (endpoint.address().is_v6()) return Format("[{}]:{}", host, endpoint.port());
  return Format("{}:{}", host, endpoint.port());
}

}  // namespace patchbay
