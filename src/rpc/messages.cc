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

void Refuse(ServerCall& call, const grpc::Status& status) {
  call.SetEvents(*new RefusedCall());
  call.Finish(status);
}

}  // namespace patchbay
