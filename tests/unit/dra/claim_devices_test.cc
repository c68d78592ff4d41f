#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "support/hanging_mount.h"
#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr char kFusePool[] = "node-1/example.com/fuse";
constexpr char kNodePool[] = "node-1/example.com/node";

/// Edits that set one variable.
nlohmann::json EnvOf(const std::string& text) { return {{"env", nlohmann::json::array({text})}}; }

/// The devices that claims can have, and what the kubelet and containers get for them.
class ClaimDevicesTest : public test::ClaimPreparerFixture {
 protected:
  /// Adds the pool kFusePool with one device of four slots.
  void ServeFuse() {
    ResourceSpec fuse = spec_;
    fuse.env = {{test::MakeTemplate("THING_{replica}"), test::MakeTemplate("{id}")}};
    fuse.name = "example.com/fuse";
    fuse.replicas = 4;
    Serve(kFusePool, fuse, {test::Listed("fuse")});
  }
  static AllocatedDevice Fuse(const std::string& share_id, const std::string& request = "f") {
    return {.request = request, .pool = kFusePool, .device = "fuse", .share_id = share_id};
  }

  /// Adds the pool kNodePool, whose device "n" needs the node `path` in a container.
  ServedResource& ServeNode(const std::string& path,
                            std::chrono::milliseconds limit = HostLookups::kLimit) {
    ResourceSpec spec = spec_;
    spec.name = "example.com/node";
    spec.device_nodes.emplace_back().host_path = test::MakeTemplate(path);
    return Serve(kNodePool, spec, {test::Listed("n")}, limit);
  }
  static AllocatedDevice NodeDevice() { return {.request = "n", .pool = kNodePool, .device = "n"}; }
};

TEST_F(ClaimDevicesTest, NumbersTheDevicesOfAllRequestsOfAClaim) {
  spec_.env = {{test::MakeTemplate("THING_{slot}"), test::MakeTemplate("{id}")}};
  Restart();
  Allocate("mine", {Thing("b", "first"), Thing("a", "second")});
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(EditsIn("mine"), ElementsAre(EnvOf("THING_0=b"), EnvOf("THING_1=a")));
}

/// A container that has both would get one of the devices, without a message.
TEST_F(ClaimDevicesTest, RefusesRequestsAndClaimsThatWouldHideEachOther) {
  Allocate("mine", {Thing("a", "first"), Thing("b", "second")});
  EXPECT_EQ(ErrorOf("mine"),
            "ResourceClaim default/mine: its requests \"first\" and \"second\" both have the "
            "environment variable THING, with different content; use a variable in its name that "
            "differs between devices, such as {slot} or {id}");
  Allocate("one", "a");
  Allocate("two", "b");
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> errors;
    for (const auto& [uid, result] : PrepareAll({"one", "two"})) {
      if (!result) errors.push_back(result.error().message);
    }
    ASSERT_THAT(errors, SizeIs(1)) << "time " << i;
    EXPECT_THAT(errors[0], AllOf(HasSubstr("default/one"), HasSubstr("default/two"),
                                 HasSubstr("both have the environment variable THING")));
  }
  EXPECT_THAT(Files(), SizeIs(1));
  EXPECT_THAT(Runs(), SizeIs(2)) << "of one claim";
}

TEST_F(ClaimDevicesTest, RefusesRequestsAndClaimsWithOnePathForDifferentFiles) {
  for (const char* name : {"a", "b"}) tree_.Dir(Format("files/{}", name));
  spec_.env.clear();
  MountSpec& mount = spec_.mounts.emplace_back();
  mount.host_path = test::MakeTemplate("/files/{id}");
  mount.container_path = test::MakeTemplate("/data");
  Restart();
  Allocate("mine", {Thing("a", "first"), Thing("b", "second")});
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("its requests \"first\" and \"second\" both have the path "
                                         "/data, with different content"));
  Allocate("one", "a");
  Allocate("two", "b");
  std::vector<std::string> errors;
  for (const auto& [uid, result] : PrepareAll({"one", "two"})) {
    if (!result) errors.push_back(result.error().message);
  }
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0], AllOf(HasSubstr("default/one"), HasSubstr("default/two"),
                               HasSubstr("both have the path /data")));
}

