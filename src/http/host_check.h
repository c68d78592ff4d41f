#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"
#include "model/glob.h"

namespace patchbay {

/// Whether a request with this Host header is answered. A browser on a page of somebody else sends
/// the name of that page, also when DNS has that name lead to this server ("DNS rebinding"), and
/// would let the page read the answer. So only these are accepted: an IP address, "localhost",
/// `node_name`, and what `names` match, which are in lower case. A request without the header is
/// answered: no browser sends one.
bool IsHostAccepted(std::string_view host, std::string_view node_name,
                    const std::vector<NamePattern>& names);

/// Answers requests whose host is not accepted with 421, and passes the others on.
HttpHandler CheckHost(HttpHandler next, std::string node_name, std::vector<NamePattern> names);

}  // namespace patchbay
