#include "dra/served_resource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <utility>
#include <vector>

#include "unit/discovery/specs.h"
#include "unit/dra/pools.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kServedPool[] = "node-1/example.com/thing";

/// A pool with the devices "a", "b" and "ill", whose hooks have the ID of the device as argument.
class ServedResourceTest : public testing::Test {
 protected:
  ServedResourceTest() {
    spec_ = test::Resource({test::CountMatch(3)});
    spec_.device_nodes.clear();
    spec_.env.emplace_back(test::MakeTemplate("THING"), test::MakeTemplate("{id}"));
    for (auto* hook : {&spec_.allocate, &spec_.pre_start, &spec_.release}) {
      hook->emplace().argv = {test::MakeTemplate("/bin/hook"), test::MakeTemplate("{id}")};
    }
  }

  std::shared_ptr<const Snapshot> CurrentSnapshot() const {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->spec = std::make_shared<const ResourceSpec>(spec_);
    snapshot->devices = {test::Listed("a"), test::Listed("b"),
                         test::Listed("ill", Health::kUnhealthy, "no answer")};
    return snapshot;
  }
  ServedResources Resources() const {
    return {{kServedPool,
             {.devices = std::make_shared<const NamedDevices>(CurrentSnapshot()),
              .hooks = hooks_,
              .lookups = std::make_shared<HostLookups>(AllocationHost{HostRoot("/"), "node-1"})}}};
  }

  static PreparedDevice DeviceOf(const std::string& id, bool admin_access = false) {
    return {.pool = kServedPool,
            .device = id,
            .device_id = id,
            .replicas = {0},
            .admin_access = admin_access};
  }
  static PreparedRequest RequestFor(std::vector<PreparedDevice> devices) {
    return {.request = "r", .resource = "example.com/thing", .devices = std::move(devices)};
  }
  static PreparedClaim PlanFor(std::vector<PreparedDevice> devices) {
    return {.claim = {"uid-1", "default", "mine"}, .requests = {RequestFor(std::move(devices))}};
  }
  static PreparedClaim PreparedFor(const std::string& uid, std::vector<PreparedDevice> devices) {
    return {.claim = {uid, "default", uid}, .requests = {RequestFor(std::move(devices))}};
  }
  /// Returns the arguments of all commands.
  static std::vector<std::string> ArgumentsOf(const std::vector<HookRun>& runs) {
    std::vector<std::string> arguments;
    for (const HookRun& run : runs) {
      for (const HookCommand& command : run.call.commands) arguments.push_back(command.argv.at(1));
    }
    return arguments;
  }

  ResourceSpec spec_;
  std::ostringstream text_;
  Log log_{LogLevel::kInfo, LogFormat::kText, text_};
  const std::shared_ptr<HookRunner> hooks_ = std::make_shared<HookRunner>(
      [](Hook, bool, std::chrono::nanoseconds) {}, log_,
      std::make_shared<const Cancellation>(Cancellation::Create().value()));
};

TEST_F(ServedResourceTest, RendersTheUnitsOfARequest) {
  const auto response =
      RenderRequest(RequestFor({DeviceOf("b"), DeviceOf("a")}), *CurrentSnapshot(), {});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->envs.at("THING"), "a,b");
}

TEST_F(ServedResourceTest, RendersAnUnhealthyDeviceThatWasPlanned) {
  const auto accepted = RenderRequest(RequestFor({DeviceOf("ill")}), *CurrentSnapshot(), {});
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(accepted->envs.at("THING"), "ill");
}

