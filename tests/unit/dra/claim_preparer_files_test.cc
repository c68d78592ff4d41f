#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/format.h"
#include "dra/claim_preparer.h"
#include "support/hanging_mount.h"
#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A preparer and the states that the directory of CDI files can have.
class ClaimPreparerFilesTest : public test::ClaimPreparerFixture {};

TEST_F(ClaimPreparerFilesTest, CreatesTheDirectoryButNotItsParents) {
  Allocate("mine", "a");
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  struct stat info = {};
  ASSERT_EQ(stat(cdi_dir_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);

  cdi_dir_ = tree_.path("missing/cdi");
  Restart();
  Allocate("second", "b");
  EXPECT_THAT(ErrorOf("second"),
              AllOf(HasSubstr(Format("ResourceClaim default/second: cannot write {}", cdi_dir_)),
                    HasSubstr("No such file or directory"),
                    HasSubstr("with api = \"dra\" the component \"dra\"")));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

TEST_F(ClaimPreparerFilesTest, DoesNotFollowALinkInPlaceOfTheDirectory) {
  tree_.Dir("elsewhere");
  tree_.Link("cdi", tree_.path("elsewhere"));
  Allocate("mine", "a");
  EXPECT_THAT(ErrorOf("mine"), AllOf(HasSubstr("Not a directory"), HasSubstr("cdi_dir")));
  EXPECT_TRUE(std::filesystem::is_empty(tree_.path("elsewhere")));
  EXPECT_THAT(Runs(), IsEmpty());
}

TEST_F(ClaimPreparerFilesTest, KeepsTheFileUntilItCanBeRemovedAndReleasesOnce) {
  Allocate("mine", "a");
  ASSERT_TRUE(Prepare("mine"));
  if (!MakeReadOnly()) GTEST_SKIP() << "cannot mount here";
  Allocate("second", "b");
  EXPECT_THAT(ErrorOf("second"), HasSubstr("Read-only file system"));
  const Status kept = Unprepare("mine");
  EXPECT_FALSE(Unprepare("mine"));
  MakeWritable();
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("default/mine"));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a", "release a"));
}

TEST_F(ClaimPreparerFilesTest, LogsADamagedFileOfAnotherClaimOnce) {
  const auto logged = [this] {
    const std::string text = text_.str();
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = text.find("devices count as free", at)) != text.npos; ++at) {
      ++lines;
    }
    return lines;
  };
  Allocate("mine", "a");
  Allocate("second", "b");
  tree_.File("cdi/" + FileOf("broken"), "[");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  ASSERT_EQ(ErrorOf("second"), "prepared");
  EXPECT_EQ(logged(), 1U);
  ASSERT_TRUE(Unprepare("mine"));
  tree_.Remove("cdi/" + FileOf("broken"));
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  ASSERT_TRUE(Unprepare("mine"));
  tree_.File("cdi/" + FileOf("broken"), "[");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_EQ(logged(), 2U) << "it was damaged again";
}

TEST_F(ClaimPreparerFilesTest, WritesADamagedFileAgain) {
  Allocate("mine", "a");
  const auto first = Prepare("mine");
  ASSERT_TRUE(first);
  tree_.File("cdi/" + FileOf("mine"), "{");
  tree_.File("cdi/" + FileOf("other"), "{");
  EXPECT_EQ(Prepare("mine").value(), *first);
  EXPECT_TRUE(Unprepare("other"));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
}

TEST_F(ClaimPreparerFilesTest, RunsNoHookIfTheFileCannotBeWritten) {
  tree_.File("cdi", "a file");
  Allocate("mine", "a");
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("cdi_dir"));
  EXPECT_THAT(Runs(), IsEmpty());
}

TEST_F(ClaimPreparerFilesTest, RunsNoHookIfTheDirectoryIsFull) {
  tree_.Dir("cdi");
  if (mount("none", cdi_dir_.c_str(), "tmpfs", 0, "size=4k") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs here";
  }
  tree_.File("cdi/vendor.com-gpu.json", std::string(4096, ' '));
  Allocate("mine", "a");
  EXPECT_THAT(ErrorOf("mine"), AllOf(HasSubstr(Format("cannot write {}", cdi_dir_)),
                                     HasSubstr("No space left on device; free space")));
  EXPECT_THAT(Files(), ElementsAre("vendor.com-gpu.json"));
  tree_.Remove("cdi/vendor.com-gpu.json");
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
  EXPECT_EQ(umount(cdi_dir_.c_str()), 0);
}

TEST_F(ClaimPreparerFilesTest, RunsNoHookIfADirectoryIsInPlaceOfTheFile) {
  tree_.Dir("cdi");
  tree_.Dir("cdi/" + FileOf("mine"));
  Allocate("mine", "a");
  EXPECT_THAT(ErrorOf("mine"),
              HasSubstr(FileOf("mine") + ": Is a directory; remove this directory"));
  EXPECT_THAT(Runs(), IsEmpty());
  std::filesystem::remove(Format("{}/{}", cdi_dir_, FileOf("mine")));
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

TEST_F(ClaimPreparerFilesTest, DoesNotTouchFilesOfOthers) {
  const std::vector<std::string> others = {".patchbay-0123.tmp",
                                           ".vendor.tmp",
                                           "patchbay.dev-claim.json",
                                           "patchbay.dev-claim_not a UID.json",
                                           "patchbay.dev-group_gid-20.json",
                                           "vendor.com-claim_uid-of-mine.json",
                                           "vendor.com-gpu.yaml"};
  for (const std::string& name : others) tree_.File("cdi/" + name, "content of " + name);
  Allocate("mine", "a");
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_EQ(Files(), others);
  for (const std::string& name : others) EXPECT_EQ(TextOf(name), "content of " + name);
}

TEST_F(ClaimPreparerFilesTest, ReplacesALinkInPlaceOfAFile) {
  tree_.File("target", "untouched");
  tree_.Link("cdi/" + FileOf("mine"), tree_.path("target"));
  tree_.Link("cdi/" + FileOf("other"), tree_.path("target"));
  Allocate("mine", "a");
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_FALSE(std::filesystem::is_symlink(Format("{}/{}", cdi_dir_, FileOf("mine"))));
  EXPECT_THAT(EditsIn("mine"), SizeIs(1));
  EXPECT_TRUE(Unprepare("other"));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  EXPECT_EQ(TextOf("../target"), "untouched");
}

TEST_F(ClaimPreparerFilesTest, AFileSystemThatHangsFailsClaimsAndNotTheLoop) {
  tree_.Dir("cdi");
  file_limit_ = std::chrono::milliseconds(200);
  Restart();
  Allocate("mine", "a");
  Allocate("second", "b");
  test::HangingMount hang(cdi_dir_);
  if (!hang.why_not().empty()) GTEST_SKIP() << hang.why_not();
  const auto results = PrepareAll({"mine", "second"});
  for (const char* name : {"mine", "second"}) {
    const auto& result = results.at(Key(name).uid);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kUnavailable);
    EXPECT_THAT(result.error().message,
                HasSubstr(Format("ResourceClaim default/{}: timed out after 0.2 s; the file system "
                                 "of {} or {} is not responding",
                                 name, cdi_dir_, tree_.path("data/serialize.lock"))));
  }
  EXPECT_FALSE(Unprepare("mine"));
  EXPECT_THAT(Runs(), IsEmpty());
}

}  // namespace
}  // namespace patchbay
