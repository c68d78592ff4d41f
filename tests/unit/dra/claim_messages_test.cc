#include "dra/claim_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "draplugin_v1.pb.h"
#include "draplugin_v1beta1.pb.h"

namespace patchbay {
namespace {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

dra_v1::NodePrepareResourcesRequest RequestOf(const std::vector<ClaimKey>& claims) {
  dra_v1::NodePrepareResourcesRequest request;
  for (const ClaimKey& claim : claims) {
    auto& out = *request.add_claims();
    out.set_uid(claim.uid);
    out.set_namespace_(claim.namespace_name);
    out.set_name(claim.name);
  }
  return request;
}

TEST(ReadClaims, KeepsTheOrder) {
  const auto read = ReadClaims(RequestOf({{"u-2", "ns", "b.c"}, {"u-1", "other", "a"}}));
  ASSERT_TRUE(read);
  EXPECT_THAT(read->claims,
              ElementsAre(ClaimKey{"u-2", "ns", "b.c"}, ClaimKey{"u-1", "other", "a"}));
  EXPECT_THAT(read->rejected, IsEmpty());
}

TEST(ReadClaims, RejectsClaimsWithoutAValidName) {
  const auto read = ReadClaims(RequestOf({{"../../etc", "ns", "a"},
                                          {"", "ns", "a"},
                                          {"u-1", "n/s", "a"},
                                          {"u-2", "ns", "../a"},
                                          {"u-3", "ns", std::string(300, 'a')},
                                          {std::string(70, 'u'), "ns", "a"},
                                          {"u-4", "ns", "a"}}));
  ASSERT_TRUE(read);
  EXPECT_THAT(read->claims, ElementsAre(ClaimKey{"u-4", "ns", "a"}));
  EXPECT_THAT(read->rejected,
              UnorderedElementsAre(Pair("../../etc", HasSubstr("UID")), Pair("", HasSubstr("UID")),
                                   Pair("u-1", HasSubstr("namespace")),
                                   Pair("u-2", HasSubstr("name")), Pair("u-3", HasSubstr("name")),
                                   Pair(std::string(70, 'u'), HasSubstr("UID"))));
}

TEST(ReadClaims, AcceptsAClaimOnceAndRejectsTwoWithOneUid) {
  const auto read = ReadClaims(RequestOf({{"u-1", "ns", "a"},
                                          {"u-1", "ns", "a"},
                                          {"u-2", "ns", "a"},
                                          {"u-2", "ns", "b"},
                                          {"u-2", "ns", "a"},
                                          {"u-3", "ns", "a"},
                                          {"u-3", "n/s", "a"},
                                          {"u-3", "ns", "a"}}));
  ASSERT_TRUE(read);
  EXPECT_THAT(read->claims, ElementsAre(ClaimKey{"u-1", "ns", "a"}));
  EXPECT_THAT(read->rejected, ElementsAre(Pair("u-2", HasSubstr("two claims")),
                                          Pair("u-3", HasSubstr("namespace"))));
}

TEST(ReadClaims, LimitsTheNumberOfClaims) {
  dra_v1beta1::NodeUnprepareResourcesRequest request;
  for (std::size_t i = 0; i < kMaxClaimsPerCall; ++i) request.add_claims();
  EXPECT_TRUE(ReadClaims(request));
  request.add_claims();
  const auto read = ReadClaims(request);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(read.error().message, HasSubstr("257 claims, and at most 256"));
}

TEST(FillClaims, CopiesEveryMember) {
  const PreparedRequest shared{
      .request = "a",
      .devices = {{.pool = "node/pool", .device = "dev-1", .share_id = "share"},
                  {.pool = "node/pool", .device = "dev-3", .share_id = "share-3"}},
      .cdi_devices = {"x.y/z=1", "x.y/z=2"}};
  const PreparedRequest exclusive{.request = "c",
                                  .devices = {{.pool = "node/pool", .device = "dev-2"}}};
  const ClaimsOfCall request{{{"u-1", "ns", "a"}}, {}};
  const ClaimResults results{{"u-1", std::vector{shared, exclusive}}};

  dra_v1::NodePrepareResourcesResponse response;
  FillClaims(request, results, response);
  ASSERT_EQ(response.claims_size(), 1);
  const auto& claim = response.claims().at("u-1");
  EXPECT_EQ(claim.error(), "");
  ASSERT_EQ(claim.devices_size(), 3);
  EXPECT_THAT(claim.devices(0).request_names(), ElementsAre("a"));
  EXPECT_EQ(claim.devices(0).pool_name(), "node/pool");
  EXPECT_EQ(claim.devices(0).device_name(), "dev-1");
  EXPECT_THAT(claim.devices(0).cdi_device_ids(), ElementsAre("x.y/z=1", "x.y/z=2"));
  EXPECT_EQ(claim.devices(0).share_id(), "share");
  EXPECT_EQ(claim.devices(1).device_name(), "dev-3");
  EXPECT_EQ(claim.devices(1).cdi_device_ids_size(), 0) << "the first device has those of all";
  EXPECT_THAT(claim.devices(2).request_names(), ElementsAre("c"));
  EXPECT_FALSE(claim.devices(2).has_share_id());

  dra_v1beta1::NodePrepareResourcesResponse beta;
  FillClaims(request, results, beta);
  EXPECT_EQ(beta.claims().at("u-1").devices(0).device_name(), "dev-1");
}

TEST(FillClaims, HasExactlyTheClaimsOfTheRequest) {
  const ClaimsOfCall request{{{"ok", "ns", "a"}, {"failed", "ns", "b"}, {"forgotten", "ns", "c"}},
                             {{"bad", "not valid"}}};
  ClaimResults results;
  results.emplace("ok", std::vector<PreparedRequest>{});
  results.emplace("failed", Fail(ErrorKind::kNotFound, "the device is missing"));
  results.emplace("of another call", std::vector<PreparedRequest>{});
  dra_v1::NodePrepareResourcesResponse response;
  FillClaims(request, results, response);
  const auto error = [&](const char* uid) { return response.claims().at(uid).error(); };
  EXPECT_EQ(response.claims_size(), 4);
  EXPECT_EQ(error("ok"), "");
  EXPECT_EQ(error("failed"), "the device is missing");
  EXPECT_THAT(error("forgotten"), HasSubstr("not processed"));
  EXPECT_EQ(error("bad"), "not valid");
}

TEST(FillClaims, UnpreparedClaimsHaveAnEntryToo) {
  const ClaimsOfCall request{{{"ok", "ns", "a"}, {"failed", "ns", "b"}, {"forgotten", "ns", "c"}},
                             {}};
  ClaimResults results;
  results.emplace("ok", std::vector<PreparedRequest>());
  results.emplace("failed", Fail(ErrorKind::kUnavailable, "the hook failed"));
  dra_v1beta1::NodeUnprepareResourcesResponse response;
  FillClaims(request, results, response);
  EXPECT_EQ(response.claims_size(), 3);
  EXPECT_EQ(response.claims().at("ok").error(), "");
  EXPECT_EQ(response.claims().at("failed").error(), "the hook failed");
  EXPECT_THAT(response.claims().at("forgotten").error(), HasSubstr("not processed"));
}

// An empty error means success, and a response that is not UTF-8 is discarded as a whole.
TEST(FillClaims, ErrorsAreNeverEmptyAndAlwaysPrintable) {
  const ClaimsOfCall request{
      {{"a", "ns", "a"}, {"b", "ns", "b"}, {"c", "ns", "c"}, {"d", "ns", "d"}}, {}};
  ClaimResults results;
  results.emplace("a", Fail(ErrorKind::kUnavailable, ""));
  results.emplace("b", Fail(ErrorKind::kUnavailable, "\xff\n"));
  results.emplace("c", Fail(ErrorKind::kUnavailable, std::string(5000, 'x')));
  results.emplace("d", std::vector{PreparedRequest{.request = "fine", .devices = {{"pool", "a"}}},
                                   PreparedRequest{.request = "r", .devices = {{"pool", "\xff"}}}});
  dra_v1::NodePrepareResourcesResponse response;
  FillClaims(request, results, response);
  EXPECT_THAT(response.claims().at("a").error(), HasSubstr("check the log"));
  EXPECT_EQ(response.claims().at("b").error(), "\\xff\\x0a");
  EXPECT_THAT(response.claims().at("c").error(), SizeIs(testing::Le(1003U)));
  EXPECT_THAT(response.claims().at("d").error(), HasSubstr("the request r"));
  EXPECT_EQ(response.claims().at("d").devices_size(), 0);
}

}  // namespace
}  // namespace patchbay
