// Cases 24 to 31 of the kubelet's contract: device lists.

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/format.h"
#include "integration/contract.h"
#include "kubelet/kubelet_client.h"
#include "kubelet/plugin_server.h"
#include "kubelet/proto_convert.h"
#include "rpc/grpc_init.h"
#include "rpc/socket_file.h"
#include "support/observed_resource.h"
#include "support/rpc_server.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

const HealthById kOne{{"ttyUSB0", "Healthy"}};
const HealthById kBoth{{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}};

TEST_P(Contract, Case24ThreeStreamsAtOnce) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 3));
  const auto all_have = [&](std::size_t lists, const ResourceView& view) {
    return view.extra_streams.size() == 3 &&
           std::all_of(view.extra_streams.begin(), view.extra_streams.end(),
                       [&](const ExtraStreamView& s) { return s.lists == lists; });
  };
  ASSERT_TRUE(AwaitView([&](const ResourceView& view) { return all_have(1, view); }));
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth(kBoth));
  ASSERT_TRUE(AwaitView([&](const ResourceView& view) { return all_have(2, view); }));
  for (const ExtraStreamView& stream : View().extra_streams) {
    EXPECT_TRUE(stream.open);
    EXPECT_EQ(stream.devices, View().devices);
  }
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_list_watch_streams{resource=\"example.com/serial\"}", 4));
  kubelet_->CloseExtraStreams(kSerialName);
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_list_watch_streams{resource=\"example.com/serial\"}", 1));
  EXPECT_EQ(daemon_->Metric("patchbay_resource_registered{resource=\"example.com/serial\"}"), 1);
}

/// Lists of 10,000 devices; the health of the first one changes with every list.
class ManyLists {
 public:
  ManyLists() {
    for (int i = 0; i < 10'000; ++i) {
      devices_.push_back(std::make_shared<const Device>(Device{Format("device-{:05}", i), {}, {}}));
    }
  }
  std::shared_ptr<const Snapshot> Next() {
    Snapshot snapshot{spec_, ++generation_, {}, {}};
    for (const auto& device : devices_) snapshot.devices.push_back({device, Health::kHealthy, ""});
    if (generation_ % 2 == 0) snapshot.devices[0].health = Health::kUnhealthy;
    return std::make_shared<const Snapshot>(std::move(snapshot));
  }

 private:
  std::shared_ptr<const ResourceSpec> spec_ = std::make_shared<ResourceSpec>();
  std::vector<std::shared_ptr<const Device>> devices_;
  std::uint64_t generation_ = 0;
};

// Without the daemon, which would send one list a second.
TEST_P(Contract, Case25SlowReader) {
  constexpr int kLists = 101;
  InitGrpc();
  ManyLists lists;
  auto cell = std::make_shared<SnapshotCell>();
  cell->Set(lists.Next());
  StartKubelet();
  std::promise<void> two_streams;
  auto server = PluginServer::Start(test::StartRpc(), tree_.path("kubelet/plugin.sock"),
                                    {.resource = kSerialName,
                                     .snapshot = cell,
                                     .observer = test::MakeObserver(),
                                     .allocation = {},
                                     .lookups = {},
                                     .on_stale_list = [] {}},
                                    [&, seen = false](int open, bool) mutable {
                                      if (open == 2 && !std::exchange(seen, true)) {
                                        two_streams.set_value();
                                      }
                                    });
  ASSERT_TRUE(server);
  std::promise<bool> registered;
  ResourceSpec spec;
  spec.name = kSerialName;
  const std::string& socket = kubelet_->socket_path();
  const auto call =
      CallRegister(socket, SocketIdentity(socket).value(), "plugin.sock", spec, kPatience,
                   [&](const Status& status) { registered.set_value(status.has_value()); });
  ASSERT_TRUE(registered.get_future().get());
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 1, /*reading=*/false));
  ASSERT_EQ(two_streams.get_future().wait_for(kPatience), std::future_status::ready);

  for (int i = 1; i < kLists; ++i) {
    cell->Set(lists.Next());
    (*server)->Announce(cell->Get());
  }
  cell->Set(lists.Next());  // the latest list is unhealthy
  (*server)->Announce(cell->Get());
  const auto newest = [](const std::vector<SimDevice>& devices) {
    return devices.size() == 10'000 && devices[0].health == "Unhealthy";
  };
  // No other stream waits for the slow one.
  ASSERT_TRUE(AwaitView([&](const ResourceView& view) { return newest(view.devices); }));
  EXPECT_EQ(View().extra_streams[0].lists, 0U);
  EXPECT_EQ(View().streams, 1U);

  kubelet_->ResumeReading(kSerialName);
  ASSERT_TRUE(AwaitView([&](const ResourceView& view) {
    return newest(view.extra_streams[0].devices) && view.extra_streams[0].lists > 1;
  }));
  // The list that was being sent and the latest; at most one more that was started meanwhile.
  EXPECT_LE(View().extra_streams[0].lists, 3U);
  server->reset();
}

