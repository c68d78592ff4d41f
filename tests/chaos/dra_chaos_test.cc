// Rounds of random events around Dynamic Resource Allocation: an API server that restarts, fails,
// loses responses and ends watches, a kubelet that restarts and has all slices deleted, a daemon
// that restarts or is replaced by another one that starts first, devices that come, go and change
// places, CDI files that are lost, and pods that use devices, leave them, and are deleted by force
// while their containers run. The first resource has hooks, and the last one shares its devices.
//
// After each round, the faults end. Then the published devices must be those of the host and those
// that claims hold. Each claim must be prepared, unless its device is gone, has moved since, or a
// container has it whose pod was deleted by force. Each prepared claim whose devices are where they
// were, and nothing else, must have a CDI file with its devices. The API server must never reject
// an object. The `allocate` hook of a device must run once for each claim, and its `release` hook
// once after it; twice only if a daemon was killed, which can happen between a hook and its record.
// A `release` hook can be missed if the device was removed, since a restarted daemon does not know
// its paths.
//
// PATCHBAY_CHAOS_SECONDS, PATCHBAY_CHAOS_SEED and PATCHBAY_CHAOS_PATIENCE are as in chaos_test.cc,
// but checks wait at least a minute, because corrections of slices wait up to half of one.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "chaos/random.h"
#include "support/daemon_process.h"
#include "support/dra_cluster.h"
#include "support/environment.h"

namespace patchbay::test {
namespace {

using api_sim::Fault;
using api_sim::FaultType;
using Devices = std::map<std::string, std::set<std::string>>;  ///< IDs by resource

constexpr std::size_t kDraResources = 3;
constexpr std::size_t kDevicesOfAResource = 5;
constexpr unsigned kMajor = 1000;  ///< of all nodes; it has no driver
constexpr std::size_t kMaxClaims = 8;
/// Corrections of slices that were deleted repeatedly are delayed for up to half a minute.
constexpr unsigned kDraPatienceSeconds = 60;

constexpr FaultType kResponses[] = {
    FaultType::kError,        FaultType::kError,         FaultType::kError,  FaultType::kReset,
    FaultType::kLoseResponse, FaultType::kMalformedJson, FaultType::kCutBody};
constexpr int kCodes[] = {429, 500, 503};

std::string ResourceName(std::size_t number) { return Format("chaos.dev/r{}", number); }

/// In place of a hook in the file to which the hooks write "<hook> <device>".
constexpr const char* kKilled = "killed";  ///< a daemon; the device is "-"
constexpr const char* kMissed = "missed";  ///< the release hook may not have run

class DraChaos : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    std::printf("PATCHBAY_CHAOS_SEED=%u\n", seed_);
    std::fflush(stdout);
    for (std::size_t i = 0; i < kDraResources; ++i) {
      daemon_.host().Dir(Format("dev/r{}", i));
      for (std::size_t j = 0; j < kDevicesOfAResource; ++j) {
        const auto minor = static_cast<unsigned>(i * kDevicesOfAResource + j);
        daemon_.host().CharDevice(Format("dev/nodes/{}", minor), kMajor, minor);
        minors_[ResourceName(i)][Format("n{}", j)] = minor;
      }
      cluster_.CreateClass(ResourceName(i));
      SetNode(i, 0, true);
    }
    StartDaemon();
  }
  void TearDown() override {
    daemon_.Stop();
    EndOlder(SIGKILL);
    if (HasFailure()) std::printf("%s\n", daemon_.LogTail().c_str());
  }

  void Run(std::chrono::seconds duration) {
    const auto end = Clock::now() + duration;
    std::size_t rounds = 0;
    for (; Clock::now() < end && !HasFailure(); ++rounds) Round();
    if (HasFailure()) return;
    for (auto& [name, claim] : claims_) claim.is_ending = true;
    EXPECT_TRUE(Recovers([&] { return FindErrors(); }));
    EXPECT_EQ(cluster_.ClaimFiles().size(), 0U);
    std::printf("%zu rounds, %zu claims prepared, %zu of them again, %zu hooks ran\n", rounds,
                prepared_, again_, hooks_run_);
  }

