#include "kubelet/calls.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "deviceplugin.grpc.pb.h"
#include "kubelet/plugin_service.h"
#include "kubelet/sockets.h"
#include "os/memory.h"

namespace patchbay {
namespace {

/// The default of gRPC.
constexpr int kMostBytes = 4 << 20;
/// An answer of List, which names every pod of the node.
constexpr int kMostListBytes = 16 << 20;
/// The memory of such an answer is given back at once.
constexpr std::size_t kLargeAnswer = 1 << 20;

/// Sets `channel` to one over a connection made here and now. A channel that makes its connection
/// itself loses the socket for good when it is given up in the moment in which that succeeds
/// (gRPC 1.51).
grpc::Status Dial(const std::string& socket, int most_bytes,
                  std::shared_ptr<grpc::Channel>& channel) {
  auto connection = Connect(socket);
  if (!connection) return {grpc::StatusCode::UNAVAILABLE, connection.error().message};
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(most_bytes);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  channel =
      grpc::CreateCustomInsecureChannelFromFd("unix:" + socket, connection->release(), arguments);
  return grpc::Status::OK;
}

/// Everything a unary call needs until it is done.
template <class Service, class Request, class Response>
struct Call {
  /// Makes the call and waits for its answer; `method` is that of the stub.
  template <class Method>
  grpc::Status Run(const std::string& socket, Method method) {
    std::shared_ptr<grpc::Channel> channel;
    grpc::Status dialed = Dial(socket, kMostBytes, channel);
    if (!dialed.ok()) return dialed;
    return (Service::NewStub(channel).get()->*method)(&context, request, &response);
  }

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

constexpr char kNoThread[] =
    "no thread could be started for the call; raise the limit of processes and threads";

/// Runs `work` with the call on a thread of its own. Not with callbacks: the last channel that goes
/// takes gRPC's threads for them along and waits for these, which on one of them, where a callback
/// would let go of the channel, ends the process. Where there is no thread `refuse` is called at
/// once.
template <class C, class Work, class Refuse>
PendingCall Begin(std::shared_ptr<C> call, std::chrono::milliseconds deadline, Work work,
                  Refuse refuse) {
  call->context.set_deadline(std::chrono::system_clock::now() + deadline);
  try {
    std::thread thread([call, work] { work(*call); });
    return PendingCall([call] { call->context.TryCancel(); }, std::move(thread));
  } catch (const std::system_error&) {
    refuse(kNoThread);
    return {};
  }
}

/// A List call, of bytes: a stub calls an answer that does not parse UNIMPLEMENTED.
struct ListCall {
  grpc::Status Run(const std::string& socket, PodResourcesVersion version,
                   grpc::ByteBuffer& answer) {
    std::shared_ptr<grpc::Channel> channel;
    grpc::Status dialed = Dial(socket, kMostListBytes, channel);
    if (!dialed.ok()) return dialed;
    const std::string method = version == PodResourcesVersion::kV1
                                   ? "/v1.PodResourcesLister/List"
                                   : "/v1alpha1.PodResourcesLister/List";
    const grpc::Slice nothing;
    grpc::CompletionQueue queue;
    grpc::Status status;
    void* tag = nullptr;
    bool ok = false;
    const auto reader = grpc::GenericStub(channel).PrepareUnaryCall(
        &context, method, grpc::ByteBuffer(&nothing, 1), &queue);
    reader->StartCall();
    reader->Finish(&answer, &status, nullptr);
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) continue;
    return status;
  }

