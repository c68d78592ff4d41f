// Decisions are made under the mutex by Registry and the functions of registration_rules.h; the
// calls that follow are made without it, and the state may have changed when they return. One write
// of the checkpoint serves all requests made before it began.

#include "sim/kubelet/kubelet_instance.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "sim/kubelet/checkpoint.h"
#include "sim/kubelet/plugin_directory.h"
#include "sim/kubelet/registration_rules.h"

namespace patchbay {
namespace {

using std::chrono::steady_clock;

std::chrono::nanoseconds Grace(double clock_scale) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::minutes(5) /
                                                              clock_scale);
}

SimPluginOptions FromProto(const v1beta1::DevicePluginOptions& options) {
  return {options.pre_start_required(), options.get_preferred_allocation_available()};
}

/// Errors without a gRPC status in Go, which the plugin receives as UNKNOWN.
grpc::Status GoError(const std::string& text) { return {grpc::StatusCode::UNKNOWN, text}; }

}  // namespace

Result<std::shared_ptr<KubeletInstance>> KubeletInstance::Begin(const KubeletSimOptions& options,
                                                                std::string socket_path,
                                                                std::shared_ptr<SimState> state) {
  const Checkpoint checkpoint = ReadCheckpoint(options.directory);
  TRY(PreparePluginDirectory(options.directory, *options.cleanup));
  std::shared_ptr<KubeletInstance> instance(new KubeletInstance(options, state));
  for (const auto& [resource, ids] : checkpoint.registered) {
    instance->registry_.Restore(resource, steady_clock::now());
  }
  instance->pods_ = checkpoint.pods;
  instance->server_ = TRY(RegisterServer::Create(
      std::move(socket_path), options.accept_delay,
      [raw = instance.get()](std::shared_ptr<PendingRegister> call) {
        raw->OnRegister(std::move(call));
      },
      [state] {
        const std::lock_guard lock(state->mutex);
        state->Changed();
      }));
  TRY(instance->ServePodResources());
  return instance;
}

KubeletInstance::KubeletInstance(const KubeletSimOptions& options, std::shared_ptr<SimState> state)
    : options_(options),
      state_(std::move(state)),
      registry_(options.profile, options.silent_dedupe, Grace(options.clock_scale)),
      random_(options.seed != 0 ? options.seed : std::random_device()()) {}

KubeletInstance::~KubeletInstance() { End(); }

void KubeletInstance::End() {
  // First, so that a call that is cancelled below gets no response.
  if (server_) server_->Disconnect();
  std::vector<Client> clients;
  std::shared_ptr<PodResourcesServer> pod_resources;
  {
    const std::lock_guard lock(state_->mutex);
    ending_ = true;
    pod_resources.swap(pod_resources_);
    for (const auto& [id, client] : clients_) clients.push_back(client);
    state_->Changed();
  }
  pod_resources.reset();
  for (const Client& client : clients) client->Close();
  threads_.Join();
  { const std::lock_guard admissions_are_over(one_admission_); }
  server_.reset();
  const std::lock_guard lock(state_->mutex);
  clients_.clear();
  activity_.clear();
}

// --- registration ---

void KubeletInstance::OnRegister(std::shared_ptr<PendingRegister> call) {
  const v1beta1::RegisterRequest& request = call->request();
  std::size_t index = 0;
  {
    const std::lock_guard lock(state_->mutex);
    index = state_->calls.size();
    state_->calls.push_back({.version = request.version(),
                             .endpoint = request.endpoint(),
                             .resource = request.resource_name(),
                             .options = FromProto(request.options()),
                             .answered = false,
                             .code = 0,
                             .message = "",
                             .received = steady_clock::now(),
                             .finished = {}});
    state_->Changed();
  }
  const bool spawned =
      threads_.Spawn([this, call, index] { Answer(*call, index, Register(*call)); });
  if (!spawned) Answer(*call, index, {grpc::StatusCode::UNAVAILABLE, "the kubelet is stopping"});
}

