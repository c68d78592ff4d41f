#include "rpc/messages.h"

namespace patchbay {
namespace {

/// The events of a call that was refused; deletes itself after the last one.
class RefusedCall final : public ServerCall::Events {
 public:
  void OnCancel() override {}  // it is finished already
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ByteBuffer ToBuffer(std::string bytes) {
  auto* const owned = new std::string(std::move(bytes));  // deleted with the last slice
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* text) { delete static_cast<std::string*>(text); },
      owned);
  return {&slice, 1};
}

void Refuse(ServerCall& call, const grpc::Status& status) {
  call.SetEvents(*new RefusedCall());
  call.Finish(status);
}

}  // namespace patchbay
