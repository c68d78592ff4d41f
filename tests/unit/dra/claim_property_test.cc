// Plays claims, also shared ones and those with admin access, alone and several of a pod, replugs,
// deletions, kills between any two steps, reboots, lost and damaged files and two instances in
// random order, and compares with what a container may have. Each step is one of the kubelet, the
// administrator or the host. PATCHBAY_CLAIM_SEED sets the seed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "support/sanitizer.h"
#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

constexpr int kPlayedDevices = 4;
constexpr int kHookedDevices = 1;  ///< the first ones have hooks
constexpr int kSharedDevices = 1;  ///< the last ones have kReplicas
constexpr int kReplicas = 2;
constexpr std::size_t kPlayedClaims = 8;
constexpr int kPlayedSteps = 20'000;

std::string ResourceOfPlayed(int device) { return Format("example.com/played-{}", device); }
int ReplicasOf(int device) { return device < kPlayedDevices - kSharedDevices ? 1 : kReplicas; }

class ClaimProperty : public test::ClaimPreparerFixture {
 protected:
  /// A claim, as the API server, the kubelet and its container see it.
  struct Played {
    int device = 0;
    bool is_admin = false;    ///< its container may have a device that others have; no hooks run
    bool exists = true;       ///< at the API server
    bool was_called = false;  ///< the kubelet called Prepare, and will call Unprepare
    bool is_running = false;  ///< a container has the device
    bool is_damaged = false;  ///< its record was damaged at any time
    std::ptrdiff_t allocated = 0;  ///< hooks that ran since the last release
  };

  void Begin(unsigned seed) {
    random_.seed(seed);
    for (int device = 0; device < kPlayedDevices; ++device) {
      minors_.push_back(device);
      is_missing_.push_back(false);
      runners_.push_back(std::make_shared<HookRunner>(
          [this, device](Hook hook, bool, std::chrono::nanoseconds) {
            const std::lock_guard lock(mutex_);
            ran_.emplace_back(device, hook);
          },
          log_, cancellation_));
    }
    ServePlayed();
    for (std::size_t i = 0; i < instances_.size(); ++i) StartInstance(i);
  }
  void End() {
    for (auto& instance : instances_) instance->Close();
  }

  void Step() {
    ran_.clear();
    releasing_.reset();
    switch (Pick(14)) {
      case 0:
      case 1: return Create();
      case 2:
      case 3:
      case 4:
      case 5: return PrepareAny();
      case 6:
      case 7:
      case 8: return EndOne();
      case 9: return DeleteOne();
      case 10:
      case 11: return Replug();
      case 12: return Chance(90) ? LoseFile() : Damage();
      default: return Chance(80) ? StartInstance(Pick(2)) : Reboot();
    }
  }

  /// Checks what must be true at any time.
  void Check() {
    std::map<int, int> containers;
    for (const auto& [name, claim] : played_) {
      if (!claim.is_running) continue;
      if (!claim.is_admin && ++containers[claim.device] > ReplicasOf(claim.device)) {
        ADD_FAILURE() << "too many containers have device " << claim.device;
      }
      const std::string file = TextOf(FileOf(name));
      if (file.empty() || claim.is_damaged) continue;
      EXPECT_FALSE(is_missing_[At(claim.device)]) << name << " has a file without its device";
      EXPECT_NE(file.find(Format("=/dev/played{}\"", minors_[At(claim.device)])), file.npos)
          << name << " has a file of another device: " << file;
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [device, hook] : ran_) {
      if (hook != Hook::kRelease) continue;
      EXPECT_EQ(device, releasing_) << "released without Unprepare";
    }
  }

  std::string what_;

 private:
  static std::size_t At(int device) { return static_cast<std::size_t>(device); }
  int Pick(std::size_t end) { return static_cast<int>(random_() % end); }
  bool Chance(int percent) { return Pick(100) < percent; }
  /// Returns a claim for which `f` is true, or the end.
  template <class F>
  std::map<std::string, Played>::iterator PickClaim(F f) {
    std::vector<std::map<std::string, Played>::iterator> found;
    for (auto at = played_.begin(); at != played_.end(); ++at) {
      if (f(at->second)) found.push_back(at);
    }
    return found.empty() ? played_.end() : found[static_cast<std::size_t>(Pick(found.size()))];
  }

