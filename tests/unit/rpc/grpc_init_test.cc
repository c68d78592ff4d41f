#include "rpc/grpc_init.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <string>

namespace patchbay {
namespace {

grpc_connectivity_state StateOf(const std::string& target) {
  return grpc::CreateChannel(target, grpc::InsecureChannelCredentials())->GetState(false);
}

// A channel whose target cannot be resolved fails from the start.
TEST(InitGrpc, RegistersOnlyWhatUnixSocketsNeed) {
  InitGrpc();
  EXPECT_EQ(StateOf("unix:/nonexistent"), GRPC_CHANNEL_IDLE);
  EXPECT_EQ(StateOf("dns:///localhost:1"), GRPC_CHANNEL_TRANSIENT_FAILURE);
}

}  // namespace
}  // namespace patchbay
