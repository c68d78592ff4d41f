// Cases 32 and 46 of the kubelet's contract: the NUMA nodes of devices and the preferred
// allocation.

#include <limits>
#include <map>
#include <set>

#include "base/format.h"
#include "integration/contract.h"
#include "support/fake_sysfs.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

const std::string kCardName = "example.com/card";
using Ids = std::vector<std::string>;

/// A container of a GetPreferredAllocation request.
struct Question {
  Ids available, must_include;
  int size = 0;
};

class Numa : public Contract {
 protected:
  /// Creates a node of a separate PCI function on a NUMA node, with its sysfs files.
  void Card(const std::string& name, const std::string& numa_node) {
    const std::string function = Function(name);
    sysfs_.Device(function, {.subsystem = "pci", .attributes = {{"numa_node", numa_node}}});
    sysfs_.Device(Format("{}/misc/{}", function, name),
                  {.subsystem = "misc", .number = Format("240:{}", minors_[name])});
  }
  /// Creates card0, card1 and so on, on these NUMA nodes.
  void Cards(const std::vector<int>& numa_nodes) {
    for (std::size_t i = 0; i < numa_nodes.size(); ++i) {
      Card(Format("card{}", i), std::to_string(numa_nodes[i]));
    }
  }
  std::string Function(const std::string& name) {
    const auto minor = minors_.emplace(name, minors_.size()).first->second;
    return Format("/sys/devices/pci0000:00/0000:{:02x}:00.0", minor);
  }

  /// Runs the daemon with every /dev/card* as a device, and further keys of the resource.
  void Start(std::string_view keys, RunningDaemon::Settings settings = {}) {
    StartResource(Format("{}\n  [[resource.match]]\n  path = \"/dev/card*\"\n", keys),
                  std::move(settings));
  }
  void StartResource(std::string_view rest, RunningDaemon::Settings settings = {}) {
    StartKubelet();
    StartDaemon(Format("[[resource]]\nname = \"{}\"\n{}", kCardName, rest), std::move(settings));
    ASSERT_TRUE(AwaitServed(kCardName));
  }

  /// Returns the NUMA nodes of every device in the list of the kubelet.
  using Topology = std::map<std::string, std::vector<std::int64_t>>;
  static Topology TopologyOf(const ResourceView& view) {
    Topology topology;
    for (const SimDevice& device : view.devices) topology[device.id] = device.numa_nodes;
    return topology;
  }
  bool AwaitTopology(const Topology& topology) const {
    return AwaitView([&](const ResourceView& view) { return TopologyOf(view) == topology; },
                     kCardName);
  }

  double InfoMetric(const std::string& device, const std::string& numa_node) const {
    return daemon_->Metric(
        Format("patchbay_device_info{{device=\"{0}\",numa_node=\"{1}\",path=\"/dev/{0}\","
               "resource=\"{2}\"}}",
               device, numa_node, kCardName));
  }

  /// Returns the devices that a container of a new pod gets.
  Ids Admit(int n, const std::set<std::int64_t>& hint = {}) {
    auto admitted = kubelet_->Admit(Format("pod-{}", ++pods_), "c", kCardName, n, hint);
    EXPECT_TRUE(admitted) << admitted.error().message;
    return admitted ? admitted->device_ids : Ids{};
  }
  /// Does the same for a pod that is removed immediately.
  Ids AdmitOnce(int n, const std::set<std::int64_t>& hint = {}) {
    const Ids ids = Admit(n, hint);
    kubelet_->Release(Format("pod-{}", pods_));
    return ids;
  }

