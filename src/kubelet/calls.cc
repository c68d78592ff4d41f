#include "kubelet/calls.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "deviceplugin.grpc.pb.h"
#include "kubelet/plugin_service.h"

namespace patchbay {
namespace {

std::shared_ptr<grpc::Channel> Dial(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

/// Everything a unary call needs until it is done.
template <class Service, class Request, class Response>
struct Call {
  explicit Call(const std::string& socket) : stub(Service::NewStub(Dial(socket))) {}
  std::unique_ptr<typename Service::Stub> stub;
  grpc::ClientContext context;
  Request request;
  Response response;
};

/// kUnavailable when nobody answered; anything else is an answer.
Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return {};
  const auto code = status.error_code();
  const bool no_answer = code == grpc::StatusCode::UNAVAILABLE ||
                         code == grpc::StatusCode::DEADLINE_EXCEEDED ||
                         code == grpc::StatusCode::CANCELLED;
  return Fail(
      no_answer ? ErrorKind::kUnavailable : ErrorKind::kInvalid,
      status.error_message().empty() ? "the call failed without a reason" : status.error_message());
}

/// Runs `method` of the call's stub on a thread of its own. Not with callbacks: the last channel
/// that goes takes gRPC's threads for them along and waits for these, which on one of them, where a
/// callback would let go of the channel, ends the process.
template <class C, class Method>
PendingCall Begin(std::shared_ptr<C> call, std::chrono::milliseconds deadline, Method method,
                  CallDone done) {
  call->context.set_deadline(std::chrono::system_clock::now() + deadline);
  std::thread thread([call, method, done = std::move(done)] { done(ToStatus(method(*call))); });
  return PendingCall([call] { call->context.TryCancel(); }, std::move(thread));
}

}  // namespace

PendingCall CallRegister(const std::string& kubelet_socket, const std::string& endpoint,
                         const ResourceSpec& resource, std::chrono::milliseconds deadline,
                         CallDone done) {
  using RegisterCall = Call<v1beta1::Registration, v1beta1::RegisterRequest, v1beta1::Empty>;
  auto call = std::make_shared<RegisterCall>(kubelet_socket);
  call->request.set_version("v1beta1");
  call->request.set_endpoint(endpoint);
  call->request.set_resource_name(resource.name);
  *call->request.mutable_options() = PluginOptions(resource);
  return Begin(
      std::move(call), deadline,
      [](RegisterCall& c) { return c.stub->Register(&c.context, c.request, &c.response); },
      std::move(done));
}

PendingCall CallOwnServer(const std::string& socket, std::chrono::milliseconds deadline,
                          CallDone done) {
  using OptionsCall = Call<v1beta1::DevicePlugin, v1beta1::Empty, v1beta1::DevicePluginOptions>;
  return Begin(
      std::make_shared<OptionsCall>(socket), deadline,
      [](OptionsCall& c) {
        return c.stub->GetDevicePluginOptions(&c.context, c.request, &c.response);
      },
      std::move(done));
}

}  // namespace patchbay