  void ServePlayed() {
    resources_.clear();
    for (int device = 0; device < kPlayedDevices; ++device) {
      ResourceSpec spec = spec_;
      spec.name = ResourceOfPlayed(device);
      spec.env = {{test::MakeTemplate(Format("D{}", device)), test::MakeTemplate("{path}")}};
      spec.pre_start.reset();
      HookSpec hook;
      hook.argv = {test::MakeTemplate("/bin/true")};
      spec.allocate = spec.release = hook;
      if (device >= kHookedDevices) {
        spec.allocate.reset();
        spec.release.reset();
      }
      if (ReplicasOf(device) > 1) spec.replicas = ReplicasOf(device);
      DeviceNode node;
      node.path = node.real_path = Format("/dev/played{}", minors_[At(device)]);
      node.type = FileType::kCharacter;
      node.major = 240;
      node.minor = static_cast<unsigned>(minors_[At(device)]);
      ListedDevice listed = test::Listed("d");
      auto made = std::make_shared<Device>(*listed.device);
      made->nodes = {node};
      listed.device = std::move(made);
      listed.is_missing = is_missing_[At(device)];
      Serve("node-1/" + spec.name, spec, {listed}).hooks = runners_[At(device)];
    }
  }

  /// A process starts, after a kill or a rollout.
  void StartInstance(int at) {
    what_ = Format("instance {} starts", at);
    StartInstance(static_cast<std::size_t>(at));
  }
  void StartInstance(std::size_t at) {
    if (instances_[at]) instances_[at]->Close();
    instances_[at] = Make([this](std::string_view) {
      if (steps_left_ < 0) return true;
      return steps_left_ > 0 && steps_left_-- > 0;
    });
    instances_[at]->store()->RemoveOrphans();
  }

  /// Lets `call` use any instance, which can be killed meanwhile.
  template <class F>
  auto CallAny(F call) {
    const auto at = static_cast<std::size_t>(Pick(instances_.size()));
    steps_left_ = Chance(25) ? Pick(12) : -1;
    preparer_ = instances_[at];
    auto result = call();
    const bool is_killed = steps_left_ == 0;
    steps_left_ = -1;
    if (is_killed) StartInstance(at);
    return result;
  }

  void Create() {
    if (played_.size() >= kPlayedClaims) return;
    const int device = Pick(kPlayedDevices);
    const bool is_admin = Chance(15);
    const auto allocated = std::ranges::count_if(played_, [&](const auto& entry) {
      return entry.second.exists && !entry.second.is_admin && entry.second.device == device;
    });
    if (!is_admin && allocated >= ReplicasOf(device)) return;  // the scheduler knows
    const std::string name = Format("c{}", next_claim_++);
    what_ = Format("{} is created for device {}", name, device);
    played_[name] = {.device = device, .is_admin = is_admin};
    Allocate(name, {{.request = "r",
                     .pool = "node-1/" + ResourceOfPlayed(device),
                     .device = "d",
                     .share_id = ReplicasOf(device) > 1 ? "share-of-" + name : "",
                     .admin_access = is_admin}});
  }

  /// The kubelet starts a pod with one claim or several.
  void PrepareAny() {
    std::vector<std::string> names;
    while (names.empty() || Chance(30)) {
      const auto at = PickClaim([](const Played& claim) { return claim.exists; });
      if (at == played_.end()) return;
      if (std::ranges::count(names, at->first) > 0) break;
      names.push_back(at->first);
    }
    what_.clear();
    for (const std::string& name : names) {
      what_ += name + " is prepared ";
      played_.at(name).was_called = true;
    }
    const auto results = CallAny([&] { return PrepareAll(names); });
    const std::lock_guard lock(mutex_);
    for (const std::string& name : names) {
      Played& claim = played_.at(name);
      if (results.at(Key(name).uid)) claim.is_running = true;
      if (claim.is_admin) continue;
      claim.allocated += std::ranges::count(ran_, std::pair(claim.device, Hook::kAllocate));
    }
  }

  /// The container of a claim ends, and the kubelet releases the claim until it succeeds.
  void EndOne() {
    const auto at = PickClaim([](const Played& claim) { return claim.was_called; });
    if (at == played_.end()) return;
    const std::string name = at->first;
    Played& claim = at->second;
    what_ = name + " is released";
    // After a force-delete and its restart, the kubelet can do this while the container runs. The
    // container is not one that the kubelet knows any more.
    claim.is_running = false;
    if (!claim.is_admin) releasing_ = claim.device;
    const bool success = CallAny([&] { return Unprepare(name).has_value(); });
    const std::lock_guard lock(mutex_);
    releases_[name] += std::ranges::count(ran_, std::pair(claim.device, Hook::kRelease));
    if (!success) return;
    if (claim.allocated > 0 && !claim.is_damaged) {
      EXPECT_GE(releases_[name], 1) << name << " was not released";
    }
    claims_.erase(name);
    played_.erase(at);
  }

