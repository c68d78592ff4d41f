#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>

#include <cstddef>
#include <string>
#include <utility>

#include "rpc/server_call.h"

namespace patchbay {

template <class Message>
grpc::ByteBuffer Serialize(const Message& message) {
  grpc::ByteBuffer bytes;
  bool owned = false;
  grpc::SerializationTraits<Message>::Serialize(message, &bytes, &owned);
  return bytes;
}

/// Returns a buffer with the bytes of a serialized message, without a copy.
grpc::ByteBuffer ToBuffer(std::string bytes);

/// Returns false if the bytes are not such a message.
template <class Message>
bool Parse(grpc::ByteBuffer bytes, Message& message) {
  return grpc::SerializationTraits<Message>::Deserialize(&bytes, &message).ok();
}

/// Ends a call without a handler with an error. The call can be unary or a stream.
void Refuse(ServerCall& call, const grpc::Status& status);

/// Returns a handler that calls `run` with the call and its request, a `Request`.
template <class Request, class Run>
RpcHandler HandlerOf(std::size_t max_request_bytes, Run run) {
  return {max_request_bytes, [run = std::move(run)](ServerCall& call) {
            Request request;
            if (Parse(call.request(), request)) return run(call, request);
            Refuse(call, {grpc::StatusCode::INVALID_ARGUMENT,
                          "the request is not a message of this method"});
          }};
}

}  // namespace patchbay