 private:
  /// A claim of a pod of the same name.
  struct Claim {
    SimClaim claim;
    std::string resource;
    std::vector<SimPreparedDevice> devices = {};  ///< empty: not prepared yet
    std::map<std::string, unsigned> minors = {};  ///< the nodes of its devices, since then
    std::set<std::string> removed = {};           ///< IDs of devices that were removed meanwhile
    bool is_ending = false;
    bool is_deleted = false;  ///< by force: the API server does not have it, a container does
  };
  using Action = std::function<std::string()>;
  struct HookState {
    std::string last = "release";
    std::size_t kills = 0;  ///< of daemons before it ran
  };

  // --- events ---

  void Round() {
    history_.clear();
    const std::vector<Action> actions = Actions();
    for (std::size_t left = 5 + random_.Below(30); left > 0; --left) {
      history_.push_back(random_.OneOf(actions)());
      if (random_.OneIn(2)) poll(nullptr, 0, static_cast<int>(random_.Below(60)));
    }
    MakePeace();
    const bool has_recovered = Recovers([&] { return FindErrors(); });
    ExpectNoneRejected();
    if (has_recovered && !HasFailure()) return;
    std::string story;
    for (const std::string& action : history_) story += "  " + action + "\n";
    ADD_FAILURE() << "PATCHBAY_CHAOS_SEED=" << seed_ << ":\n" << story;
  }

  std::vector<Action> Actions() {
    return {
        [&] { return ChangeDevice(); },   [&] { return ChangeDevice(); },
        [&] { return ChangeDevice(); },   [&] { return BeginClaim(); },
        [&] { return BeginClaim(); },     [&] { return BeginClaim(); },
        [&] { return EndAnyClaim(); },    [&] { return EndAnyClaim(); },
        [&] { return PrepareAgain(); },   [&] { return BreakResponses(); },
        [&] { return BreakResponses(); }, [&] { return EndWatches(); },
        [&] { return SetServer(false); }, [&] { return SetServer(true); },
        [&] { return RestartKubelet(); }, [&] { return RestartDaemon(); },
        [&] { return ReplaceDaemon(); },  [&] { return EndOlderDaemon(); },
        [&] { return Rescan(); },         [&] { return ExchangeDevices(); },
        [&] { return DeleteByForce(); },  [&] { return LoseFile(); },
    };
  }

  void StartDaemon() {
    std::string toml;
    for (std::size_t i = 0; i < kDraResources; ++i) {
      toml += Format(
          "[[resource]]\nname = \"{}\"\napi = \"dra\"\nforget_after = \"50ms\"\n{}{}"
          "[[resource.match]]\npath = \"/dev/r{}/*\"\n",
          ResourceName(i), i + 1 == kDraResources ? "replicas = 2\n" : "",
          i == 0 ? HookToml("allocate") + HookToml("release") : "", i);
    }
    setenv("POD_UID", Format("pod-{}", pods_).c_str(), 1);
    daemon_.Start(toml, "rescan = \"24h\"\nlog_level = \"debug\"\n" + cluster_.DaemonKeys());
    // A signal before that would end it.
    EXPECT_TRUE(Recovers([&] {
      const bool runs = daemon_.Log().find("serving http") != std::string::npos;
      return runs ? "" : "  the daemon does not start\n";
    }));
  }

  std::string HookToml(const std::string& hook) const {
    return Format(
        "hooks.{0}.command = [\"sh\", \"-c\", \"echo {0} $1 >> {1}\", \"sh\", \"{{id}}\"]\n", hook,
        hook_runs_);
  }

  void SetNode(std::size_t resource, std::size_t number, bool exists) {
    const std::string id = Format("n{}", number), path = Format("dev/r{}/{}", resource, id);
    std::set<std::string>& ids = present_[ResourceName(resource)];
    if (ids.contains(id) == exists) return;
    if (exists) {
      SetLink(resource, id);
      ids.insert(id);
    } else {
      daemon_.host().Remove(path);
      ids.erase(id);
      for (auto& [name, claim] : claims_) {
        if (claim.resource == ResourceName(resource)) claim.removed.insert(id);
      }
    }
  }
  std::string ChangeDevice() {
    const std::size_t resource = random_.Below(kDraResources);
    const std::size_t number = random_.Below(kDevicesOfAResource);
    const bool exists = !random_.OneIn(3);
    SetNode(resource, number, exists);
    return Format("n{} of {} {}", number, ResourceName(resource), exists ? "exists" : "is gone");
  }