// The files of an earlier boot no longer count.
TEST_F(ClaimDevicesTest, ClaimsOfACallCanChangeTogetherAfterAReboot) {
  Allocate("one", "a");
  Allocate("two", "b");
  for (const char* value : {"1", "2"}) {
    spec_.env = {{test::MakeTemplate("FOO"), test::MakeTemplate(value)}};
    boot_ = std::string("boot-") + value;
    Restart();
    for (const auto& [uid, result] : PrepareAll({"one", "two"})) {
      EXPECT_TRUE(result) << result.error().message;
    }
    EXPECT_THAT(EditsIn("two"), testing::ElementsAre(EnvOf(std::string("FOO=") + value)));
  }
}

TEST_F(ClaimDevicesTest, TheNodeInAContainerHasTheNumbersAndTheOwnerOfTheHost) {
  if (mknod(tree_.path("fake").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "cannot make a device node here";
  }
  ASSERT_EQ(chmod(tree_.path("fake").c_str(), 0640), 0);
  ASSERT_EQ(chown(tree_.path("fake").c_str(), 7, 20), 0);
  ServeNode("/fake");
  Allocate("mine", {NodeDevice()});
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  const auto node = EditsIn("mine").at(0).at("deviceNodes").at(0);
  EXPECT_EQ(node, nlohmann::json::parse(R"({"path": "/fake", "type": "c", "major": 1, "minor": 3,
                                            "fileMode": 416, "uid": 7, "gid": 20,
                                            "permissions": "rw"})"));
}

/// As with a module that is loaded again and gets another major number: no scan sees it.
TEST_F(ClaimDevicesTest, APreparedClaimHasNoFileWhileAnotherNodeHasItsPath) {
  const std::string node = tree_.path("fake");
  if (mknod(node.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "cannot make a device node here";
  }
  ServeNode("/fake");
  Allocate("mine", {NodeDevice()});
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  ASSERT_EQ(std::system(Format("rm {0}; mknod {0} c 1 5", node).c_str()), 0);
  EXPECT_EQ(
      ErrorOf("mine"),
      "ResourceClaim default/mine: the device node at /fake has changed from c 1:3 to c 1:5 "
      "since it was given to containers; delete the pods of the claim, so that they get it as "
      "it is");
  EXPECT_THAT(Files(), IsEmpty());
  ASSERT_EQ(std::system(Format("rm {0}; mknod {0} c 1 3", node).c_str()), 0);
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(Files(), SizeIs(1));
}

/// A device that a hook resets can get another node, and another client can put one in its place.
TEST_F(ClaimDevicesTest, RefusesAMatchedNodeThatAHookReplaced) {
  const std::string node = tree_.path("fake");
  if (mknod(node.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "cannot make a device node here";
  }
  DeviceNode matched;
  matched.path = matched.real_path = "/fake";
  matched.type = FileType::kCharacter;
  matched.major = 1;
  matched.minor = 3;
  spec_.device_nodes.emplace_back().host_path = test::MakeTemplate("{path}");
  hook_limit_ = std::chrono::milliseconds(1500);
  Allocate("mine", "a");
  const std::pair<std::string, std::string> cases[] = {
      {"true", "prepared"},
      {Format("rm {0}; mknod {0} b 8 0", node), "is not the device that was found there"},
      {Format("rm {0}; mknod {0} c 1 5", node), "is not the device that was found there"},
      {Format("mv {0} {0}2; ln -s fake2 {0}", node), "prepared"},
      {Format("rm {0}; mknod {0}3 c 1 5; ln -s fake3 {0}", node), "is not the device that"},
      {Format("rm {0}", node), "node /fake is missing"}};
  for (const auto& [hook, expected] : cases) {
    spec_.pre_start = HookThat(hook + "; echo pre_start >> {}");
    Restart();
    Move("a", {matched});
    EXPECT_THAT(ErrorOf("mine"), HasSubstr(expected)) << hook;
    EXPECT_EQ(Runs().back(), "pre_start") << hook;
    EXPECT_EQ(TextOf(FileOf("mine")).empty(), expected != "prepared") << hook;
    EXPECT_TRUE(Unprepare("mine"));
    ASSERT_EQ(std::system(Format("rm -f {0}; mknod {0} c 1 3", node).c_str()), 0);
  }
}

TEST_F(ClaimDevicesTest, AnswersEachRequestOfAClaim) {
  spec_.env = {{test::MakeTemplate("THING_{id}"), test::MakeTemplate("{id}")}};
  Restart();
  Allocate("mine", {Thing("a", "serial"), Thing("b", "port/second")});
  const auto prepared = Prepare("mine");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(AnswerOf(prepared),
              ElementsAre(Format("serial {}/a  {}", test::kThings, CdiId("mine", "serial")),
                          Format("port {}/b  {}", test::kThings, CdiId("mine", "port"))));
  EXPECT_THAT(EditsIn("mine"), ElementsAre(EnvOf("THING_a=a"), EnvOf("THING_b=b")));
  EXPECT_EQ(Prepare("mine").value(), *prepared);
  EXPECT_THAT(Runs(),
              UnorderedElementsAre("allocate a", "allocate b", "pre_start a", "pre_start b"));
}

TEST_F(ClaimDevicesTest, JoinsTheDevicesOfARequest) {
  Allocate("mine", {Thing("b"), Thing("a")});
  const auto prepared = Prepare("mine");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(AnswerOf(prepared),
              ElementsAre(Format("r {}/b  {}", test::kThings, CdiId("mine", "r")),
                          Format("r {}/a ", test::kThings)));
  EXPECT_THAT(EditsIn("mine"), ElementsAre(EnvOf("THING=a,b")));
}

TEST_F(ClaimDevicesTest, GivesEachShareOfADeviceASlot) {
  ServeFuse();
  Allocate("two-shares", {Fuse("share-1"), Fuse("share-2", "g")});
  const auto prepared = Prepare("two-shares");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(AnswerOf(prepared),
              ElementsAre(Format("f {}/fuse share-1 {}", kFusePool, CdiId("two-shares", "f")),
                          Format("g {}/fuse share-2 {}", kFusePool, CdiId("two-shares", "g"))));
  EXPECT_THAT(EditsIn("two-shares"),
              ElementsAre(EnvOf("THING_0=fuse::0"), EnvOf("THING_1=fuse::1")));

  Allocate("three-shares", {Fuse("share-3"), Fuse("share-4"), Fuse("share-5")});
  EXPECT_THAT(ErrorOf("three-shares"),
              AllOf(HasSubstr("has too few free slots"), HasSubstr("default/two-shares")));
  EXPECT_TRUE(Unprepare("two-shares"));
  EXPECT_EQ(ErrorOf("three-shares"), "prepared");
  EXPECT_THAT(EditsIn("three-shares"),
              ElementsAre(nlohmann::json{
                  {"env", {"THING_0=fuse::0", "THING_1=fuse::1", "THING_2=fuse::2"}}}));
}

TEST_F(ClaimDevicesTest, SharesADeviceBetweenTwoClaimsAtOnce) {
  ServeFuse();
  Allocate("one", {Fuse("share-1")});
  Allocate("two", {Fuse("share-2")});
  const auto results = PrepareAtOnce(*preparer_, "one", *preparer_, "two");
  std::vector<std::string> shares;
  for (const ClaimResults& result : results) {
    const auto& prepared = result.begin()->second;
    ASSERT_TRUE(prepared) << prepared.error().message;
    shares.push_back(prepared->at(0).devices.at(0).share_id);
  }
  EXPECT_THAT(shares, UnorderedElementsAre("share-1", "share-2"));
  EXPECT_THAT(std::vector({EditsIn("one").at(0), EditsIn("two").at(0)}),
              UnorderedElementsAre(EnvOf("THING_0=fuse::0"), EnvOf("THING_1=fuse::1")));
}

TEST_F(ClaimDevicesTest, PreparesAdminAccessTogetherWithAClaimOfTheDevice) {
  spec_.env = {{test::MakeTemplate("THING_{id}"), test::MakeTemplate("{id}")}};
  Restart();
  Allocate("mine", "a");
  Allocate("admin", {Admin(Thing("a", "watch"))});
  Allocate("both", {Thing("b", "use"), Admin(Thing("b", "watch"))});
  const auto results = PrepareAll({"mine", "admin", "both"});
  for (const auto& [uid, result] : results) EXPECT_TRUE(result) << result.error().message;
  EXPECT_THAT(EditsIn("admin"), ElementsAre(EnvOf("THING_a=a")));
  EXPECT_THAT(EditsIn("both"), ElementsAre(EnvOf("THING_b=b"), EnvOf("THING_b=b")));
  for (const char* name : {"mine", "admin", "both"}) EXPECT_TRUE(Unprepare(name));
  EXPECT_THAT(Runs(), UnorderedElementsAre("allocate a", "pre_start a", "allocate b", "pre_start b",
                                           "release a", "release b"));
}

TEST_F(ClaimDevicesTest, GivesAnUnhealthyDeviceOnlyToClaimsThatTolerateIt) {
  listed_[0] = test::Listed("a", Health::kUnhealthy, "probe: no answer");
  Restart();
  Allocate("mine", "a");
  EXPECT_THAT(ErrorOf("mine"), AllOf(HasSubstr("ResourceClaim default/mine: the device \"a\""),
                                     HasSubstr("is unhealthy: probe: no answer; fix the device")));
  EXPECT_THAT(Runs(), IsEmpty());
  EXPECT_THAT(Files(), IsEmpty());
  AllocatedDevice tolerated = Thing("a");
  tolerated.tolerates_unhealthy = true;
  Allocate("mine", {tolerated});
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(EditsIn("mine"), ElementsAre(EnvOf("THING=a")));
}

TEST_F(ClaimDevicesTest, APreparedClaimHasNoFileWhileItsDeviceIsMissing) {
  Allocate("mine", "a");
  const auto prepared = Prepare("mine");
  ASSERT_TRUE(prepared);
  const ListedDevice here = listed_[0];
  listed_[0].is_missing = true;
  Serve(test::kThings, spec_, listed_);
  EXPECT_THAT(ErrorOf("mine"), AllOf(HasSubstr("ResourceClaim default/mine: the device \"a\""),
                                     HasSubstr("is missing; connect it again")));
  EXPECT_THAT(Files(), IsEmpty());
  listed_[0] = here;
  Serve(test::kThings, spec_, listed_);
  EXPECT_EQ(Prepare("mine").value(), *prepared);
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

/// Two adapters are exchanged: the file would give a container the other one.
TEST_F(ClaimDevicesTest, APreparedClaimHasNoFileWhileItsDeviceIsElsewhere) {
  const auto node = [](const char* path, unsigned minor) {
    DeviceNode made;
    made.path = made.real_path = path;
    made.type = FileType::kCharacter;
    made.major = 188;
    made.minor = minor;
    return std::vector{made};
  };
  Move("a", node("/dev/ttyUSB0", 0));
  Allocate("mine", "a");
  const auto prepared = Prepare("mine");
  ASSERT_TRUE(prepared);
  Move("a", node("/dev/ttyUSB2", 2));
  preparer_->Refresh({Key("mine")});
  ASSERT_TRUE(loop_.RunUntil([&] { return !preparer_->moved().empty(); }));
  EXPECT_THAT(preparer_->moved().at("uid-of-mine"),
              HasSubstr("has moved from c 188:0 /dev/ttyUSB0 to c 188:2 /dev/ttyUSB2"));
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("has moved from c 188:0 /dev/ttyUSB0"));
  Move("a", node("/dev/ttyUSB0", 0));
  preparer_->Refresh({Key("mine")});
  ASSERT_TRUE(loop_.RunUntil([&] { return preparer_->moved().empty(); }));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  EXPECT_EQ(Prepare("mine").value(), *prepared);
}

TEST_F(ClaimDevicesTest, ComparesVariablesWhileTheConfigurationIsTheSame) {
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  spec_.env = {{test::MakeTemplate("OTHER"), test::MakeTemplate("{id}")}};
  Serve(test::kThings, spec_, listed_);
  EXPECT_EQ(ErrorOf("mine"), "prepared") << "a reload does not change a claim";
  EXPECT_THAT(EditsIn("mine"), ElementsAre(EnvOf("THING=a")));
  ASSERT_TRUE(Unprepare("mine"));
  spec_.env = {{test::MakeTemplate("PORT"), test::MakeTemplate("{port}")}};
  const auto at_port = [&](const char* port) {
    auto device = std::make_shared<Device>(*listed_[0].device);
    device->values = {{"port", port}};
    listed_[0].device = std::move(device);
    Serve(test::kThings, spec_, listed_);
  };
  at_port("1-1");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  at_port("1-2");
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("the variables of the device \"a\""));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ClaimDevicesTest, RequestsARescanOfTheResourceWhoseNodeVanished) {
  int rescans = 0;
  int others = 0;
  ServeNode("/dev/thing").on_stale_list = [&] { ++rescans; };
  resources_[test::kThings].on_stale_list = [&] { ++others; };
  Allocate("vanished", {Thing("a"), NodeDevice()});
  Allocate("mine", "b");
  const auto results = PrepareAll({"vanished", "mine"});
  ASSERT_FALSE(results.at("uid-of-vanished"));
  EXPECT_THAT(results.at("uid-of-vanished").error().message,
              HasSubstr("node /dev/thing is missing"));
  EXPECT_TRUE(results.at("uid-of-mine"));
  EXPECT_EQ(rescans, 1);
  EXPECT_EQ(others, 0);
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  EXPECT_THAT(Runs(), ElementsAre("allocate b", "pre_start b"));
}

TEST_F(ClaimDevicesTest, AnswersOtherClaimsOfACallInWhichALookupHangs) {
  tree_.Dir("mnt");
  ServeNode("/mnt/x", std::chrono::milliseconds(200));
  Allocate("hangs", {NodeDevice()});
  Allocate("mine", "a");
  test::HangingMount hang(tree_.path("mnt"));
  if (!hang.why_not().empty()) GTEST_SKIP() << hang.why_not();
  const auto results = PrepareAll({"hangs", "mine"});
  EXPECT_TRUE(results.at("uid-of-mine"));
  ASSERT_FALSE(results.at("uid-of-hangs"));
  EXPECT_THAT(results.at("uid-of-hangs").error().message,
              HasSubstr("ResourceClaim default/hangs: timed out looking up /mnt/x after 0.2 s"));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
}

TEST_F(ClaimDevicesTest, ALookupThatHangsBlocksNeitherTheLoopNorOtherCalls) {
  tree_.Dir("mnt");
  ServeNode("/mnt/x", std::chrono::hours(1));
  Allocate("hangs", {NodeDevice()});
  Allocate("mine", "a");
  test::HangingMount hang(tree_.path("mnt"));
  if (!hang.why_not().empty()) GTEST_SKIP() << hang.why_not();
  std::optional<ClaimResults> results;
  preparer_->Prepare({Key("hangs")}, Call(), [&](ClaimResults got) { results = std::move(got); });
  std::optional<bool> hangs;
  const auto waiter = std::async(std::launch::async, [&] {
    loop_.Post([&, hung = hang.AwaitHang(std::chrono::seconds(60))] { hangs = hung; });
  });
  ASSERT_TRUE(loop_.RunUntil([&] { return hangs.has_value(); }));
  ASSERT_TRUE(*hangs);
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_FALSE(results) << "the lookup did not hang";
  hang.End();
  ASSERT_TRUE(loop_.RunUntil([&] { return results.has_value(); }));
  EXPECT_FALSE(results->at("uid-of-hangs"));
}

}  // namespace
}  // namespace patchbay