void KubeletInstance::Answer(PendingRegister& call, std::size_t index, const grpc::Status& status) {
  {
    const std::lock_guard lock(state_->mutex);
    RegisterCall& entry = state_->calls[index];
    entry.answered = true;
    entry.code = status.error_code();
    entry.message = status.error_message();
    entry.finished = steady_clock::now();
    if (status.ok()) ++activity_[entry.resource].registrations;
    state_->Changed();
  }
  call.Answer(status);
}

grpc::Status KubeletInstance::Register(PendingRegister& call) {
  if (const auto fault = ApplyFault(call)) return *fault;
  const v1beta1::RegisterRequest& request = call.request();
  const std::string& resource = request.resource_name();
  if (const Status checked = CheckRegister(request.version(), resource); !checked) {
    return GoError(checked.error().message);
  }
  const std::string path = JoinEndpoint(options_.directory, request.endpoint());
  ClientId id = 0;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->FaultFor(resource).kind == RegisterFault::kNeverDial) return grpc::Status::OK;
    id = ++last_client_;
    if (!registry_.Begin(resource, path, id)) return grpc::Status::OK;
  }
  if (options_.profile == KubeletProfile::kAsync) {
    threads_.Spawn([this, resource, path, id, options = FromProto(request.options())] {
      (void)Connect(resource, path, id, options);
    });
    return grpc::Status::OK;
  }
  const Status connected = Connect(resource, path, id, {});
  return connected ? grpc::Status::OK : GoError(connected.error().message);
}

/// Waits while the fault is a hang. Returns the status of the fault, or nothing to continue.
std::optional<grpc::Status> KubeletInstance::ApplyFault(PendingRegister& call) {
  std::unique_lock lock(state_->mutex);
  SimState::Fault fault;
  state_->changed.wait(lock, [&] {
    fault = state_->FaultFor(call.request().resource_name());
    return fault.kind != RegisterFault::kHang || ending_ || call.Cancelled();
  });
  switch (fault.kind) {
    case RegisterFault::kHang: return grpc::Status(grpc::StatusCode::CANCELLED, "context canceled");
    case RegisterFault::kUnknownError: return GoError(fault.text);
    case RegisterFault::kUnimplemented:
      return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "unknown service v1beta1.Registration");
    case RegisterFault::kNone:
    case RegisterFault::kNeverDial:
    case RegisterFault::kNeverWatch: break;
  }
  return std::nullopt;
}

/// Dials and connects a plugin. Its stream is opened before this returns, and therefore before or
/// while Register returns. `options` are those of the request, in versions that use them.
Status KubeletInstance::Connect(const std::string& resource, const std::string& path, ClientId id,
                                std::optional<SimPluginOptions> options) {
  const Client client = NewClient(path, id);
  const auto failed = [&](const std::string& text) {
    const std::lock_guard lock(state_->mutex);
    registry_.Failed(resource, path);
    return Fail(ErrorKind::kUnavailable, text);
  };
  if (const Status dialled = client->Dial(options_.dial_timeout); !dialled) {
    client->Close();
    return failed("failed to dial device plugin: " + dialled.error().message);
  }
  Status accepted;
  {
    const std::lock_guard lock(state_->mutex);
    ++activity_[resource].connections;
    accepted = registry_.Check(resource, path);
    state_->Changed();
  }
  if (!accepted) return failed(accepted.error().message);
  const bool asks = !options;
  if (asks) {
    const auto answered = client->GetOptions();
    if (!answered) {
      return failed("failed to get device plugin options: " + answered.error().message);
    }
    options = *answered;
  }
  {
    const std::lock_guard lock(state_->mutex);
    registry_.Connected(resource, path, id, *options);
    if (asks && state_->FaultFor(resource).kind == RegisterFault::kNeverWatch) {
      client->Close();
      return {};
    }
    Activity& activity = activity_[resource];
    activity.streams[client] = 0;
    // The current state, which may have changed while the plugin was dialed.
    client->SetReading(activity.reading);
    state_->Changed();
  }
  threads_.Spawn([this, resource, path, id, client] { Watch(resource, path, id, client); });
  return {};
}

