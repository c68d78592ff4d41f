#include <gmock/gmock.h>

#include "api_server_sim/faults.h"
#include "server_fixture.h"

namespace patchbay::api_sim {
namespace {

using test::ApiClient;

class ApiServerFaultsTest : public test::ApiServerFixture {
 protected:
  bool Has(const std::string& name) {
    return server().Call("GET", kPath + "/" + name).status == 200;
  }
};

TEST_F(ApiServerFaultsTest, RespondsWithErrors) {
  Serve();
  server().SetFaults({{.code = 429, .retry_after = std::chrono::seconds(7)}, {.code = 503}});
  ApiClient client(port());
  const auto limited = client.Send("POST", kPath, test::Slice("a"));
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(limited.header.at("retry-after"), "7");
  EXPECT_EQ(limited.json()["reason"], "TooManyRequests");
  EXPECT_EQ(limited.json()["details"]["retryAfterSeconds"], 7);
  EXPECT_EQ(server().FaultsLeft(), 1);
  EXPECT_EQ(client.Send("POST", kPath, test::Slice("a")).status, 503);
  EXPECT_FALSE(Has("a"));
  EXPECT_EQ(client.Send("POST", kPath, test::Slice("a")).status, 201);
}

TEST_F(ApiServerFaultsTest, RespondsAfterTheLatency) {
  constexpr std::chrono::milliseconds kLatency{50};
  Serve({.latency = kLatency});
  ApiClient client(port());
  for (int i = 0; i < 2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(client.Get(kPath).status, 200);
    EXPECT_GE(std::chrono::steady_clock::now() - start, kLatency);
  }
}

TEST_F(ApiServerFaultsTest, MatchVerbsAndKinds) {
  Serve();
  server().SetFaults({{.times = 0, .verb = Verb::kCreate, .kind = Kind::kResourceSlice}});
  ApiClient client(port());
  EXPECT_EQ(client.Get(kPath).status, 200);
  EXPECT_EQ(
      client.Send("POST", "/apis/resource.k8s.io/v1/deviceclasses", test::DeviceClass()).status,
      201);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Send("POST", kPath, test::Slice("a")).status, 500);
  server().SetFaults({});
  EXPECT_EQ(client.Send("POST", kPath, test::Slice("a")).status, 201);
}

TEST_F(ApiServerFaultsTest, ResetBeforeOrAfterTheRequest) {
  Serve();
  server().SetFaults({{.type = FaultType::kReset}, {.type = FaultType::kLoseResponse}});
  for (const char* name : {"a", "b"}) {
    ApiClient client(port());
    EXPECT_EQ(client.Send("POST", kPath, test::Slice(name)).status, 0);
    EXPECT_TRUE(client.was_reset());
  }
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(Has("b"));
}

TEST_F(ApiServerFaultsTest, DamageBodies) {
  Serve();
  CreateSlice("a");
  server().SetFaults({{.type = FaultType::kMalformedJson}, {.type = FaultType::kCutBody}});
  ApiClient client(port());
  const auto malformed = client.Get(kPath);
  EXPECT_EQ(malformed.status, 200);
  EXPECT_TRUE(malformed.json().is_discarded());
  const auto cut = client.Get(kPath);
  EXPECT_EQ(cut.status, 0);
  EXPECT_FALSE(cut.body.empty());
}

TEST_F(ApiServerFaultsTest, SendBodiesSlowly) {
  Serve();
  CreateSlice("a");
  server().SetFaults({{.type = FaultType::kSlowBody, .pace = std::chrono::milliseconds(0)}});
  ApiClient client(port());
  EXPECT_EQ(client.Get(kPath + "/a").json()["metadata"]["name"], "a");
  EXPECT_EQ(client.Get(kPath + "/a").json()["metadata"]["name"], "a");
}

TEST_F(ApiServerFaultsTest, SendBodiesWithoutEnd) {
  Serve();
  server().SetFaults({{.type = FaultType::kEndlessBody}});
  {
    ApiClient client(port());
    client.SendOnly("GET", kPath);
    // Far more than the buffers of two sockets.
    for (std::size_t bytes = 0; bytes < std::size_t{32} << 20;) {
      const std::size_t size = client.ReadBytes().size();
      ASSERT_GT(size, 0U);
      bytes += size;
    }
  }
  EXPECT_TRUE(server().Await([&] { return server().Connections() == 0; }, kPatience));
}

TEST_F(ApiServerFaultsTest, HangUntilTheClientLeaves) {
  Serve();
  server().SetFaults({{.type = FaultType::kHang}});
  {
    ApiClient client(port());
    client.SendOnly("POST", kPath, test::Slice("a"));
    EXPECT_TRUE(server().Await([&] { return server().FaultsLeft() == 0; }, kPatience));
    EXPECT_EQ(ApiClient(port()).Get(kPath).status, 200);
  }
  EXPECT_TRUE(server().Await([&] { return server().Connections() == 0; }, kPatience));
  EXPECT_FALSE(Has("a"));
}

TEST_F(ApiServerFaultsTest, HangUntilTheServerStops) {
  Serve();
  server().SetFaults({{.type = FaultType::kHang}});
  ApiClient client(port());
  client.SendOnly("GET", kPath);
  EXPECT_TRUE(server().Await([&] { return server().FaultsLeft() == 0; }, kPatience));
  server().Stop();
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(ApiServerFaultsTest, DamageWatches) {
  Serve();
  CreateSlice("a");
  server().SetFaults({{.type = FaultType::kMalformedJson},
                      {.type = FaultType::kCutBody},
                      {.type = FaultType::kSlowBody, .pace = std::chrono::milliseconds(0)},
                      {.code = 500}});
  const std::string watch = kPath + "?watch=true";
  ApiClient malformed(port());
  malformed.Watch(watch);
  EXPECT_EQ(malformed.ReadEvent(), "malformed");
  CreateSlice("b");
  EXPECT_EQ(malformed.ReadEvent(), "ADDED b");
  ApiClient cut(port());
  EXPECT_EQ(cut.Watch(watch).status, 200);
  EXPECT_EQ(cut.ReadEvent(), "");
  EXPECT_TRUE(cut.AwaitClose());
  ApiClient slow(port());
  slow.Watch(watch);
  EXPECT_EQ(slow.ReadEvent(), "ADDED a");
  EXPECT_EQ(slow.ReadEvent(), "ADDED b");
  EXPECT_EQ(ApiClient(port()).Watch(watch).status, 500);
}

TEST(FaultPlan, TakesTheFirstFaultThatMatches) {
  FaultPlan plan({{.times = 2, .verb = Verb::kList}, {.code = 429}});
  EXPECT_EQ(plan.Left(), 3);
  EXPECT_EQ(plan.Take(Verb::kGet, Kind::kNode)->code, 429);
  EXPECT_FALSE(plan.Take(Verb::kGet, Kind::kNode));
  EXPECT_EQ(plan.Take(Verb::kList, Kind::kNode)->code, 500);
  EXPECT_EQ(plan.Take(Verb::kList, Kind::kNode)->code, 500);
  EXPECT_FALSE(plan.Take(Verb::kList, Kind::kNode));
}

}  // namespace
}  // namespace patchbay::api_sim
