#include "metrics/dra_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "unit/metrics/samples.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using test::Samples;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

TEST(DraMetrics, HasTheFamiliesOfTheGoldenFileWhileInUse) {
  Metrics metrics(test::Options());
  auto dra = metrics.AddDra();
  dra->AddResource("a/b");
  dra->CountApiRequests("list", "200");
  dra->SetDroppedFields({"taints"});
  auto families = test::Golden({"process", "dra"});
  families.insert("patchbay_rpcs_total counter code method resource");  // of resources, too
  EXPECT_EQ(test::MetricFamilies(metrics), families);
  dra.reset();
  EXPECT_EQ(test::MetricFamilies(metrics), test::Golden({"process"}));
}

TEST(DraMetrics, StartsAtZeroSoThatIncreasesAreSeen) {
  Metrics metrics(test::Options());
  const auto dra = metrics.AddDra();
  dra->AddResource("a/b");
  const auto samples = Samples(metrics);
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
    EXPECT_THAT(samples, Contains(Pair(name, "0")));
  }
}

TEST(DraMetrics, CountsEvents) {
  Metrics metrics(test::Options());
  const auto dra = metrics.AddDra();
  dra->AddResource("a/b");
  dra->AddResource("a/c");
  dra->SetApiServerUp(true);
  dra->CountApiRequests("create", "201");
  dra->CountApiRequests("create", "201");
  dra->CountApiRequests("watch", "network");
  dra->SetSlices("a/b", 3);
  dra->CountSliceWrites("a/b", true);
  dra->CountSliceWrites("a/b", false);
  dra->CountSliceWrites("a/b", false);
  dra->OnClaimPrepare("a/b", true, milliseconds(250));
  dra->OnClaimPrepare("a/b", false, milliseconds(500));
  dra->OnClaimUnprepare("a/b", true);
  dra->OnClaimUnprepare("a/b", false);
  dra->OnClaimUnprepare("a/b", false);
  dra->SetPreparedClaims("a/b", 1);
  dra->OnRpc(DriverRpc::kGetInfo, "OK", {});
  dra->OnRpc(DriverRpc::kGetInfo, "OK", {});
  dra->OnHealthStreams(2);
  const auto samples = Samples(metrics);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"patchbay_api_server_up", "1"},
           {"patchbay_api_requests_total{code=\"201\",verb=\"create\"}", "2"},
           {"patchbay_api_requests_total{code=\"network\",verb=\"watch\"}", "1"},
           {"patchbay_resource_slices{resource=\"a/b\"}", "3"},
           {"patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"success\"}", "1"},
           {"patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"failure\"}", "2"},
           {"patchbay_claim_prepares_total{resource=\"a/b\",result=\"success\"}", "1"},
           {"patchbay_claim_prepares_total{resource=\"a/b\",result=\"failure\"}", "1"},
           {"patchbay_claim_prepares_total{resource=\"a/c\",result=\"failure\"}", "0"},
           {"patchbay_claim_prepare_duration_seconds_count{resource=\"a/b\"}", "2"},
           {"patchbay_claim_prepare_duration_seconds_sum{resource=\"a/b\"}", "0.75"},
           {"patchbay_claim_unprepares_total{resource=\"a/b\",result=\"success\"}", "1"},
           {"patchbay_claim_unprepares_total{resource=\"a/b\",result=\"failure\"}", "2"},
           {"patchbay_prepared_claims{resource=\"a/b\"}", "1"},
           {"patchbay_rpcs_total{code=\"OK\",method=\"GetInfo\",resource=\"\"}", "2"},
           {"patchbay_rpcs_total{code=\"OK\",method=\"NodePrepareResources\",resource=\"\"}", "0"},
           {"patchbay_health_streams", "2"}}) {
    EXPECT_THAT(samples, Contains(Pair(name, value)));
  }
}

