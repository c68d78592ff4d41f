// The pure parts of the DRA side: rules, drivers, claims and health.

#include <gmock/gmock.h>

#include <string>

#include "sim/kubelet/dra_claims.h"
#include "sim/kubelet/dra_drivers.h"
#include "sim/kubelet/dra_health.h"
#include "sim/kubelet/dra_rules.h"

namespace patchbay {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using DraTime = DraDrivers::Time;

Result<DraServices> Checked(DraProfile profile, std::vector<std::string> versions,
                            const std::string& type = "DRAPlugin") {
  return CheckPluginInfo(profile, "/r/a.sock", {type, "a.dev", "/p/a.sock", std::move(versions)});
}

TEST(DraRules, TakesTheFirstServiceOfThePluginThatItKnows) {
  EXPECT_EQ(Checked(DraProfile::kStable, {"v1.DRAPlugin", "v1beta1.DRAPlugin"})->plugin,
            DraApi::kV1);
  EXPECT_EQ(Checked(DraProfile::kStable, {"v1beta1.DRAPlugin", "v1.DRAPlugin"})->plugin,
            DraApi::kV1beta1);
  EXPECT_EQ(
      Checked(DraProfile::kBeta, {"v9.DRAPlugin", "v1.DRAPlugin", "v1beta1.DRAPlugin"})->plugin,
      DraApi::kV1beta1);
}

TEST(DraRules, TakesTheNewestHealthServiceThatItKnows) {
  const std::vector<std::string> all = {"v1.DRAPlugin", "v1alpha1.DRAResourceHealth",
                                        "v1.DRAResourceHealth", "v1beta1.DRAPlugin"};
  EXPECT_EQ(Checked(DraProfile::kStableHealthV1, all)->health, DraHealthApi::kV1);
  EXPECT_EQ(Checked(DraProfile::kStable, all)->health, DraHealthApi::kV1alpha1);
  EXPECT_EQ(Checked(DraProfile::kBeta, all)->health, std::nullopt);
  EXPECT_EQ(Checked(DraProfile::kStable, {"v1.DRAPlugin"})->health, std::nullopt);
}

TEST(DraRules, RejectsWhatTheKubeletRejects) {
  EXPECT_THAT(Checked(DraProfile::kStable, {"v1.DRAPlugin"}, "CSIPlugin").error().message,
              HasSubstr("no handler registered for plugin type: CSIPlugin at socket /r/a.sock"));
  EXPECT_THAT(Checked(DraProfile::kStable, {}).error().message,
              HasSubstr("empty list of supported gRPC services"));
  EXPECT_THAT(
      Checked(DraProfile::kBeta, {"v1.DRAPlugin"}).error().message,
      HasSubstr(R"((["v1.DRAPlugin"]) are supported by the kubelet (["v1beta1.DRAPlugin"]))"));
}

DraTime At(int second) { return DraTime(seconds(second)); }

SimClaim Claim(const std::string& name, const std::string& uid) { return {"ns", name, uid, "d"}; }

TEST(DraClaims, RefusesAnotherClaimOfTheSameName) {
  DraClaims claims;
  ASSERT_TRUE(claims.BeginPrepare("pod", {Claim("a", "old")}));
  EXPECT_THAT(claims.BeginPrepare("pod", {Claim("b", "u"), Claim("a", "new")}).error().message,
              HasSubstr("old ResourceClaim with same name a and different UID old still exists"));
  EXPECT_EQ(claims.List().size(), 1U) << "nothing was changed";
}

TEST(DraClaims, ItsCheckpointHasEverythingButPrepared) {
  DraClaims claims;
  ASSERT_TRUE(claims.BeginPrepare("pod", {Claim("a", "u")}));
  claims.SetDevices(Claim("a", "u"), {{{"r"}, "p", "x", {"a.com/b=c"}, "share"}});
  claims.SetPrepared(Claim("a", "u"));
  auto decoded = DraClaims::Decode(claims.Encode());
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->List().at(0).prepared);
  decoded->SetPrepared(Claim("a", "u"));
  EXPECT_EQ(decoded->List(), claims.List());
  for (const char* text : {"", "{}", "[]", R"({"Entries":[1]})", R"({"Entries":[{}]})"}) {
    EXPECT_EQ(DraClaims::Decode(text).error().kind, ErrorKind::kInvalid) << text;
  }
}

TEST(DraClaims, ChecksEveryAnswerOfADriver) {
  const std::vector<SimClaim> claims = {Claim("a", "1"), Claim("b", "2")};
  EXPECT_TRUE(CheckClaimAnswers("Call", claims, {{"1", {}}, {"2", {}}}));
  EXPECT_EQ(CheckClaimAnswers("Call", claims, {{"1", {}}}).error().message,
            "Call skipped 1 ResourceClaims");
  EXPECT_EQ(CheckClaimAnswers("Call", claims, {{"1", {}}, {"2", {"why", {}}}}).error().message,
            "Call failed for ResourceClaim b: why");
  EXPECT_EQ(CheckClaimAnswers("Call", claims, {{"1", {}}, {"3", {}}}).error().message,
            "Call returned result for unknown claim UID 3");
}

TEST(DraClaims, SelectsTheDevicesOfARequest) {
  const std::vector<SimPreparedDevice> devices = {
      {{"r"}, "p", "x", {"k=1", "k=2"}}, {{"s"}, "p", "y", {"k=3"}}, {{}, "p", "z", {"k=4"}}};
  EXPECT_THAT(CdiDevicesOf(devices, "r"), ElementsAre("k=1", "k=2", "k=4"));
  EXPECT_THAT(CdiDevicesOf(devices), ElementsAre("k=1", "k=2", "k=3", "k=4"));
}

TEST(DraHealth, LimitsTimeoutsAndMessages) {
  EXPECT_EQ(HealthTimeout(0), seconds(30));
  EXPECT_EQ(HealthTimeout(-1), seconds(30));
  EXPECT_EQ(HealthTimeout(5), seconds(5));
  EXPECT_EQ(HealthTimeout(std::int64_t{1} << 62U), seconds(1'000'000'000));
  EXPECT_EQ(HealthMessageOfKubelet(std::string(1024, 'a')), std::string(1024, 'a'));
  EXPECT_EQ(HealthMessageOfKubelet(std::string(1025, 'a')), std::string(1021, 'a') + "...");
}

TEST(DraHealth, KeepsADeviceThatIsNotInALaterReportUntilItsTimeout) {
  DraHealth health;
  health.Update("d", {{"p", "a", SimHealth::kHealthy}, {"p", "b", SimHealth::kHealthy}}, At(0));
  health.Update("d", {{"p", "a", SimHealth::kUnhealthy, "why"}}, At(20));
  const auto at30 = health.List("d", At(30));
  EXPECT_EQ(at30.at(1).health, SimHealth::kHealthy);
  const auto at31 = health.List("d", At(31));
  EXPECT_EQ(at31.at(0).health, SimHealth::kUnhealthy);
  EXPECT_EQ(at31.at(1).health, SimHealth::kUnknown);
  EXPECT_EQ(health.List("d", At(51)).at(0).message, "");
  health.Clear("d");
  EXPECT_THAT(health.List("d", At(0)), IsEmpty());
}

}  // namespace
}  // namespace patchbay
