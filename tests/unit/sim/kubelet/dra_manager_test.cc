#include "sim/kubelet/dra_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "fake_dra_driver.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::FakeDraDriver;
using test::kDriver;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::chrono::seconds kDraPatience{60};

SimClaim ClaimNamed(const std::string& name) { return {"ns", name, "uid-" + name, kDriver}; }

class DraManagerTest : public testing::Test {
 protected:
  /// Replaces the kubelet by one with these options.
  void UseKubelet(DraSimOptions options) {
    options.kubelet_root = tree_.path();
    kubelet_.emplace(std::move(options));
  }
  bool Await(const std::function<bool()>& condition) {
    return kubelet_->Await(condition, kDraPatience);
  }
  bool AwaitRegistered(std::size_t instances = 1) {
    return Await([&] {
      const auto found = kubelet_->Instances(kDriver);
      return found.size() == instances &&
             std::ranges::all_of(found, [](const auto& i) { return i.connected; });
    });
  }
  void StartRegistered() {
    driver_.Register();
    ASSERT_TRUE(kubelet_->Start());
    ASSERT_TRUE(AwaitRegistered());
  }
  std::vector<std::string> RegistrationErrors() const {
    std::vector<std::string> errors;
    for (const DraRegistration& r : kubelet_->Registrations()) errors.push_back(r.error);
    return errors;
  }
  /// Returns "device=health" for the devices of the driver.
  std::vector<std::string> Health() const {
    std::vector<std::string> shown;
    for (const SimDeviceHealth& d : kubelet_->Health(kDriver)) {
      shown.push_back(d.device + "=" +
                      (d.health == SimHealth::kHealthy     ? "healthy"
                       : d.health == SimHealth::kUnhealthy ? "unhealthy"
                                                           : "unknown"));
    }
    return shown;
  }

  test::TempTree tree_;
  FakeDraDriver driver_{tree_.path()};
  std::optional<DraManager> kubelet_{DraSimOptions{.kubelet_root = tree_.path()}};
};

TEST_F(DraManagerTest, PreparesASharedClaimOnceAndAgainAfterRestart) {
  StartRegistered();
  const auto first = kubelet_->PrepareClaims("pod-1", {ClaimNamed("a")});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(CdiDevicesOf(first->at("uid-a"), "req"), ElementsAre("example.com/gpu=uid-a"));
  EXPECT_EQ(kubelet_->PrepareClaims("pod-2", {ClaimNamed("a")}).value(), *first);
  EXPECT_THAT(driver_.calls(), ElementsAre("v1 prepare a"));

  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitRegistered());
  EXPECT_EQ(kubelet_->PrepareClaims("pod-1", {ClaimNamed("a")}).value(), *first);
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  ASSERT_TRUE(kubelet_->Reconcile({}));
  EXPECT_THAT(driver_.calls(), ElementsAre("v1 prepare a", "v1 prepare a", "v1 unprepare a"));
  EXPECT_THAT(kubelet_->Claims(), IsEmpty());
}

TEST_F(DraManagerTest, AsksForAllClaimsOfAPodInOneCall) {
  StartRegistered();
  ASSERT_TRUE(kubelet_->PrepareClaims("pod", {ClaimNamed("a"), ClaimNamed("b")}));
  EXPECT_THAT(driver_.calls(), ElementsAre("v1 prepare a b"));
}

TEST_F(DraManagerTest, UsesV1beta1WhereItKnowsNoV1) {
  UseKubelet({.profile = DraProfile::kBeta});
  StartRegistered();
  const auto prepared = kubelet_->PrepareClaims("pod", {ClaimNamed("a")});
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->at("uid-a").at(0).share_id, std::nullopt) << "v1 only";
  EXPECT_THAT(driver_.calls(), ElementsAre("v1beta1 prepare a"));
  EXPECT_EQ(kubelet_->Instances(kDriver).at(0).services.health, std::nullopt);
}

