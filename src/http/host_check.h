#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"
#include "model/glob.h"

namespace patchbay {

/// Decides if a request with this Host header is served. A browser sends the name of the site it
/// shows, also when DNS points that name to this server ("DNS rebinding"), and would let the site
/// read the response. Therefore only these are accepted: an IP address, "localhost", `node_name`,
/// and names that match `names`, in lower case. A request without the header is accepted: browsers
/// always send it. Pure.
bool IsHostAccepted(std::string_view host, std::string_view node_name,
                    const std::vector<NamePattern>& names);

/// Returns 421 for requests whose host is not accepted, and passes the others on.
HttpHandler CheckHost(HttpHandler next, std::string node_name, std::vector<NamePattern> names);

}  // namespace patchbay
