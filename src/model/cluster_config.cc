#include "model/cluster_config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"
#include "base/path.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

constexpr std::string_view kHttps = "https://";
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kServerExample = "write server = \"https://10.0.0.1:6443\"";

using Ipv4 = std::array<unsigned char, 4>;
using Ipv6 = std::array<unsigned char, 16>;

/// Parses an address without a zone: an address with one is of one host only, and no certificate
/// can name it.
template <class Address>
std::optional<Address> ParseAddress(std::string_view text) {
  Address address;
  const int family = address.size() == Ipv4().size() ? AF_INET : AF_INET6;
  if (inet_pton(family, std::string(text).c_str(), address.data()) != 1) return std::nullopt;
  return address;
}

bool IsAddress(std::string_view host) {
  return ParseAddress<Ipv4>(host).has_value() || ParseAddress<Ipv6>(host).has_value();
}

bool IsDnsName(std::string_view name) {
  // Digits only in the last label would be an IP address that is not valid.
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return IsDnsSubdomain(ToLower(name)) && !std::ranges::all_of(last, IsDigit);
}

/// Sets the host; returns whether it is valid.
bool SetHost(std::string_view host, ClusterConfig& config) {
  config.host = host;
  config.is_address = IsAddress(host);
  return config.is_address || IsDnsName(host);
}

bool SetPort(std::string_view text, ClusterConfig& config) {
  config.port = ParseNumber<std::uint16_t>(text).value_or(0);
  return config.port != 0;
}

/// Splits "host:port", "[address]:port" and both without a port. Returns whether it is valid.
bool SetAuthority(std::string_view authority, ClusterConfig& config) {
  std::string_view host = authority;
  std::string_view port;
  const bool has_brackets = authority.starts_with('[');
  const std::size_t end = has_brackets ? authority.find(']') : authority.find(':');
  if (has_brackets) {
    if (end == std::string_view::npos) return false;
    host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else if (end != std::string_view::npos) {
    host = authority.substr(0, end);
    port = authority.substr(end);
  }
  if (!port.empty() && (port.front() != ':' || !SetPort(port.substr(1), config))) return false;
  return SetHost(host, config) && has_brackets == (host.find(':') != std::string_view::npos);
}

bool IsLoopback(const ClusterConfig& config) {
  if (const auto address = ParseAddress<Ipv4>(config.host)) return address->front() == 127;
  Ipv6 loopback{};
  loopback.back() = 1;
  return ParseAddress<Ipv6>(config.host) == loopback;
}

/// Sets the server; returns why it cannot be used.
std::optional<ClusterProblem> SetServer(const std::string& server, PlainHttp plain_http,
                                        ClusterConfig& config) {
  std::string_view rest = server;
  config.uses_tls = !rest.starts_with(kHttp);
  if (config.uses_tls && !rest.starts_with(kHttps)) {
    return ClusterProblem{
        "server", Format("server must begin with https://, not \"{}\"", Truncate(rest, 200)),
        std::string(kServerExample)};
  }
  rest.remove_prefix(config.uses_tls ? kHttps.size() : kHttp.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (!config.uses_tls) config.port = 80;
  if (!SetAuthority(rest, config)) {
    return ClusterProblem{
        "server",
        Format("server must be a scheme, a host and a port, without a path or user, not \"{}\"",
               Truncate(server, 200)),
        std::string(kServerExample)};
  }
  if (!config.uses_tls && (plain_http == PlainHttp::kRefuse || !IsLoopback(config))) {
    return ClusterProblem{"server",
                          "server must not use http://, because others could read the token",
                          "use https://"};
  }
  return std::nullopt;
}

void AddFileProblems(const ClusterConfig& config, ClusterProblems& problems) {
  const std::pair<std::string_view, const std::string&> files[] = {
      {"ca", config.ca_file},
      {"token_file", config.token_file},
      {"client_certificate", config.client_certificate_file},
      {"client_key", config.client_key_file}};
  for (const auto& [name, path] : files) {
    if (!path.empty() && !IsShortestPath(path)) {
      problems.push_back(
          {name, Format("{} must be an absolute path, not \"{}\"", name, Truncate(path, 200)),
           "begin with \"/\", and write no \"..\", \".\" or \"//\""});
    }
  }
}

}  // namespace

Result<ClusterConfig> ClusterConfigInPod(std::string_view host, std::string_view port,
                                         std::string_view directory) {
  if (host.empty() && port.empty()) {
    return Fail(ErrorKind::kNotFound,
                "KUBERNETES_SERVICE_HOST is not set, so the API server is not known; run in a "
                "pod, or add [daemon.kubernetes] to the configuration");
  }
  ClusterConfig config;
  if (!SetHost(host, config)) {
    return Fail(ErrorKind::kInvalid, Format("KUBERNETES_SERVICE_HOST must be an IP address or a "
                                            "DNS name, not \"{}\"",
                                            Truncate(host, 200)));
  }
  if (!SetPort(port, config)) {
    return Fail(ErrorKind::kInvalid,
                Format("KUBERNETES_SERVICE_PORT must be a port, not \"{}\"", Truncate(port, 20)));
  }
  config.ca_file = Format("{}/ca.crt", directory);
  config.token_file = Format("{}/token", directory);
  return config;
}

tl::expected<ClusterConfig, ClusterProblems> CheckCluster(const ClusterSettings& settings,
                                                          PlainHttp plain_http) {
  ClusterConfig config;
  ClusterProblems problems;
  if (auto problem = SetServer(settings.server, plain_http, config)) {
    problems.push_back(*std::move(problem));
  }
  config.ca_file = settings.ca;
  config.token_file = settings.token_file;
  config.client_certificate_file = settings.client_certificate;
  config.client_key_file = settings.client_key;
  AddFileProblems(config, problems);
  if (!problems.empty()) return tl::unexpected<ClusterProblems>(std::move(problems));
  return config;
}

Result<ClusterConfig> ClusterConfigFrom(const ClusterSettings& settings, PlainHttp plain_http) {
  auto config = CheckCluster(settings, plain_http);
  if (config) return *std::move(config);
  const ClusterProblem& first = config.error().front();
  return Fail(ErrorKind::kInvalid, Format("{}; {}", first.message, first.hint));
}

std::string HostAndPort(const ClusterConfig& config) {
  const bool needs_brackets = config.host.find(':') != std::string::npos;
  return needs_brackets ? Format("[{}]:{}", config.host, config.port)
                        : Format("{}:{}", config.host, config.port);
}

std::string UrlOf(const ClusterConfig& config) {
  if (!config.unknown.empty()) return "";
  return std::string(config.uses_tls ? kHttps : kHttp) + HostAndPort(config);
}

}  // namespace patchbay
