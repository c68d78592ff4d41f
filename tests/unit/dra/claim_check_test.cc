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

class ClaimCheckTest : public test::ClaimPreparerFixture {
 protected:
  ClaimCheckTest() {
    Allocate("mine", "a");
    EXPECT_EQ(ErrorOf("mine"), "prepared");
  }
  /// Prepares the claim, and returns its first device.
  std::string DeviceOf(const std::string& name) {
    const auto result = Prepare(name);
    return result ? result->front().devices.at(0).device : result.error().message;
  }
};

/// Its containers can still use the former device.
TEST_F(ClaimCheckTest, RefusesAClaimThatWasAllocatedAgainUntilItIsUnprepared) {
  const std::string former = CdiId("mine", "r");
  Allocate("mine", "b");
  Restart();
  const std::string error = DeviceOf("mine");
  EXPECT_THAT(error, HasSubstr("ResourceClaim default/mine: is prepared with other devices"));
  EXPECT_THAT(error, HasSubstr("remove " + RecordOf("mine")));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
  EXPECT_EQ(CdiId("mine", "r"), former);
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_EQ(DeviceOf("mine"), "b");
  EXPECT_NE(CdiId("mine", "r"), former) << "a runtime may know the former device by its name";
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate b", "pre_start b"));
}

TEST_F(ClaimCheckTest, ComparesAllDevicesWithTheirRequests) {
  ASSERT_TRUE(Unprepare("mine"));
  spec_.env = {{test::MakeTemplate("THING_{id}"), test::MakeTemplate("{id}")}};
  Restart();
  Allocate("mine", {Thing("a"), Thing("b", "second")});
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_EQ(EditsIn("mine").size(), 2U);
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

TEST_F(ClaimCheckTest, DoesNotWaitForAServerThatDoesNotAnswer) {
  Allocate("mine", "b");
  is_server_silent_ = true;
  EXPECT_EQ(DeviceOf("mine"), "a");
}

}  // namespace
}  // namespace patchbay
