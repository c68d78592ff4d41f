#include "network/net_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "net/net_result.h"
#include "network/net_program.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::system_clock;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

InterfaceRecord Record(const std::string& device) {
  return {.interface = {"/sys/devices/" + device, 1, 0, "02:00:00:00:00:01"},
          .name = "eth\x01\xff",
          .attributes = {{"type", "1"}},
          .properties = {{"INTERFACE", "eth1"}}};
}

class NetDirectoryTest : public testing::Test {
 protected:
  std::vector<KnownInterface> Read(minutes later = minutes(0)) const {
    return net_.Read(system_clock::now() + later);
  }
  Status Update(const std::vector<InterfaceRecord>& found) const {
    return net_.Update(Read(), found, HostRoot(tree_.path()));
  }
  void WriteResult(const InterfaceRecord& record, const std::string& text) {
    tree_.File("net/results/" + InterfaceFileName(record.interface), text);
  }
  KnownInterface After(const std::string& result, minutes later = minutes(0)) {
    WriteResult(card_, result);
    return Read(later).at(0);
  }

  test::TempTree tree_;
  const NetDirectory net_{tree_.path("net")};
  InterfaceRecord card_ = Record("0000:03:00.0");
};

TEST_F(NetDirectoryTest, InstallsTheProgramOnceForAllToRun) {
  ASSERT_TRUE(net_.Install());
  std::ifstream file(tree_.path("net/patchbay-net"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), NetProgram());
  EXPECT_TRUE(
      NetProgram().starts_with("\x7f"
                               "ELF"));
  struct stat program {
  }, results{}, after{};
  ASSERT_EQ(stat(tree_.path("net/patchbay-net").c_str(), &program), 0);
  EXPECT_EQ(program.st_mode & 0777U, 0755U);
  ASSERT_EQ(stat(net_.results().c_str(), &results), 0);
  EXPECT_EQ(results.st_mode & 0777U, 0700U);
  ASSERT_TRUE(net_.Install());
  ASSERT_EQ(stat(tree_.path("net/patchbay-net").c_str(), &after), 0);
  EXPECT_EQ(program.st_ino, after.st_ino) << "an equal program is not replaced";
  tree_.File("net/patchbay-net", "an older one");
  ASSERT_TRUE(net_.Install());
  EXPECT_EQ(std::filesystem::file_size(tree_.path("net/patchbay-net")), NetProgram().size());
}

TEST_F(NetDirectoryTest, KeepsRecordsWhileTheBusDeviceHasInterfaces) {
  EXPECT_THAT(Read(), IsEmpty());
  ASSERT_TRUE(net_.Install());
  tree_.Dir("/sys/devices/0000:03:00.0/net");
  const InterfaceRecord unplugged = Record("1-1:1.0");
  ASSERT_TRUE(Update({card_, unplugged}));
  WriteResult(unplugged, "0 0 1 c\n");
  ASSERT_THAT(Read(), SizeIs(2));
  // Names of interfaces can have any bytes; what is no UTF-8 is replaced.
  card_.name = "eth\x01\xef\xbf\xbd";
  EXPECT_EQ(Read()[0].record, card_);
  ASSERT_TRUE(Update({}));
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].record, card_);
  EXPECT_TRUE(std::filesystem::is_empty(net_.results()));
}

TEST_F(NetDirectoryTest, ForgetsNothingWithoutTheDevicesOfTheHost) {
  tree_.Dir("net");
  ASSERT_TRUE(Update({card_}));
  ASSERT_TRUE(Update({}));
  EXPECT_THAT(Read(), SizeIs(1));
  tree_.Dir("/sys/devices");
  ASSERT_TRUE(Update({}));
  EXPECT_THAT(Read(), SizeIs(0));
}

TEST_F(NetDirectoryTest, ReadsTheResultOfTheLastMove) {
  ASSERT_TRUE(net_.Install());
  tree_.Dir("/sys/devices/0000:03:00.0/net");
  ASSERT_TRUE(Update({card_}));
  EXPECT_FALSE(Read()[0].is_moved);
  for (const char* moved :
       {"0 0 4026531840 abc\n", "moving 0 4026531840 abc\n", "16 0 1 c\n", "12 0 0 abc\n"}) {
    EXPECT_TRUE(After(moved).is_moved) << moved;
  }
  EXPECT_EQ(After("0 0 4026531840 abc\n").failure, "");
  const KnownInterface refused = After("22 0 4026531840 abc\n");
  EXPECT_FALSE(refused.is_moved);
  EXPECT_EQ(refused.failure, TextOf(NetResult::kDefaultRoute));
  EXPECT_TRUE(refused.host_needs_it);
  const KnownInterface of_pod = After("24 17 1 c\n");
  EXPECT_EQ(of_pod.failure, TextOf(NetResult::kNameTaken));
  EXPECT_FALSE(of_pod.host_needs_it);
  EXPECT_EQ(After("22 0 1 c\n", minutes(11)).failure, "") << "a pod can try again";
  for (const char* damaged : {"", " ", "x", "-1 0 1 c", "99999999999 0", "\xff\xfe"}) {
    EXPECT_FALSE(After(damaged).is_moved) << damaged;
    EXPECT_FALSE(After(damaged).host_needs_it) << damaged;
  }
}

TEST_F(NetDirectoryTest, CallsNothingAMistakeThatItCannotRead) {
  tree_.Dir("net");
  ASSERT_TRUE(Update({card_}));
  tree_.File("net/results", "only root can read the results");
  EXPECT_TRUE(Read().at(0).is_moved);
}

TEST_F(NetDirectoryTest, KeepsTheAttributesThatAnotherResourceCompares) {
  tree_.Dir("net");
  tree_.Dir("/sys/devices/0000:03:00.0/net");
  card_.name = "eth1";
  InterfaceRecord other = card_;
  card_.attributes["rack"] = "7";
  other.attributes["shelf"] = "3";
  ASSERT_TRUE(Update({card_}));
  ASSERT_TRUE(Update({other}));
  const InterfaceRecord both = Read().at(0).record;
  EXPECT_EQ(both.attributes.at("rack"), "7");
  EXPECT_EQ(both.attributes.at("shelf"), "3");
  card_.attributes["rack"] = "8";
  ASSERT_TRUE(Update({card_}));
  EXPECT_EQ(Read().at(0).record.attributes.at("rack"), "8");
}

TEST_F(NetDirectoryTest, LeavesOutDamagedRecords) {
  ASSERT_TRUE(net_.Install());
  ASSERT_TRUE(Update({card_}));
  const std::string file =
      tree_.path("net/interfaces/" + InterfaceFileName(card_.interface) + ".json");
  std::ifstream stream(file);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    std::ofstream(file) << text.substr(0, size);
    EXPECT_THAT(Read(), IsEmpty()) << size;
  }
  std::filesystem::rename(file, tree_.path("net/interfaces/other.json"));
  std::ofstream(tree_.path("net/interfaces/other.json")) << text;
  EXPECT_THAT(Read(), IsEmpty()) << "the name is not that of the interface";
}

TEST_F(NetDirectoryTest, SaysWhatToEnableIfItCannotBeWritten) {
  tree_.File("net", "in the way");
  const Status installed = net_.Install();
  ASSERT_FALSE(installed);
  EXPECT_THAT(installed.error().message, HasSubstr("net-devices"));
  EXPECT_THAT(Read(), IsEmpty());
}

}  // namespace
}  // namespace patchbay
