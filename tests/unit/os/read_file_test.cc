#include "os/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

TEST(ReadFileContent, ReadsTheWholeFile) {
  test::TempTree tree;
  tree.File("a", "text");
  tree.File("empty", "");
  const auto file = ReadFileContent(tree.path("a"), 100);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->text, "text");
  EXPECT_FALSE(file->is_being_written);
  EXPECT_EQ(ReadFileContent(tree.path("empty"), 100)->text, "");
}

TEST(ReadFileContent, StopsShortlyAfterTheMaximumSize) {
  test::TempTree tree;
  tree.File("large", std::string(1 << 20, 'x'));
  const auto file = ReadFileContent(tree.path("large"), 1000);
  ASSERT_TRUE(file);
  EXPECT_GT(file->text.size(), 1000u);
  EXPECT_LT(file->text.size(), 200'000u);
}

TEST(ReadFileContent, ReportsTheReasonOfAFailure) {
  test::TempTree tree;
  tree.Dir("directory");
  EXPECT_THAT(ReadFileContent(tree.path("missing"), 1).error().message, HasSubstr("No such file"));
  EXPECT_THAT(ReadFileContent(tree.path("directory"), 1).error().message, HasSubstr("directory"));
}

TEST(ReadFileContent, DetectsAFileThatIsBeingWritten) {
  test::TempTree tree;
  tree.File("a", "before");
  std::ofstream writer(tree.path("a"));  // truncates the file
  EXPECT_TRUE(ReadFileContent(tree.path("a"), 100)->is_being_written);
  writer << "after";
  writer.close();
  const auto file = ReadFileContent(tree.path("a"), 100);
  EXPECT_EQ(file->text, "after");
  EXPECT_FALSE(file->is_being_written);
}

// A process that opens the file for writing waits for the reader. Neither is killed, and the reader
// never gets a part of the file.
TEST(ReadFileContent, DoesNotReadAPartialWrite) {
  test::TempTree tree;
  const std::string one(300'000, '1'), two(300'000, '2');
  tree.File("a", one);
  auto writer = std::async(std::launch::async, [&] {
    for (int i = 0; i < 200; ++i) std::ofstream(tree.path("a")) << (i % 2 == 0 ? two : one);
  });
  int whole = 0;
  while (writer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    const auto file = ReadFileContent(tree.path("a"), 1 << 20);
    ASSERT_TRUE(file) << file.error().message;
    if (file->is_being_written) continue;
    EXPECT_TRUE(file->text == one || file->text == two) << file->text.size();
    ++whole;
  }
  EXPECT_FALSE(ReadFileContent(tree.path("a"), 1 << 20)->is_being_written);
  RecordProperty("whole", whole);
}

}  // namespace
}  // namespace patchbay
