#include "http/host_check.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

bool IsDigits(std::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

/// Returns "::1" for "[::1]:9478", "name.example" for "Name.Example.:80"; "" for an invalid host.
std::string NameIn(std::string_view host) {
  const auto end = host.starts_with('[') ? host.find(']') : host.find(':');
  const std::string_view behind =
      end == std::string_view::npos ? "" : host.substr(host[end] == ']' ? end + 1 : end);
  const bool is_port = behind.empty() || (behind[0] == ':' && IsDigits(behind.substr(1)));
  if (!is_port) return "";
  if (host.starts_with('[')) return ToLower(host.substr(1, end - 1));
  std::string name = ToLower(host.substr(0, end));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool IsAddress(const std::string& name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  return !error;
}

}  // namespace

bool IsHostAccepted(std::string_view host, std::string_view node_name,
                    const std::vector<NamePattern>& names) {
  if (host.empty()) return true;
  const std::string name = NameIn(host);
  if (name.empty()) return false;
  return IsAddress(name) || name == "localhost" || name == ToLower(node_name) ||
         MatchesAny(names, name);
}

HttpHandler CheckHost(HttpHandler next, std::string node_name, std::vector<NamePattern> names) {
  return [next = std::move(next), node_name = std::move(node_name),
          names = std::move(names)](const HttpRequest& request) -> HttpAnswer {
    if (IsHostAccepted(request.host, node_name, names)) return next(request);
    return HttpResponse{
        421, kPlainText,
        Format("patchbay does not serve the host {}; use the IP address, or add the name to "
               "hosts in [daemon] and restart patchbay\n",
               Truncate(request.host, 100))};
  };
}

}  // namespace patchbay