  grpc::ClientContext context;
};

/// Nobody was reached on the socket.
PollOutcome WhyUnreached(const std::string& socket) {
  if (faccessat(AT_FDCWD, socket.c_str(), W_OK, AT_EACCESS) == 0) return PollOutcome::kNoAnswer;
  if (errno == EACCES) return PollOutcome::kForbidden;
  struct stat info;
  return stat(socket.c_str(), &info) == 0 ? PollOutcome::kNoAnswer : PollOutcome::kNoSocket;
}

PollOutcome ToOutcome(const grpc::Status& status, const std::string& socket) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return PollOutcome::kAnswered;
    case grpc::StatusCode::UNIMPLEMENTED: return PollOutcome::kUnimplemented;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return PollOutcome::kTooLate;
    case grpc::StatusCode::CANCELLED: return PollOutcome::kNoAnswer;
    case grpc::StatusCode::UNAVAILABLE: return WhyUnreached(socket);
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // Also what gRPC itself, here or there, calls a message that is too long.
      return status.error_message().find("larger than max") == std::string::npos
                 ? PollOutcome::kRateLimited
                 : PollOutcome::kTooLong;
    default: return PollOutcome::kRefused;
  }
}

PodResourcesAnswer ToAnswer(const grpc::Status& status, grpc::ByteBuffer& bytes,
                            const std::string& socket, const std::string& kubelet) {
  PodResourcesAnswer answer{ToOutcome(status, socket), status.error_message(), nullptr};
  if (answer.outcome != PollOutcome::kAnswered) return answer;
  std::optional<ReportedHolders> reported;
  if (bytes.Valid()) {
    grpc::ProtoBufferReader reader(&bytes);
    if (reader.status().ok()) reported = ReadHolders(reader);
  }
  if (!reported) {
    answer.outcome = PollOutcome::kUnreadable;
    answer.reason = "it is no ListPodResourcesResponse";
    return answer;
  }
  if (SocketIdentity(socket) != kubelet) {
    answer.outcome = PollOutcome::kNoAnswer;
    answer.reason = "the kubelet restarted meanwhile";
    return answer;
  }
  reported->kubelet = kubelet;
  answer.reported = std::make_shared<const ReportedHolders>(std::move(*reported));
  return answer;
}

}  // namespace

PendingCall CallRegister(const std::string& kubelet_socket, const std::string& endpoint,
                         const ResourceSpec& resource, std::chrono::milliseconds deadline,
                         const CallDone& done) {
  using RegisterCall = Call<v1beta1::Registration, v1beta1::RegisterRequest, v1beta1::Empty>;
  auto call = std::make_shared<RegisterCall>();
  call->request.set_version("v1beta1");
  call->request.set_endpoint(endpoint);
  call->request.set_resource_name(resource.name);
  *call->request.mutable_options() = PluginOptions(resource);
  return Begin(
      std::move(call), deadline,
      [kubelet_socket, done](auto& c) {
        done(ToStatus(c.Run(kubelet_socket, &v1beta1::Registration::Stub::Register)));
      },
      [done](const char* why) { done(Fail(ErrorKind::kUnavailable, why)); });
}

PendingCall CallOwnServer(const std::string& socket, std::chrono::milliseconds deadline,
                          const CallDone& done) {
  using OptionsCall = Call<v1beta1::DevicePlugin, v1beta1::Empty, v1beta1::DevicePluginOptions>;
  return Begin(
      std::make_shared<OptionsCall>(), deadline,
      [socket, done](auto& c) {
        done(ToStatus(c.Run(socket, &v1beta1::DevicePlugin::Stub::GetDevicePluginOptions)));
      },
      [done](const char* why) { done(Fail(ErrorKind::kUnavailable, why)); });
}

PendingCall CallPodResources(const std::string& socket, PodResourcesVersion version,
                             std::chrono::milliseconds deadline,
                             const std::function<void(PodResourcesAnswer)>& done) {
  return Begin(
      std::make_shared<ListCall>(), deadline,
      [socket, version, done](ListCall& c) {
        const std::string kubelet = SocketIdentity(socket).value_or("");
        grpc::ByteBuffer bytes;
        const grpc::Status status = c.Run(socket, version, bytes);
        const std::size_t size = bytes.Valid() ? bytes.Length() : 0;
        PodResourcesAnswer answer = ToAnswer(status, bytes, socket, kubelet);
        bytes.Clear();
        if (size > kLargeAnswer) ReleaseFreeMemory();
        done(std::move(answer));
      },
      [done](const char* why) {
        done(PodResourcesAnswer{PollOutcome::kNoAnswer, why, nullptr});
      });
}

}  // namespace patchbay
