#include "bench/bare_plugin.h"

#include <dirent.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/format.h"
#include "bench/child.h"
#include "deviceplugin.grpc.pb.h"

namespace patchbay::bench {
namespace {

constexpr const char* kEndpoint = "bare.sock";

[[noreturn]] void FailPlugin(const char* what) {
  std::fprintf(stderr, "bare plugin: %s\n", what);
  std::exit(1);
}

void AddHealthy(v1beta1::ListAndWatchResponse& list, const std::string& id) {
  v1beta1::Device& device = *list.add_devices();
  device.set_id(id);
  device.set_health("Healthy");
}

v1beta1::ListAndWatchResponse ListOf(const std::string& nodes) {
  v1beta1::ListAndWatchResponse list;
  DIR* const directory = opendir(nodes.c_str());
  if (directory == nullptr) FailPlugin("no directory");
  while (const dirent* const entry = readdir(directory)) {
    struct stat node;
    const bool is_known = fstatat(dirfd(directory), entry->d_name, &node, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_known && S_ISCHR(node.st_mode)) AddHealthy(list, entry->d_name);
  }
  closedir(directory);
  return list;
}

class Plugin final : public v1beta1::DevicePlugin::Service {
 public:
  explicit Plugin(v1beta1::ListAndWatchResponse list) : list_(std::move(list)) {}

  void AddDevice() {
    const std::lock_guard lock(mutex_);
    AddHealthy(list_, Format("more-{}", list_.devices_size()));
    changed_.notify_all();
  }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions*) override {
    return grpc::Status::OK;
  }
  grpc::Status ListAndWatch(grpc::ServerContext*, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    std::unique_lock lock(mutex_);
    while (writer->Write(list_)) {
      const int sent = list_.devices_size();
      changed_.wait(lock, [&] { return list_.devices_size() != sent; });
    }
    return grpc::Status::OK;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  v1beta1::ListAndWatchResponse list_;
};

void Register(const std::string& kubelet_dir) {
  const auto kubelet = v1beta1::Registration::NewStub(grpc::CreateChannel(
      Format("unix:{}/kubelet.sock", kubelet_dir), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(kEndpoint);
  request.set_resource_name("bench.dev/r0");
  v1beta1::Empty nothing;
  if (!kubelet->Register(&context, request, &nothing).ok()) FailPlugin("was not registered");
}

}  // namespace

BarePlugin::BarePlugin(const std::string& kubelet_dir, const std::string& nodes)
    : start_(Clock::now()) {
  auto child = StartChild({std::string(kPluginArgument), kubelet_dir, nodes});
  stdin_ = std::move(child.stdio);
  pid_ = child.pid;
}

BarePlugin::~BarePlugin() {
  { const UniqueFd closed(std::move(stdin_)); }
  waitpid(pid_, nullptr, 0);
}

void BarePlugin::AddDevice() {
  if (write(stdin_.get(), "+", 1) != 1) FailPlugin("has ended");
}

int RunBarePlugin(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) FailPlugin("needs the directories of the kubelet and of the nodes");
  const std::string socket = Format("{}/{}", arguments[0], kEndpoint);
  unlink(socket.c_str());
  Plugin plugin(ListOf(arguments[1]));
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&plugin);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) FailPlugin("cannot listen");
  Register(arguments[0]);
  char command = 0;
  while (read(STDIN_FILENO, &command, 1) == 1) plugin.AddDevice();
  std::_Exit(0);  // a call may still wait for a device
}

}  // namespace patchbay::bench
