// grant_group: containers get the groups of their device nodes.

#include <unistd.h>

#include <filesystem>

#include "base/format.h"
#include "cdi/group_device.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GroupGrant : public Contract {
 protected:
  void SetGroup(const std::string& path, gid_t gid) {
    ASSERT_EQ(chown(tree_.path(path).c_str(), 0, gid), 0);
  }
  void Start(gid_t gid) {
    tree_.CharDevice("dev/ttyUSB0");
    SetGroup("dev/ttyUSB0", gid);
    ASSERT_EQ(chmod(tree_.path("dev/ttyUSB0").c_str(), 0660), 0);
    StartKubelet();
    StartDaemon(Serial("grant_group = true"));
    ASSERT_TRUE(AwaitServed());
  }
  /// Returns the CDI devices that the response to Allocate names.
  std::vector<std::string> Allocate() {
    v1beta1::AllocateResponse response;
    const grpc::Status status = Stub().Allocate({{"ttyUSB0"}}, &response);
    error_ = status.error_message();
    std::vector<std::string> names;
    if (!status.ok()) return names;
    for (const auto& device : response.container_responses(0).cdi_devices()) {
      names.push_back(device.name());
    }
    return names;
  }
  std::vector<std::uint32_t> GroupsInFile(gid_t gid) const {
    const auto spec =
        CdiDirectory(tree_.path("cdi")).Read(Format("patchbay.dev-group_gid-{}.json", gid));
    return spec ? spec->devices.at(0).edits.additional_gids : std::vector<std::uint32_t>();
  }

  std::string error_;
};

TEST_P(GroupGrant, WritesTheFileBeforeAnyContainerNeedsIt) {
  Start(20);
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_THAT(GroupsInFile(20), ElementsAre(20U));
  EXPECT_THAT(Allocate(), ElementsAre("patchbay.dev/group=gid-20"));
}

TEST_P(GroupGrant, FollowsAChangeOfTheGroup) {
  Start(20);
  SetGroup("dev/ttyUSB0", 44);
  EXPECT_THAT(Allocate(), ElementsAre("patchbay.dev/group=gid-44"));
  EXPECT_THAT(GroupsInFile(44), ElementsAre(44U));
  EXPECT_THAT(GroupsInFile(20), ElementsAre(20U)) << "running containers may restart";
}

TEST_P(GroupGrant, NeverGrantsTheGroupOfRoot) {
  Start(0);
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_THAT(Allocate(), IsEmpty());
  EXPECT_EQ(error_, "");
  EXPECT_FALSE(std::filesystem::exists(tree_.path("cdi")));
}

TEST_P(GroupGrant, LogsOnceThatTheGroupIsRoot) {
  Start(0);
  const std::string note =
      "device needs attention resource=example.com/serial device=ttyUSB0 "
      "reason=\"/dev/ttyUSB0: group is root: a container that is not root cannot open it; set the "
      "group by udev, with this rule";
  EXPECT_TRUE(daemon_->log().Await(note)) << daemon_->log().text();
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_EQ(daemon_->log().Count(note), 1U);
}

TEST_P(GroupGrant, WritesADeletedFileAgain) {
  Start(20);
  ASSERT_TRUE(daemon_->AwaitReady());
  tree_.Remove("cdi/patchbay.dev-group_gid-20.json");
  EXPECT_THAT(Allocate(), ElementsAre("patchbay.dev/group=gid-20"));
  EXPECT_THAT(GroupsInFile(20), ElementsAre(20U));
}

TEST_P(GroupGrant, ReportsADirectoryThatCannotBeWritten) {
  tree_.File("cdi");
  Start(20);
  EXPECT_TRUE(daemon_->log().Await("cannot grant the groups of device nodes"));
  EXPECT_THAT(Allocate(), IsEmpty());
  EXPECT_THAT(error_, AllOf(HasSubstr("patchbay.dev-group_gid-20.json"), HasSubstr("cdi_dir")));
  tree_.Remove("cdi");
  EXPECT_THAT(Allocate(), ElementsAre("patchbay.dev/group=gid-20"));
}

TEST_P(GroupGrant, StartsWithAReload) {
  tree_.CharDevice("dev/ttyUSB0");
  SetGroup("dev/ttyUSB0", 20);
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  EXPECT_THAT(Allocate(), IsEmpty());
  daemon_->Reload(Serial("grant_group = true"));
  // The reload is complete when a scan has ended, of which Allocate shows the effect.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (Allocate().empty() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_THAT(Allocate(), ElementsAre("patchbay.dev/group=gid-20"));
}

INSTANTIATE_TEST_SUITE_P(Sync, GroupGrant, testing::Values(KubeletProfile::kSync), ProfileName);

}  // namespace
}  // namespace patchbay::test
