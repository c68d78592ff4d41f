#include "integration/contract.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace patchbay::test {

HealthById HealthOf(const ResourceView& view) {
  HealthById health;
  for (const SimDevice& device : view.devices) health[device.id] = device.health;
  return health;
}

// --- PluginStub ---

namespace {

/// A context with a deadline, so that a call cannot hang the test.
struct Context : grpc::ClientContext {
  Context() { set_deadline(std::chrono::system_clock::now() + kPatience); }
};

}  // namespace

PluginStub::PluginStub(const std::string& socket, const std::string& authority) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  arguments.SetMaxSendMessageSize(-1);
  stub_ = v1beta1::DevicePlugin::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

grpc::Status PluginStub::Allocate(const Containers& containers,
                                  v1beta1::AllocateResponse* response) {
  v1beta1::AllocateRequest request;
  for (const auto& ids : containers) {
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
  }
  Context context;
  return stub_->Allocate(&context, request, response);
}

grpc::Status PluginStub::Options(v1beta1::DevicePluginOptions* response) {
  Context context;
  return stub_->GetDevicePluginOptions(&context, {}, response);
}

grpc::Status PluginStub::PreStart(const std::vector<std::string>& ids) {
  v1beta1::PreStartContainerRequest request;
  for (const std::string& id : ids) request.add_devices_ids(id);
  v1beta1::PreStartContainerResponse response;
  Context context;
  return stub_->PreStartContainer(&context, request, &response);
}

grpc::Status PluginStub::Preferred(const v1beta1::PreferredAllocationRequest& request,
                                   v1beta1::PreferredAllocationResponse* response) {
  Context context;
  return stub_->GetPreferredAllocation(&context, request, response);
}

bool PluginStub::FirstList(v1beta1::ListAndWatchResponse* list) {
  Context context;
  const auto stream = stub_->ListAndWatch(&context, {});
  const bool read = stream->Read(list);
  context.TryCancel();
  return read;
}

// --- Contract ---

void Contract::SetUp() {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
}

KubeletSim& Contract::StartKubelet(KubeletSimOptions options) {
  options.directory = tree_.path("kubelet");
  options.profile = GetParam();
  auto kubelet = KubeletSim::Create(options);
  EXPECT_TRUE(kubelet) << kubelet.error().message;
  kubelet_ = *std::move(kubelet);
  const Status started = kubelet_->Start();
  EXPECT_TRUE(started) << started.error().message;
  return *kubelet_;
}

RunningDaemon& Contract::StartDaemon(std::string_view resources, RunningDaemon::Settings settings) {
  daemon_ = std::make_unique<RunningDaemon>(tree_, resources, std::move(settings));
  return *daemon_;
}

ResourceView Contract::View(const std::string& resource) const {
  return kubelet_->View(resource).value_or(ResourceView{});
}

bool Contract::AwaitView(const std::function<bool(const ResourceView&)>& condition,
                         const std::string& resource, std::chrono::milliseconds timeout) const {
  return kubelet_->Await([&] { return condition(View(resource)); }, timeout);
}

bool Contract::AwaitServed(const std::string& resource, const std::string& not_from) const {
  return AwaitView(
      [&](const ResourceView& view) {
        const auto calls = Calls(resource);
        return view.connected && view.streams == 1 && view.endpoint != not_from && !calls.empty() &&
               calls.back().answered && view.lists > 0 && view.last_list > calls.back().received;
      },
      resource);
}

bool Contract::AwaitHealth(const HealthById& health, const std::string& resource) const {
  return AwaitView([&](const ResourceView& view) { return HealthOf(view) == health; }, resource);
}

bool Contract::AwaitCalls(std::size_t calls, std::chrono::milliseconds timeout) const {
  return kubelet_->Await([&] { return kubelet_->RegisterCalls().size() >= calls; }, timeout);
}

std::vector<RegisterCall> Contract::Calls(const std::string& resource) const {
  auto calls = kubelet_->RegisterCalls();
  std::erase_if(calls, [&](const RegisterCall& call) { return call.resource != resource; });
  return calls;
}

std::vector<std::string> Contract::OwnSockets() const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(tree_.path("kubelet"), ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("patchbay-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ProfileName(const testing::TestParamInfo<KubeletProfile>& info) {
  switch (info.param) {
    case KubeletProfile::kAsync: return "Async";
    case KubeletProfile::kSync: return "Sync";
    case KubeletProfile::kMulti: return "Multi";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(All, Contract,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);
INSTANTIATE_TEST_SUITE_P(DialsBack, SyncContract,
                         testing::Values(KubeletProfile::kSync, KubeletProfile::kMulti),
                         ProfileName);
INSTANTIATE_TEST_SUITE_P(DialsLater, AsyncContract, testing::Values(KubeletProfile::kAsync),
                         ProfileName);
INSTANTIATE_TEST_SUITE_P(ManySockets, MultiContract, testing::Values(KubeletProfile::kMulti),
                         ProfileName);

}  // namespace patchbay::test