  void SetLink(std::size_t resource, const std::string& id) {
    TempTree& host = daemon_.host();
    host.Link("dev/new", Format("../nodes/{}", minors_[ResourceName(resource)][id]));
    std::filesystem::rename(host.path("dev/new"), host.path(Format("dev/r{}/{}", resource, id)));
  }
  /// As two adapters do that were unplugged and plugged in the other order.
  std::string ExchangeDevices() {
    const std::size_t resource = random_.Below(kDraResources);
    const std::set<std::string>& ids = present_[ResourceName(resource)];
    if (ids.size() < 2) return "no two devices";
    const std::string one = *std::next(ids.begin(), Any(ids.size()));
    const std::string other = *std::next(ids.begin(), Any(ids.size()));
    auto& minors = minors_[ResourceName(resource)];
    std::swap(minors[one], minors[other]);
    SetLink(resource, one);
    SetLink(resource, other);
    return Format("{} and {} of {} change places", one, other, ResourceName(resource));
  }

  std::string BeginClaim() {
    if (claims_.size() >= kMaxClaims) return "enough claims";
    const std::string name = Format("c{}", ++claims_made_);
    const std::string resource = ResourceName(random_.Below(kDraResources));
    const int count = 1 + static_cast<int>(random_.Below(2));
    const SimClaim claim = cluster_.CreateClaim(name, resource, count);
    const Status allocated = cluster_.Allocate(claim);
    if (!allocated) {
      cluster_.DeleteClaim(claim);
      return Format("{} is not allocated: {}", name, allocated.error().message);
    }
    claims_.emplace(name, Claim{claim, resource});
    return Format("{} {} for {} of {}: {}", name, claim.uid, count, resource, Prepare(name));
  }
  /// Returns "" or the error.
  std::string Prepare(const std::string& name) {
    Claim& claim = claims_.at(name);
    const auto prepared = cluster_.kubelet().PrepareClaims(name, {claim.claim});
    if (!prepared) return prepared.error().message;
    const auto& devices = prepared->at(claim.claim.uid);
    if (claim.devices.empty()) {
      ++prepared_;
    } else {
      ++again_;
      EXPECT_EQ(claim.devices, devices) << name << " was prepared differently";
    }
    claim.devices = devices;
    for (const auto& device : devices) {
      claim.minors.emplace(device.device, minors_[claim.resource][device.device]);
    }
    return "";
  }
  /// As a kubelet does for a pod whose containers start again.
  std::string PrepareAgain() {
    if (claims_.empty()) return "no claim";
    const std::string name = std::next(claims_.begin(), Any(claims_.size()))->first;
    if (claims_.at(name).is_ending || claims_.at(name).is_deleted) return name + " is ending";
    return Format("{} again: {}", name, Prepare(name));
  }
  std::string EndAnyClaim() {
    if (claims_.empty()) return "no claim";
    return EndClaim(std::next(claims_.begin(), Any(claims_.size()))->first);
  }
  /// The name is a copy, because the claim that has it is erased.
  std::string EndClaim(std::string name) {
    Claim& claim = claims_.at(name);
    claim.is_ending = true;
    const Status unprepared = cluster_.kubelet().UnprepareClaims(name);
    if (!unprepared) return Format("{} does not end: {}", name, unprepared.error().message);
    if (!claim.is_deleted) cluster_.DeleteClaim(claim.claim);
    for (const auto& device : claim.devices) {
      const bool has_hooks = claim.resource == ResourceName(0);
      if (has_hooks && claim.removed.contains(device.device)) Record(kMissed, device.device);
    }
    claims_.erase(name);
    return name + " ends";
  }

  /// Only this node still has the container and what the claim got.
  std::string DeleteByForce() {
    if (claims_.empty()) return "no claim";
    auto& [name, claim] = *std::next(claims_.begin(), Any(claims_.size()));
    if (claim.devices.empty() || claim.is_ending || claim.is_deleted) return name + " stays";
    cluster_.DeleteClaim(claim.claim);
    claim.is_deleted = true;
    return name + " is deleted by force";
  }
  std::string LoseFile() {
    const auto files = cluster_.ClaimFiles();
    if (files.empty()) return "no file";
    const std::string& file = random_.OneOf(files);
    std::filesystem::remove(Format("{}/{}", cluster_.cdi_dir(), file));
    return file + " is lost";
  }

