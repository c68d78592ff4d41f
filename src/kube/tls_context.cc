#include "kube/tls_context.h"

#include <openssl/ssl.h>
#include <openssl/tls1.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <string_view>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

/// The next step by the result of the verification.
struct VerifyHint {
  long result;
  std::string_view hint;
};
constexpr std::string_view kCheckCa =
    "check that the CA file is the one of this cluster, /etc/kubernetes/pki/ca.crt on a control "
    "plane node";
constexpr VerifyHint kVerifyHints[] = {
    {X509_V_ERR_HOSTNAME_MISMATCH,
     "connect to one of the names in the certificate's subject alternative names"},
    {X509_V_ERR_IP_ADDRESS_MISMATCH,
     "connect to one of the addresses in the certificate's subject alternative names"},
    {X509_V_ERR_CERT_HAS_EXPIRED, "renew the certificate of the API server, or set the clock"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "set the clock of this node"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, kCheckCa},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, kCheckCa},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, kCheckCa},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, kCheckCa},
    {X509_V_ERR_CERT_SIGNATURE_FAILURE, kCheckCa},
};

Failure InvalidFile(std::string_view setting, const error_code& error) {
  return Fail(ErrorKind::kInvalid,
              Format("{} is not a valid PEM file: {}", setting, error.message()));
}

Status UseClientCertificate(ssl::context& context, const TlsFiles& files) {
  // Without it, OpenSSL asks for the passphrase of a key on the terminal.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return ""; });
  error_code error;
  if (context.use_certificate_chain(boost::asio::buffer(files.client_certificate), error)) {
    return InvalidFile("the client certificate", error);
  }
  if (context.use_private_key(boost::asio::buffer(files.client_key), ssl::context::pem, error)) {
    return Fail(ErrorKind::kInvalid,
                Format("the client key cannot be used: {}; it must be a PEM file without a "
                       "passphrase and belong to the client certificate",
                       error.message()));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<ssl::context>> MakeTlsContext(const TlsFiles& files) {
  const auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  // Most of the time, connections wait for events: without their buffers, 33 KiB each.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  // HTTP/2 is not implemented. In the format of ALPN, a length precedes each name.
  static constexpr std::string_view kAlpn = "\x08http/1.1";
  const bool is_set =
      SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) == 1 &&
      SSL_CTX_set_alpn_protos(native, reinterpret_cast<const unsigned char*>(kAlpn.data()),
                              static_cast<unsigned>(kAlpn.size())) == 0;
  if (!is_set) return Fail(ErrorKind::kUnavailable, "OpenSSL does not support TLS 1.2");
  context->set_verify_mode(ssl::verify_peer);
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(native), X509_V_FLAG_PARTIAL_CHAIN);
  error_code error;
  if (files.ca.empty()) return Fail(ErrorKind::kInvalid, "the CA file is empty");
  if (context->add_certificate_authority(boost::asio::buffer(files.ca), error)) {
    return InvalidFile("the CA file", error);
  }
  if (!files.client_certificate.empty()) TRY(UseClientCertificate(*context, files));
  return context;
}

bool SetTlsHost(SSL* ssl, const ClusterConfig& config) {
  X509_VERIFY_PARAM* const param = SSL_get0_param(ssl);
  // The common name of a certificate is not a host name.
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (config.is_address) return X509_VERIFY_PARAM_set1_ip_asc(param, config.host.c_str()) == 1;
  std::string name = config.host;  // SSL_set_tlsext_host_name is a macro with a C cast
  return X509_VERIFY_PARAM_set1_host(param, name.c_str(), 0) == 1 &&
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

std::string TlsFailureText(const SSL* ssl, const ClusterConfig& config, const error_code& error) {
  const long result = SSL_get_verify_result(ssl);
  if (result == X509_V_OK) {
    return Format(
        "TLS with {} failed: {}; check that it is the address of a Kubernetes API server{}",
        UrlOf(config), Printable(error.message()),
        config.client_certificate_file.empty()
            ? ""
            : ", and that the API server accepts the client certificate");
  }
  std::string text = Format("the certificate of {} is not valid: {}", UrlOf(config),
                            X509_verify_cert_error_string(result));
  const auto* hint = std::ranges::find(kVerifyHints, result, &VerifyHint::result);
  if (hint != std::end(kVerifyHints)) text += Format("; {}", hint->hint);
  return text;
}

}  // namespace patchbay
