#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/cluster_config.h"

namespace patchbay {

/// The contents of the files that TLS needs.
struct TlsFiles {
  std::string ca;
  std::string client_certificate;  ///< empty if the client authenticates with a token
  std::string client_key;
  bool operator==(const TlsFiles&) const = default;
};

/// Returns a context that always verifies the server, with TLS 1.2 or 1.3. A certificate in the CA
/// file is trusted even if it is not self-signed, as in kubectl. Fails with kInvalid if a file is
/// not valid. Any thread.
Result<std::shared_ptr<boost::asio::ssl::context>> MakeTlsContext(const TlsFiles& files);

/// Prepares a connection to the server before its handshake: the certificate must have the host, a
/// name or an address, among its subject alternative names. Returns whether OpenSSL accepts it.
[[nodiscard]] bool SetTlsHost(SSL* ssl, const ClusterConfig& config);

/// Returns the reason of a failed handshake and the next step, as the end of a sentence.
std::string TlsFailureText(const SSL* ssl, const ClusterConfig& config,
                           const boost::system::error_code& error);

}  // namespace patchbay