TEST(DraMetrics, IgnoresEventsOfOtherResources) {
  Metrics metrics(test::Options());
  const auto dra = metrics.AddDra();
  dra->AddResource("a/b");
  dra->RemoveResource("a/b");
  for (const char* name : {"a/b", "never/added"}) {
    dra->SetSlices(name, 1);
    dra->CountSliceWrites(name, true);
    dra->OnClaimPrepare(name, true, milliseconds(1));
    dra->OnClaimUnprepare(name, true);
    dra->SetPreparedClaims(name, 1);
  }
  EXPECT_THAT(Samples(metrics),
              AllOf(Not(Contains(Key(HasSubstr("a/b")))), Not(Contains(Key(HasSubstr("never"))))));
}

TEST(DraMetrics, HasASeriesForEachFieldWhileTheServerDropsIt) {
  Metrics metrics(test::Options());
  const auto dra = metrics.AddDra();
  RecordDra(*dra, {}, {.driver = "patchbay.dev", .dropped_fields = {"taints", "other"}});
  EXPECT_THAT(Samples(metrics),
              Contains(Pair("patchbay_api_dropped_fields{field=\"taints\"}", "1")));
  RecordDra(*dra, {}, {.driver = "patchbay.dev", .dropped_fields = {"other"}});
  EXPECT_THAT(Samples(metrics),
              Not(Contains(Key("patchbay_api_dropped_fields{field=\"taints\"}"))));
  EXPECT_THAT(Samples(metrics),
              Contains(Pair("patchbay_api_dropped_fields{field=\"other\"}", "1")));
}

TEST(DraMetrics, KeepsCountersOfAResourceThatIsAddedAgain) {
  Metrics metrics(test::Options());
  const auto dra = metrics.AddDra();
  dra->AddResource("a/b");
  dra->CountSliceWrites("a/b", true);
  dra->AddResource("a/b");
  EXPECT_THAT(
      Samples(metrics),
      Contains(
          Pair("patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"success\"}", "1")));
}

TEST(DraMetrics, OutlivesTheMetrics) {
  auto metrics = std::make_unique<Metrics>(test::Options());
  const auto dra = metrics->AddDra();
  metrics.reset();
  dra->AddResource("a/b");
  dra->CountSliceWrites("a/b", true);
}

/// The other families are compared with docs/metrics.md by e2e.metrics.
TEST(DraMetrics, HelpTextsAreThoseOfTheDocumentation) {
  Metrics metrics(test::Options());
  const auto dra = metrics.AddDra();
  dra->AddResource("a/b");
  dra->CountApiRequests("list", "200");
  dra->SetDroppedFields({"taints"});
  std::ifstream file(PATCHBAY_SOURCE_DIR "/docs/metrics.md");
  std::stringstream documentation;
  documentation << file.rdbuf();
  std::istringstream text(metrics.Text());
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

TEST(RecordDra, CountsWhatHasHappenedSince) {
  Metrics metrics(test::Options());
  const auto dra = metrics.AddDra();
  const auto status = [](std::uint64_t writes, std::uint64_t failures, std::size_t claims) {
    DraStatus made{.driver = "patchbay.dev", .api_server_up = true};
    made.requests[{"create", "201"}] = writes;
    made.resources["a/b"] = {.pool = "n/a/b", .slices = 2, .writes = writes, .failures = failures};
    for (std::size_t i = 0; i < claims; ++i) {
      made.claims.push_back({"u", "n", "c", {{"a/b", "x", "r"}, {"a/b", "y", "r"}}});
    }
    return made;
  };
  RecordDra(*dra, {}, status(2, 0, 1));
  RecordDra(*dra, status(2, 0, 1), status(5, 1, 3));
  const std::string text = metrics.Text();
  for (const char* line :
       {"patchbay_api_server_up 1\n",
        "patchbay_api_requests_total{code=\"201\",verb=\"create\"} 5\n",
        "patchbay_resource_slices{resource=\"a/b\"} 2\n",
        "patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"success\"} 5\n",
        "patchbay_resource_slice_writes_total{resource=\"a/b\",result=\"failure\"} 1\n",
        "patchbay_prepared_claims{resource=\"a/b\"} 3\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  RecordDra(*dra, status(5, 1, 3), {});
  EXPECT_EQ(metrics.Text().find("patchbay_resource_slices{resource=\"a/b\"}"), std::string::npos);
}

}  // namespace
}  // namespace patchbay
