#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <thread>

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
                    HasSubstr("No such file or directory"), HasSubstr("set cdi_dir in [daemon]")));
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
  Allocate("mine", "a");
  test::HangingMount hang(cdi_dir_);
  if (!hang.why_not().empty()) GTEST_SKIP() << hang.why_not();
  std::optional<ClaimResults> results;
  preparer_->Prepare({Key("mine")}, Call(), [&](ClaimResults got) { results = std::move(got); });
  bool hangs = false;
  const auto waiter = std::async(std::launch::async, [&] {
    loop_.Post([&, hung = hang.AwaitHang(std::chrono::seconds(60))] { hangs = hung; });
  });
  ASSERT_TRUE(loop_.RunUntil([&] { return hangs; }));
  loop_.Advance(std::chrono::seconds(45));
  ASSERT_TRUE(results);
  EXPECT_THAT(results->at("uid-of-mine").error().message,
              HasSubstr("ResourceClaim default/mine: still at this step: writing the CDI file"));
  EXPECT_THAT(Runs(), IsEmpty());
}

TEST_F(ClaimPreparerFilesTest, ADamagedRecordOfThisBootHoldsItsDevices) {
  Allocate("mine", "a");
  Allocate("second", "b");
  Allocate("admin", {Admin(Thing("b"))});
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  const std::string record = TextOf("../data/claims/claim_uid-of-mine.json");
  for (std::size_t size = 0; size < record.size(); size += 1 + record.size() / 100) {
    tree_.File("data/claims/claim_uid-of-mine.json", record.substr(0, size));
    const auto read = preparer_->store()->Read();
    ASSERT_TRUE(read && (*read)->bad.contains("uid-of-mine")) << size;
  }
  for (const char* name : {"mine", "second"}) {
    EXPECT_THAT(ErrorOf(name), HasSubstr(RecordOf("mine"))) << name;
  }
  EXPECT_EQ(ErrorOf("admin"), "prepared");
  const auto runs = Runs().size();
  utimbuf old = {.actime = 1, .modtime = 1};
  ASSERT_EQ(utime(RecordOf("mine").c_str(), &old), 0);
  EXPECT_EQ(ErrorOf("second"), "prepared") << "no container of a former boot runs";
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_EQ(Runs().size(), runs + 4);
  tree_.File("data/claims/claim_uid-of-mine.json", "{");
  EXPECT_TRUE(Unprepare("mine")) << "otherwise the pod would never end";
}

