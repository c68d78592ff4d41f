// Socket names, and the sockets of killed runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "base/hash.h"
#include "kubelet/plugin_sockets.h"
#include "os/unique_fd.h"
#include "rpc/socket_file.h"
#include "support/temp_tree.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

using test::BindSocket;
using test::TempTree;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(SocketName, IsBareAndShort) {
  const std::string longest =
      SocketName(std::string(308, 'r'), "ffffffff", std::numeric_limits<std::uint32_t>::max());
  EXPECT_LE(longest.size(), kMaxSocketName);
  EXPECT_EQ(longest.find('/'), std::string::npos);
  EXPECT_TRUE(SocketName("a/b", "0", 1).ends_with(".sock"));
}

TEST(SocketName, DiffersByResourceRunAndServer) {
  std::set<std::string> names;
  for (const char* resource : {"a/b", "a/c", "a.b/c", "ab/c"}) {
    for (const char* run : {"00000001", "00000002"}) {
      for (const std::uint64_t serial : {1, 2, 11}) {
        EXPECT_TRUE(names.insert(SocketName(resource, run, serial)).second);
      }
    }
  }
}

TEST(SocketName, IsRecognizedOnlyWithAllItsParts) {
  const std::string name = SocketName("a/b", "00000001", 12);
  EXPECT_TRUE(IsSocketName(name));
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::string other = name;
    other[i] = 'x';
    EXPECT_FALSE(IsSocketName(other)) << other;
    EXPECT_FALSE(IsSocketName(name.substr(0, i))) << i;
    if (i > 0) {
      EXPECT_FALSE(IsSocketName(name.substr(i))) << i;
    }
  }
  EXPECT_FALSE(IsSocketName(name + "x"));
  EXPECT_FALSE(IsSocketName("x" + name));
  std::string without_serial = name;
  without_serial.erase(name.find("12.sock"), 2);
  EXPECT_FALSE(IsSocketName(without_serial)) << without_serial;
}

TEST(NewRun, DiffersAndHasEightDigits) {
  std::set<std::string> runs;
  for (int i = 0; i < 20; ++i) runs.insert(NewRun());
  EXPECT_GE(runs.size(), 19U);
  for (const std::string& run : runs) {
    EXPECT_EQ(run.size(), 8U);
    EXPECT_EQ(run.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST(SweepLeftovers, RemovesOnlyOwnDeadSockets) {
  TempTree tree;
  const std::string dead = SocketName("a/b", "00000001", 1);
  const std::string live = SocketName("a/b", "00000002", 1);
  const std::string file = SocketName("a/b", "00000003", 1);
  const std::string link = SocketName("a/b", "00000004", 1);
  const std::string directory = SocketName("a/b", "00000005", 1);
  BindSocket(tree.path(dead), false);
  const UniqueFd listener = BindSocket(tree.path(live), true);
  BindSocket(tree.path("foreign.sock"), false);
  BindSocket(tree.path("kubelet.sock"), false);
  BindSocket(tree.path("xpatchbay-1.sock"), false);
  tree.File(file);
  tree.Link(link, "/nowhere");
  tree.Dir(directory);

  EXPECT_THAT(SweepLeftovers("00000001", tree.path()), ElementsAre()) << "its own";
  EXPECT_THAT(SweepLeftovers("", tree.path()), ElementsAre(dead));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(tree.path())) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, UnorderedElementsAre(live, file, link, directory, "foreign.sock",
                                         "kubelet.sock", "xpatchbay-1.sock"));
  EXPECT_THAT(SweepLeftovers("", tree.path()), ElementsAre());
}

TEST(RemoveSocketsOf, KeepsSocketsOfOtherRunsAndPrograms) {
  TempTree tree;
  const std::string own = SocketName("a/b", "00000001", 1);
  const std::string other = SocketName("a/b", "00000002", 1);
  for (const std::string& name : {own, other, std::string("kubelet.sock")}) {
    BindSocket(tree.path(name), false);
  }
  RemoveSocketsOf("00000001", tree.path());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(tree.path())) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, UnorderedElementsAre(other, "kubelet.sock"));
}

TEST(SocketsIn, SeparatesOwnSocketsFromOthers) {
  TempTree tree;
  const auto bind = [&](const char* resource, const char* run) {
    BindSocket(tree.path(SocketName(resource, run, 1)), false);
  };
  EXPECT_THAT(SocketsIn("00000001", tree.path()).others, ElementsAre());
  bind("a/ours", "00000001"), bind("a/both", "00000001");
  bind("a/both", "00000002"), bind("a/theirs", "00000002"), bind("a/theirs", "00000003");
  tree.File(SocketName("a/file", "00000002", 1));
  BindSocket(tree.path("kubelet.sock"), false);
  const PluginSockets sockets = SocketsIn("00000001", tree.path());
  EXPECT_THAT(sockets.others, UnorderedElementsAre(StableHash("a/both"), StableHash("a/theirs")));
  EXPECT_THAT(sockets.own, UnorderedElementsAre(SocketName("a/ours", "00000001", 1),
                                                SocketName("a/both", "00000001", 1)));
  EXPECT_TRUE(sockets.complete);
}

TEST(SocketsIn, HandlesMissingAndUnreadableDirectories) {
  TempTree tree;
  tree.File("file");
  for (const char* none : {"absent", "file"}) {
    const PluginSockets sockets = SocketsIn("00000001", tree.path(none));
    EXPECT_THAT(sockets.own, ElementsAre());
    EXPECT_TRUE(sockets.complete) << none;
  }
  EXPECT_FALSE(SocketsIn("00000001", std::string(5000, 'x')).complete);
}

TEST(SweepLeftovers, KeepsABusyListener) {
  TempTree tree;
  const std::string name = SocketName("a/b", "00000001", 1);
  const UniqueFd listener = BindSocket(tree.path(name), true);
  std::vector<UniqueFd> callers;  // until its queue is full
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, tree.path(name).c_str(), sizeof address.sun_path - 1);
    static_cast<void>(
        connect(callers.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }
  EXPECT_THAT(SweepLeftovers("", tree.path()), ElementsAre());
}

TEST(SweepLeftovers, KeepsASocketThatDoesNotListenYet) {
  TempTree tree;
  const std::string name = SocketName("a/b", "00000001", 1);
  UniqueFd starting = BindSocket(tree.path(name), false);
  EXPECT_THAT(SweepLeftovers("", tree.path()), ElementsAre());
  EXPECT_EQ(listen(starting.get(), 8), 0);
  EXPECT_TRUE(Connect(tree.path(name)));
  starting = UniqueFd();
  EXPECT_THAT(SweepLeftovers("", tree.path()), ElementsAre(name));
}

TEST(SweepLeftovers, KeepsALinkToAForeignSocket) {
  TempTree tree;
  BindSocket(tree.path("foreign.sock"), false);
  tree.Link(SocketName("a/b", "00000001", 1), "foreign.sock");
  EXPECT_THAT(SweepLeftovers("", tree.path()), ElementsAre());
}

TEST(SweepLeftovers, AcceptsAMissingDirectory) {
  TempTree tree;
  EXPECT_THAT(SweepLeftovers("", tree.path("absent")), ElementsAre());
  tree.File("file");
  EXPECT_THAT(SweepLeftovers("", tree.path("file")), ElementsAre());
}

}  // namespace
}  // namespace patchbay
