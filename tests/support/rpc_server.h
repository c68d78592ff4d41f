#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "rpc/rpc_server.h"

namespace patchbay::test {

/// Returns a server for the sockets of one test.
inline std::shared_ptr<RpcServer> StartRpc() {
  auto server = RpcServer::Create();
  EXPECT_TRUE(server) << server.error().message;
  return *std::move(server);
}

}  // namespace patchbay::test
