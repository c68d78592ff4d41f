#include "dra/claim_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/escape.h"
#include "base/format.h"
#include "unit/dra/pools.h"

namespace patchbay {
namespace {

using test::Listed;
using test::SnapshotOf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

constexpr char kOwnDriver[] = "patchbay.dev";
constexpr char kSerial[] = "node-1/example.com/serial";
constexpr char kFuse[] = "node-1/example.com/fuse";

/// A Kubernetes node with three exclusive devices, of which "ill" is unhealthy, and a device with
/// four slots.
class PlanClaimTest : public testing::Test {
 protected:
  static ClaimKey Key(const std::string& name) { return {"uid-of-" + name, "default", name}; }

  /// A claim of a call, as the kubelet and the API server have it.
  struct ClaimRequest {
    ClaimKey key;
    Result<ResourceClaim> claim;
  };
  static ClaimRequest Request(const std::string& name, std::vector<AllocatedDevice> devices,
                              std::vector<DeviceConfig> configs = {}) {
    return {Key(name), ResourceClaim{.key = Key(name),
                                     .is_allocated = true,
                                     .devices = std::move(devices),
                                     .configs = std::move(configs)}};
  }

  static AllocatedDevice Serial(const std::string& device, const std::string& request = "s") {
    return {.request = request, .pool = kSerial, .device = device};
  }
  static AllocatedDevice Fuse(const std::string& share_id, std::int64_t slots = 1) {
    return {.request = "f", .pool = kFuse, .device = "fuse", .share_id = share_id, .slots = slots};
  }

  Result<PreparedClaim> Plan(const ClaimRequest& request) const {
    std::vector<const PreparedClaim*> prepared;
    for (const PreparedClaim& claim : prepared_) prepared.push_back(&claim);
    return PlanClaim(request.key, request.claim, {kOwnDriver, pools_, prepared, "/records"});
  }

  /// Returns the error of a claim with the name "mine".
  Error ErrorOf(const ClaimRequest& request) const {
    const auto plan = Plan(request);
    if (plan) return {ErrorKind::kUnavailable, "no error"};
    EXPECT_THAT(plan.error().message, testing::StartsWith("ResourceClaim default/mine: "));
    EXPECT_TRUE(IsPrintable(plan.error().message));
    return plan.error();
  }

  /// Adds a planned claim to the prepared ones.
  void Prepare(const ClaimRequest& request) {
    auto plan = Plan(request);
    ASSERT_TRUE(plan) << plan.error().message;
    prepared_.push_back(*std::move(plan));
  }
  std::vector<PreparedDevice>& DevicesOfPrepared(std::size_t claim) {
    return prepared_[claim].requests[0].devices;
  }
  /// Returns the devices of a request with their replicas: "a/0 fuse/1".
  static std::string Units(const PreparedRequest& request) {
    std::string units;
    for (const PreparedDevice& device : request.devices) {
      for (const int replica : device.replicas) {
        units += Format("{}{}/{}", units.empty() ? "" : " ", device.device_id, replica);
      }
    }
    return units;
  }
  std::string UnitsOf(const ClaimRequest& request) const {
    const auto plan = Plan(request);
    return plan ? Units(plan->requests[0]) : plan.error().message;
  }

  std::shared_ptr<const Snapshot> serial_snapshot_ =
      SnapshotOf({Listed("a"), Listed("b"), Listed("ill", Health::kUnhealthy, "probe: no answer")});
  NamedDevices serial_{serial_snapshot_};
  NamedDevices fuse_{SnapshotOf({Listed("fuse")}, 4, "example.com/fuse")};
  ServedPools pools_ = {{kSerial, &serial_}, {kFuse, &fuse_}};
  std::vector<PreparedClaim> prepared_;
};

TEST_F(PlanClaimTest, PlansOneDevice) {
  const auto plan = Plan(Request("mine", {Serial("a")}));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->claim, Key("mine"));
  EXPECT_THAT(
      plan->requests,
      ElementsAre(PreparedRequest{
          .request = "s",
          .resource = "example.com/serial",
          .devices = {{.pool = kSerial, .device = "a", .device_id = "a", .replicas = {0}}}}));
}

TEST_F(PlanClaimTest, GroupsDevicesByRequestAndResource) {
  AllocatedDevice fuse = Fuse("x");
  fuse.request = "s";
  const auto plan =
      Plan(Request("mine", {Serial("b"), fuse, Serial("a"), {"t", kFuse, "fuse", "y"}}));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_THAT(plan->requests, SizeIs(3));
  EXPECT_EQ(plan->requests[0].resource, "example.com/serial");
  EXPECT_EQ(Units(plan->requests[0]), "b/0 a/0");
  EXPECT_EQ(plan->requests[1].request, "s");
  EXPECT_EQ(plan->requests[1].resource, "example.com/fuse");
  EXPECT_EQ(plan->requests[2].request, "t");
}

TEST_F(PlanClaimTest, CountsSlotsOfAResourceOverAllRequests) {
  const auto plan = Plan(
      Request("mine", {Fuse("x", 2), Serial("a"), {"g", kFuse, "fuse", "y"}, Serial("b", "t")}));
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<std::int64_t> first;
  for (const PreparedRequest& request : plan->requests) first.push_back(request.first_slot);
  EXPECT_THAT(first, ElementsAre(0, 0, 2, 1));
}

TEST_F(PlanClaimTest, FindsADeviceByTheNameInTheSlice) {
  const NamedDevices named(SnapshotOf({Listed("ttyUSB0")}));
  pools_[kSerial] = &named;
  const auto plan = Plan(Request("mine", {Serial("ttyusb0-8acffaeae38f2be1")}));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->requests[0].devices[0].device, "ttyusb0-8acffaeae38f2be1");
  EXPECT_EQ(plan->requests[0].devices[0].device_id, "ttyUSB0");
  EXPECT_EQ(Units(plan->requests[0]), "ttyUSB0/0");
}

