// Claims that are prepared, and that the API server has allocated again in the meantime.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class ClaimCheckTest : public test::ClaimPreparerFixture {
 protected:
  ClaimCheckTest() {
    Allocate("mine", "a");
    EXPECT_EQ(ErrorOf("mine"), "prepared");
  }
  /// Prepares the claim, and returns its first device.
  std::string DeviceOf(const std::string& name) {
    const auto result = Prepare(name);
    return result ? result->front().device : result.error().message;
  }
};

TEST_F(ClaimCheckTest, PreparesAClaimAgainThatWasAllocatedAgain) {
  const std::string former = CdiId("mine", "r");
  Allocate("mine", "b");
  Restart();
  EXPECT_EQ(DeviceOf("mine"), "b");
  EXPECT_NE(CdiId("mine", "r"), former) << "a runtime may know the former device by its name";
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate b", "pre_start b"));
  EXPECT_EQ(DeviceOf("mine"), "b") << "hooks of an allocation run once";
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  Allocate("other", "a");
  EXPECT_EQ(ErrorOf("other"), "prepared") << "the former device is free";
  EXPECT_THAT(text_.str(), HasSubstr("prepared claim was allocated again"));
  EXPECT_THAT(ends_, SizeIs(4)) << "only calls of the kubelet are counted";
}

TEST_F(ClaimCheckTest, ComparesAllDevicesWithTheirRequests) {
  Allocate("mine", {Thing("a"), Thing("b", "second")});
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(EditsIn("mine"), SizeIs(2));
  const auto runs = Runs().size();
  Allocate("mine", {Thing("b", "second/alternative"), Thing("a")});
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_EQ(Runs().size(), runs) << "the same devices in another order";
}

TEST(IsAllocatedAsPrepared, ComparesEachFieldOfADevice) {
  const AllocatedDevice device{
      .request = "first/alternative", .pool = "pool", .device = "a", .share_id = "share"};
  PreparedRequest request;
  request.request = "first";
  request.devices.emplace_back();
  request.devices.back().pool = "pool";
  request.devices.back().device = "a";
  request.devices.back().share_id = "share";
  const PreparedClaim prepared{.claim = {}, .requests = {request}};
  const auto is_same = [&](const AllocatedDevice& allocated) {
    ResourceClaim claim;
    claim.devices = {allocated};
    return IsAllocatedAsPrepared(claim, prepared);
  };
  EXPECT_TRUE(is_same(device));
  for (std::string AllocatedDevice::*field :
       {&AllocatedDevice::request, &AllocatedDevice::pool, &AllocatedDevice::device,
        &AllocatedDevice::share_id}) {
    AllocatedDevice other = device;
    other.*field = "other";
    EXPECT_FALSE(is_same(other));
  }
  AllocatedDevice other = device;
  other.admin_access = true;
  EXPECT_FALSE(is_same(other));
  ResourceClaim more;
  more.devices = {device, device};
  EXPECT_FALSE(IsAllocatedAsPrepared(more, prepared));
}

TEST_F(ClaimCheckTest, AnswersFromTheFileWithoutARequestIfTheServerIsDown) {
  Allocate("mine", "b");
  is_server_down_ = true;
  const int gets = gets_;
  EXPECT_EQ(DeviceOf("mine"), "a");
  EXPECT_EQ(gets_, gets);
}

TEST_F(ClaimCheckTest, AnswersFromTheFileIfTheClaimCannotBeChecked) {
  const std::string allocated = claims_["mine"];
  for (const std::string claim :
       {"[[[", R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{}})"}) {
    claims_["mine"] = claim;
    EXPECT_EQ(DeviceOf("mine"), "a") << claim;
  }
  claims_.clear();
  EXPECT_EQ(DeviceOf("mine"), "a");
  claims_["mine"] = allocated;
  is_server_down_ = true;
  is_outage_known_ = false;
  EXPECT_EQ(DeviceOf("mine"), "a");
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

TEST_F(ClaimCheckTest, WaitsForTheServerASecondAtMost) {
  Allocate("mine", "b");
  is_server_silent_ = true;
  std::optional<PrepareResults> results;
  preparer_->Prepare({Key("mine")}, Call(), [&](PrepareResults got) { results = std::move(got); });
  ASSERT_TRUE(loop_.RunUntil([&] { return loop_.timers() > 0; }));
  EXPECT_EQ(loop_.UntilNextTimer(), ClaimPreparer::kCheckLimit);
  loop_.Advance(ClaimPreparer::kCheckLimit);
  ASSERT_TRUE(loop_.RunUntil([&] { return results.has_value(); }));
  EXPECT_EQ(results->at("uid-of-mine").value().front().device, "a");
}