KubeletInstance::Client KubeletInstance::NewClient(const std::string& path, ClientId id) {
  auto client = std::make_shared<PluginClient>(path, *options_.authority);
  const std::lock_guard lock(state_->mutex);
  clients_[id] = client;
  if (ending_) client->Close();
  return client;
}

KubeletInstance::Client KubeletInstance::FindClient(std::optional<ClientId> id) const {
  const auto client = id ? clients_.find(*id) : clients_.end();
  return client == clients_.end() ? nullptr : client->second;
}

// --- streams ---

void KubeletInstance::Watch(const std::string& resource, const std::string& path, ClientId id,
                            const Client& client) {
  const std::string end =
      client->Watch([&](const std::vector<SimDevice>& list) { OnList(resource, client, list); });
  Client disconnected;
  {
    const std::lock_guard lock(state_->mutex);
    Activity& activity = activity_[resource];
    const bool was_open = activity.streams.erase(client) > 0;
    activity.stream_error = end;
    if (was_open && !ending_) {
      disconnected = FindClient(registry_.StreamEnded(resource, path, id, steady_clock::now()));
    }
    state_->Changed();
  }
  if (disconnected) disconnected->Close();
}

void KubeletInstance::OnList(const std::string& resource, const Client& client,
                             const std::vector<SimDevice>& list) {
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return;
    registry_.Listed(resource, list);
    Activity& activity = activity_[resource];
    ++activity.lists;
    if (const auto stream = activity.streams.find(client); stream != activity.streams.end()) {
      ++stream->second;
    }
    activity.last_list = steady_clock::now();
    state_->Changed();
  }
  // A kubelet only logs a write error, until the next admission.
  (void)SaveCheckpoint();
}

Status KubeletInstance::SaveCheckpoint() {
  std::uint64_t asked = 0;
  {
    const std::lock_guard lock(state_->mutex);
    asked = ++saves_asked_;
  }
  const std::lock_guard saving(one_save_);
  if (saves_served_ >= asked) return last_save_;
  Checkpoint checkpoint;
  {
    const std::lock_guard lock(state_->mutex);
    saves_served_ = saves_asked_;
    for (const std::string& resource : registry_.Resources()) {
      const DeviceTable* const table = registry_.Table(resource);
      if (table == nullptr) continue;
      checkpoint.registered[resource] = {table->healthy().begin(), table->healthy().end()};
    }
    checkpoint.pods = pods_;
  }
  last_save_ = WriteCheckpoint(options_.directory, checkpoint);
  return last_save_;
}

// --- views ---

void KubeletInstance::Expire() { registry_.Expire(steady_clock::now()); }
void KubeletInstance::Expire(const std::string& resource) {
  registry_.Expire(resource, steady_clock::now());
}

std::optional<ResourceView> KubeletInstance::View(const std::string& resource) const {
  if (!registry_.Has(resource)) return std::nullopt;
  ResourceView view;
  view.known = registry_.Known(resource);
  if (const DeviceTable* const table = registry_.Table(resource)) {
    for (const auto& [id, device] : table->devices()) view.devices.push_back(device);
    view.capacity = table->capacity();
    view.allocatable = table->allocatable();
  }
  if (const Registry::Endpoint* const primary = registry_.Primary(resource)) {
    view.connected = !primary->stopped;
    view.endpoint = primary->path;
    view.options = primary->options;
  }
  if (const auto found = activity_.find(resource); found != activity_.end()) {
    const Activity& activity = found->second;
    view.streams = activity.streams.size();
    view.silent_streams = static_cast<std::size_t>(
        std::count_if(activity.streams.begin(), activity.streams.end(),
                      [](const auto& stream) { return stream.second == 0; }));
    view.connections = activity.connections;
    view.registrations = activity.registrations;
    view.lists = activity.lists;
    view.last_list = activity.last_list;
    view.stream_error = activity.stream_error;
    for (const auto& extra : activity.extras) view.extra_streams.push_back(extra->view);
  }
  return view;
}

}  // namespace patchbay
