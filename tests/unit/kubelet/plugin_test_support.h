#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <string>

#include "deviceplugin.grpc.pb.h"

namespace patchbay::test {

/// A client of one plugin socket, on its own connection.
inline std::unique_ptr<v1beta1::DevicePlugin::Stub> ConnectToPlugin(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // channels share connections otherwise
  return v1beta1::DevicePlugin::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

/// A context that fails the call instead of hanging the test.
inline std::unique_ptr<grpc::ClientContext> ContextWithDeadline() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  return context;
}

}  // namespace patchbay::test
