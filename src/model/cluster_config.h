#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// The API server and the files to verify it and to authenticate with. Either `token_file` is set,
/// or both files of a client certificate are.
struct ClusterConfig {
  /// Why the API server is not known; then nothing else is set, and every request fails with this.
  std::string unknown = {};
  std::string host = {};  ///< a DNS name or an IP address, without brackets
  bool is_address = false;
  std::uint16_t port = 443;
  bool uses_tls = true;
  std::string ca_file = {};  ///< PEM; the certificates that the server is verified with
  std::string token_file = {};
  std::string client_certificate_file = {};  ///< PEM, with intermediate certificates
  std::string client_key_file = {};          ///< PEM, without a passphrase
  bool operator==(const ClusterConfig&) const = default;
};

/// The directory with the token and the certificates in a pod (kubernetes/client-go
/// rest/config.go).
inline constexpr std::string_view kServiceAccountDir =
    "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns the configuration in a pod from the values of KUBERNETES_SERVICE_HOST and
/// KUBERNETES_SERVICE_PORT, "" for a variable that is not set. Fails with kNotFound if both are
/// empty, and with kInvalid if a value is invalid. Does not access files.
Result<ClusterConfig> ClusterConfigInPod(std::string_view host, std::string_view port,
                                         std::string_view directory = kServiceAccountDir);

/// [daemon.kubernetes]: the settings of a node without a pod, as an administrator writes them. The
/// names of the members are those of the keys.
struct ClusterSettings {
  std::string server = {};  ///< "https://10.0.0.1:6443", "https://[fd00::1]:6443"
  std::string ca = {};
  std::string token_file = {};
  std::string client_certificate = {};
  std::string client_key = {};
  bool operator==(const ClusterSettings&) const = default;
};

/// The API server of `patchbay try` and of tests is reached without TLS, on a loopback address.
enum class PlainHttp { kRefuse, kOnLoopback };

/// Why a setting cannot be used, and the name of its key.
struct ClusterProblem {
  std::string_view key;
  std::string message;
  std::string hint;
};
using ClusterProblems = std::vector<ClusterProblem>;

/// Returns the configuration from settings, or the problems of all values. Which settings need or
/// exclude each other is in the table of keys (config/keys.cc). Does not access files.
tl::expected<ClusterConfig, ClusterProblems> CheckCluster(
    const ClusterSettings& settings, PlainHttp plain_http = PlainHttp::kRefuse);

/// Same as CheckCluster, and fails with kInvalid and the first problem.
Result<ClusterConfig> ClusterConfigFrom(const ClusterSettings& settings,
                                        PlainHttp plain_http = PlainHttp::kRefuse);

/// Returns "https://10.0.0.1:6443" for messages, "" for a server that is not known, and
/// "10.0.0.1:6443" for the Host header.
std::string UrlOf(const ClusterConfig& config);
std::string HostAndPort(const ClusterConfig& config);

}  // namespace patchbay
