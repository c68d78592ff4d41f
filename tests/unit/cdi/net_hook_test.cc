#include "cdi/net_hook.h"

#include <gmock/gmock.h>

#include <set>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

const NetInterface kInterface{"/sys/devices/pci0000:00/0000:03:00.0", 1, 2, "02:00:00:00:00:01"};

TEST(NetHook, HasTheArgumentsOfTheProgram) {
  const NetMove move{kInterface, "lan0", true, 1400, {"192.0.2.7/24", "2001:db8::7/64"}};
  const CdiHook hook = HookOf(move, {"/net/patchbay-net", "/net/results", {"198.51.100.1"}});
  EXPECT_EQ(hook.path, "/net/patchbay-net");
  EXPECT_EQ(hook.timeout_s, 10);
  EXPECT_THAT(hook.args, ElementsAre("patchbay-net", "--device", "/devices/pci0000:00/0000:03:00.0",
                                     "--dev-port", "1", "--dev-id", "2", "--hardware-address",
                                     "02:00:00:00:00:01", "--name", "lan0", "--up", "--mtu", "1400",
                                     "--address", "192.0.2.7/24", "--address", "2001:db8::7/64",
                                     "--node-address", "198.51.100.1", "--status",
                                     "/net/results/" + InterfaceFileName(kInterface)));
}

TEST(NetHook, LeavesOutWhatIsNotSet) {
  NetMove move{kInterface};
  move.interface.address.clear();
  move.up = false;
  EXPECT_THAT(
      HookOf(move, {"/p", "/r", {}}).args,
      ElementsAre("patchbay-net", "--device", "/devices/pci0000:00/0000:03:00.0", "--dev-port", "1",
                  "--dev-id", "2", "--status", "/r/" + InterfaceFileName(kInterface)));
}

TEST(NetHook, FilesOfInterfacesHaveDifferentNames) {
  NetInterface other_port = kInterface, other_id = kInterface, elsewhere = kInterface;
  other_port.dev_port = 0;
  other_id.dev_id = 0;
  elsewhere.bus_device = "/sys/devices/pci0000:01/0000:03:00.0";
  std::set<std::string> names;
  for (const NetInterface& one : {kInterface, other_port, other_id, elsewhere}) {
    names.insert(InterfaceFileName(one));
  }
  EXPECT_EQ(names.size(), 4u);
}

// A name in CDI has letters, digits and "_.:-", with a letter or digit at both ends.
TEST(NetHook, DevicesOfAllIdsHaveDifferentNames) {
  const char* const resources[] = {"a.com/b", "a.com/b-c", "a.com/b_c"};
  const char* const ids[] = {"c", "_c", "__c", "_63", "c-0", "a@b", "a+b", "a_40b", "0000:03:00.0"};
  std::set<std::string> names, files;
  for (const char* resource : resources) {
    files.insert(NetFileName(resource));
    for (const char* id : ids) {
      for (const int slot : {0, 15}) {
        const std::string name = NetDeviceName(resource, id, slot);
        EXPECT_THAT(name, MatchesRegex("[a-zA-Z0-9][-a-zA-Z0-9_.:]*[a-zA-Z0-9]"));
        names.insert(name);
      }
    }
  }
  EXPECT_EQ(names.size(), 3u * 9u * 2u);
  EXPECT_EQ(files.size(), 3u);
}

}  // namespace
}  // namespace patchbay
