#include "cdi/cdi_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/format.h"
#include "cdi/group_device.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CdiSpec Spec(const std::string& name = "x") { return {"a.com/b", {{name}}}; }

class CdiDirectoryTest : public testing::Test {
 protected:
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }
  struct stat Info(const std::string& name) const {
    struct stat info = {};
    EXPECT_EQ(lstat((directory_.path() + "/" + name).c_str(), &info), 0) << name;
    return info;
  }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(directory_.path() + "/" + name).rdbuf();
    return text.str();
  }

  test::TempTree tree_;
  CdiDirectory directory_{tree_.path("cdi")};
};

// A directory that counts as empty would make devices of claims look free.
TEST_F(CdiDirectoryTest, ListFailsIfTheNamesCannotBeRead) {
  ASSERT_TRUE(directory_.Write(CdiFileName("a.com/b", "x"), Spec()));
  const int free = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(free, 0);
  close(free);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Room for the descriptor of the directory, and for no other.
  const rlimit one_more{static_cast<rlim_t>(free) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);
  const auto names = directory_.List("a.com/b");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(names);
  EXPECT_THAT(names.error().message, HasSubstr("cannot read"));
  EXPECT_THAT(names.error().message, HasSubstr("; check its permissions, and the kernel log"));
  EXPECT_THAT(*directory_.List("a.com/b"), ElementsAre(CdiFileName("a.com/b", "x")));
}

TEST_F(CdiDirectoryTest, NamesFilesAsTheSpecificationRecommends) {
  EXPECT_EQ(CdiFileName("a.com/b", "x-1"), "a.com-b_x-1.json");
}

TEST_F(CdiDirectoryTest, WritesAndReads) {
  const mode_t mask = umask(0077);
  const Status written = directory_.Write("a.json", Spec());
  umask(mask);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(directory_.Read("a.json").value(), Spec());
  EXPECT_EQ(Info("a.json").st_mode, static_cast<mode_t>(S_IFREG | 0644));
  ASSERT_TRUE(directory_.Write("a.json", Spec("y")));
  EXPECT_EQ(directory_.Read("a.json").value(), Spec("y"));
  EXPECT_THAT(Names(), ElementsAre("a.json"));
}

TEST_F(CdiDirectoryTest, DoesNotWriteEqualContent) {
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  const auto inode = Info("a.json").st_ino;
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  EXPECT_EQ(Info("a.json").st_ino, inode);
}

TEST_F(CdiDirectoryTest, RepairsADamagedFile) {
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  const std::string text = Text("a.json");
  for (const std::string& damaged : {std::string(), text + " ", text.substr(1)}) {
    tree_.File("cdi/a.json", damaged);
    ASSERT_TRUE(directory_.Write("a.json", Spec()));
    EXPECT_EQ(Text("a.json"), text);
  }
}

TEST_F(CdiDirectoryTest, ReplacesALinkAndLeavesItsTarget) {
  tree_.File("target", "untouched");
  tree_.Link("cdi/a.json", tree_.path("target"));
  EXPECT_EQ(directory_.Read("a.json").error().kind, ErrorKind::kInvalid);
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  EXPECT_TRUE(S_ISREG(Info("a.json").st_mode));
  std::ostringstream target;
  target << std::ifstream(tree_.path("target")).rdbuf();
  EXPECT_EQ(target.str(), "untouched");
}

TEST_F(CdiDirectoryTest, ReplacesALinkToEqualContent) {
  ASSERT_TRUE(directory_.Write("b.json", Spec()));
  tree_.Link("cdi/a.json", "b.json");
  EXPECT_THAT(directory_.Read("a.json").error().message, HasSubstr("not a regular file"));
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  EXPECT_TRUE(S_ISREG(Info("a.json").st_mode));
}

TEST_F(CdiDirectoryTest, DoesNotReadFromAPipe) {
  tree_.Dir("cdi");
  ASSERT_EQ(mkfifo((directory_.path() + "/a.json").c_str(), 0600), 0);
  EXPECT_THAT(directory_.Read("a.json").error().message, HasSubstr("not a regular file"));
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  EXPECT_EQ(directory_.Read("a.json").value(), Spec());
}

