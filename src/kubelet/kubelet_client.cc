// Each call blocks a thread of its own: the callback API waits for its threads when the last
// channel is destroyed. Connections are made here and given to gRPC, whose channels leak a socket
// if they are destroyed while they connect. The peer is compared after connecting, because a socket
// file can be replaced at any time.

#include "kubelet/kubelet_client.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "base/format.h"
#include "base/path.h"
#include "deviceplugin.grpc.pb.h"
#include "kubelet/plugin_service.h"
#include "kubelet/plugin_sockets.h"
#include "os/malloc_tuning.h"
#include "os/threads.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

/// The default of gRPC.
constexpr int kMaxMessageBytes = 4 << 20;
/// The maximum size of a List response, which contains every pod of the node.
constexpr int kMaxPodListBytes = 16 << 20;
/// Above this size, the memory of a response is returned to the system immediately.
constexpr std::size_t kLargeResponse = 1 << 20;

/// Connects, and returns a channel over that connection. A channel that connects by itself leaks
/// the socket if it is destroyed at the moment the connection succeeds (gRPC 1.51).
Result<std::shared_ptr<grpc::Channel>> Dial(const std::string& socket, int max_bytes) {
  auto connection = Connect(socket);
  if (!connection) return Fail(ErrorKind::kUnavailable, connection.error().message);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(max_bytes);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomInsecureChannelFromFd("unix:" + socket, connection->release(),
                                                 arguments);
}

bool IsUnanswered(const grpc::Status& status) {
  const auto code = status.error_code();
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED ||
         code == grpc::StatusCode::CANCELLED;
}

/// Returns kUnavailable if there was no response. Any other error is a response.
Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return {};
  return Fail(
      IsUnanswered(status) ? ErrorKind::kUnavailable : ErrorKind::kInvalid,
      status.error_message().empty() ? "the call failed without a reason" : status.error_message());
}

constexpr char kNoThread[] =
    "cannot start a thread for the call; raise the limit of processes and threads";

/// The context of a call, which another thread can cancel while the call runs. A context holds the
/// channel of its call: destroying it closes the connection.
class CallContext {
 public:
  explicit CallContext(std::chrono::milliseconds deadline) {
    context_->set_deadline(std::chrono::system_clock::now() + deadline);
  }
  /// For the thread of the call, before it calls End.
  grpc::ClientContext& get() { return *context_; }
  void Cancel() {
    const std::lock_guard lock(mutex_);
    if (context_) context_->TryCancel();
  }
  void End() {
    std::unique_ptr<grpc::ClientContext> ended;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    ended.swap(context_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<grpc::ClientContext> context_ = std::make_unique<grpc::ClientContext>();
};

/// Calls `run` with the context of a call and then `done` with its result, on a new thread. The
/// callback API of gRPC cannot be used: destroying the last channel waits for its threads, and the
/// process aborts if a callback destroys that channel on one of them. If no thread can be created,
/// `done` is called immediately with `refused`.
template <class Run, class Done, class Outcome>
PendingCall Begin(std::chrono::milliseconds deadline, Run run, const Done& done, Outcome refused) {
  const auto context = std::make_shared<CallContext>(deadline);
  auto thread = StartThread([context, run = std::move(run), done] {
    Outcome outcome = run(context->get());
    context->End();
    done(std::move(outcome));
  });
  if (thread) return PendingCall([context] { context->Cancel(); }, *std::move(thread));
  done(std::move(refused));
  return {};
}

/// Calls List and returns the bytes: a stub would report a response that does not parse as
/// UNIMPLEMENTED.
grpc::Status List(const std::string& socket, PodResourcesVersion version,
                  grpc::ClientContext& context, grpc::ByteBuffer& answer) {
  const auto channel = Dial(socket, kMaxPodListBytes);
  if (!channel) return {grpc::StatusCode::UNAVAILABLE, channel.error().message};
  const std::string method = version == PodResourcesVersion::kV1
                                 ? "/v1.PodResourcesLister/List"
                                 : "/v1alpha1.PodResourcesLister/List";
  const grpc::Slice nothing;
  grpc::Status status;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto reader = grpc::GenericStub(*channel).PrepareUnaryCall(
      &context, method, grpc::ByteBuffer(&nothing, 1), &queue);
  reader->StartCall();
  reader->Finish(&answer, &status, nullptr);
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  return status;
}

/// The outcome if no connection was established.
PollOutcome WhyUnreached(const std::string& socket) {
  if (faccessat(AT_FDCWD, socket.c_str(), W_OK, AT_EACCESS) == 0) return PollOutcome::kNoResponse;
  if (errno == EACCES) return PollOutcome::kForbidden;
  struct stat info;
  return stat(socket.c_str(), &info) == 0 ? PollOutcome::kNoResponse : PollOutcome::kNoSocket;
}

PollOutcome ToOutcome(const grpc::Status& status, const std::string& socket) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return PollOutcome::kAnswered;
    case grpc::StatusCode::UNIMPLEMENTED: return PollOutcome::kUnimplemented;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return PollOutcome::kTooLate;
    case grpc::StatusCode::CANCELLED: return PollOutcome::kNoResponse;
    case grpc::StatusCode::UNAVAILABLE: return WhyUnreached(socket);
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // gRPC, on both sides, also reports a message that is too large with this code.
      return status.error_message().find("larger than max") == std::string::npos
                 ? PollOutcome::kRateLimited
                 : PollOutcome::kTooLong;
    default: return PollOutcome::kRefused;
  }
}

