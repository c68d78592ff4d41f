#include "dra/claim_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/format.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClaimFilesTest : public testing::Test {
 protected:
  static std::string FileOf(const std::string& uid) { return ClaimFileName("patchbay.dev", uid); }
  /// Writes the file of a claim with one device.
  Status Write(const std::string& uid, const std::string& device = "a") const {
    PlannedRequest request{.request = "r", .resource = "example.com/thing"};
    request.devices.push_back({.pool = "node-1/example.com/thing",
                               .device = device,
                               .device_id = device,
                               .replicas = {0}});
    ContainerResponse response;
    response.envs["THING"] = device;
    const ClaimPlan plan{.claim = {uid, "default", "claim-" + uid}, .requests = {request}};
    return files_.Write(uid, TRY(ClaimSpec(files_.driver(), plan, {&response, 1})));
  }
  std::vector<std::string> Uids() const {
    std::vector<std::string> uids;
    const auto all = files_.ReadAll();
    EXPECT_TRUE(all) << all.error().message;
    for (const PreparedClaim& claim : all->claims) uids.push_back(claim.claim.uid);
    return uids;
  }

  test::TempTree tree_;
  const ClaimFiles files_{tree_.path("cdi"), "patchbay.dev"};
};

TEST_F(ClaimFilesTest, ReadsBackWhatItWrote) {
  ASSERT_TRUE(Write("uid-1"));
  ASSERT_TRUE(Write("uid-2", "b"));
  const auto read = files_.Read("uid-2");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->claim, (ClaimKey{"uid-2", "default", "claim-uid-2"}));
  EXPECT_EQ((*read)->requests.at(0).devices.at(0).device, "b");
  EXPECT_THAT(Uids(), ElementsAre("uid-1", "uid-2"));
}

TEST_F(ClaimFilesTest, HasNoClaimsWithoutADirectory) {
  EXPECT_EQ(files_.Read("uid-1").value(), std::nullopt);
  EXPECT_THAT(Uids(), IsEmpty());
  EXPECT_TRUE(files_.Remove("uid-1"));
  EXPECT_FALSE(std::filesystem::exists(files_.directory()));
}

TEST_F(ClaimFilesTest, RemovesOneClaim) {
  ASSERT_TRUE(Write("uid-1"));
  ASSERT_TRUE(Write("uid-2"));
  EXPECT_TRUE(files_.Remove("uid-1"));
  EXPECT_TRUE(files_.Remove("uid-1"));
  EXPECT_EQ(files_.Read("uid-1").value(), std::nullopt);
  EXPECT_THAT(Uids(), ElementsAre("uid-2"));
}

TEST_F(ClaimFilesTest, ListsDamagedFilesWithTheirReasons) {
  ASSERT_TRUE(Write("uid-1"));
  ASSERT_TRUE(Write("uid-2"));
  std::filesystem::copy(tree_.path("cdi/" + FileOf("uid-1")), tree_.path("cdi/" + FileOf("uid-3")));
  tree_.File("cdi/" + FileOf("uid-4"), "{");
  tree_.Link("cdi/" + FileOf("uid-5"), tree_.path("cdi/" + FileOf("uid-1")));
  const auto all = files_.ReadAll();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(all->claims, SizeIs(2));
  EXPECT_THAT(all->damaged, ElementsAre(AllOf(HasSubstr(tree_.path("cdi/" + FileOf("uid-3"))),
                                              HasSubstr("a device is of another claim")),
                                        HasSubstr(tree_.path("cdi/" + FileOf("uid-4"))),
                                        AllOf(HasSubstr(tree_.path("cdi/" + FileOf("uid-5"))),
                                              HasSubstr("is not a regular file"))));
  for (const char* uid : {"uid-3", "uid-4", "uid-5"}) {
    const auto read = files_.Read(uid);
    ASSERT_FALSE(read) << uid;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(read.error().message, HasSubstr(FileOf(uid)));
  }
}

TEST_F(ClaimFilesTest, ReadsABoundedNumberOfFiles) {
  tree_.Dir("cdi");
  for (std::size_t i = 0; i <= ClaimFiles::kMaxFiles; ++i) {
    tree_.File(Format("cdi/{}", FileOf(Format("uid-{}", i))), "");
  }
  const auto all = files_.ReadAll();
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(all.error().message, HasSubstr("10001 files of claims, and at most 10000"));
}

TEST_F(ClaimFilesTest, IgnoresFilesOfOthers) {
  ASSERT_TRUE(Write("uid-1"));
  tree_.File("cdi/patchbay.dev-claim_no UID.json", "{");
  tree_.File("cdi/patchbay.dev-claim_.json", "{");
  tree_.File("cdi/patchbay.dev-claim_uid-2.yaml", "{");
  tree_.File("cdi/patchbay.dev-group_gid-20.json", "{");
  tree_.File("cdi/vendor.com-claim_uid-3.json", "{");
  const auto all = files_.ReadAll();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(all->claims, SizeIs(1));
  EXPECT_THAT(all->damaged, IsEmpty());
  EXPECT_EQ(files_.Read("uid-3").value(), std::nullopt);
}

TEST_F(ClaimFilesTest, ReadsNoClaimsOfAnotherDriver) {
  ASSERT_TRUE(Write("uid-1"));
  const ClaimFiles others(files_.directory(), "other.dev");
  EXPECT_EQ(others.Read("uid-1").value(), std::nullopt);
  EXPECT_THAT(others.ReadAll().value().claims, IsEmpty());
}

}  // namespace
}  // namespace patchbay