TEST_F(CdiDirectoryTest, ReplacesASocket) {
  tree_.Dir("cdi");
  ASSERT_EQ(mknod((directory_.path() + "/a.json").c_str(), S_IFSOCK | 0600, 0), 0);
  const auto read = directory_.Read("a.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(read.error().message, HasSubstr("not a regular file"));
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  EXPECT_EQ(directory_.Read("a.json").value(), Spec());
}

TEST_F(CdiDirectoryTest, ReportsAMissingFile) {
  EXPECT_EQ(directory_.Read("a.json").error().kind, ErrorKind::kNotFound);
  tree_.Dir("cdi");
  EXPECT_EQ(directory_.Read("a.json").error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(directory_.Remove("a.json"));
}

TEST_F(CdiDirectoryTest, NamesTheFileThatItCannotParse) {
  tree_.File("cdi/a.json", "{}");
  const auto read = directory_.Read("a.json");
  EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(read.error().message, HasSubstr(directory_.path() + "/a.json: "));
}

TEST_F(CdiDirectoryTest, RejectsADirectoryThatIsALinkOrAFile) {
  tree_.Dir("elsewhere");
  tree_.Link("cdi", tree_.path("elsewhere"));
  EXPECT_THAT(directory_.Write("a.json", Spec()).error().message, HasSubstr("cdi_dir"));
  EXPECT_THAT(directory_.List("a.com/b").error().message,
              HasSubstr("; replace " + directory_.path() + " by a directory, not by a link"));
  EXPECT_TRUE(std::filesystem::is_empty(tree_.path("elsewhere")));
  const CdiDirectory file(tree_.path("file"));
  tree_.File("file");
  EXPECT_THAT(file.Write("a.json", Spec()).error().message, HasSubstr("Not a directory"));
}

TEST_F(CdiDirectoryTest, DoesNotCreateParents) {
  const CdiDirectory deep(tree_.path("missing/cdi"));
  const Status written = deep.Write("a.json", Spec());
  EXPECT_EQ(written.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(written.error().message, HasSubstr("enable the component \"cdi\""));
}

TEST_F(CdiDirectoryTest, LeavesNothingBehindIfAWriteFails) {
  tree_.File("cdi/a.json/child");  // a directory cannot be replaced by a file
  EXPECT_THAT(directory_.Write("a.json", Spec()).error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(Names(), ElementsAre("a.json"));
}

TEST_F(CdiDirectoryTest, PublishesATemporaryFile) {
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  const auto temporary = directory_.WriteTemporary("text");
  ASSERT_TRUE(temporary) << temporary.error().message;
  EXPECT_EQ(directory_.Read("a.json").value(), Spec());
  ASSERT_TRUE(directory_.Publish(*temporary, "a.json"));
  EXPECT_EQ(directory_.ReadText("a.json", 4).value(), "text");
  EXPECT_EQ(directory_.ReadText("a.json", 3).error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(Names(), ElementsAre("a.json"));
  EXPECT_FALSE(directory_.Publish(*temporary, "b.json"));
}

TEST_F(CdiDirectoryTest, ReplacedFilesHaveAnotherStamp) {
  ASSERT_TRUE(directory_.Write("a.json", Spec("x")));
  const auto before = directory_.FileDirectory::List("a", ".json").value();
  ASSERT_THAT(before.files, testing::SizeIs(1));
  EXPECT_EQ(directory_.FileDirectory::List("a", ".json").value().files, before.files);
  ASSERT_TRUE(directory_.Write("a.json", Spec("y")));
  const auto after = directory_.FileDirectory::List("a", ".json").value();
  EXPECT_EQ(after.inode, before.inode);
  EXPECT_NE(after.files, before.files);
}

/// A file system of a given size or without write access. Needs the right to mount.
class CdiDirectoryOnTmpfs : public CdiDirectoryTest {
 protected:
  void Mount(const char* options, unsigned long flags = 0) {
    tree_.Dir("cdi");
    if (mount("none", directory_.path().c_str(), "tmpfs", flags, options) != 0) {
      GTEST_SKIP() << "cannot mount a tmpfs here";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (!mounted_) return;
    EXPECT_EQ(umount(directory_.path().c_str()), 0);
  }
  bool mounted_ = false;
};

TEST_F(CdiDirectoryOnTmpfs, ReportsAFullFileSystemAndKeepsThePreviousFile) {
  Mount("size=8k");
  if (IsSkipped()) return;
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  CdiSpec large = Spec();
  large.devices[0].edits.env["A"] = std::string(20'000, 'a');
  EXPECT_THAT(directory_.Write("a.json", large).error().message,
              HasSubstr("No space left on device; free space"));
  EXPECT_THAT(directory_.WriteTemporary(std::string(20'000, 'a')).error().message,
              HasSubstr("No space left"));
  EXPECT_EQ(directory_.Read("a.json").value(), Spec());
  EXPECT_THAT(Names(), ElementsAre("a.json"));
}

TEST_F(CdiDirectoryOnTmpfs, ReportsAReadOnlyFileSystem) {
  Mount("size=8k", MS_RDONLY);
  if (IsSkipped()) return;
  EXPECT_THAT(directory_.Write("a.json", Spec()).error().message,
              AllOf(HasSubstr("Read-only file system"), HasSubstr("cdi_dir")));
  EXPECT_THAT(
      directory_.WriteTemporary("").error().message,
      HasSubstr("CDI files need a writable directory of the host that the container runtime "
                "reads: enable the component \"cdi\", or \"dra\" for claims, or set "
                "cdi_dir in [daemon]"));
  const CdiDirectory missing(directory_.path() + "/missing");
  EXPECT_THAT(missing.Write("a.json", Spec()).error().message, HasSubstr("Read-only file system"));
}

TEST_F(CdiDirectoryTest, ListsAndRemovesTheFilesOfAKind) {
  EXPECT_THAT(directory_.List("a.com/b").value(), IsEmpty());
  for (const char* name :
       {"a.com-b_2.json", "a.com-b_1.json", "a.com-c_1.json", "a.com-b_3.yaml"}) {
    tree_.File(std::string("cdi/") + name);
  }
  EXPECT_THAT(directory_.List("a.com/b").value(), ElementsAre("a.com-b_1.json", "a.com-b_2.json"));
  EXPECT_TRUE(directory_.Remove("a.com-b_1.json"));
  EXPECT_THAT(directory_.List("a.com/b").value(), ElementsAre("a.com-b_2.json"));
}

TEST_F(CdiDirectoryTest, RemovesStaleTemporaryFilesOnly) {
  for (const char* name : {".patchbay-old.tmp", ".patchbay-new.tmp", ".other-old.tmp"}) {
    tree_.File(std::string("cdi/") + name);
    const utimbuf old{0, std::time(nullptr) - 600};
    if (std::string_view(name).find("old") != std::string_view::npos) {
      ASSERT_EQ(utime((directory_.path() + "/" + name).c_str(), &old), 0);
    }
  }
  ASSERT_TRUE(directory_.Write("a.json", Spec()));
  EXPECT_THAT(Names(), ElementsAre(".other-old.tmp", ".patchbay-new.tmp", "a.json"));
}

TEST_F(CdiDirectoryTest, WritersDoNotDisturbEachOther) {
  const auto write = [&](const std::string& name) {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(directory_.Write("a.json", Spec(name)));
  };
  std::thread one(write, "x");
  std::thread two(write, "y");
  for (int i = 0; i < 200; ++i) {
    const auto read = directory_.Read("a.json");
    EXPECT_TRUE(read || read.error().kind == ErrorKind::kNotFound);
  }
  one.join();
  two.join();
  EXPECT_THAT(Names(), ElementsAre("a.json"));
}

TEST_F(CdiDirectoryTest, WritesAFileForEachGroup) {
  ASSERT_TRUE(WriteGroupDevice(directory_, 20));
  ASSERT_TRUE(WriteGroupDevice(directory_, 44));
  EXPECT_THAT(Names(),
              ElementsAre("patchbay.dev-group_gid-20.json", "patchbay.dev-group_gid-44.json"));
  const CdiSpec spec = directory_.Read("patchbay.dev-group_gid-20.json").value();
  EXPECT_EQ(QualifiedCdiName(spec.kind, spec.devices.at(0).name), GroupDeviceName(20));
  EXPECT_THAT(spec.devices.at(0).edits.additional_gids, ElementsAre(20U));
}

}  // namespace
}  // namespace patchbay
