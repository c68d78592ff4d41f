#include "sim/kubelet/pod_resources_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "sim/kubelet/socket_listener.h"

namespace patchbay {
namespace {

constexpr char kV1[] = "/v1.PodResourcesLister/List";
constexpr char kV1alpha1[] = "/v1alpha1.PodResourcesLister/List";
constexpr std::size_t kTooMuch = (16 << 20) + 1;

grpc::ByteBuffer ToBytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

/// A call with raw bytes. Exists until gRPC has finished it.
class ListReactor : public grpc::ServerGenericBidiReactor {
 public:
  using Work = std::function<void(ListReactor&)>;

  explicit ListReactor(Work work) : work_(std::move(work)) { StartRead(&request_); }

  /// Call one of these at most once. Without either, the call hangs until the client cancels it.
  void Answer(const std::string& bytes) {
    response_ = ToBytes(bytes);
    if (!finished_.exchange(true)) StartWriteAndFinish(&response_, {}, grpc::Status::OK);
  }
  void Refuse(grpc::StatusCode code, const std::string& text) {
    if (!finished_.exchange(true)) Finish({code, text});
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok) work_(*this);
  }
  void OnCancel() override { Refuse(grpc::StatusCode::CANCELLED, "context canceled"); }
  void OnDone() override { delete this; }

  const Work work_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::atomic<bool> finished_ = false;
};

}  // namespace

class PodResourcesServer::Service : public grpc::CallbackGenericService {
 public:
  explicit Service(Backend backend) : backend_(std::move(backend)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new ListReactor(
        [this, method = context->method()](ListReactor& call) { Serve(method, call); });
  }

  std::atomic<PodResourcesFault> fault = PodResourcesFault::kNone;

 private:
  void Serve(const std::string& method, ListReactor& call) const {
    const PodResourcesFault now = fault;
    backend_.on_call();
    const bool served =
        (method == kV1 && now != PodResourcesFault::kOnlyV1alpha1) || method == kV1alpha1;
    if (!served || now == PodResourcesFault::kUnimplemented) {
      return call.Refuse(grpc::StatusCode::UNIMPLEMENTED, Format("unknown method {}", method));
    }
    switch (now) {
      case PodResourcesFault::kHang: return;
      case PodResourcesFault::kRateLimited:
        return call.Refuse(grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit");
      case PodResourcesFault::kUnknownError:
        return call.Refuse(grpc::StatusCode::UNKNOWN, "fault injected");
      case PodResourcesFault::kGarbage: return call.Answer(std::string(1000, '\xff'));
      case PodResourcesFault::kTooLong: {
        v1::ListPodResourcesResponse list;
        list.add_pod_resources()->set_name(std::string(kTooMuch, 'x'));
        return call.Answer(list.SerializeAsString());
      }
      case PodResourcesFault::kNone:
      case PodResourcesFault::kAbsent:
      case PodResourcesFault::kUnimplemented:
      case PodResourcesFault::kOnlyV1alpha1: break;
    }
    call.Answer(backend_.list().SerializeAsString());
  }

  const Backend backend_;
};

PodResourcesServer::PodResourcesServer(std::string path, Backend backend)
    : path_(std::move(path)), service_(std::make_unique<Service>(std::move(backend))) {}

Result<std::unique_ptr<PodResourcesServer>> PodResourcesServer::Create(std::string path,
                                                                       Backend backend,
                                                                       PodResourcesFault fault) {
  std::unique_ptr<PodResourcesServer> made(
      new PodResourcesServer(std::move(path), std::move(backend)));
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(made->service_.get());
  made->server_ = builder.BuildAndStart();
  if (!made->server_) return Fail(ErrorKind::kUnavailable, "cannot start a gRPC server");
  TRY(made->SetFault(fault));
  return made;
}

PodResourcesServer::~PodResourcesServer() {
  listener_.reset();
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
}

Status PodResourcesServer::SetFault(PodResourcesFault fault) {
  const std::lock_guard lock(mutex_);
  service_->fault = fault;
  if (fault == PodResourcesFault::kAbsent) {
    unlink(path_.c_str());
    listener_.reset();
  } else if (!listener_) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
    unlink(path_.c_str());
    listener_ = TRY(SocketListener::Create(
        path_, std::chrono::milliseconds(0), [server = server_.get()](UniqueFd connection) {
          grpc::AddInsecureChannelFromFd(server, connection.release());
        }));
  }
  return {};
}

}  // namespace patchbay
