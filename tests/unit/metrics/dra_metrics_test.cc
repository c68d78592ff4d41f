#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "unit/metrics/samples.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using test::MakeStatus;
using test::Samples;
using test::TextOf;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

/// A status with a series in each family.
std::shared_ptr<const DraStatus> InUse() {
  return std::make_shared<const DraStatus>(DraStatus{.driver = "patchbay.dev",
                                                     .dropped_fields = {"taints"},
                                                     .requests = {{{"list", "200"}, 1}},
                                                     .resources = {{"a/b", {.pool = "n/a/b"}}}});
}

TEST(DraMetrics, HasTheFamiliesOfTheGoldenFileWhileInUse) {
  const auto status = MakeStatus();
  EXPECT_EQ(test::MetricFamilies(status), test::Golden({"process"}));
  const auto driver = status->AddDriver();
  status->SetDra(InUse());
  auto families = test::Golden({"process", "dra"});
  families.insert("patchbay_rpcs_total counter code method resource");  // of resources, too
  EXPECT_EQ(test::MetricFamilies(status), families);
}

TEST(DraMetrics, StartsAtZeroSoThatIncreasesAreSeen) {
  const auto status = MakeStatus();
  const auto driver = status->AddDriver();
  const auto zero = [&](const char* name) {
    EXPECT_THAT(Samples(status), Contains(Pair(name, "0")));
  };
  zero("patchbay_api_server_up");
  zero("patchbay_health_streams");
  zero("patchbay_claim_prepares_total{resource=\"\",result=\"failure\"}");
  status->SetDra(InUse());
  for (const char* name :
       {"patchbay_api_server_up", "patchbay_resource_slices{resource=\"a/b\"}",
        "patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"success\"}",
        "patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"failure\"}",
        "patchbay_claim_prepares_total{resource=\"a/b\",result=\"success\"}",
        "patchbay_claim_prepares_total{resource=\"a/b\",result=\"failure\"}",
        "patchbay_claim_prepare_duration_seconds_count{resource=\"a/b\"}",
        "patchbay_claim_unprepares_total{resource=\"a/b\",result=\"success\"}",
        "patchbay_claim_unprepares_total{resource=\"a/b\",result=\"failure\"}",
        "patchbay_prepared_claims{resource=\"a/b\"}", "patchbay_health_streams"}) {
    zero(name);
  }
}

TEST(DraMetrics, CountsEventsOfTheDriver) {
  const auto status = MakeStatus();
  const auto driver = status->AddDriver();
  status->SetDra(std::make_shared<const DraStatus>(
      DraStatus{.driver = "patchbay.dev", .resources = {{"a/b", {}}, {"a/c", {}}}}));
  driver->OnClaimPrepare("a/b", true, milliseconds(250));
  driver->OnClaimPrepare("a/b", false, milliseconds(500));
  driver->OnClaimPrepare("", false, milliseconds(500));
  driver->OnClaimUnprepare("a/b", true);
  driver->OnClaimUnprepare("a/b", false);
  driver->OnClaimUnprepare("a/b", false);
  driver->OnRpc(DriverRpc::kGetInfo, "OK");
  driver->OnRpc(DriverRpc::kGetInfo, "OK");
  driver->OnHealthStreams(2);
  const auto samples = Samples(status);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"patchbay_claim_prepares_total{resource=\"a/b\",result=\"success\"}", "1"},
           {"patchbay_claim_prepares_total{resource=\"a/b\",result=\"failure\"}", "1"},
           {"patchbay_claim_prepares_total{resource=\"a/c\",result=\"failure\"}", "0"},
           {"patchbay_claim_prepares_total{resource=\"\",result=\"failure\"}", "1"},
           {"patchbay_claim_prepare_duration_seconds_count{resource=\"a/b\"}", "2"},
           {"patchbay_claim_prepare_duration_seconds_sum{resource=\"a/b\"}", "0.75"},
           {"patchbay_claim_unprepares_total{resource=\"a/b\",result=\"success\"}", "1"},
           {"patchbay_claim_unprepares_total{resource=\"a/b\",result=\"failure\"}", "2"},
           {"patchbay_rpcs_total{code=\"OK\",method=\"GetInfo\",resource=\"\"}", "2"},
           {"patchbay_rpcs_total{code=\"OK\",method=\"NodePrepareResources\",resource=\"\"}", "0"},
           {"patchbay_health_streams", "2"}}) {
    EXPECT_THAT(samples, Contains(Pair(name, value)));
  }
}