TEST_F(PlanClaimTest, AnswersSubrequestsWithTheNameOfTheRequest) {
  const auto plan = Plan(Request("mine", {Serial("a", "s/first"), Serial("b", "s/first")},
                                 {{.requests = {"s"}, .env = {{"A", "of s"}, {"B", "of s"}}},
                                  {.requests = {"s/first"}, .env = {{"B", "of s/first"}}},
                                  {.requests = {"s/second"}, .env = {{"B", "of s/second"}}}}));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_THAT(plan->requests, SizeIs(1));
  EXPECT_EQ(plan->requests[0].request, "s");
  EXPECT_EQ(plan->requests[0].subrequest, "s/first");
  EXPECT_EQ(Units(plan->requests[0]), "a/0 b/0");
  EXPECT_THAT(plan->requests[0].env, ElementsAre(Pair("A", "of s"), Pair("B", "of s/first")));
}

TEST_F(PlanClaimTest, AppliesParametersOfAllRequestsToAll) {
  const auto plan = Plan(
      Request("mine", {Serial("a", "s"), Serial("b", "t")},
              {{.requests = {}, .env = {{"A", "1"}}}, {.requests = {"t"}, .env = {{"A", "2"}}}}));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->requests[0].env, ElementsAre(Pair("A", "1")));
  EXPECT_THAT(plan->requests[1].env, ElementsAre(Pair("A", "2")));
}

TEST_F(PlanClaimTest, RefusesVariablesThatTheResourceDoesNotAllow) {
  for (const std::string name : {"HTTP_PROXY", "a", "_A"}) {
    const Error error = ErrorOf(
        Request("mine", {Serial("a")}, {{.requests = {}, .env = {{"B1", "1"}, {name, "1"}}}}));
    EXPECT_THAT(error.message, HasSubstr("set \"" + name + "\""));
    EXPECT_THAT(error.message, HasSubstr("allow it with claim_env = [\"" + name + "\"]"));
  }
}

TEST_F(PlanClaimTest, GivesEachClaimSlotsOfASharedDevice) {
  Prepare(Request("first", {Fuse("x")}));
  Prepare(Request("second", {Fuse("y", 2)}));
  const auto plan = Plan(Request("mine", {Fuse("z")}));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(Units(plan->requests[0]), "fuse/3");
  EXPECT_EQ(plan->requests[0].devices[0].share_id, "z");
  EXPECT_THAT(DevicesOfPrepared(0)[0].replicas, ElementsAre(0));
  EXPECT_THAT(DevicesOfPrepared(1)[0].replicas, ElementsAre(1, 2));
}

TEST_F(PlanClaimTest, GivesOneClaimSeveralSharesOfADevice) {
  EXPECT_EQ(UnitsOf(Request("mine", {Fuse("x"), Fuse("y", 2)})), "fuse/0 fuse/1 fuse/2");
}

TEST_F(PlanClaimTest, KeepsTheSlotsOfAClaimThatIsPreparedAgain) {
  Prepare(Request("first", {Fuse("x")}));
  Prepare(Request("mine", {Fuse("y"), Fuse("z")}));
  prepared_.erase(prepared_.begin());
  EXPECT_EQ(UnitsOf(Request("mine", {Fuse("y"), Fuse("z")})), "fuse/1 fuse/2");
  // Replicas of a record that does not fit any more are replaced.
  DevicesOfPrepared(0)[0].replicas = {-1, 4, 9};
  EXPECT_EQ(UnitsOf(Request("mine", {Fuse("y")})), "fuse/0");
}

