// The bare servers of the three APIs. Each also answers GetDevicePluginOptions, with which the
// client of the measurements begins every turn.

#include "bench/bare_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "bench/child.h"
#include "deviceplugin.grpc.pb.h"

namespace patchbay::bench {
namespace {

using v1beta1::AllocateRequest;
using v1beta1::AllocateResponse;
using v1beta1::DevicePlugin;
using v1beta1::DevicePluginOptions;
using v1beta1::Empty;

class CallbackServer final : public DevicePlugin::CallbackService {
 public:
  explicit CallbackServer(AllocateResponse response) : response_(std::move(response)) {}

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const Empty*, DevicePluginOptions*) override {
    return Finish(*context);
  }
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context, const AllocateRequest*,
                                     AllocateResponse* response) override {
    *response = response_;
    return Finish(*context);
  }

 private:
  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext& context) {
    auto* reactor = context.DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const AllocateResponse response_;
};

class SynchronousServer final : public DevicePlugin::Service {
 public:
  explicit SynchronousServer(AllocateResponse response) : response_(std::move(response)) {}

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const Empty*,
                                      DevicePluginOptions*) override {
    return grpc::Status::OK;
  }
  grpc::Status Allocate(grpc::ServerContext*, const AllocateRequest*,
                        AllocateResponse* response) override {
    *response = response_;
    return grpc::Status::OK;
  }

 private:
  const AllocateResponse response_;
};

/// Opens a device node without access to it, as the daemon does to compare it with its list.
void LookUp(const std::string& node) {
  struct statx info;
  const UniqueFd fd(open(node.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
  if (!fd || statx(fd.get(), "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &info) != 0) std::abort();
}

/// The receiver of events of a completion queue; its address is the tag.
class QueueEvent {
 public:
  virtual ~QueueEvent() = default;
  virtual void OnEvent() = 0;
};

/// Answers calls of one method, one after the other.
template <class Request, class Response>
class QueuedCall final : public QueueEvent {
 public:
  struct Call {
    grpc::ServerContext context;
    Request request;
    grpc::ServerAsyncResponseWriter<Response> writer{&context};
  };
  /// Requests the next call of the method from the queue, with this tag.
  using Await = std::function<void(Call&, void* tag)>;

  /// Looks up `node` before each response, unless it is empty.
  QueuedCall(Await await, Response response, std::string node)
      : await_(std::move(await)), response_(std::move(response)), node_(std::move(node)) {
    AwaitNext();
  }

  void OnEvent() override {
    if (is_answered_) return AwaitNext();
    is_answered_ = true;
    if (!node_.empty()) LookUp(node_);
    call_->writer.Finish(response_, grpc::Status::OK, this);
  }

 private:
  void AwaitNext() {
    is_answered_ = false;
    await_(call_.emplace(), this);
  }

  const Await await_;
  const Response response_;
  const std::string node_;
  std::optional<Call> call_;
  bool is_answered_ = false;
};

/// The completion queue with the calls that it waits for.
class PolledServer {
 public:
  PolledServer(const AllocateResponse& response, const std::string& node,
               std::unique_ptr<grpc::ServerCompletionQueue> queue, DevicePlugin::AsyncService& api)
      : queue_(std::move(queue)) {
    // While one call of a method ends, another one is ready for the next request.
    for (int i = 0; i < 2; ++i) {
      Add<Empty, DevicePluginOptions>(
          api, &DevicePlugin::AsyncService::RequestGetDevicePluginOptions, {}, "");
      Add<AllocateRequest, AllocateResponse>(api, &DevicePlugin::AsyncService::RequestAllocate,
                                             response, node);
    }
  }

  [[noreturn]] void Poll() {
    void* tag = nullptr;
    bool succeeded = false;
    while (queue_->Next(&tag, &succeeded)) {
      if (succeeded) static_cast<QueueEvent*>(tag)->OnEvent();
    }
    std::abort();  // the queue is never shut down
  }

 private:
  template <class Request, class Response, class Method>
  void Add(DevicePlugin::AsyncService& api, Method request_call, const Response& response,
           const std::string& node) {
    using Queued = QueuedCall<Request, Response>;
    events_.push_back(std::make_unique<Queued>(
        [this, &api, request_call](typename Queued::Call& call, void* tag) {
          (api.*request_call)(&call.context, &call.request, &call.writer, queue_.get(),
                              queue_.get(), tag);
        },
        response, node));
  }

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::unique_ptr<QueueEvent>> events_;
};

/// Reports that the server is ready, and keeps it until the parent has closed its end.
void KeepUntilParentEnds(const std::unique_ptr<grpc::Server>&) {
  char none = 0;
  if (write(STDOUT_FILENO, "\n", 1) == 1) (void)!read(STDIN_FILENO, &none, 1);
}

[[noreturn]] void FailServer(const char* what) {
  std::fprintf(stderr, "bare server: %s\n", what);
  std::exit(1);
}

std::unique_ptr<grpc::Server> Listen(grpc::ServerBuilder& builder, grpc::Service& service,
                                     const std::string& socket) {
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (server == nullptr) FailServer("cannot listen");
  return server;
}

void ServeService(grpc::Service&& service, const std::string& socket) {
  grpc::ServerBuilder builder;
  KeepUntilParentEnds(Listen(builder, service, socket));
}

void ServeQueue(const AllocateResponse& response, const std::string& node,
                const std::string& socket) {
  DevicePlugin::AsyncService service;
  grpc::ServerBuilder builder;
  auto queue = builder.AddCompletionQueue();
  const auto server = Listen(builder, service, socket);
  PolledServer polled(response, node, std::move(queue), service);
  std::thread([&polled] { polled.Poll(); }).detach();
  KeepUntilParentEnds(server);
  std::_Exit(0);  // the thread still polls
}

}  // namespace

BareServer::BareServer(std::string_view api, const v1beta1::AllocateResponse& response,
                       const std::string& node) {
  tree_.File("response", response.SerializeAsString());
  Child child = StartChild(
      {std::string(kServeArgument), std::string(api), socket(), tree_.path("response"), node});
  lifeline_ = std::move(child.stdio);
  pid_ = child.pid;
  char ready = 0;
  if (read(lifeline_.get(), &ready, 1) != 1) FailServer("did not start");
}

BareServer::~BareServer() {
  { const UniqueFd closed(std::move(lifeline_)); }
  waitpid(pid_, nullptr, 0);
}

int ServeBare(const std::vector<std::string>& arguments) {
  if (arguments.size() != 4) FailServer("needs an API, a socket, a file and a node");
  const std::string &api = arguments[0], &socket = arguments[1];
  std::ifstream file(arguments[2], std::ios::binary);
  AllocateResponse response;
  if (!response.ParseFromIstream(&file)) FailServer("cannot read the response");
  if (api == kCallbackApi) ServeService(CallbackServer(response), socket);
  if (api == kSynchronousApi) ServeService(SynchronousServer(response), socket);
  if (api == kCompletionQueueApi) ServeQueue(response, "", socket);
  if (api == kLookupApi) ServeQueue(response, arguments[3], socket);
  return 0;
}

}  // namespace patchbay::bench