  std::string BreakResponses() {
    std::vector<Fault> faults;
    for (std::size_t left = 1 + random_.Below(3); left > 0; --left) {
      Fault fault{.type = random_.OneOf(kResponses),
                  .times = 1 + static_cast<int>(random_.Below(3)),
                  .code = random_.OneOf(kCodes)};
      if (fault.code == 429) fault.retry_after = std::chrono::seconds(1);
      faults.push_back(fault);
    }
    cluster_.server().SetFaults(faults);
    return Format("{} faults, the first of type {}", faults.size(),
                  static_cast<int>(faults.front().type));
  }
  std::string EndWatches() {
    if (random_.OneIn(3)) cluster_.server().Compact();
    const bool resets = random_.OneIn(2);
    cluster_.server().EndWatches(resets ? api_sim::WatchEnd::kReset : api_sim::WatchEnd::kClose);
    return "watches end";
  }
  std::string SetServer(bool runs) {
    if (runs == server_runs_) return "";
    server_runs_ = runs;
    if (runs) {
      EXPECT_TRUE(cluster_.server().Start());
    } else {
      cluster_.server().Stop();
    }
    return Format("the API server {}", runs ? "starts" : "stops");
  }
  std::string RestartKubelet() {
    EXPECT_TRUE(cluster_.kubelet().Restart());
    return "the kubelet restarts, slices are deleted";
  }
  std::string RestartDaemon() {
    const bool is_killed = random_.OneIn(2);
    if (is_killed) kill(daemon_.pid(), SIGKILL);
    const int status = daemon_.Stop();
    if (is_killed) {
      Record(kKilled, "-");
    } else {
      EXPECT_EQ(status, 0);
    }
    StartDaemon();
    return Format("the daemon {}, and starts", is_killed ? "is killed" : "stops");
  }
  /// Like a rolling update that starts the new pod before it ends the old one.
  std::string ReplaceDaemon() {
    if (older_ > 0) return EndOlderDaemon();
    older_ = daemon_.Release();
    ++pods_;
    StartDaemon();
    return "another daemon starts";
  }
  std::string EndOlderDaemon() {
    if (older_ < 0) return "no older daemon";
    const bool is_killed = random_.OneIn(4);
    const int status = EndOlder(is_killed ? SIGKILL : SIGTERM);
    if (is_killed) {
      Record(kKilled, "-");
    } else {
      EXPECT_EQ(status, 0);
    }
    return Format("the older daemon {}", is_killed ? "is killed" : "stops");
  }
  int EndOlder(int signal) {
    int status = 0;
    if (older_ < 0) return status;
    kill(older_, signal);
    waitpid(older_, &status, 0);
    older_ = -1;
    return status;
  }
  void Record(const char* event, const std::string& id) {
    std::ofstream(hook_runs_, std::ios::app) << event << " " << id << "\n";
  }
  std::string Rescan() {
    kill(daemon_.pid(), SIGUSR1);
    return "SIGUSR1";
  }

  void MakePeace() {
    history_.push_back(SetServer(true));
    if (random_.OneIn(2)) history_.push_back(EndOlderDaemon());
    cluster_.server().SetFaults({});
  }

  std::ptrdiff_t Any(std::size_t size) { return static_cast<std::ptrdiff_t>(random_.Below(size)); }

  // --- checks ---

  bool Recovers(const std::function<std::string()>& find_errors) {
    const unsigned patience = FromEnvironment("PATCHBAY_CHAOS_PATIENCE", kDraPatienceSeconds);
    const auto deadline =
        Clock::now() + std::chrono::seconds(std::max(patience, kDraPatienceSeconds));
    for (std::string wrong = find_errors(); !wrong.empty(); wrong = find_errors()) {
      if (Clock::now() > deadline) {
        ADD_FAILURE() << "not recovered:\n" << wrong;
        return false;
      }
      poll(nullptr, 0, 5);
    }
    return true;
  }

  /// Returns a line for each error. Prepares and ends the claims whose pods wait for it.
  std::string FindErrors() {
    if (!cluster_.IsRegistered()) return "  the driver is not registered\n";
    std::string wrong = SettleClaims();
    if (!wrong.empty()) return wrong;
    const Devices expected = ExpectedDevices(), published = cluster_.Published();
    if (published != expected) {
      wrong += Format("  expected {}\n  but published are {}\n", testing::PrintToString(expected),
                      testing::PrintToString(published));
    }
    return wrong + FindErrorsInHooks() + FindErrorsInFiles();
  }