TEST_P(Contract, Case26DeviceVanishes) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_EQ(HealthOf(View()), kBoth);
  tree_.Remove("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_EQ(View().lists, 2U);
  EXPECT_EQ(View().capacity, 2U);
  EXPECT_EQ(View().allocatable, 1U);
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth(kBoth));
  EXPECT_EQ(View().lists, 3U);
}

TEST_P(Contract, Case27DeviceFlaps) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const auto start = std::chrono::steady_clock::now();
  auto next = start;
  for (int i = 0; i < 150; ++i, next += 20ms) {
    std::this_thread::sleep_until(next);  // the load: fifty per second
    i % 2 == 0 ? tree_.Remove("dev/ttyUSB0") : tree_.CharDevice("dev/ttyUSB0");
  }
  const auto lasted = std::chrono::steady_clock::now() - start;
  tree_.CharDevice("dev/ttyUSB9");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB9", "Healthy"}}));
  // The first list, one immediately, then one per second.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lasted).count();
  EXPECT_LE(View().lists, static_cast<std::size_t>(seconds) + 4);
  EXPECT_GE(View().lists, 3U);
  EXPECT_THAT(Calls(), SizeIs(1));
}

TEST_P(Contract, Case28NoDevices) {
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  EXPECT_TRUE(View().known);
  EXPECT_EQ(View().lists, 1U);
  EXPECT_EQ(View().capacity, 0U);
  EXPECT_EQ(View().allocatable, 0U);
  EXPECT_TRUE(daemon_->AwaitReady());
}

TEST_P(Contract, Case29DuplicateIds) {
  tree_.CharDevice("dev/a/port1");
  tree_.CharDevice("dev/b/port1");
  tree_.CharDevice("dev/b/port2");
  StartKubelet();
  StartDaemon(R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  regex = '/dev/(?P<bus>[ab])/port(?P<port>\d)'
  id = "port{port}"
)");
  ASSERT_TRUE(AwaitServed());
  EXPECT_EQ(HealthOf(View()), (HealthById{{"port2", "Healthy"}}));
  EXPECT_EQ(View().capacity, 1U);
  EXPECT_EQ(daemon_->Metric("patchbay_rejected_devices{reason=\"duplicate_id\","
                            "resource=\"example.com/serial\"}"),
            2);
  // One of them is removed: the other one is listed.
  tree_.Remove("dev/a/port1");
  EXPECT_TRUE(AwaitHealth({{"port1", "Healthy"}, {"port2", "Healthy"}}));
  // It is back: the other one was first and keeps its ID.
  tree_.CharDevice("dev/a/port1");
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_rejected_devices{reason=\"duplicate_id\","
                           "resource=\"example.com/serial\"}",
                           1));
  EXPECT_EQ(HealthOf(View()), (HealthById{{"port1", "Healthy"}, {"port2", "Healthy"}}));
}

TEST_P(Contract, Case30HostileNames) {
  const std::string longest = "ttyUSB" + std::string(200, 'x');
  for (const std::string& name :
       {std::string("ttyUSB 0"), std::string("ttyUSB\x01\n"), std::string("ttyUSB\xff\xfe"),
        std::string("ttyUSB\xc3\xa9"), longest, longest + "y", std::string("ttyUSB::0"),
        std::string("ttyUSB{}"), std::string("ttyUSB\"\\")}) {
    tree_.CharDevice("dev/" + name);
  }
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const auto view = View();
  EXPECT_THAT(view.devices, SizeIs(8));  // all but the one that is not UTF-8
  std::set<std::string> ids;
  for (const SimDevice& device : view.devices) {
    EXPECT_TRUE(ids.insert(device.id).second) << device.id;
    EXPECT_LE(device.id.size(), 63U);
    EXPECT_EQ(device.id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789._:@+-"),
              std::string::npos)
        << device.id;
  }
  EXPECT_EQ(daemon_->Metric(
                "patchbay_rejected_devices{reason=\"bad_name\",resource=\"example.com/serial\"}"),
            1);
  EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 8));
  EXPECT_EQ(daemon_->Get("/metrics").status, 200);
}

TEST_P(Contract, Case31TruncatesALongList) {
  StartKubelet();
  StartDaemon(R"(
[[resource]]
name = "example.com/license"
replicas = 20
  [[resource.match]]
  count = 4000
  id = "license-of-the-renderer-on-server-{index}"
)");
  ASSERT_TRUE(AwaitServed("example.com/license"));
  EXPECT_EQ(daemon_->log().Count("the device list is too long for the kubelet"), 1U);
  const auto view = View("example.com/license");
  EXPECT_LT(view.capacity, 80'000U);
  EXPECT_GT(view.capacity, 50'000U);
  EXPECT_EQ(view.streams, 1U);
  v1beta1::ListAndWatchResponse list;
  for (const SimDevice& device : view.devices) {
    list.add_devices()->set_id(device.id);
    list.mutable_devices()->rbegin()->set_health(device.health);
  }
  EXPECT_LE(list.ByteSizeLong(), kMaxListBytes);
  static_assert(kMaxListBytes <= 4'194'304);
}

}  // namespace
}  // namespace patchbay::test
