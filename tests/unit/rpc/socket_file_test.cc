#include "rpc/socket_file.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/temp_tree.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

using test::BindSocket;
using test::TempTree;

TEST(Listen, CreatesASocketForItsOwnerOnly) {
  const test::TempTree tree;
  const mode_t mask = umask(0);
  const auto listener = Listen(tree.path("a.sock"));
  umask(mask);
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat info = {};
  ASSERT_EQ(stat(tree.path("a.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFSOCK | 0600));
}

TEST(Listen, ConnectionsWaitUntilTheyAreAccepted) {
  const test::TempTree tree;
  const auto listener = Listen(tree.path("a.sock"));
  ASSERT_TRUE(listener) << listener.error().message;
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 100; ++i) {
    auto connection = Connect(tree.path("a.sock"));
    ASSERT_TRUE(connection) << i << ": " << connection.error().message;
    connections.push_back(*std::move(connection));
  }
}

TEST(IsBound, DetectsSocketsWithoutConnecting) {
  TempTree tree;
  const std::string path = tree.path("patchbay.sock");
  EXPECT_FALSE(IsBound(path));
  for (const bool listens : {false, true}) {
    const UniqueFd socket = BindSocket(path, listens);
    EXPECT_TRUE(IsBound(path)) << listens;
    pollfd waiting{socket.get(), POLLIN, 0};
    (void)poll(&waiting, 1, 0);
    EXPECT_EQ(waiting.revents & POLLIN, 0) << "there was a connection";
    unlink(path.c_str());
  }
  { const UniqueFd ended = BindSocket(path, true); }
  EXPECT_FALSE(IsBound(path)) << "only the file";
  tree.File("a file");
  EXPECT_FALSE(IsBound(tree.path("a file")));
}

}  // namespace
}  // namespace patchbay