  /// Returns the preferred devices for each container of one request.
  std::vector<Ids> Preferred(const std::vector<Question>& questions) {
    v1beta1::PreferredAllocationRequest request;
    for (const Question& question : questions) {
      auto& container = *request.add_container_requests();
      for (const std::string& id : question.available) container.add_available_device_ids(id);
      for (const std::string& id : question.must_include) container.add_must_include_device_ids(id);
      container.set_allocation_size(question.size);
    }
    v1beta1::PreferredAllocationResponse response;
    const grpc::Status status = Stub(kCardName).Preferred(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<Ids> answers;
    for (const auto& container : response.container_responses()) {
      answers.emplace_back(container.device_ids().begin(), container.device_ids().end());
    }
    return answers;
  }

  FakeSysfs sysfs_{tree_};

 private:
  std::map<std::string, std::size_t> minors_;
  int pods_ = 0;
};

/// Returns the physical devices of units.
std::set<std::string> DevicesOf(const Ids& ids) {
  std::set<std::string> devices;
  for (const std::string& id : ids) devices.insert(id.substr(0, id.find("::")));
  return devices;
}

TEST_P(Numa, Case32EveryDeviceReportsItsNumaNode) {
  Cards({0, 1, 63});
  Start("");
  EXPECT_EQ(TopologyOf(View(kCardName)),
            (Topology{{"card0", {0}}, {"card1", {1}}, {"card2", {63}}}));
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(Stub(kCardName).FirstList(&list));
  for (const auto& device : list.devices()) EXPECT_EQ(device.topology().nodes_size(), 1);
  EXPECT_EQ(InfoMetric("card0", "0"), 1);
  EXPECT_EQ(InfoMetric("card1", "1"), 1);
  EXPECT_EQ(InfoMetric("card2", "63"), 1);
}

TEST_P(Numa, Case32OneUnknownNumaNodeDisablesTopology) {
  Cards({0, 1});
  Start("forget_after = \"1ms\"");
  const Topology known{{"card0", {0}}, {"card1", {1}}};
  ASSERT_EQ(TopologyOf(View(kCardName)), known);
  Card("card2", "-1");
  ASSERT_TRUE(AwaitTopology({{"card0", {}}, {"card1", {}}, {"card2", {}}}));
  EXPECT_EQ(InfoMetric("card0", "0"), 1);
  EXPECT_EQ(InfoMetric("card2", ""), 1);
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(Stub(kCardName).FirstList(&list));
  ASSERT_EQ(list.devices_size(), 3);
  for (const auto& device : list.devices()) EXPECT_FALSE(device.has_topology());
  sysfs_.Remove(Function("card2"));
  EXPECT_TRUE(AwaitTopology(known));
}

TEST_P(Numa, Case32UnknownNumaNode) {
  tree_.CharDevice("dev/card0");  // it is not in sysfs
  Card("card1", "64");            // more than the kubelet supports
  Card("card2", "nonsense");
  Start("");
  EXPECT_EQ(TopologyOf(View(kCardName)), (Topology{{"card0", {}}, {"card1", {}}, {"card2", {}}}));
  EXPECT_THAT(Admit(3), SizeIs(3));
}

TEST_P(Numa, ReportsAChangedNumaNode) {
  Cards({0, 1});
  Start("", {.daemon_keys = "rescan = \"1s\""});
  ASSERT_EQ(TopologyOf(View(kCardName)), (Topology{{"card0", {0}}, {"card1", {1}}}));
  const auto move_card1 = [&](const char* numa_node) {
    tree_.File(Function("card1") + "/numa_node", numa_node);
  };
  move_card1("0\n");
  EXPECT_TRUE(AwaitTopology({{"card0", {0}}, {"card1", {0}}}));
  move_card1("-1\n");
  EXPECT_TRUE(AwaitTopology({{"card0", {}}, {"card1", {}}}));
  move_card1("1\n");
  EXPECT_TRUE(AwaitTopology({{"card0", {0}}, {"card1", {1}}}));
  EXPECT_EQ(View(kCardName).lists, 4U);
  EXPECT_EQ(View(kCardName).allocatable, 2U);
}

TEST_P(Numa, ReplicasHaveNoTopologyByDefault) {
  Cards({0, 1});
  Start("replicas = 2");
  EXPECT_EQ(TopologyOf(View(kCardName)),
            (Topology{{"card0::0", {}}, {"card0::1", {}}, {"card1::0", {}}, {"card1::1", {}}}));
}

TEST_P(Numa, ReplicasHaveTopologyIfConfigured) {
  Cards({0, 1});
  Start("replicas = 2\ntopology = true");
  EXPECT_EQ(TopologyOf(View(kCardName)),
            (Topology{{"card0::0", {0}}, {"card0::1", {0}}, {"card1::0", {1}}, {"card1::1", {1}}}));
  EXPECT_THAT(AdmitOnce(2, {1}), UnorderedElementsAre("card1::0", "card1::1"));
}

TEST_P(Numa, TopologyCanBeDisabled) {
  Cards({0, 1});
  Start("topology = false\nenv = { NUMA = \"{numa_node}\" }");
  EXPECT_EQ(TopologyOf(View(kCardName)), (Topology{{"card0", {}}, {"card1", {}}}));
  // The kubelet still has it.
  EXPECT_EQ(InfoMetric("card1", "1"), 1);
  const auto admitted = kubelet_->Admit("pod", "c", kCardName, 2);
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_EQ(admitted->response.envs().at("NUMA"), "0,1");
}

TEST_P(Numa, RejectsDevicesThatLackARequiredNumaNode) {
  Cards({0, -1, 1});
  Start("env = { \"NUMA_{slot}\" = \"{numa_node}\" }");
  EXPECT_EQ(TopologyOf(View(kCardName)), (Topology{{"card0", {0}}, {"card2", {1}}}));
  EXPECT_EQ(daemon_->Metric("patchbay_rejected_devices{reason=\"missing_variable\","
                            "resource=\"example.com/card\"}"),
            1);
  const auto admitted = kubelet_->Admit("pod", "c", kCardName, 2);
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_EQ(admitted->response.envs().at("NUMA_0"), "0");
  EXPECT_EQ(admitted->response.envs().at("NUMA_1"), "1");
}

TEST_P(Numa, GroupOnTwoNumaNodesHasNoTopology) {
  Card("card0a", "0");
  Card("card0b", "1");
  Card("card1a", "1");
  Card("card1b", "1");
  StartResource(R"(
forget_after = "1ms"
  [[resource.match]]
  regex = '/dev/card(?P<card>\d)[ab]'
  group_by = "card"
)");
  EXPECT_EQ(TopologyOf(View(kCardName)), (Topology{{"0", {}}, {"1", {}}}));
  const auto info = [&](const char* card, const char* numa_node) {
    return daemon_->Metric(
        Format("patchbay_device_info{{device=\"{}\",numa_node=\"{}\","
               "path=\"/dev/card{}a\",resource=\"{}\"}}",
               card, numa_node, card, kCardName));
  };
  EXPECT_EQ(info("0", ""), 1);
  EXPECT_EQ(info("1", "1"), 1);
  // The rest of the group is on one NUMA node.
  sysfs_.Remove(Function("card0b"));
  EXPECT_TRUE(AwaitTopology({{"0", {0}}, {"1", {1}}}));
}

TEST_P(Numa, PreferredAllocationIsAdvertisedOnlyIfConfigured) {
  Cards({0});
  for (const std::string preference : {"none", "packed", "spread"}) {
    Start(Format("preferred_allocation = \"{}\"", preference));
    const bool offered = preference != "none";
    ASSERT_THAT(Calls(kCardName), SizeIs(1));
    EXPECT_EQ(Calls(kCardName)[0].options.get_preferred_allocation_available, offered);
    EXPECT_EQ(View(kCardName).options.get_preferred_allocation_available, offered);
    v1beta1::DevicePluginOptions options;
    ASSERT_TRUE(Stub(kCardName).Options(&options).ok());
    EXPECT_EQ(options.get_preferred_allocation_available(), offered);
    EXPECT_FALSE(options.pre_start_required());
    AdmitOnce(1);
    EXPECT_EQ(daemon_->Metric(Format("patchbay_rpcs_total{{code=\"OK\","
                                     "method=\"GetPreferredAllocation\",resource=\"{}\"}}",
                                     kCardName)),
              offered ? 1 : 0);
    daemon_.reset();
    kubelet_.reset();
  }
}

// The orders of the kubelet are random, so the result must be the same every time.
constexpr int kTimes = 5;

TEST_P(Numa, PackedUsesFewNumaNodes) {
  Cards({0, 0, 1, 1, 1, 2, 2, 2, 2});
  Start("preferred_allocation = \"packed\"");
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_THAT(AdmitOnce(2), UnorderedElementsAre("card0", "card1"));
    EXPECT_THAT(AdmitOnce(3), UnorderedElementsAre("card2", "card3", "card4"));
    EXPECT_THAT(AdmitOnce(4), UnorderedElementsAre("card5", "card6", "card7", "card8"));
    EXPECT_THAT(AdmitOnce(6),
                UnorderedElementsAre("card0", "card1", "card5", "card6", "card7", "card8"));
  }
  // With others there already.
  EXPECT_THAT(Admit(1), UnorderedElementsAre("card0"));
  EXPECT_THAT(Admit(1), UnorderedElementsAre("card1"));
  EXPECT_THAT(Admit(2), UnorderedElementsAre("card2", "card3"));
  EXPECT_THAT(Admit(1), UnorderedElementsAre("card4"));
}

