#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "base/result.h"

namespace patchbay {

/// Keeps a descriptor from the programs that this process starts: a listener that lived on in one
/// would hold the port. Asio does not ask for it.
void CloseOnExec(int fd);

/// A socket that listens on `listen`, as HttpServer::Create has it. The acceptor is non-blocking
/// and belongs to the thread that runs `context`.
Result<boost::asio::ip::tcp::acceptor> Listen(boost::asio::io_context& context,
                                              const std::string& listen);

/// "127.0.0.1:9478", "[::]:9478".
std::string Address(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace patchbay