TEST_F(DraManagerTest, FindsADriverThatStartsLater) {
  ASSERT_TRUE(kubelet_->Start());
  driver_.Register();
  ASSERT_TRUE(AwaitRegistered());
  EXPECT_TRUE(driver_.state().Await([&] { return !driver_.state().notices.empty(); }));
  EXPECT_THAT(driver_.notices(), ElementsAre("registered"));
}

TEST_F(DraManagerTest, SkipsHiddenNamesAndOtherFiles) {
  tree_.File("plugins_registry/file.sock");
  tree_.Link("plugins_registry/.hidden-reg.sock", driver_.registration_socket());
  StartRegistered();
  EXPECT_THAT(kubelet_->Sockets(), ElementsAre(driver_.registration_socket()));
}

TEST_F(DraManagerTest, ForgetsADriverWhoseSocketIsRemovedAndFindsItAgain) {
  StartRegistered();
  driver_.Unregister();
  ASSERT_TRUE(AwaitRegistered(0));
  driver_.Register();
  ASSERT_TRUE(AwaitRegistered());
}

TEST_F(DraManagerTest, NotifiesADriverThatItDoesNotSupport) {
  driver_.state().info.set_type("DevicePlugin");
  driver_.Register();
  ASSERT_TRUE(kubelet_->Start());
  ASSERT_TRUE(driver_.state().Await([&] { return !driver_.state().notices.empty(); }));
  EXPECT_THAT(driver_.notices().at(0), HasSubstr("no handler registered for plugin type"));
  EXPECT_THAT(kubelet_->Instances(kDriver), IsEmpty());
}

TEST_F(DraManagerTest, RegistersAgainAfterARejection) {
  UseKubelet({.retry_delay = std::chrono::milliseconds(1)});
  kubelet_->SetRegistrationFault(DraRegistrationFault::kReject, "not today");
  driver_.Register();
  ASSERT_TRUE(kubelet_->Start());
  ASSERT_TRUE(driver_.state().Await([&] { return driver_.state().notices.size() >= 2; }));
  EXPECT_EQ(driver_.notices().at(1), "not today");
  kubelet_->SetRegistrationFault(DraRegistrationFault::kNone);
  ASSERT_TRUE(AwaitRegistered());
  EXPECT_EQ(RegistrationErrors().back(), "");
}

TEST_F(DraManagerTest, IgnoresSocketsWhileItNeverDials) {
  kubelet_->SetRegistrationFault(DraRegistrationFault::kNeverDial);
  driver_.Register();
  ASSERT_TRUE(kubelet_->Start());
  ASSERT_TRUE(Await([&] { return !kubelet_->Sockets().empty(); }));
  EXPECT_EQ(driver_.state().Copy(driver_.state().info_calls), 0);
  kubelet_->SetRegistrationFault(DraRegistrationFault::kNone);
  ASSERT_TRUE(AwaitRegistered());
}

TEST_F(DraManagerTest, CallsTheNewestInstanceAndFallsBackToTheOlderOne) {
  StartRegistered();
  FakeDraDriver newer(tree_.path(), "two");
  newer.Register();
  ASSERT_TRUE(AwaitRegistered(2));
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {ClaimNamed("a")}));
  EXPECT_THAT(newer.calls(), ElementsAre("v1 prepare a"));
  newer.Stop();
  ASSERT_TRUE(AwaitRegistered(1));
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-2", {ClaimNamed("b")}));
  EXPECT_THAT(driver_.calls(), ElementsAre("v1 prepare b"));
}

