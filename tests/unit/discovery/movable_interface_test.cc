#include "discovery/movable_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discovery/discover.h"
#include "specs.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::FakeDevice;
using test::Ids;
using test::Rejected;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

NamePattern PatternOf(std::string_view text) { return NamePattern::Compile(text).value(); }

/// A host with a network card of two ports on one PCI function.
class MovableInterfaceTest : public testing::Test {
 protected:
  void SetUp() override {
    sysfs_.Device(kCard, {.subsystem = "pci",
                          .driver = "mlx4_core",
                          .attributes = {{"vendor", "0x15b3"}, {"device", "0x1003"}}});
    tree_.Dir(kCard + "/net");
    Port("eth1", 0);
  }

  void Port(const std::string& name, int port, const std::string& on = kCard) {
    sysfs_.Device(on + "/net/" + name,
                  {.subsystem = "net",
                   .ifindex = std::to_string(10 + port),
                   .attributes = {{"address", "02:00:00:00:00:0" + std::to_string(port)},
                                  {"addr_assign_type", "0"},
                                  {"dev_port", std::to_string(port)},
                                  {"dev_id", "0x0"},
                                  {"type", "1"},
                                  {"rack", "7"}},
                   .uevent = {{"INTERFACE", name}},
                   .udev = {{"ID_NET_NAME_PATH", "enp3s0"}}});
  }
  void Remove(const std::string& name) { sysfs_.Remove(kCard + "/net/" + name); }

  /// Scans; what is found on the host is known to the next scan.
  Discovery Find(bool moved = true) {
    for (InterfaceRecord& record : last_.interfaces) {
      std::erase_if(request_.interfaces, [&](const KnownInterface& known) {
        return IsSameInterface(known.record.interface, record.interface);
      });
      request_.interfaces.push_back({std::move(record)});
    }
    for (KnownInterface& known : request_.interfaces) known.is_moved = moved;
    last_ = Discover(spec_, HostRoot(tree_.path()), request_);
    return last_;
  }

  static ResourceSpec Spec() {
    MatchSpec match;
    match.source = UdevPattern{{PatternOf("net")},
                               {},
                               {{"ID_NET_NAME_PATH", {PatternOf("enp*")}}},
                               {{"rack", {PatternOf("7")}}}};
    ResourceSpec spec;
    spec.name = "example.com/port";
    spec.matches.push_back(std::move(match));
    spec.net_device.emplace();
    return spec;
  }

  static inline const std::string kCard = "/sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0";
  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
  ResourceSpec spec_ = Spec();
  ScanRequest request_;
  Discovery last_;
};

TEST_F(MovableInterfaceTest, IsTheSameDeviceWhileItIsAwayAndUnderAnotherNameAfterwards) {
  Port("eth2", 1);
  const Discovery before = Find();
  EXPECT_THAT(Ids(before), ElementsAre("0000:03:00.0", "0000:03:00.0-1"));
  ASSERT_TRUE(before.devices[0].interface);
  EXPECT_EQ(*before.devices[0].interface, (NetInterface{kCard, 0, 0, "02:00:00:00:00:00", false}));
  EXPECT_THAT(before.interfaces, SizeIs(2));

  Remove("eth1");
  const Discovery away = Find();
  EXPECT_THAT(Ids(away), ElementsAre("0000:03:00.0", "0000:03:00.0-1"));
  EXPECT_TRUE(away.devices[0].interface->is_away);
  EXPECT_FALSE(away.devices[1].interface->is_away);
  EXPECT_EQ(away.devices[0].values, before.devices[0].values);
  EXPECT_THAT(away.devices[0].values, Contains(Pair("INTERFACE", "eth1")));
  EXPECT_THAT(away.devices[0].values, Contains(Pair("pci_vendor", "15b3")));
  EXPECT_THAT(away.unusable, IsEmpty());
  EXPECT_THAT(away.interfaces, SizeIs(1)) << "only those on the host have a new record";

  Port("lan0", 0);
  const Discovery after = Find();
  EXPECT_THAT(Ids(after), ElementsAre("0000:03:00.0", "0000:03:00.0-1"));
  EXPECT_FALSE(after.devices[0].interface->is_away);
  EXPECT_THAT(after.devices[0].values, Contains(Pair("INTERFACE", "lan0")));
}