  /// The claim is deleted by force: its device is free for the scheduler, and its container runs.
  void DeleteOne() {
    const auto at = PickClaim([](const Played& claim) { return claim.exists; });
    if (at == played_.end()) return;
    what_ = at->first + " is deleted";
    claims_.erase(at->first);
    at->second.exists = false;
    if (!at->second.was_called) played_.erase(at);
  }

  void RefreshAll() {
    std::vector<ClaimKey> keys;
    for (const auto& [name, claim] : played_) keys.push_back(Key(name));
    for (const auto& instance : instances_) {
      instance->Refresh(keys);
      ASSERT_TRUE(loop_.RunUntil([&] { return instance->running() == 0; }));
    }
  }
  void Replug() {
    const int device = Pick(kPlayedDevices);
    what_ = Format("device {} is plugged", device);
    if (Chance(40)) {
      is_missing_[At(device)] = !is_missing_[At(device)];
    } else if (Chance(50)) {
      std::swap(minors_[At(device)], minors_[At(Pick(kPlayedDevices))]);
    } else {
      minors_[At(device)] = *std::ranges::max_element(minors_) + 1;
    }
    ServePlayed();
    RefreshAll();
  }

  void LoseFile() {
    const auto files = Files();
    if (files.empty()) return;
    what_ = "a CDI file is lost";
    tree_.Remove("cdi/" + files[static_cast<std::size_t>(Pick(files.size()))]);
    if (Chance(50)) RefreshAll();
  }

  /// The administrator has a copy.
  void Damage() {
    const auto at = PickClaim([](const Played& claim) { return claim.was_called; });
    if (at == played_.end()) return;
    const std::string name = at->first;
    const std::string record = TextOf(Format("../data/claims/claim_uid-of-{}.json", name));
    if (record.empty()) return;
    what_ = name + " has a damaged record";
    at->second.is_damaged = true;
    const auto size = static_cast<std::size_t>(Pick(record.size()));
    tree_.File(Format("data/claims/claim_uid-of-{}.json", name), record.substr(0, size));
    for (int i = 0; i < 3; ++i) {
      ran_.clear();
      PrepareAny();
      Check();
    }
    if (std::filesystem::exists(RecordOf(name))) {
      tree_.File(Format("data/claims/claim_uid-of-{}.json", name), record);
    }
    ran_.clear();
  }

  void Reboot() {
    what_ = "the host boots";
    boot_ = Format("boot-{}", ++boots_);
    for (auto& [name, claim] : played_) claim.is_running = false;
    if (Chance(50)) tree_.Remove("cdi");
    for (std::size_t i = 0; i < instances_.size(); ++i) StartInstance(i);
    for (const std::string& file : Files()) {
      EXPECT_TRUE(file.starts_with('.')) << "a file of the former boot: " << file;
    }
  }

  std::mt19937 random_;
  std::map<std::string, Played> played_;
  std::map<std::string, std::ptrdiff_t> releases_;
  std::vector<int> minors_;
  std::vector<bool> is_missing_;
  std::vector<std::shared_ptr<HookRunner>> runners_;
  std::array<std::shared_ptr<ClaimPreparer>, 2> instances_;
  std::atomic<int> steps_left_ = -1;  ///< before the kill; -1: none
  std::mutex mutex_;
  std::vector<std::pair<int, Hook>> ran_;  ///< in this step
  std::optional<int> releasing_;           ///< the device that Unprepare may release
  int next_claim_ = 0;
  int boots_ = 1;
};

TEST_F(ClaimProperty, NoContainerGetsTheDeviceOfAnotherOne) {
  const char* const chosen = std::getenv("PATCHBAY_CLAIM_SEED");
  const unsigned seed = chosen != nullptr ? static_cast<unsigned>(std::atoi(chosen)) : 1;
  Begin(seed);
  for (int step = 0; step < test::Cases(kPlayedSteps) && !HasFailure(); ++step) {
    Step();
    Check();
    if (HasFailure()) ADD_FAILURE() << "seed " << seed << ", step " << step << ": " << what_;
  }
  End();
}

}  // namespace
}  // namespace patchbay
