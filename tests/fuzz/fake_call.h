#pragma once

#include <grpcpp/support/slice.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "rpc/messages.h"
#include "rpc/server_call.h"

namespace patchbay::fuzz {

/// A call without a client, which records the responses of a handler. Requires that the call is
/// finished once, and that nothing is written during another write or after the end.
class FakeCall final : public ServerCall {
 public:
  explicit FakeCall(std::string_view request) : slice_(request.data(), request.size()) {}
  ~FakeCall() override {
    Require(is_finished_);
    if (events_ != nullptr) events_->OnDone();
  }

  const grpc::ByteBuffer& request() const override { return request_; }
  std::chrono::system_clock::time_point deadline() const override {
    return std::chrono::system_clock::time_point::max();
  }
  void SetEvents(Events& events) override { events_ = &events; }
  void Write(const grpc::ByteBuffer& response) override {
    Require(!is_finished_ && !is_writing_);
    is_writing_ = true;
    written_.push_back(response);
  }
  void Finish(const grpc::Status& status) override {
    Require(!is_finished_);
    is_finished_ = true;
    status_ = status;
  }
  void Finish(const grpc::ByteBuffer& response) override {
    Finish(grpc::Status::OK);
    response_ = response;
  }

  /// The client has received the last write.
  void EndWrite() {
    Require(is_writing_);
    is_writing_ = false;
    events_->OnWritten(true);
  }
  void Cancel() { events_->OnCancel(); }

  bool is_finished() const { return is_finished_; }
  const grpc::Status& status() const { return status_; }
  const std::vector<grpc::ByteBuffer>& written() const { return written_; }

  /// Returns the response of a unary call, which must be readable, or nothing if the call failed
  /// with a message.
  template <class Response>
  std::optional<Response> Read() const {
    Require(is_finished_ && written_.empty());
    if (!status_.ok()) {
      RequireMessage(status_.error_message());
      return std::nullopt;
    }
    Response response;
    Require(Parse(response_, response));
    return response;
  }

 private:
  const grpc::Slice slice_;
  const grpc::ByteBuffer request_{&slice_, 1};
  Events* events_ = nullptr;
  bool is_finished_ = false;
  bool is_writing_ = false;
  grpc::Status status_;
  grpc::ByteBuffer response_;
  std::vector<grpc::ByteBuffer> written_;
};

}  // namespace patchbay::fuzz
