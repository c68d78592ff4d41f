#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "base/result.h"

namespace patchbay {

/// Returns a socket that listens on `listen`, see HttpServer::Create. The acceptor is non-blocking
/// and belongs to the thread that runs `context`.
Result<boost::asio::ip::tcp::acceptor> Listen(boost::asio::io_context& context,
                                              const std::string& listen);

/// "127.0.0.1:9478", "[::]:9478".
std::string Address(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace patchbay