/// A reload has lowered the number of replicas while claims hold them.
TEST_F(PlanClaimTest, CountsSlotsBeyondTheReplicasOfTheConfiguration) {
  for (const char* name : {"x", "y", "z"}) Prepare(Request(name, {Fuse(name)}));
  prepared_.erase(prepared_.begin());  // fuse::1 and fuse::2 are left
  const NamedDevices fewer(SnapshotOf({Listed("fuse")}, 2, "example.com/fuse"));
  pools_[kFuse] = &fewer;
  const Error error = ErrorOf(Request("mine", {Fuse("v")}));
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message, HasSubstr("has too few free slots"));
  prepared_.pop_back();
  EXPECT_EQ(UnitsOf(Request("mine", {Fuse("v")})), "fuse/0");
}

/// A reload has made a shared device exclusive, or an exclusive one shared, while a claim holds it.
TEST_F(PlanClaimTest, SharesNoDeviceWithAnExclusiveClaim) {
  Prepare(Request("sharing", {Fuse("x"), Fuse("y")}));
  DevicesOfPrepared(0).erase(DevicesOfPrepared(0).begin());
  const NamedDevices single(SnapshotOf({Listed("fuse")}, 1, "example.com/fuse"));
  pools_[kFuse] = &single;
  EXPECT_THAT(ErrorOf(Request("mine", {Fuse("")})).message,
              HasSubstr("is already prepared for the ResourceClaim default/sharing"));
  prepared_.clear();
  Prepare(Request("alone", {Fuse("")}));
  pools_[kFuse] = &fuse_;
  EXPECT_THAT(ErrorOf(Request("mine", {Fuse("z")})).message,
              HasSubstr("is already prepared for the ResourceClaim default/alone"));
}

TEST_F(PlanClaimTest, PreparesAnExclusiveDeviceAgainForTheSameClaim) {
  Prepare(Request("mine", {Serial("a")}));
  EXPECT_EQ(UnitsOf(Request("mine", {Serial("a")})), "a/0");
}

TEST_F(PlanClaimTest, GivesAdminAccessToDevicesInUse) {
  Prepare(Request("first", {Serial("a")}));
  AllocatedDevice admin = Serial("a");
  admin.admin_access = true;
  Prepare(Request("mine", {admin}));
  EXPECT_TRUE(DevicesOfPrepared(1)[0].admin_access);
  // Admin access does not keep others from the device.
  prepared_.erase(prepared_.begin());
  EXPECT_TRUE(Plan(Request("second", {Serial("a")})));
  admin.device = "ill";
  EXPECT_TRUE(Plan(Request("mine", {admin})));
}

TEST_F(PlanClaimTest, GivesAnUnhealthyDeviceToAClaimThatToleratesIt) {
  AllocatedDevice ill = Serial("ill");
  ill.tolerates_unhealthy = true;
  EXPECT_TRUE(Plan(Request("mine", {ill})));
}

TEST_F(PlanClaimTest, GivesAMissingDeviceToNoClaim) {
  Snapshot snapshot = *serial_snapshot_;
  snapshot.devices[2].is_missing = true;
  const NamedDevices devices(std::make_shared<const Snapshot>(std::move(snapshot)));
  pools_[kSerial] = &devices;
  AllocatedDevice tolerating = Serial("ill");
  tolerating.tolerates_unhealthy = true;
  EXPECT_EQ(ErrorOf(Request("mine", {tolerating})).kind, ErrorKind::kNotFound);
  AllocatedDevice admin = Serial("ill");
  admin.admin_access = true;
  EXPECT_THAT(ErrorOf(Request("mine", {admin})).message, HasSubstr("connect it again"));
}

/// It has no nodes, so a container would get nothing.
TEST_F(PlanClaimTest, GivesADeviceThatWasNeverFoundToNoClaim) {
  Snapshot snapshot = *serial_snapshot_;
  snapshot.devices[2].never_found = true;
  const NamedDevices devices(std::make_shared<const Snapshot>(std::move(snapshot)));
  pools_[kSerial] = &devices;
  AllocatedDevice admin = Serial("ill");
  admin.admin_access = true;
  EXPECT_THAT(ErrorOf(Request("mine", {admin})).message,
              HasSubstr("was not found since Patchbay started"));
}

TEST_F(PlanClaimTest, NamesAClaimThatNoLongerExists) {
  const Error error = ErrorOf({Key("mine"), Fail(ErrorKind::kNotFound, "404")});
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("no longer exists at the API server"), HasSubstr("delete the pod")));
}

TEST_F(PlanClaimTest, PassesOtherErrorsOfTheApiServerOn) {
  const Error error = ErrorOf({Key("mine"), Fail(ErrorKind::kUnavailable, "timed out\n")});
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_EQ(error.message, "ResourceClaim default/mine: timed out\\x0a");
}

