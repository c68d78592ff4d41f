#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// Returns the addresses of a host name, at most eight, in the order of preference. Fails with
/// kUnavailable. Blocks, possibly for long: run it in a thread pool. Asio's resolver has a thread
/// of its own that ends only when a lookup does, which would delay the shutdown.
Result<std::vector<boost::asio::ip::tcp::endpoint>> Resolve(const std::string& host,
                                                            std::uint16_t port);

}  // namespace patchbay