TEST_F(ServedResourceTest, FailsForADeviceThatIsNoLongerListed) {
  const auto refused = RenderRequest(RequestFor({DeviceOf("gone")}), *CurrentSnapshot(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kNotFound);
}

TEST_F(ServedResourceTest, PlansOneCallForTheDevicesOfARequest) {
  for (const Hook hook : {Hook::kAllocate, Hook::kPreStart}) {
    const auto runs = PlanClaimHooks(hook, PlanFor({DeviceOf("a"), DeviceOf("b")}), Resources());
    ASSERT_TRUE(runs) << runs.error().message;
    ASSERT_THAT(*runs, SizeIs(1));
    EXPECT_EQ(runs->at(0).runner, hooks_);
    EXPECT_EQ(runs->at(0).call.hook, hook);
    EXPECT_THAT(runs->at(0).call.devices, ElementsAre("a", "b"));
    EXPECT_THAT(ArgumentsOf(*runs), ElementsAre("a", "b"));
  }
}

TEST_F(ServedResourceTest, PlansNoHooksForAdminAccess) {
  const PreparedClaim plan = PlanFor({DeviceOf("a", true)});
  EXPECT_THAT(PlanClaimHooks(Hook::kAllocate, plan, Resources()).value(), IsEmpty());
  EXPECT_THAT(PlanClaimHooks(Hook::kPreStart, plan, Resources()).value(), IsEmpty());
}

/// The call has no commands, but waits until the release of the previous claim has ended.
TEST_F(ServedResourceTest, WaitsForReleasesWithoutPreStart) {
  const PreparedClaim plan = PlanFor({DeviceOf("a")});
  spec_.pre_start.reset();
  spec_.allocate.reset();
  EXPECT_THAT(PlanClaimHooks(Hook::kAllocate, plan, Resources()).value(), IsEmpty());
  const auto waits = PlanClaimHooks(Hook::kPreStart, plan, Resources());
  ASSERT_TRUE(waits);
  ASSERT_THAT(*waits, SizeIs(1));
  EXPECT_THAT(waits->at(0).call.devices, ElementsAre("a"));
  EXPECT_THAT(waits->at(0).call.commands, IsEmpty());
  spec_.release.reset();
  EXPECT_THAT(PlanClaimHooks(Hook::kPreStart, plan, Resources()).value(), IsEmpty());
}

TEST_F(ServedResourceTest, ReportsAHookThatCannotBeRendered) {
  spec_.allocate->argv.push_back(test::MakeTemplate("{usb_port}"));
  const auto runs = PlanClaimHooks(Hook::kAllocate, PlanFor({DeviceOf("a")}), Resources());
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(runs.error().message, HasSubstr("usb_port"));
}

TEST_F(ServedResourceTest, ReleasesEachDeviceOnce) {
  const PreparedClaim claim =
      PreparedFor("uid-1", {DeviceOf("a"), DeviceOf("b"), DeviceOf("a"), DeviceOf("ill", true)});
  const ReleasePlan plan = PlanClaimRelease(claim, std::vector{&claim}, Resources()).value();
  EXPECT_THAT(ArgumentsOf(plan.runs), ElementsAre("a", "b"));
  EXPECT_THAT(plan.missed, IsEmpty());
}

TEST_F(ServedResourceTest, KeepsDevicesThatOtherClaimsUse) {
  const std::vector<PreparedClaim> all = {PreparedFor("uid-1", {DeviceOf("a"), DeviceOf("b")}),
                                          PreparedFor("uid-2", {DeviceOf("a")}),
                                          PreparedFor("uid-3", {DeviceOf("b", true)})};
  EXPECT_THAT(
      ArgumentsOf(
          PlanClaimRelease(all[0], std::vector{&all[0], &all[1], &all[2]}, Resources())->runs),
      ElementsAre("b"));
  EXPECT_THAT(ArgumentsOf(PlanClaimRelease(all[0], {}, Resources())->runs), ElementsAre("a", "b"));
}

TEST_F(ServedResourceTest, ReportsReleasesThatCannotRun) {
  const PreparedClaim claim = PreparedFor("uid-1", {DeviceOf("gone"), DeviceOf("a")});
  const ReleasePlan plan = PlanClaimRelease(claim, {}, Resources()).value();
  EXPECT_THAT(ArgumentsOf(plan.runs), ElementsAre("a"));
  ASSERT_THAT(plan.missed, SizeIs(1));
  EXPECT_EQ(plan.missed[0].resource, "example.com/thing");
  EXPECT_EQ(plan.missed[0].device, "gone");
  EXPECT_EQ(plan.missed[0].reason, "the device is no longer listed");

  const ReleasePlan removed = PlanClaimRelease(claim, {}, {}).value();
  EXPECT_THAT(removed.runs, IsEmpty());
  ASSERT_THAT(removed.missed, SizeIs(2));
  EXPECT_EQ(removed.missed[1].reason, "the resource is no longer served on this node");
  spec_.release.reset();
  EXPECT_THAT(PlanClaimRelease(claim, {}, Resources())->missed, IsEmpty());
}

}  // namespace
}  // namespace patchbay