TEST_P(Numa, PackedRespectsTheTopologyManagerHint) {
  Cards({0, 0, 1, 1, 1, 2, 2, 2, 2});
  Start("preferred_allocation = \"packed\"");
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_THAT(AdmitOnce(1, {2}), IsSubsetOf({"card5", "card6", "card7", "card8"}));
    EXPECT_THAT(AdmitOnce(3, {1}), UnorderedElementsAre("card2", "card3", "card4"));
    EXPECT_THAT(AdmitOnce(2, {1, 2}), UnorderedElementsAre("card2", "card3"));
    EXPECT_THAT(AdmitOnce(4, {1, 2}), UnorderedElementsAre("card5", "card6", "card7", "card8"));
    // All aligned devices must be included; the others are on one further node, not on two.
    EXPECT_THAT(AdmitOnce(5, {0}),
                UnorderedElementsAre("card0", "card1", "card2", "card3", "card4"));
  }
}

TEST_P(Numa, PackedFillsSharedDevices) {
  Cards({0, 0, 0});
  Start("replicas = 3\npreferred_allocation = \"packed\"");
  EXPECT_THAT(DevicesOf(Admit(2)), ElementsAre("card0"));
  EXPECT_THAT(DevicesOf(Admit(2)), ElementsAre("card1"));
  EXPECT_THAT(DevicesOf(Admit(3)), ElementsAre("card2"));
  EXPECT_THAT(DevicesOf(Admit(1)), ElementsAre("card0"));
  EXPECT_THAT(DevicesOf(Admit(1)), ElementsAre("card1"));
}

