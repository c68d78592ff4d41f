#pragma once

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "dra/claim_messages.h"
#include "dra/claim_metadata.h"
#include "dra/claim_preparer.h"
#include "dra/resource_slice.h"
#include "draplugin_v1.pb.h"
#include "support/fake_loop.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"
#include "unit/dra/pools.h"

namespace patchbay::test {

inline constexpr char kThings[] = "node-1/example.com/thing";

/// A Kubernetes node that serves the pool kThings with the devices "a" and "b", whose hooks append
/// a line to a file. Other pools can be added.
class ClaimPreparerFixture : public testing::Test {
 protected:
  ClaimPreparerFixture() {
    tree_.Dir("data");
    spec_ = Resource({CountMatch(2)});
    spec_.device_nodes.clear();
    spec_.env.emplace_back(MakeTemplate("THING"), MakeTemplate("{id}"));
    spec_.allocate = HookThat("echo allocate $0 >> {}");
    spec_.pre_start = HookThat("echo pre_start $0 >> {}");
    spec_.release = HookThat("echo release $0 >> {}");
    Restart();
  }
  ~ClaimPreparerFixture() override {
    if (preparer_) preparer_->Close();
    cancellation_->Trigger();
    preparer_.reset();
    resources_.clear();
  }

  std::string WithPath(std::string script) const {
    const std::size_t at = script.find("{}");
    return at == std::string::npos ? script : script.replace(at, 2, tree_.path("runs"));
  }
  /// A hook with a script, in which {} is the file of the runs and $0 the device.
  HookSpec HookThat(const std::string& script) const {
    HookSpec hook;
    hook.argv = {MakeTemplate("/bin/sh"), MakeTemplate("-c"), MakeTemplate(WithPath(script)),
                 MakeTemplate("{id}")};
    return hook;
  }
  /// A script that reports its start and waits until the gate opens.
  std::string WaitAtGate() const {
    for (const char* pipe : {"begun", "gate"}) {
      EXPECT_EQ(mkfifo(tree_.path(pipe).c_str(), 0600), 0);
    }
    return Format("echo > {}; read x < {};", tree_.path("begun"), tree_.path("gate"));
  }
  /// Calls `then` on the loop when the script waits.
  std::future<void> AtGate(std::function<void()> then) {
    return std::async(std::launch::async, [this, then = std::move(then)] {
      std::ifstream(tree_.path("begun")).get();
      loop_.Post(then);
    });
  }
  /// Waits until the script waits.
  bool AwaitGate() {
    bool has_begun = false;
    const auto begun = AtGate([&] { has_begun = true; });
    return loop_.RunUntil([&] { return has_begun; });
  }
  void OpenGate() const { std::ofstream(tree_.path("gate")) << "\n"; }
  std::vector<std::string> Runs() const {
    std::ifstream file(tree_.path("runs"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  std::shared_ptr<ClaimPreparer> Make(std::function<bool(std::string_view)> on_step = nullptr) {
    return std::make_shared<ClaimPreparer>(
        ClaimPreparer::Dependencies{
            .driver = "patchbay.dev",
            .directory = tree_.path("data"),
            .cdi_dir = cdi_dir_,
            .get_claim =
                [this](const ClaimKey& key, std::function<void(Result<std::string>)> done) {
                  ++gets_;
                  if (is_server_silent_) return Subscription([] {});
                  loop_.Post([this, done = std::move(done), name = key.name] { done(Get(name)); });
                  return Subscription([] {});
                },
            .is_api_server_up = [this] { return !is_server_down_ || !is_outage_known_; },
            .resources = [this] { return resources_; },
            .on_claim_end = [this](const auto& end) { ends_.push_back(end); },
            .on_ended = [this](ClaimPreparer::Action) { on_ended_(); },
            .hook_limit = hook_limit_,
            .lock_limit = lock_limit_,
            .boot = boot_,
            .on_step = std::move(on_step)},
        loop_, log_);
  }
  /// The daemon restarts with the resource and its devices as they are now.
  void Restart() {
    if (preparer_) preparer_->Close();
    preparer_.reset();
    resources_.clear();
    Serve(kThings, spec_, listed_);
    preparer_ = Make();
  }
  /// Adds or replaces a pool.
  ServedResource& Serve(const std::string& pool, const ResourceSpec& spec,
                        std::vector<ListedDevice> devices,
                        std::chrono::milliseconds lookup_limit = HostLookups::kLimit) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->spec = std::make_shared<const ResourceSpec>(spec);
    snapshot->devices = std::move(devices);
    resources_[pool] = {.devices = std::make_shared<const NamedDevices>(std::move(snapshot)),
                        .hooks = std::make_shared<HookRunner>(
                            [this](Hook hook, bool, std::chrono::nanoseconds) { on_hook_(hook); },
                            log_, cancellation_),
                        .lookups = std::make_shared<HostLookups>(
                            AllocationHost{HostRoot(tree_.path()), "node-1"}, lookup_limit)};
    return resources_[pool];
  }

  static ClaimKey Key(const std::string& name) { return {"uid-of-" + name, "default", name}; }
  static AllocatedDevice Thing(const std::string& device, const std::string& request = "r") {
    return {.request = request, .pool = kThings, .device = device};
  }
  static AllocatedDevice Shared(AllocatedDevice device, const std::string& share_id) {
    device.share_id = share_id;
    return device;
  }
  static AllocatedDevice Admin(AllocatedDevice device) {
    device.admin_access = true;
    return device;
  }
  /// The API server has a claim for these devices.
  void Allocate(const std::string& name, const std::vector<AllocatedDevice>& devices) {
    using nlohmann::json;
    json results = json::array();
    for (const AllocatedDevice& device : devices) {
      json result = {{"request", device.request},
                     {"driver", "patchbay.dev"},
                     {"pool", device.pool},
                     {"device", device.device}};
      if (!device.share_id.empty()) result["shareID"] = device.share_id;
      if (device.admin_access) result["adminAccess"] = true;
      if (device.tolerates_unhealthy) {
        result["tolerations"] =
            json::array({json::object({{"key", kUnhealthyTaint}, {"operator", "Exists"}})});
      }
      results.push_back(std::move(result));
    }
    json claim = {{"apiVersion", "resource.k8s.io/v1"},
                  {"kind", "ResourceClaim"},
                  {"metadata", {{"name", name}, {"namespace", "default"}, {"uid", Key(name).uid}}}};
    claim["status"]["allocation"]["devices"]["results"] = std::move(results);
    claims_[name] = claim.dump();
  }
  void Allocate(const std::string& name, const std::string& device) {
    Allocate(name, {Thing(device)});
  }

  ClaimCall Call() { return {loop_.Now() + std::chrono::seconds(45)}; }
  template <class Function>
  ClaimResults Await(Function begin) {
    std::optional<ClaimResults> results;
    begin([&](ClaimResults got) { results = std::move(got); });
    EXPECT_TRUE(loop_.RunUntil([&] { return results.has_value(); }));
    return results ? *std::move(results) : ClaimResults();
  }
  ClaimResults PrepareAll(const std::vector<std::string>& names) {
    std::vector<ClaimKey> keys;
    keys.reserve(names.size());
    for (const std::string& name : names) keys.push_back(Key(name));
    return Await([&](std::function<void(ClaimResults)> done) {
      preparer_->Prepare(keys, Call(), std::move(done));
    });
  }
  Result<std::vector<PreparedRequest>> Prepare(const std::string& name) {
    return PrepareAll({name}).at(Key(name).uid);
  }
  /// Returns the answer to the kubelet: "request pool/device share cdi..." for each device.
  static std::vector<std::string> AnswerOf(const Result<std::vector<PreparedRequest>>& prepared) {
    k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourceResponse message;
    FillClaim(prepared, message);
    std::vector<std::string> answer;
    for (const auto& device : message.devices()) {
      std::string& text = answer.emplace_back();
      for (const std::string& request : device.request_names()) text += request + " ";
      text += Format("{}/{} {}", device.pool_name(), device.device_name(), device.share_id());
      for (const std::string& id : device.cdi_device_ids()) text += " " + id;
    }
    return answer;
  }
  /// Returns the error of Prepare, or "prepared".
  std::string ErrorOf(const std::string& name) {
    const auto result = Prepare(name);
    return result ? "prepared" : result.error().message;
  }
  Status Unprepare(const std::string& name) {
    const auto results = Await([&](std::function<void(ClaimResults)> done) {
      preparer_->Unprepare({Key(name)}, Call(), std::move(done));
    });
    const auto& result = results.at(Key(name).uid);
    return result ? Status() : Status(Failure(result.error()));
  }
  /// Runs two calls at the same time.
  std::vector<ClaimResults> PrepareAtOnce(ClaimPreparer& one, const std::string& first,
                                          ClaimPreparer& other, const std::string& second) {
    std::vector<ClaimResults> results;
    const auto add = [&](ClaimResults got) { results.push_back(std::move(got)); };
    one.Prepare({Key(first)}, Call(), add);
    other.Prepare({Key(second)}, Call(), add);
    EXPECT_TRUE(loop_.RunUntil([&] { return results.size() == 2; }));
    return results;
  }

  /// Waits until no call uses the devices of kThings.
  bool AwaitUnused() {
    bool is_unused = false;
    const Subscription ended = preparer_->AwaitUnused(kThings, [&] { is_unused = true; });
    return loop_.RunUntil([&] { return is_unused; });
  }
  std::string RecordOf(const std::string& name) const {
    return Format("{}/claims/claim_{}.json", tree_.path("data"), Key(name).uid);
  }
  /// Moves a device of kThings to another place.
  void Move(const std::string& id, const std::vector<DeviceNode>& nodes) {
    for (ListedDevice& listed : listed_) {
      if (listed.device->id != id) continue;
      auto device = std::make_shared<Device>(*listed.device);
      device->nodes = nodes;
      listed.device = std::move(device);
    }
    Serve(kThings, spec_, listed_);
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(cdi_dir_, ignored)) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }
  static std::string FileOf(const std::string& name) {
    return "patchbay.dev-claim_uid-of-" + name + ".json";
  }
  /// Returns the name that the kubelet gets for the devices of a request of a prepared claim.
  std::string CdiId(const std::string& name, const std::string& request) const {
    const std::string prefix = Format("uid-of-{}-{}-", name, request);
    const auto spec = nlohmann::json::parse(TextOf(FileOf(name)));
    for (const auto& device : spec.at("devices")) {
      const std::string own = device.at("name");
      if (own.starts_with(prefix)) return "patchbay.dev/claim=" + own;
    }
    return "";
  }
  std::string TextOf(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(Format("{}/{}", cdi_dir_, file)).rdbuf();
    return text.str();
  }
  /// Makes the directory of CDI files read-only, or returns false if that is not possible here.
  bool MakeReadOnly() const {
    const char* const path = cdi_dir_.c_str();
    if (mount(path, path, nullptr, MS_BIND, nullptr) != 0) return false;
    EXPECT_EQ(mount(nullptr, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
    return true;
  }
  void MakeWritable() const { EXPECT_EQ(umount(cdi_dir_.c_str()), 0); }
  /// Returns the containerEdits of the devices in the file of a claim, in order, without the mounts
  /// of metadata.
  std::vector<nlohmann::json> EditsIn(const std::string& name) const {
    const auto spec = nlohmann::json::parse(TextOf(FileOf(name)));
    std::vector<nlohmann::json> edits;
    edits.reserve(spec.at("devices").size());
    for (const auto& device : spec.at("devices")) {
      nlohmann::json& of_device = edits.emplace_back(device.at("containerEdits"));
      auto& mounts = of_device["mounts"];
      std::erase_if(mounts.get_ref<nlohmann::json::array_t&>(), [](const auto& mount) {
        return mount["containerPath"].template get<std::string>().starts_with(
            "/var/run/kubernetes.io/");
      });
      if (mounts.empty()) of_device.erase("mounts");
    }
    return edits;
  }

  TempTree tree_;
  std::string cdi_dir_ = tree_.path("cdi");
  std::ostringstream text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, text_};
  std::vector<ClaimPreparer::ClaimEnd> ends_;
  std::function<void()> on_ended_ = [] {};
  FakeLoop loop_;
  std::function<void(Hook)> on_hook_ = [](Hook) {};  ///< called when it has ended, on its thread
  const std::shared_ptr<const Cancellation> cancellation_ =
      std::make_shared<const Cancellation>(Cancellation::Create().value());
  std::chrono::milliseconds hook_limit_ = ClaimPreparer::kHookLimit;
  std::chrono::milliseconds lock_limit_ = ClaimPreparer::kLockLimit;
  std::string boot_ = "boot-1";
  ResourceSpec spec_;
  std::vector<ListedDevice> listed_ = {Listed("a"), Listed("b")};
  std::map<std::string, std::string> claims_;
  bool is_server_down_ = false;
  bool is_outage_known_ = true;    ///< while the server is down
  bool is_server_silent_ = false;  ///< requests are not answered
  int gets_ = 0;
  ServedResources resources_;
  std::shared_ptr<ClaimPreparer> preparer_;

 private:
  Result<std::string> Get(const std::string& name) const {
    if (is_server_down_) return Fail(ErrorKind::kUnavailable, "the API server is down");
    const auto found = claims_.find(name);
    if (found == claims_.end()) return Fail(ErrorKind::kNotFound, "not found");
    return found->second;
  }
};

}  // namespace patchbay::test
