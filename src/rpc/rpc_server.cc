// A call waits for its client, reads the request, runs the handler, and deletes itself after its
// last event. The next call begins to wait when a client has come.

#include "rpc/rpc_server.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <future>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/number.h"
#include "os/threads.h"

namespace patchbay {
namespace {

/// Per connection. The kubelet has one stream and a few concurrent calls.
constexpr int kMaxConcurrentCalls = 256;
/// A handler sets a lower limit. A request can contain every device of a resource, which exceeds
/// the 4 MiB default of gRPC.
constexpr int kMaxRequestBytes = 16 * 1024 * 1024;

/// The threads of gRPC (1.51), of the acceptor and of the queue.
constexpr std::size_t kThreads = 10;

/// Fails if the system cannot create these threads. gRPC neither reports that nor ends without
/// them.
Status CheckThreads() {
  std::promise<void> all;
  const std::shared_future<void> end = all.get_future().share();
  std::vector<std::thread> threads;
  Status status;
  while (status && threads.size() < kThreads) {
    auto thread = StartThread([end] { end.wait(); });
    if (thread) {
      threads.push_back(*std::move(thread));
    } else {
      status = tl::unexpected(thread.error());
    }
  }
  all.set_value();
  for (std::thread& thread : threads) thread.join();
  return status;
}

/// Returns the number in "fd:7".
std::optional<int> DescriptorIn(std::string_view peer) {
  constexpr std::string_view kPrefix = "fd:";
  if (!peer.starts_with(kPrefix)) return std::nullopt;
  return ParseNumber<int>(peer.substr(kPrefix.size()));
}

}  // namespace

class RpcServer::Call final : public ServerCall {
 public:
  explicit Call(RpcServer& server) : server_(server) {
    context_.AsyncNotifyWhenDone(&over_);
    server_.service_.RequestCall(&context_, &stream_, server_.queue_.get(), server_.queue_.get(),
                                 &arrived_);
  }
  ~Call() override { server_.OnCallOver(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Processes an event of the queue.
  static void Process(void* tag, bool ok) {
    const Event& event = *static_cast<Event*>(tag);
    (event.call->*event.on)(ok);
  }

  const grpc::ByteBuffer& request() const override { return request_; }
  std::chrono::system_clock::time_point deadline() const override { return context_.deadline(); }
  void SetEvents(Events& events) override { events_ = &events; }

  void Write(const grpc::ByteBuffer& response) override {
    const std::lock_guard lock(mutex_);
    ++pending_;
    stream_.Write(response, &written_);
  }
  void Finish(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    stream_.Finish(status, &finished_);
  }
  void Finish(const grpc::ByteBuffer& response) override {
    const std::lock_guard lock(mutex_);
    stream_.WriteAndFinish(response, grpc::WriteOptions(), grpc::Status::OK, &finished_);
  }

 private:
  /// The tag of an operation of gRPC.
  struct Event {
    Call* call;
    void (Call::*on)(bool ok);
  };

  void OnArrived(bool ok) {
    if (!ok) return delete this;  // the server stops
    server_.AwaitCall();
    if (const auto connection = DescriptorIn(context_.peer())) {
      endpoint_ = server_.acceptor_->EndpointOf(*connection);
    }
    if (endpoint_ != nullptr && !endpoint_->BeginCall()) endpoint_ = nullptr;
    if (endpoint_ == nullptr) {
      return Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "this socket is being removed"));
    }
    const std::lock_guard lock(mutex_);
    ++pending_;
    stream_.Read(&request_, &read_);
  }

  void OnRead(bool ok) {
    if (const grpc::Status refused = RunHandler(ok); !refused.ok()) Finish(refused);
    OnEnd();
  }

  /// Returns why not, if the handler does not run.
  grpc::Status RunHandler(bool has_request) {
    if (is_canceled_) return grpc::Status::CANCELLED;
    const auto handler = endpoint_->handlers().find(context_.method());
    if (handler == endpoint_->handlers().end()) {
      return {grpc::StatusCode::UNIMPLEMENTED, "this socket does not have the method"};
    }
    if (!has_request) return {grpc::StatusCode::INVALID_ARGUMENT, "the call has no request"};
    if (request_.Length() > handler->second.max_request_bytes) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED,
              Format("the request is larger than {} bytes", handler->second.max_request_bytes)};
    }
    handler->second.run(*this);
    request_.Clear();
    return grpc::Status::OK;
  }

  void OnWritten(bool ok) {
    events_->OnWritten(ok);
    OnEnd();
  }

  void OnFinished(bool) { OnEnd(); }

  void OnOver(bool) {
    is_canceled_ = context_.IsCancelled();
    if (is_canceled_ && events_ != nullptr) events_->OnCancel();
    OnEnd();
  }

  /// An operation has ended.
  void OnEnd() {
    {
      const std::lock_guard lock(mutex_);
      if (--pending_ > 0) return;
    }
    if (events_ != nullptr) events_->OnDone();
    const auto endpoint = std::move(endpoint_);
    delete this;
    if (endpoint) endpoint->EndCall();
  }

  RpcServer& server_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer request_;
  std::shared_ptr<Endpoint> endpoint_;  ///< null if the call did not begin there
  Events* events_ = nullptr;
  bool is_canceled_ = false;
  std::mutex mutex_;  ///< held while an operation begins, which can be on any thread
  int pending_ = 2;   ///< operations without an event; OnOver and OnFinished always come
  Event arrived_{this, &Call::OnArrived};
  Event read_{this, &Call::OnRead};
  Event written_{this, &Call::OnWritten};
  Event finished_{this, &Call::OnFinished};
  Event over_{this, &Call::OnOver};
};

Result<std::shared_ptr<RpcServer>> RpcServer::Create() {
  TRY(CheckThreads());
  std::shared_ptr<RpcServer> server(new RpcServer());
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentCalls);
  builder.RegisterAsyncGenericService(&server->service_);
  server->queue_ = builder.AddCompletionQueue();
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return Fail(ErrorKind::kUnavailable, "gRPC cannot start a server");
  }
  server->acceptor_ = TRY(Acceptor::Start([raw = server->server_.get()](int connection) {
    grpc::AddInsecureChannelFromFd(raw, connection);
  }));
  server->AwaitCall();
  server->thread_ = TRY(StartThread([raw = server.get()] { raw->Run(); }));
  return server;
}

RpcServer::~RpcServer() {
  if (acceptor_) acceptor_->Stop();
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  if (thread_.joinable()) {
    // Requests of clients that have disconnected still arrive, and each requests the next call,
    // which the queue must not refuse.
    std::unique_lock lock(mutex_);
    no_calls_.wait(lock, [this] { return calls_ == 0; });
  }
  queue_->Shutdown();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Run();  // the thread could not be started
  }
}

void RpcServer::AwaitCall() {
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  new Call(*this);  // deletes itself
}

void RpcServer::OnCallOver() {
  const std::lock_guard lock(mutex_);
  if (--calls_ == 0) no_calls_.notify_all();
}

void RpcServer::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) Call::Process(tag, ok);
}

}  // namespace patchbay