TEST_P(Numa, PackedUsesNumaNodesOfReplicas) {
  Cards({0, 1, 0, 1});
  Start("replicas = 2\npreferred_allocation = \"packed\"");
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_THAT(DevicesOf(AdmitOnce(4)), ElementsAre("card0", "card2"));
  }
}

TEST_P(Numa, SpreadUsesDistinctDevices) {
  Cards({0, 0, 1});
  Start("replicas = 4\npreferred_allocation = \"spread\"");
  for (int i = 0; i < 2; ++i) {
    std::set<std::string> singles;
    for (int card = 0; card < 3; ++card) singles.merge(DevicesOf(Admit(1)));
    EXPECT_THAT(singles, SizeIs(3)) << "the load is shared";
    EXPECT_THAT(DevicesOf(Admit(3)), SizeIs(3));
  }
}

TEST_P(Numa, PreferenceAvoidsVanishedDevices) {
  Cards({0, 0, 1});
  Start("preferred_allocation = \"packed\"");
  const Ids all = {"card0", "card1", "card2"};
  sysfs_.Remove(Function("card1"));
  ASSERT_TRUE(
      AwaitHealth({{"card0", "Healthy"}, {"card1", "Unhealthy"}, {"card2", "Healthy"}}, kCardName));
  // A request without the option, like that of an older kubelet.
  EXPECT_THAT(Preferred({{all, {}, 2}}), ElementsAre(UnorderedElementsAre("card0", "card2")));
}