TEST_F(ClaimPreparerFilesTest, ARecordOfAnotherVersionIsAnErrorWithACure) {
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  std::string record = TextOf("../data/claims/claim_uid-of-mine.json");
  record.replace(record.find("\"version\":1"), 11, "\"version\":2");
  tree_.File("data/claims/claim_uid-of-mine.json", record);
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("install the Patchbay that wrote it again, or drain"));
  const Status kept = Unprepare("mine");
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("has version 2"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

/// Nothing but Unprepare releases a claim.
TEST_F(ClaimPreparerFilesTest, WritesRecordsAgainIfTheirDirectoryIsDeleted) {
  Allocate("mine", "a");
  Allocate("second", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  ASSERT_TRUE(preparer_->store()->Read());
  tree_.Remove("data");
  EXPECT_THAT(ErrorOf("second"), HasSubstr("default/mine"));
  EXPECT_TRUE(std::filesystem::exists(RecordOf("mine")));
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_FALSE(std::filesystem::exists(RecordOf("mine")));
  EXPECT_EQ(ErrorOf("second"), "prepared");
}

/// A node can have thousands of claims.
TEST_F(ClaimPreparerFilesTest, ReadsOnlyTheRecordsThatChanged) {
  Allocate("one", "a");
  Allocate("two", "b");
  ASSERT_EQ(ErrorOf("one"), "prepared");
  const auto read = [&] {
    const auto records = preparer_->store()->Read();
    EXPECT_TRUE(records);
    return records.value_or(std::make_shared<const ClaimRecords>());
  };
  const auto first = read();
  EXPECT_EQ(read(), first);
  ASSERT_EQ(ErrorOf("two"), "prepared");
  const auto second = read();
  ASSERT_EQ(second->claims.size(), 2U);
  EXPECT_EQ(second->claims.at(Key("one").uid), first->claims.at(Key("one").uid));
  tree_.File("data/claims/claim_uid-of-one.json", "{");
  const auto third = read();
  EXPECT_EQ(third->bad.count(Key("one").uid), 1U);
  EXPECT_EQ(third->claims.at(Key("two").uid), second->claims.at(Key("two").uid));
}

TEST_F(ClaimPreparerFilesTest, ARecordThatCannotBeOpenedIsNotDamaged) {
  if (geteuid() != 0) GTEST_SKIP() << "root becomes another user here";
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  for (const char* directory : {"", "data", "data/claims"}) {
    ASSERT_EQ(chmod(tree_.path(directory).c_str(), 0755), 0);
  }
  ClaimStore store(tree_.path("data"), cdi_dir_, "patchbay.dev", boot_);
  std::string error;
  std::thread([&] {
    setfsuid(65534);  // of this thread only
    const auto read = store.Read();
    error = read ? "read" : read.error().message;
  }).join();
  EXPECT_THAT(error,
              AllOf(HasSubstr("claim_uid-of-mine.json: Permission denied"), HasSubstr("; ")));
  const auto read = store.Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE((*read)->claims.contains(Key("mine").uid));
}

/// Another process may have the lock, for as long as its hooks run.
TEST_F(ClaimPreparerFilesTest, AComparisonThatFailsIsRepeated) {
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  listed_[0].is_missing = true;
  Serve(test::kThings, spec_, listed_);
  auto other =
      ClaimLock::Open(tree_.path("data") + "/serialize.lock", std::make_shared<ClaimLock::Table>());
  const std::string name = "claim " + Key("mine").uid;
  ASSERT_TRUE(other);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool is_locked = false;  // as soon as the run that prepared has unlocked
  while (!is_locked && std::chrono::steady_clock::now() < end) {
    is_locked = (*other)->TryLock({&name, 1}).value();
  }
  ASSERT_TRUE(is_locked);
  int ended = 0;
  on_ended_ = [&] { ++ended; };
  preparer_->Refresh({Key("mine")});
  ASSERT_TRUE(loop_.RunUntil([&] { return ended == 1; }));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  other->reset();
  loop_.Advance(std::chrono::seconds(5));
  ASSERT_TRUE(loop_.RunUntil([&] { return ended == 2; }));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ClaimPreparerFilesTest, FindsLostFilesAndWritesThemAgain) {
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  const std::string file = TextOf(FileOf("mine"));
  ASSERT_TRUE(preparer_->store()->Read());
  EXPECT_THAT(preparer_->store()->FindWrongFiles({}), IsEmpty());
  EXPECT_THAT(preparer_->store()->FindWrongFiles({Key("mine").uid}), ElementsAre(Key("mine")));
  for (const bool is_damaged : {false, true}) {
    tree_.Remove("cdi/" + FileOf("mine"));
    EXPECT_THAT(preparer_->store()->FindWrongFiles({Key("mine").uid}), IsEmpty());
    if (is_damaged) tree_.File("cdi/" + FileOf("mine"), "{");
    const auto lost = preparer_->store()->FindWrongFiles({});
    EXPECT_THAT(lost, ElementsAre(Key("mine")));
    preparer_->Refresh(lost);
    ASSERT_TRUE(loop_.RunUntil([&] { return TextOf(FileOf("mine")) == file; }));
  }
  EXPECT_THAT(text_.str(), HasSubstr("CDI file of a claim was lost"));
}

TEST(ClaimStoreTest, MissesNoFileOfAnUnfinishedClaimOrOfAnotherBoot) {
  test::TempTree tree;
  tree.Dir("data");
  ClaimStore store(tree.path("data"), tree.path("cdi"), "patchbay.dev", "this-boot");
  const auto missed = [&](bool is_finished, const std::string& boot) {
    const PreparedClaim record{
        .claim = {"uid-1", "default", "mine"},
        .requests = {{.request = "a", .devices = {{.pool = test::kThings, .device = "a"}}}},
        .boot = boot,
        .is_finished = is_finished,
        .cdi_file = "{}"};
    EXPECT_TRUE(store.Write(record, false));
    EXPECT_TRUE(store.Read());
    return store.FindWrongFiles({}).size();
  };
  EXPECT_EQ(missed(false, "this-boot"), 0U);
  EXPECT_EQ(missed(true, "an-earlier-boot"), 0U);
  EXPECT_EQ(missed(true, "this-boot"), 1U);
}

}  // namespace
}  // namespace patchbay