PodResourcesResult ToResult(const grpc::Status& status, grpc::ByteBuffer& bytes,
                            const std::string& socket, const std::string& kubelet) {
  PodResourcesResult answer{ToOutcome(status, socket), status.error_message(), nullptr};
  if (answer.outcome != PollOutcome::kAnswered) return answer;
  std::optional<ReportedHolders> reported;
  if (bytes.Valid()) {
    grpc::ProtoBufferReader reader(&bytes);
    if (reader.status().ok()) reported = ReadHolders(reader);
  }
  if (!reported) {
    answer.outcome = PollOutcome::kUnreadable;
    answer.reason = "it is not a valid ListPodResourcesResponse";
    return answer;
  }
  if (SocketIdentity(socket) != kubelet) {
    answer.outcome = PollOutcome::kNoResponse;
    answer.reason = "the kubelet restarted meanwhile";
    return answer;
  }
  reported->kubelet = kubelet;
  answer.reported = std::make_shared<const ReportedHolders>(std::move(*reported));
  return answer;
}

}  // namespace

PendingCall CallRegister(const std::string& kubelet_socket, const std::string& kubelet,
                         const std::string& endpoint, const ResourceSpec& resource,
                         std::chrono::milliseconds deadline, const CallDone& done) {
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource.name);
  *request.mutable_options() = PluginOptions(resource);
  return Begin(
      deadline,
      [kubelet_socket, kubelet, request](grpc::ClientContext& context) -> Status {
        const auto channel = TRY(Dial(kubelet_socket, kMaxMessageBytes));
        // Checked after connecting: a socket that was replaced does not come back.
        if (SocketIdentity(kubelet_socket) != kubelet) {
          return Fail(ErrorKind::kPrecondition, "another kubelet has started");
        }
        // Checked after connecting, because a kubelet deletes the sockets before it listens.
        const std::string directory = DirectoryOf(kubelet_socket);
        if (!SocketIdentity(Format("{}/{}", directory, request.endpoint()))) {
          return Fail(ErrorKind::kPrecondition, OwnSocketDeleted(directory));
        }
        v1beta1::Empty response;
        return ToStatus(
            v1beta1::Registration::NewStub(channel)->Register(&context, request, &response));
      },
      done, Status(Fail(ErrorKind::kUnavailable, kNoThread)));
}

PendingCall CallPodResources(const std::string& socket, PodResourcesVersion version,
                             std::chrono::milliseconds deadline,
                             const std::function<void(PodResourcesResult)>& done) {
  return Begin(
      deadline,
      [socket, version](grpc::ClientContext& context) {
        const std::string kubelet = SocketIdentity(socket).value_or("");
        grpc::ByteBuffer bytes;
        const grpc::Status status = List(socket, version, context, bytes);
        const std::size_t size = bytes.Valid() ? bytes.Length() : 0;
        PodResourcesResult answer = ToResult(status, bytes, socket, kubelet);
        bytes.Clear();
        if (size > kLargeResponse) TrimHeap();
        return answer;
      },
      done, PodResourcesResult{PollOutcome::kNoResponse, kNoThread, nullptr});
}

}  // namespace patchbay