TEST_F(DraManagerTest, ReportsErrorsOfClaimsAndKeepsThePodForTheNextCall) {
  StartRegistered();
  driver_.state().Change([&] { driver_.state().errors["a"] = "no such device"; });
  const auto failed = kubelet_->PrepareClaims("pod", {ClaimNamed("a")});
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("prepare dynamic resources: "), HasSubstr("no such device")));
  driver_.state().Change([&] { driver_.state().errors.clear(); });
  EXPECT_TRUE(kubelet_->PrepareClaims("pod", {ClaimNamed("a")}));
  driver_.state().Change([&] { driver_.state().errors["a"] = "busy"; });
  EXPECT_THAT(kubelet_->UnprepareClaims("pod").error().message, HasSubstr("busy"));
  EXPECT_THAT(kubelet_->Claims(), SizeIs(1));
  driver_.state().Change([&] { driver_.state().errors.clear(); });
  EXPECT_TRUE(kubelet_->UnprepareClaims("pod"));
}

TEST_F(DraManagerTest, FailsIfADriverForgetsAClaim) {
  StartRegistered();
  driver_.state().Change([&] { driver_.state().skipped = "b"; });
  EXPECT_THAT(kubelet_->PrepareClaims("pod", {ClaimNamed("a"), ClaimNamed("b")}).error().message,
              HasSubstr("skipped 1 ResourceClaims"));
}

TEST_F(DraManagerTest, FailsWithoutTheDriver) {
  ASSERT_TRUE(kubelet_->Start());
  const auto prepared = kubelet_->PrepareClaims("pod", {ClaimNamed("a")});
  EXPECT_EQ(prepared.error().kind, ErrorKind::kPrecondition);
}

TEST_F(DraManagerTest, CancelsCalls) {
  StartRegistered();
  driver_.state().Change([&] { driver_.state().hang = true; });
  std::thread canceler([&] {
    driver_.state().Await([&] { return !driver_.state().calls.empty(); });
    kubelet_->CancelCalls(kDriver);
  });
  EXPECT_FALSE(kubelet_->PrepareClaims("pod", {ClaimNamed("a")}));
  canceler.join();
}

TEST_F(DraManagerTest, GivesUpACallAtItsDeadline) {
  UseKubelet({.call_timeout = std::chrono::milliseconds(50)});
  StartRegistered();
  driver_.state().Change([&] { driver_.state().hang = true; });
  EXPECT_THAT(kubelet_->PrepareClaims("pod", {ClaimNamed("a")}).error().message,
              HasSubstr("Deadline"));
}

TEST_F(DraManagerTest, WatchesHealthUntilItExpires) {
  // Shared, because the kubelet outlives this function.
  const auto now = std::make_shared<std::atomic<std::chrono::steady_clock::rep>>(0);
  UseKubelet({.clock = [now] {
    return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(now->load()));
  }});
  driver_.SetHealth({{"a"}, {"b", ::v1::UNHEALTHY, 100, "broken"}});
  StartRegistered();
  ASSERT_TRUE(Await([&] { return Health().size() == 2; }));
  EXPECT_THAT(Health(), ElementsAre("a=healthy", "b=unhealthy"));
  EXPECT_EQ(kubelet_->Health(kDriver).at(1).message, "broken");
  *now = std::chrono::steady_clock::duration(std::chrono::seconds(31)).count();
  EXPECT_THAT(Health(), ElementsAre("a=unknown", "b=unhealthy"));
  *now = std::chrono::steady_clock::duration(std::chrono::seconds(101)).count();
  EXPECT_THAT(Health(), ElementsAre("a=unknown", "b=unknown"));
}

TEST_F(DraManagerTest, OpensTheHealthStreamAgain) {
  UseKubelet({.profile = DraProfile::kStable, .health_reopen_delay = std::chrono::milliseconds(1)});
  driver_.SetHealth({{"a"}});
  StartRegistered();
  ASSERT_TRUE(Await([&] { return Health().size() == 1; }));
  driver_.state().Change([&] { ++driver_.state().streams_ended; });
  EXPECT_TRUE(driver_.state().Await([&] { return driver_.state().streams_opened == 2; }));
  EXPECT_TRUE(Await([&] { return Health() == std::vector<std::string>{"a=healthy"}; }));
}