  std::string SettleClaims() {
    std::string wrong;
    std::set<std::string> names;
    for (const auto& [name, claim] : claims_) names.insert(name);
    for (const std::string& name : names) {
      const Claim& claim = claims_.at(name);
      if (claim.is_deleted && !claim.is_ending) continue;
      const bool is_known = IsKnown(name);
      std::string error = claim.is_ending ? EndClaim(name) : Prepare(name);
      if (!claims_.contains(name)) continue;
      if (!claim.is_ending && IsAway(claim)) {
        if (error.empty() && !is_known) {
          wrong += Format("  {} is prepared without its device\n", name);
        }
        continue;
      }
      if (error.empty()) continue;
      // A pod whose device is gone before its container starts never runs, and is deleted; so is
      // one whose device the container of a deleted pod has.
      const bool never_ran = !claim.is_ending && claim.devices.empty();
      if (never_ran && (IsGone(name) || IsHeld(name))) error = EndClaim(name);
      if (claims_.contains(name)) wrong += "  " + error + "\n";
    }
    return wrong;
  }
  /// Returns whether a device with which the claim was prepared does not exist or is elsewhere.
  bool IsAway(const Claim& claim) const {
    return std::ranges::any_of(claim.minors, [&](const auto& given) {
      const auto& [id, minor] = given;
      const auto present = present_.find(claim.resource);
      return present == present_.end() || !present->second.contains(id) ||
             minors_.at(claim.resource).at(id) != minor;
    });
  }
  /// Returns whether the kubelet knows that the claim is prepared, and will not call the driver.
  bool IsKnown(const std::string& name) {
    return std::ranges::any_of(cluster_.kubelet().Claims(), [&](const DraClaims::Entry& entry) {
      return entry.claim.name == name && entry.prepared;
    });
  }
  /// Returns the devices that are allocated to the claim.
  std::set<std::string> AllocatedTo(const std::string& name) {
    const auto response = cluster_.server().Call(
        "GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/" + name);
    const auto claim = api_sim::Json::parse(response.body);
    std::set<std::string> ids;
    for (const auto& result : claim["status"]["allocation"]["devices"]["results"]) {
      ids.insert(result["device"].template get<std::string>());
    }
    return ids;
  }
  bool IsGone(const std::string& name) {
    return !std::ranges::includes(present_[claims_.at(name).resource], AllocatedTo(name));
  }
  /// Returns whether the container of a claim that was deleted by force has one of its devices.
  bool IsHeld(const std::string& name) {
    const std::set<std::string> ids = AllocatedTo(name);
    return std::ranges::any_of(claims_, [&](const auto& entry) {
      const Claim& other = entry.second;
      return other.is_deleted && other.resource == claims_.at(name).resource &&
             std::ranges::any_of(other.devices,
                                 [&](const auto& device) { return ids.contains(device.device); });
    });
  }

  void ExpectNoneRejected() {
    const auto calls = cluster_.server().Calls();
    const auto rejected = std::find_if(calls.begin(), calls.end(),
                                       [](const auto& call) { return call.status == 422; });
    if (rejected == calls.end()) return;
    ADD_FAILURE() << "rejected: " << rejected->method << " " << rejected->path;
  }

