#include "sim/try/private_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/format.h"

namespace patchbay {
namespace {

TEST(PrivateDirectory, IsRemovedWhileAThreadStillWritesThere) {
  auto directory = PrivateDirectory::Create();
  ASSERT_TRUE(directory);
  const std::string path = (*directory)->path();
  std::promise<void> has_begun;
  std::thread writer([&] {
    for (int i = 0; i < 2'000 && std::ofstream(Format("{}/{}", path, i)); ++i) {
      if (i == 100) has_begun.set_value();
    }
  });
  has_begun.get_future().wait();
  directory->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.join();
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace patchbay