TEST(DraMetrics, HasNoSeriesOfResourcesThatAreNotServed) {
  const auto status = MakeStatus();
  const auto driver = status->AddDriver();
  status->SetDra(InUse());
  driver->OnClaimPrepare("never/added", true, milliseconds(1));
  driver->OnClaimUnprepare("never/added", true);
  EXPECT_THAT(Samples(status), Contains(Key(HasSubstr("a/b"))));
  status->SetDra(std::make_shared<const DraStatus>(DraStatus{
      .driver = "patchbay.dev", .claims = {{"u", "n", "c", {{"never/added", "x", "r"}}}}}));
  EXPECT_THAT(Samples(status),
              AllOf(Not(Contains(Key(HasSubstr("a/b")))), Not(Contains(Key(HasSubstr("never"))))));
}

TEST(DraMetrics, HasASeriesForEachFieldWhileTheServerDropsIt) {
  const auto status = MakeStatus();
  status->SetDra(InUse());
  EXPECT_THAT(Samples(status),
              Contains(Pair("patchbay_api_dropped_fields{field=\"taints\"}", "1")));
  status->SetDra(std::make_shared<const DraStatus>(
      DraStatus{.driver = "patchbay.dev", .dropped_fields = {"other"}}));
  EXPECT_THAT(Samples(status),
              AllOf(Not(Contains(Key("patchbay_api_dropped_fields{field=\"taints\"}"))),
                    Contains(Pair("patchbay_api_dropped_fields{field=\"other\"}", "1"))));
}

TEST(DraMetrics, FollowsTheStatus) {
  const auto status = MakeStatus();
  const auto driver = status->AddDriver();
  DraStatus made{.driver = "patchbay.dev", .api_server_up = true};
  made.requests = {{{"create", "201"}, 5}, {{"watch", "network"}, 1}};
  made.resources["a/b"] = {.pool = "n/a/b", .slices = 2, .writes = 5, .failures = 1};
  for (int i = 0; i < 3; ++i) {
    made.claims.push_back({"u", "n", "c", {{"a/b", "x", "r"}, {"a/b", "y", "r"}}});
  }
  status->SetDra(std::make_shared<const DraStatus>(made));
  const std::string text = TextOf(status);
  for (const char* line :
       {"patchbay_api_server_up 1\n",
        "patchbay_api_requests_total{code=\"201\",verb=\"create\"} 5\n",
        "patchbay_api_requests_total{code=\"network\",verb=\"watch\"} 1\n",
        "patchbay_resource_slices{resource=\"a/b\"} 2\n",
        "patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"success\"} 5\n",
        "patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"failure\"} 1\n",
        "patchbay_prepared_claims{resource=\"a/b\"} 3\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  status->SetDra(std::make_shared<const DraStatus>(DraStatus{.driver = "patchbay.dev"}));
  EXPECT_EQ(TextOf(status).find("patchbay_resource_slices{resource=\"a/b\"}"), std::string::npos);
}

/// The other families are compared with docs/metrics.md by e2e.metrics.
TEST(DraMetrics, HelpTextsAreThoseOfTheDocumentation) {
  const auto status = MakeStatus();
  const auto driver = status->AddDriver();
  status->SetDra(InUse());
  std::ifstream file(PATCHBAY_SOURCE_DIR "/docs/metrics.md");
  std::stringstream documentation;
  documentation << file.rdbuf();
  std::istringstream text(TextOf(status));
  int compared = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string hash, kind, family, help;
    words >> hash >> kind >> family >> std::ws;
    std::getline(words, help);
    const bool is_dra = std::ranges::any_of(test::Golden({"dra"}), [&](const std::string& row) {
      return row.starts_with(family + " ");
    });
    if (kind != "HELP" || !is_dra) continue;
    const std::size_t row = documentation.str().find("\n| `" + family + "` | ");
    ASSERT_NE(row, std::string::npos) << family;
    const std::string rest = documentation.str().substr(row + 1);
    EXPECT_THAT(rest.substr(0, rest.find('\n')), HasSubstr(" | " + help + " |"));
    ++compared;
  }
  EXPECT_EQ(compared, 10);
}

}  // namespace
}  // namespace patchbay
