// Paths of sockets, and the sockets of killed runs.

#include "dra/driver_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/driver_name.h"
#include "model/spec.h"
#include "support/temp_tree.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

using test::BindSocket;
using test::TempTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr char kUid[] = "11111111-2222-3333-4444-555555555555";
constexpr char kUidHash[] = "Zm_2zKpbPAc";  // of SHA-256, computed with another program
constexpr char kDriverUidHash[] = "KMx14UzMfiSWcmF1Jb_YNA";

DriverSockets Paths(const DriverInstance& instance) {
  DriverSockets sockets = SocketsOf(instance);
  EXPECT_TRUE(sockets.usable) << (sockets.usable ? "" : sockets.usable.error().message);
  return sockets;
}

TEST(SocketsOf, HasFixedNamesWithoutAPod) {
  const DriverSockets sockets = Paths({.driver = "gpu.example.com"});
  EXPECT_EQ(sockets.registry, "/var/lib/kubelet/plugins_registry");
  EXPECT_EQ(sockets.registration, "/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock");
  EXPECT_EQ(sockets.data, "/var/lib/kubelet/plugins/gpu.example.com");
  EXPECT_EQ(sockets.dra, "/var/lib/kubelet/plugins/gpu.example.com/dra.sock");
}

TEST(SocketsOf, HasThePodUidInBothNames) {
  const DriverSockets sockets = Paths({.driver = "gpu.example.com", .pod_uid = kUid});
  EXPECT_EQ(sockets.registration,
            std::string("/var/lib/kubelet/plugins_registry/gpu.example.com-") + kUid + "-reg.sock");
  EXPECT_EQ(sockets.dra,
            std::string("/var/lib/kubelet/plugins/gpu.example.com/dra-") + kUid + ".sock");
}

// Each path is the longest one of its form, or one byte longer.
TEST(SocketsOf, UsesHashesWhereThePathIsTooLong) {
  const auto registration = [](std::size_t root) {
    return Paths({.kubelet_root = "/" + std::string(root - 1, 'k'),
                  .driver = "gpu.example.com",
                  .pod_uid = kUid})
        .registration;
  };
  // "/plugins_registry/gpu.example.com-<uid>-reg.sock" has 79 bytes, with the hash 54.
  EXPECT_EQ(registration(28).size(), kMaxSocketPath);
  EXPECT_THAT(registration(28), HasSubstr(kUid));
  EXPECT_THAT(registration(29), HasSubstr(std::string("/gpu.example.com-") + kUidHash + "-reg"));
  EXPECT_EQ(registration(53).size(), kMaxSocketPath);
  EXPECT_THAT(registration(53), HasSubstr(std::string("/gpu.example.com-") + kUidHash + "-reg"));
  EXPECT_THAT(registration(54), HasSubstr(std::string("/dra-") + kDriverUidHash + "-reg.sock"));

  const DriverSockets longest = Paths({.driver = std::string(47, 'd'), .pod_uid = kUid});
  EXPECT_THAT(longest.dra, HasSubstr(std::string("/dra-") + kUidHash + ".sock"));
}

TEST(SocketsOf, FitsInAPodIfTheConfigurationIsValid) {
  for (const std::size_t driver : {std::size_t{28}, kMaxDriverName}) {
    const auto usable = [driver](std::size_t root) {
      return SocketsOf({.kubelet_root = "/" + std::string(root - 1, 'k'),
                        .driver = std::string(driver, 'd'),
                        .pod_uid = kUid})
          .usable.has_value();
    };
    EXPECT_TRUE(usable(kMaxDriverAndRoot - driver));
    EXPECT_FALSE(usable(kMaxDriverAndRoot - driver + 1));
  }
}

TEST(SocketsOf, RejectsWhatCannotBeServed) {
  const auto error = [](const DriverInstance& instance) {
    const DriverSockets sockets = SocketsOf(instance);
    return sockets.usable ? "" : sockets.usable.error().message;
  };
  EXPECT_THAT(error({.driver = "a", .pod_uid = "../b"}), HasSubstr("POD_UID"));
  const std::string root = "/" + std::string(90, 'k');
  EXPECT_THAT(error({.kubelet_root = root, .driver = "patchbay.dev"}), HasSubstr("107 bytes"));
  EXPECT_THAT(error({.kubelet_root = root, .driver = "patchbay.dev", .pod_uid = kUid}),
              HasSubstr("shorter"));
}