TEST_F(MovableInterfaceTest, AnotherInterfaceCanHaveTheNameOfOneThatIsAway) {
  Find();
  Remove("eth1");
  Port("eth1", 1);
  const Discovery found = Find();
  EXPECT_THAT(Ids(found), ElementsAre("0000:03:00.0", "0000:03:00.0-1"));
  EXPECT_TRUE(found.devices[0].interface->is_away);
  EXPECT_FALSE(found.devices[1].interface->is_away);
}

TEST_F(MovableInterfaceTest, IsGoneWithItsBusDeviceOrDriver) {
  Find();
  Remove("eth1");
  tree_.Remove(kCard + "/net");
  EXPECT_THAT(Ids(Find()), IsEmpty());
  tree_.Dir(kCard + "/net");
  EXPECT_THAT(Ids(Find()), ElementsAre("0000:03:00.0"));
  sysfs_.Remove(kCard);
  EXPECT_THAT(Ids(Find()), IsEmpty());
}

TEST_F(MovableInterfaceTest, WhatIsReadWhileItMovesAwayIsNoRecord) {
  tree_.Remove(kCard + "/net/eth1/type");
  const Discovery found = Find();
  EXPECT_THAT(found.interfaces, IsEmpty());
  EXPECT_THAT(Ids(found), IsEmpty());
}

TEST_F(MovableInterfaceTest, IsLookedForAgainIfItIsNeitherHereNorAway) {
  const Discovery before = Find();
  Snapshot snapshot;
  snapshot.devices.push_back({before.devices.shared()[0], Health::kHealthy, ""});
  Remove("eth1");
  int reads = 0;
  const auto find = [&](const std::vector<std::vector<KnownInterface>>& known) {
    reads = 0;
    return DiscoverInterfaces(spec_, HostRoot(tree_.path()), request_,
                              [&] { return known.at(reads++); });
  };
  const KnownInterface moved{before.interfaces.at(0), true};
  const KnownInterface lost{before.interfaces.at(0), false};
  EXPECT_THAT(Ids(find({{}})), IsEmpty()) << "it was not there before";
  request_.before = std::make_shared<const Snapshot>(snapshot);
  EXPECT_THAT(Ids(find({{}, {moved}})), ElementsAre("0000:03:00.0"));
  EXPECT_THAT(find({{lost}, {moved}}).unusable, IsEmpty());
  EXPECT_THAT(request_.interfaces, SizeIs(1));
  EXPECT_THAT(Ids(find({{moved}})), ElementsAre("0000:03:00.0")) << "nothing is lost";
  EXPECT_THAT(Ids(find({{}, {}})), IsEmpty()) << "not more than once";
  snapshot.devices[0].health = Health::kUnhealthy;
  request_.before = std::make_shared<const Snapshot>(snapshot);
  EXPECT_THAT(Ids(find({{}})), IsEmpty());
}

TEST_F(MovableInterfaceTest, IsUnhealthyIfAnotherProgramMovedIt) {
  Find();
  Remove("eth1");
  EXPECT_THAT(Find(false).unusable,
              ElementsAre(Pair("0000:03:00.0", HasSubstr("Patchbay has not moved it"))));
}

TEST_F(MovableInterfaceTest, IsUnhealthyWhileTheHostNeedsItOrItStaysThere) {
  Find();
  request_.interfaces = {{last_.interfaces[0], false, "the node has a default route on it", true}};
  EXPECT_THAT(Discover(spec_, HostRoot(tree_.path()), request_).unusable,
              ElementsAre(Pair("0000:03:00.0", "the node has a default route on it")));
  request_.interfaces[0].host_needs_it = false;
  const Discovery noted = Discover(spec_, HostRoot(tree_.path()), request_);
  EXPECT_THAT(noted.unusable, IsEmpty());
  EXPECT_THAT(noted.notes, SizeIs(1));
  request_.held_long = {"0000:03:00.0"};
  EXPECT_THAT(Discover(spec_, HostRoot(tree_.path()), request_).unusable,
              ElementsAre(Pair("0000:03:00.0", HasSubstr("default route"))));
  request_.interfaces.clear();
  EXPECT_THAT(Discover(spec_, HostRoot(tree_.path()), request_).unusable,
              ElementsAre(Pair("0000:03:00.0", HasSubstr("ignores CDI"))));
}