  /// Reads what the hooks have added to their file, and checks that those of each device take
  /// turns.
  void ReadHooks() {
    std::ifstream lines(hook_runs_);
    lines.seekg(hooks_read_);
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      hooks_read_ = lines.tellg();
      const std::string hook = line.substr(0, line.find(' ')), id = line.substr(hook.size() + 1);
      HookState& state = hook_states_[id];
      if (hook == kKilled) {
        ++kills_;
      } else if (hook == kMissed) {
        state = {"release", kills_};
      } else {
        ++hooks_run_;
        EXPECT_TRUE(hook != state.last || kills_ > state.kills)
            << hook << " of " << id << " ran twice";
        state = {hook, kills_};
      }
    }
  }

  /// Checks that devices whose last hook was `allocate` are those of claims.
  std::string FindErrorsInHooks() {
    ReadHooks();
    std::set<std::string> claimed;
    for (const auto& [name, claim] : claims_) {
      if (claim.resource != ResourceName(0)) continue;
      for (const auto& device : claim.devices) claimed.insert(device.device);
    }
    std::string wrong;
    for (const std::string& id : claimed) {
      if (hook_states_[id].last != "allocate")
        wrong += Format("  {} is claimed without a hook\n", id);
    }
    for (const auto& [id, state] : hook_states_) {
      const bool is_lost = state.kills < kills_;  // a claim that ended before it was prepared again
      if (state.last == "allocate" && !claimed.contains(id) && !is_lost) {
        wrong += Format("  {} is not claimed and was not released\n", id);
      }
    }
    return wrong;
  }

  Devices ExpectedDevices() const {
    Devices expected = present_;
    for (const auto& [name, claim] : claims_) {
      for (const auto& device : claim.devices) expected[claim.resource].insert(device.device);
    }
    std::erase_if(expected, [](const auto& entry) { return entry.second.empty(); });
    return expected;
  }

  std::string FindErrorsInFiles() {
    std::string wrong;
    const CdiDirectory directory(cluster_.cdi_dir());
    std::map<std::string, std::set<unsigned>> minors;  // by CDI name
    const auto files = cluster_.ClaimFiles();
    for (const std::string& file : files) {
      const auto spec = directory.Read(file);
      if (!spec) {
        wrong += Format("  {}: {}\n", file, spec.error().message);
        continue;
      }
      for (const CdiDevice& device : spec->devices) {
        for (const auto& node : device.edits.device_nodes) {
          minors[Format("{}={}", spec->kind, device.name)].insert(MinorOf(node));
        }
      }
    }
    std::set<std::string> with_file;
    for (const auto& [name, claim] : claims_) {
      if (!claim.devices.empty() && !IsAway(claim)) with_file.insert(claim.claim.uid);
    }
    for (const std::string& file : files) {
      const bool is_expected = std::ranges::any_of(
          with_file, [&](const auto& uid) { return file.find(uid) != std::string::npos; });
      if (!is_expected) wrong += Format("  unexpected {}\n", file);
    }
    if (files.size() != with_file.size()) {
      wrong += Format("  {} files for {} claims\n", files.size(), with_file.size());
    }
    for (const auto& [name, claim] : claims_) {
      if (IsAway(claim)) continue;
      std::set<unsigned> expected, found;
      for (const auto& [id, minor] : claim.minors) expected.insert(minor);
      for (const std::string& cdi : CdiDevicesOf(claim.devices)) {
        const auto of_device = minors.find(cdi);
        if (of_device != minors.end()) {
          found.insert(of_device->second.begin(), of_device->second.end());
        }
      }
      if (found == expected) continue;
      wrong += Format("  {}: expected nodes {}, but its file has {}\n", name,
                      testing::PrintToString(expected), testing::PrintToString(found));
    }
    return wrong;
  }
  /// Returns the number of the node that a container gets.
  unsigned MinorOf(const CdiDeviceNode& node) {
    if (node.type != 0) return node.minor;
    struct stat status = {};
    const std::string& path = node.host_path.empty() ? node.path : node.host_path;
    EXPECT_EQ(stat(daemon_.host().path(path).c_str(), &status), 0) << path;
    return minor(status.st_rdev);
  }

  const unsigned seed_ = FromEnvironment("PATCHBAY_CHAOS_SEED", std::random_device{}());
  Random random_{seed_};
  DaemonProcess daemon_;
  const std::string hook_runs_ = daemon_.host().path("hook-runs");
  pid_t older_ = -1;      ///< the daemon that daemon_ replaces
  std::size_t pods_ = 0;  ///< the number of daemons that were replaced
  DraCluster cluster_{daemon_.kubelet_root()};
  Devices present_;  ///< on the host
  /// The nodes to which the links of devices lead, by resource and ID.
  std::map<std::string, std::map<std::string, unsigned>> minors_;
  std::map<std::string, Claim> claims_;
  bool server_runs_ = true;
  std::vector<std::string> history_;
  std::size_t claims_made_ = 0;
  std::size_t prepared_ = 0;
  std::size_t again_ = 0;
  std::streamoff hooks_read_ = 0;  ///< the length of the lines that were read
  std::map<std::string, HookState> hook_states_;
  std::size_t kills_ = 0;  ///< of daemons
  std::size_t hooks_run_ = 0;
};

TEST_F(DraChaos, ConvergesAfterRandomFaults) {
  Run(std::chrono::seconds(FromEnvironment("PATCHBAY_CHAOS_SECONDS", 10)));
}

}  // namespace
}  // namespace patchbay::test