TEST_F(PlanClaimTest, NamesBothUidsOfAReplacedClaim) {
  ClaimRequest request = Request("mine", {Serial("a")});
  request.key.uid = "uid-of-pod";
  const Error error = ErrorOf(request);
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("has the UID uid-of-mine, and the pod uses the UID uid-of-pod"),
                    HasSubstr("delete the pod")));
}

TEST_F(PlanClaimTest, NeedsAnAllocation) {
  ClaimRequest request = Request("mine", {});
  request.claim->is_allocated = false;
  EXPECT_EQ(ErrorOf(request).kind, ErrorKind::kPrecondition);
  EXPECT_THAT(ErrorOf(request).message,
              AllOf(HasSubstr("has no allocation"), HasSubstr("delete the pod")));
}

TEST_F(PlanClaimTest, NeedsDevicesOfTheDriver) {
  EXPECT_EQ(ErrorOf(Request("mine", {})).kind, ErrorKind::kPrecondition);
  EXPECT_THAT(ErrorOf(Request("mine", {})).message,
              AllOf(HasSubstr("no device of the driver \"patchbay.dev\""),
                    HasSubstr("check the driver in the selectors of its device classes")));
}

TEST_F(PlanClaimTest, ListsTheServedPoolsForAnUnknownOne) {
  const Error error = ErrorOf(Request("mine", {{"s", "node-2/example.com/x", "a"}}));
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("the device \"a\" of the pool \"node-2/example.com/x\""),
                    HasSubstr(std::string("it has ") + kFuse + ", " + kSerial),
                    HasSubstr("add it again"), HasSubstr("delete the pod")));
}

TEST_F(PlanClaimTest, HintsHowToListTheDevicesForAnUnknownOne) {
  const Error error = ErrorOf(Request("mine", {Serial("a"), Serial("c\x1b")}));
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_THAT(error.message, AllOf(HasSubstr(R"(the device "c\x1b" of the pool)"),
                                   HasSubstr("does not exist on this node"),
                                   HasSubstr("\"patchbay devices example.com/serial\""),
                                   HasSubstr("connect it again, or delete the pod")));
}

TEST_F(PlanClaimTest, HasTheReasonOfAnUnhealthyDevice) {
  const Error error = ErrorOf(Request("mine", {Serial("ill")}));
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("the device \"ill\""), HasSubstr("is unhealthy: probe: no answer"),
                    HasSubstr("fix the device, or delete the pod")));
}

TEST_F(PlanClaimTest, NamesTheClaimThatHasTheDevice) {
  Prepare(Request("first", {Serial("a")}));
  const Error error = ErrorOf(Request("mine", {Serial("a")}));
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("the device \"a\" of the pool \"node-1/example.com/serial\" is "
                              "already prepared for the ResourceClaim default/first "
                              "(UID uid-of-first)"),
                    HasSubstr("wait until the pods of that claim have ended, or delete them"),
                    HasSubstr("remove /records/claim_uid-of-first.json")));
}

TEST_F(PlanClaimTest, NamesAClaimThatHasASlot) {
  Prepare(Request("first", {Fuse("x", 3)}));
  const Error error = ErrorOf(Request("mine", {Fuse("y", 2)}));
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message,
              HasSubstr("has too few free slots: one of them is prepared for the ResourceClaim "
                        "default/first"));
}

TEST_F(PlanClaimTest, RejectsMoreSlotsThanTheDeviceHas) {
  for (const std::int64_t slots : {std::int64_t{5}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THAT(ErrorOf(Request("mine", {Fuse("x", slots)})).message,
                HasSubstr("has 4 slots, and " + std::to_string(slots) + " are allocated"));
  }
}

TEST_F(PlanClaimTest, RejectsAnExclusiveDeviceThatIsInTheClaimTwice) {
  EXPECT_THAT(ErrorOf(Request("mine", {Serial("a"), Serial("a", "t")})).message,
              HasSubstr("is allocated to the claim more often than it has units"));
}

TEST_F(PlanClaimTest, RejectsMoreUnitsThanMaxPerContainer) {
  auto snapshot = std::make_shared<Snapshot>(*serial_snapshot_);
  auto spec = std::make_shared<ResourceSpec>(*snapshot->spec);
  spec->max_per_container = 1;
  snapshot->spec = std::move(spec);
  const NamedDevices limited(std::move(snapshot));
  pools_[kSerial] = &limited;
  const Error error = ErrorOf(Request("mine", {Serial("a"), Serial("b")}));
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_THAT(error.message,
              HasSubstr("the device \"b\" of the pool \"node-1/example.com/serial\" is number 2 of "
                        "the request \"s\", and the resource \"example.com/serial\" has "
                        "max_per_container = 1; request fewer devices"));
  EXPECT_TRUE(Plan(Request("mine", {Serial("a"), Serial("b", "t")})));
}

}  // namespace
}  // namespace patchbay