TEST(IsRegistrationSocketOf, RecognizesAllInstancesOfOneDriver) {
  const std::string uid = kUid, hash = kUidHash;
  for (const std::string& name :
       {std::string("a.b-reg.sock"), "a.b-" + uid + "-reg.sock", "a.b-" + hash + "-reg.sock",
        "a.b-" + std::string(32, '0') + "-reg.sock"}) {
    EXPECT_TRUE(IsRegistrationSocketOf("a.b", name)) << name;
  }
  for (const std::string& name :
       {std::string("a.b.sock"), std::string("-reg.sock"), "a.c-" + uid + "-reg.sock",
        "a.b-c-" + uid + "-reg.sock", std::string("a.b-other-reg.sock"), "a.b-" + uid + ".sock",
        "xa.b-" + uid + "-reg.sock", std::string("a.b--reg.sock")}) {
    EXPECT_FALSE(IsRegistrationSocketOf("a.b", name)) << name;
  }
}

/// The sockets of two drivers in a temporary kubelet directory.
class SweepStaleSocketsTest : public testing::Test {
 protected:
  SweepStaleSocketsTest() {
    tree_.Dir("plugins_registry");
    tree_.Dir("plugins/a.b");
    tree_.Dir("plugins/a.c");
  }
  DriverInstance Instance(std::string_view uid) const {
    return {.kubelet_root = tree_.path(), .driver = "a.b", .pod_uid = std::string(uid)};
  }
  std::vector<std::string> Sweep(std::string_view uid) const {
    const DriverInstance instance = Instance(uid);
    std::vector<std::string> removed = SweepStaleSockets(instance.driver, Paths(instance));
    for (std::string& path : removed) path = path.substr(tree_.path().size() + 1);
    return removed;
  }

  TempTree tree_;
};

TEST_F(SweepStaleSocketsTest, RemovesWhatKilledRunsLeft) {
  const std::string other = "99999999-2222-3333-4444-555555555555";
  const std::vector<std::string> stale = {
      "plugins/a.b/dra.sock", std::string("plugins/a.b/dra-") + kUid + ".sock",
      "plugins/a.b/dra-" + other + ".sock", "plugins_registry/a.b-reg.sock",
      std::string("plugins_registry/a.b-") + kUid + "-reg.sock"};
  for (const std::string& path : stale) BindSocket(tree_.path(path), false);
  EXPECT_THAT(Sweep(kUid), testing::UnorderedElementsAreArray(stale));
  EXPECT_THAT(Sweep(kUid), IsEmpty());
}

TEST_F(SweepStaleSocketsTest, KeepsSocketsOfRunningInstancesAndOtherDrivers) {
  const std::string other = "99999999-2222-3333-4444-555555555555";
  const UniqueFd dra = BindSocket(tree_.path("plugins/a.b/dra-" + other + ".sock"), true);
  const UniqueFd registration =
      BindSocket(tree_.path("plugins_registry/a.b-" + other + "-reg.sock"), true);
  const UniqueFd starting = BindSocket(tree_.path("plugins_registry/a.b-reg.sock"), false);
  BindSocket(tree_.path("plugins_registry/a.c-reg.sock"), false);
  BindSocket(tree_.path("plugins_registry/a.b-other-reg.sock"), false);
  BindSocket(tree_.path("plugins/a.c/dra.sock"), false);
  BindSocket(tree_.path("plugins/a.b/foreign.sock"), false);
  tree_.File("plugins/a.b/dra.sock", "not a socket");
  tree_.Link(std::string("plugins/a.b/dra-") + kUid + ".sock", "foreign.sock");
  EXPECT_THAT(Sweep(kUid), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(tree_.path("plugins/a.c/dra.sock")));
}

TEST_F(SweepStaleSocketsTest, RemovesItsOwnSocketsOfTheShortestForm) {
  const std::string root = tree_.path() + "/" + std::string(43 - tree_.path().size(), 'k');
  std::filesystem::create_directories(root + "/plugins_registry");
  const DriverInstance instance{
      .kubelet_root = root, .driver = std::string(30, 'd'), .pod_uid = kUid};
  const DriverSockets sockets = Paths(instance);
  ASSERT_THAT(sockets.registration, HasSubstr("/dra-"));
  BindSocket(sockets.registration, false);
  EXPECT_THAT(SweepStaleSockets(instance.driver, sockets), ElementsAre(sockets.registration));
}

TEST_F(SweepStaleSocketsTest, AcceptsMissingDirectories) {
  tree_.Remove("plugins");
  tree_.Remove("plugins_registry");
  EXPECT_THAT(Sweep(kUid), IsEmpty());
}

}  // namespace
}  // namespace patchbay