TEST_P(Numa, Case46RequestedSizeFromAvailableDevices) {
  Cards({0, 1, 1, 0});
  for (const char* preference : {"packed", "spread"}) {
    SCOPED_TRACE(preference);
    Start(Format("preferred_allocation = \"{}\"", preference));
    const Ids all = {"card3", "card0", "card2", "card1"};
    const auto one = [&](Question question) {
      const auto answers = Preferred({std::move(question)});
      EXPECT_THAT(answers, SizeIs(1));
      return answers.empty() ? Ids{"no answer"} : answers[0];
    };
    // must_include is a subset of available.
    const Ids three = one({all, {"card1", "card3"}, 3});
    EXPECT_THAT(three, SizeIs(3));
    EXPECT_THAT(three, testing::IsSupersetOf({"card1", "card3"}));
    EXPECT_THAT(DevicesOf(three), SizeIs(3));
    EXPECT_THAT(one({all, {"card1", "card3"}, 2}), UnorderedElementsAre("card1", "card3"));
    // All devices.
    EXPECT_THAT(one({all, {}, 4}), UnorderedElementsAreArray(all));
    EXPECT_THAT(one({all, {"card0"}, 4}), UnorderedElementsAreArray(all));
    EXPECT_THAT(one({all, all, 4}), UnorderedElementsAreArray(all));
    // More than available, or fewer than must_include.
    EXPECT_THAT(one({all, {}, 7}), UnorderedElementsAreArray(all));
    EXPECT_THAT(one({{}, {}, 1}), IsEmpty());
    EXPECT_THAT(one({all, {"card3", "card0", "card1"}, 2}), SizeIs(2));
    EXPECT_THAT(one({all, {"card3", "card0", "card1"}, 2}),
                IsSubsetOf({"card0", "card1", "card3"}));
    EXPECT_THAT(one({{"card0"}, {"card1"}, 1}), ElementsAre("card0")) << "it is not available";
    // Unknown IDs.
    EXPECT_THAT(one({{"card9", "card0", "", "card0::0", std::string(5000, 'x')}, {}, 1}),
                ElementsAre("card0"));
    EXPECT_THAT(one({{"card9", "card0"}, {"card8"}, 2}), ElementsAre("card0"));
    // No size.
    EXPECT_THAT(one({all, {}, 0}), IsEmpty());
    EXPECT_THAT(one({all, {"card0"}, 0}), IsEmpty());
    EXPECT_THAT(one({all, {"card0"}, -1}), IsEmpty());
    EXPECT_THAT(one({all, {}, std::numeric_limits<std::int32_t>::min()}), IsEmpty());
    EXPECT_THAT(one({all, {}, std::numeric_limits<std::int32_t>::max()}),
                UnorderedElementsAreArray(all));
    // Repeated IDs.
    EXPECT_THAT(one({{"card0", "card0", "card1"}, {"card0", "card0"}, 2}),
                UnorderedElementsAre("card0", "card1"));
    EXPECT_THAT(one({{"card0", "card0"}, {}, 2}), ElementsAre("card0"));
    // Several containers, and none. No state is kept between them.
    EXPECT_THAT(Preferred({{all, {}, 4}, {{"card2"}, {}, 1}, {{}, {}, 0}, {all, {"card2"}, 1}}),
                ElementsAre(UnorderedElementsAreArray(all), ElementsAre("card2"), IsEmpty(),
                            ElementsAre("card2")));
    EXPECT_THAT(Preferred({}), IsEmpty());
    daemon_.reset();
    kubelet_.reset();
  }
}

TEST_P(Numa, Case46TenThousandUnits) {
  constexpr int kDevices = 1000, kReplicas = 10;
  for (const std::string preference : {"packed", "spread"}) {
    StartResource(
        Format("replicas = {}\npreferred_allocation = \"{}\"\n"
               "[[resource.match]]\ncount = {}\n",
               kReplicas, preference, kDevices));
    Ids all;
    for (const SimDevice& device : View(kCardName).devices) all.push_back(device.id);
    ASSERT_THAT(all, SizeIs(kDevices * kReplicas));
    const auto answers = Preferred({{all, {"7::3", "7::4"}, 5000}});
    ASSERT_THAT(answers, SizeIs(1));
    const std::set<std::string> ids(answers[0].begin(), answers[0].end());
    EXPECT_EQ(ids.size(), 5000U);
    EXPECT_EQ(answers[0].size(), 5000U);
    EXPECT_TRUE(ids.contains("7::3") && ids.contains("7::4"));
    EXPECT_EQ(DevicesOf(answers[0]).size(), preference == "packed" ? 500U : 1000U);
    EXPECT_EQ(DevicesOf(AdmitOnce(500)).size(), preference == "packed" ? 50U : 500U);
    daemon_.reset();
    kubelet_.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Numa,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
