#include "api_server_sim/tls_context.h"

#include <boost/asio/buffer.hpp>
#include <string_view>

#include "base/format.h"

namespace patchbay::api_sim {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

Failure Unusable(std::string_view what, const error_code& error) {
  return Fail(
      ErrorKind::kInvalid,
      Format("cannot use the {} of the API server: {}; it must be in PEM", what, error.message()));
}

}  // namespace

Result<TlsContext> MakeServerContext(const TlsIdentity& identity) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  error_code error;
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->use_certificate_chain(boost::asio::buffer(identity.certificate), error);
  if (error) return Unusable("certificate", error);
  context->use_private_key(boost::asio::buffer(identity.key), ssl::context::pem, error);
  if (error) return Unusable("key", error);
  if (identity.client_ca.empty()) return context;
  context->add_certificate_authority(boost::asio::buffer(identity.client_ca), error);
  if (error) return Unusable("authority of client certificates", error);
  // Without verify_fail_if_no_peer_cert: a client can have a token instead.
  context->set_verify_mode(ssl::verify_peer, error);
  if (error) return Unusable("authority of client certificates", error);
  return context;
}

}  // namespace patchbay::api_sim