/// The claim of another pod of this node, or of another node now.
TEST_F(ClaimCheckTest, ReleasesADeviceOfAClaimThatWasAllocatedAgainForAnotherClaim) {
  Allocate("mine", {{.request = "r", .pool = "node-2/example.com/thing", .device = "a"}});
  Allocate("other", "a");
  EXPECT_THAT(ErrorOf("other"),
              HasSubstr("is already prepared for the ResourceClaim default/mine"));
  ASSERT_TRUE(AwaitReleased());
  EXPECT_EQ(DeviceOf("other"), "a");
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate a", "pre_start a"));
}

TEST_F(ClaimCheckTest, EndsBeforeTheKubeletGivesUpIfTheReleaseIsSlow) {
  spec_.release = HookThat(WaitAtGate() + " echo release $0 >> {}");
  Restart();
  Allocate("mine", "b");
  std::optional<PrepareResults> results;
  preparer_->Prepare({Key("mine")}, Call(), [&](PrepareResults got) { results = std::move(got); });
  ASSERT_TRUE(AwaitGate());
  loop_.Advance(ClaimPreparer::kHookLimit);
  ASSERT_TRUE(loop_.RunUntil([&] { return results.has_value(); }));
  EXPECT_EQ(results->at("uid-of-mine").error().message,
            "ResourceClaim default/mine: the release of its former devices has not ended; the "
            "kubelet will try again");
  results.reset();
  preparer_->Prepare({Key("mine")}, Call(), [&](PrepareResults got) { results = std::move(got); });
  ASSERT_TRUE(RunThroughTimers([&] { return results.has_value(); }));
  ASSERT_FALSE(results->at("uid-of-mine"));
  EXPECT_THAT(results->at("uid-of-mine").error().message,
              HasSubstr("timed out; another call may still run hooks"));
  OpenGate();
  ASSERT_TRUE(AwaitReleased());
  EXPECT_EQ(DeviceOf("mine"), "b");
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate b", "pre_start b"));
}

TEST_F(ClaimCheckTest, KeepsTheDeviceIfItsReleaseFails) {
  Allocate("mine", "b");
  if (!MakeReadOnly()) GTEST_SKIP() << "cannot mount here";
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("ResourceClaim default/mine: cannot remove"));
  MakeWritable();
  EXPECT_EQ(DeviceOf("mine"), "b");
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate b", "pre_start b"));
}

/// The other instance of a rolling update prepared it again after this one had read the file.
TEST_F(ClaimCheckTest, DoesNotReleaseWhatTheOtherInstancePreparedInTheMeantime) {
  Allocate("mine", "b");
  is_server_silent_ = true;
  const auto other = Make();
  std::optional<PrepareResults> results;
  other->Prepare({Key("mine")}, Call(), [&](PrepareResults got) { results = std::move(got); });
  ASSERT_TRUE(loop_.RunUntil([&] { return !unanswered_.empty(); }));
  is_server_silent_ = false;
  EXPECT_EQ(DeviceOf("mine"), "b");
  unanswered_.front()();
  ASSERT_TRUE(loop_.RunUntil([&] { return results.has_value(); }));
  EXPECT_EQ(results->at("uid-of-mine").value().front().device, "b");
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate b", "pre_start b"));
}

TEST_F(ClaimCheckTest, PreparesAClaimAgainThatTheOtherInstanceReleasedInTheMeantime) {
  is_server_silent_ = true;
  const auto other = Make();
  std::optional<PrepareResults> results;
  other->Prepare({Key("mine")}, Call(), [&](PrepareResults got) { results = std::move(got); });
  ASSERT_TRUE(loop_.RunUntil([&] { return !unanswered_.empty(); }));
  is_server_silent_ = false;
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_THAT(Files(), testing::IsEmpty());
  unanswered_.front()();
  ASSERT_TRUE(loop_.RunUntil([&] { return results.has_value(); }));
  EXPECT_EQ(results->at("uid-of-mine").value().front().device, "a");
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
}

}  // namespace
}  // namespace patchbay
