#include "sim/kubelet/registration_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <utility>

namespace patchbay {

bool PendingRegister::Cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void PendingRegister::Answer(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  if (reactor_ == nullptr) return;
  std::exchange(reactor_, nullptr)->Finish(status);
}

/// Exists until gRPC has finished the call, independent of the lifetime of RegisterCall.
class RegisterReactor : public grpc::ServerUnaryReactor {
 public:
  RegisterReactor(std::shared_ptr<PendingRegister> call, RegisterServer::OnCancel on_cancel)
      : call_(std::move(call)), on_cancel_(std::move(on_cancel)) {
    const std::lock_guard lock(call_->mutex_);
    call_->reactor_ = this;
  }

 private:
  void OnCancel() override {
    {
      const std::lock_guard lock(call_->mutex_);
      call_->cancelled_ = true;
    }
    on_cancel_();
  }
  void OnDone() override { delete this; }

  const std::shared_ptr<PendingRegister> call_;
  const RegisterServer::OnCancel on_cancel_;
};

class RegisterServer::Service : public v1beta1::Registration::CallbackService {
 public:
  Service(OnRegister on_register, OnCancel on_cancel)
      : on_register_(std::move(on_register)), on_cancel_(std::move(on_cancel)) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext*,
                                     const v1beta1::RegisterRequest* request,
                                     v1beta1::Empty*) override {
    const auto call = std::make_shared<PendingRegister>(*request);
    auto* const reactor = new RegisterReactor(call, on_cancel_);
    on_register_(call);
    return reactor;
  }

 private:
  const OnRegister on_register_;
  const OnCancel on_cancel_;
};

RegisterServer::RegisterServer() = default;

Result<std::unique_ptr<RegisterServer>> RegisterServer::Create(
    std::string path, std::chrono::milliseconds accept_delay, OnRegister on_register,
    OnCancel on_cancel) {
  std::unique_ptr<RegisterServer> made(new RegisterServer);
  made->service_ = std::make_unique<Service>(std::move(on_register), std::move(on_cancel));
  grpc::ServerBuilder builder;
  builder.RegisterService(made->service_.get());
  made->server_ = builder.BuildAndStart();
  if (!made->server_) return Fail(ErrorKind::kUnavailable, "cannot start a gRPC server");
  made->listener_ = TRY(SocketListener::Create(
      std::move(path), accept_delay, [server = made->server_.get()](UniqueFd connection) {
        grpc::AddInsecureChannelFromFd(server, connection.release());
      }));
  return made;
}

RegisterServer::~RegisterServer() {
  Disconnect();
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace patchbay