TEST_F(MovableInterfaceTest, RejectsWhatNeverMoves) {
  struct Case {
    std::string name, entry, why;
  };
  const Case cases[] = {{"wlan0", "phy80211/name", "wireless"},
                        {"br0", "bridge/bridge_id", "bridge"},
                        {"eth3", "upper_vlan7/x", "VLAN"},
                        {"bond0", "bonding/mode", "bond"}};
  for (const auto& [name, entry, why] : cases) {
    const std::string device = "/sys/devices/platform/" + name;
    sysfs_.Device(device, {.subsystem = "platform"});
    Port(name, 0, device);
    tree_.File(device + "/net/" + name + "/" + entry, "");
    const Discovery found = Find();
    EXPECT_THAT(Rejected(found.rejected), ElementsAre("not_movable " + device + "/net/" + name));
    EXPECT_THAT(found.rejected.at(0).detail, HasSubstr(why));
    sysfs_.Remove(device);
  }
  const std::string hca = "/sys/devices/platform/hca0";
  sysfs_.Device(hca, {.subsystem = "platform"});
  Port("ib0", 0, hca);
  tree_.File(hca + "/net/ib0/type", "32\n");
  EXPECT_THAT(Rejected(Find().rejected), ElementsAre("not_movable " + hca + "/net/ib0"));
  sysfs_.Remove(hca);
  Port("veth0", 0, "/sys/devices/virtual");
  const Discovery found = Find();
  ASSERT_THAT(found.rejected, SizeIs(1));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr("macvlan"));
  EXPECT_THAT(Ids(found), ElementsAre("0000:03:00.0"));
}

TEST_F(MovableInterfaceTest, RejectsInterfacesThatCannotBeToldApart) {
  Port("eth2", 1);
  spec_.matches[0].id = Template::Compile("{INTERFACE}").value();
  EXPECT_THAT(Ids(Find()), ElementsAre("eth1", "eth2"));
  tree_.File(kCard + "/net/eth2/dev_port", "0\n");
  request_.interfaces.clear();
  EXPECT_THAT(Rejected(Find().rejected), ElementsAre("not_movable " + kCard + "/net/eth1",
                                                     "not_movable " + kCard + "/net/eth2"));
}

TEST_F(MovableInterfaceTest, RejectsTheInterfaceOfTheDefaultRouteWhereRoutesAreVisible) {
  tree_.File("/proc/1/net/route",
             "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
             "eth1 00000000 0101A8C0 0003 0 0 0 00000000 0 0 0\n");
  const std::string header = "Inter-|   Receive\n face |bytes\n";
  tree_.File("/proc/1/net/dev", header + "    lo: 0\n  eth1: 0\n");
  EXPECT_THAT(Ids(Find()), ElementsAre("0000:03:00.0")) << "PID 1 has the interfaces of a pod";
  tree_.File("/proc/1/net/dev", header + "  eth1: 0\n");
  const Discovery found = Find();
  ASSERT_THAT(found.rejected, SizeIs(1));
  EXPECT_EQ(found.rejected[0].detail, "the default route of the host uses it");
}

TEST_F(MovableInterfaceTest, OtherResourcesSeeNoRecord) {
  Find();
  Remove("eth1");
  spec_.net_device.reset();
  const HostRoot host(tree_.path());
  EXPECT_THAT(Ids(Discover(spec_, host, ScanRequest())), IsEmpty());
  Port("eth1", 0);
  EXPECT_THAT(Ids(Discover(spec_, host, ScanRequest())), ElementsAre("eth1"))
      << "the ID is the name, as before";
}

}  // namespace
}  // namespace patchbay