TEST_F(DraManagerTest, WatchesTheHealthOfEveryInstance) {
  StartRegistered();
  FakeDraDriver newer(tree_.path(), "two");
  newer.SetHealth({{"a"}});
  newer.Register();
  ASSERT_TRUE(AwaitRegistered(2));
  ASSERT_TRUE(newer.state().Await([&] { return newer.state().open_streams == 1; }));
  ASSERT_TRUE(Await([&] { return Health() == std::vector<std::string>{"a=healthy"}; }));
  ASSERT_TRUE(driver_.state().Await([&] { return driver_.state().open_streams == 1; }));
  driver_.SetHealth({{"a", ::v1::UNHEALTHY}});
  EXPECT_TRUE(Await([&] { return Health() == std::vector<std::string>{"a=unhealthy"}; }));
}

TEST_F(DraManagerTest, TheEndOfAnyHealthStreamClearsTheHealthOfTheDriver) {
  StartRegistered();
  ASSERT_TRUE(driver_.state().Await([&] { return driver_.state().open_streams == 1; }));
  FakeDraDriver newer(tree_.path(), "two");
  newer.SetHealth({{"a"}});
  newer.Register();
  ASSERT_TRUE(AwaitRegistered(2));
  ASSERT_TRUE(Await([&] { return Health() == std::vector<std::string>{"a=healthy"}; }));
  driver_.Stop();
  ASSERT_TRUE(AwaitRegistered(1));
  EXPECT_TRUE(Await([&] { return Health().empty(); }));
  newer.SetHealth({{"a", ::v1::UNHEALTHY}});
  EXPECT_TRUE(Await([&] { return Health() == std::vector<std::string>{"a=unhealthy"}; }));
}

/// A failed attempt to open a stream clears nothing.
TEST_F(DraManagerTest, KeepsTheHealthWhileAnotherInstanceIsDisconnected) {
  UseKubelet({.health_reopen_delay = std::chrono::milliseconds(1)});
  driver_.SetHealth({{"a"}});
  StartRegistered();
  FakeDraDriver newer(tree_.path(), "two");
  newer.Register();
  ASSERT_TRUE(newer.state().Await([&] { return newer.state().open_streams == 1; }));
  ASSERT_TRUE(Await([&] { return Health().size() == 1; }));
  newer.StopServing();
  const int opened = newer.state().Copy(newer.state().streams_opened);
  ASSERT_TRUE(Await([&] { return Health().empty(); }));
  driver_.SetHealth({{"a", ::v1::UNHEALTHY}});
  ASSERT_TRUE(Await([&] { return Health().size() == 1; }));
  newer.Serve();
  ASSERT_TRUE(newer.state().Await([&] { return newer.state().streams_opened > opened; }));
  EXPECT_THAT(Health(), ElementsAre("a=unhealthy"));
}

TEST_F(DraManagerTest, WipesAtStartAndAfterADriverWasDisconnected) {
  struct Wipes {
    std::mutex mutex;
    std::vector<std::string> names;
  };
  const auto wiped = std::make_shared<Wipes>();  // the kubelet outlives this function
  UseKubelet(
      {.wipe_delay = std::chrono::milliseconds(1), .on_wipe = [wiped](const std::string& name) {
         const std::lock_guard lock(wiped->mutex);
         wiped->names.push_back(name);
       }});
  const auto wipes = [&] {
    const std::lock_guard lock(wiped->mutex);
    return wiped->names;
  };
  StartRegistered();
  ASSERT_FALSE(wipes().empty());
  EXPECT_EQ(wipes().front(), "");
  driver_.Stop();
  ASSERT_TRUE(AwaitRegistered(0));
  const auto deadline = std::chrono::steady_clock::now() + kDraPatience;
  while (wipes().back() != kDriver && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(wipes().back(), kDriver);
}

}  // namespace
}  // namespace patchbay
