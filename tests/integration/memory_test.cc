// The daemon needs less memory than its pod has, regardless of what the host and other clients of
// the API server have, and serves its devices.
//
// PATCHBAY_FOREIGN_SLICES sets the number of large slices. 700 of them exhaust a pod if they are
// kept; that takes minutes, as does the test with more slices than are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/format.h"
#include "support/daemon_process.h"
#include "support/dra_cluster.h"
#include "support/environment.h"
#include "support/sanitizer.h"

namespace patchbay::test {
namespace {

using api_sim::FaultType;

constexpr long kPodKib = 256L * 1024;
constexpr std::chrono::minutes kFlood{2};

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    if (kHasAddressSanitizer || kHasThreadSanitizer) {
      GTEST_SKIP() << "a sanitizer needs more memory than a pod has";
    }
  }
  /// Waits until the kubelet has a list of at least one device.
  bool AwaitPlugin(const std::string& resource = "example.com/plugin") {
    return daemon_.kubelet().Await(
        [&] {
          const auto plugin = daemon_.kubelet().View(resource);
          return plugin && !plugin->devices.empty();
        },
        kFlood);
  }

  DaemonProcess daemon_;
};

/// Another client writes slices of the driver and the node, as many as it likes.
class ForeignSlices : public Memory {
 protected:
  void SetUp() override {
    Memory::SetUp();
    daemon_.host().CharDevice("dev/ttyUSB0");
    daemon_.host().CharDevice("dev/ttyACM0");
  }

  void StartDaemon() {
    daemon_.Start(
        "[[resource]]\nname = \"example.com/serial\"\napi = \"dra\"\n"
        "[[resource.match]]\npath = \"/dev/ttyUSB*\"\n"
        "[[resource]]\nname = \"example.com/plugin\"\n"
        "[[resource.match]]\npath = \"/dev/ttyACM*\"\n",
        cluster_.DaemonKeys());
  }

  /// Writes large slices of the pool of the daemon and of others.
  void WriteLarge() {
    for (unsigned i = 0; i < count_; ++i) {
      const std::string pool = i % 2 == 0 ? "node-1/example.com/serial" : Format("pool-{}", i);
      Write(Format("slice-{:05}", i), pool, 128, 32);
    }
  }
  /// Writes a slice of `pool` with devices that have `attributes` each.
  void Write(const std::string& name, const std::string& pool, int devices, int attributes) {
    api_sim::Json list = api_sim::Json::array();
    for (int i = 0; i < devices; ++i) {
      api_sim::Json values = api_sim::Json::object();
      for (int j = 0; j < attributes; ++j) values[Format("a{}", j)] = {{"int", j}};
      list.push_back({{"name", Format("d{}", i)}, {"attributes", std::move(values)}});
    }
    const auto response = cluster_.server().Call(
        "POST", DraCluster::kSlices,
        {{"apiVersion", "resource.k8s.io/v1"},
         {"kind", "ResourceSlice"},
         {"metadata", {{"name", name}}},
         {"spec",
          {{"driver", DraCluster::kDriver},
           {"nodeName", DraCluster::kNode},
           {"pool", {{"name", pool}, {"generation", 1}, {"resourceSliceCount", 1}}},
           {"devices", std::move(list)}}}});
    ASSERT_LT(response.status, 300) << response.body;
    last_ = name;
  }

  /// Waits until the slices are those of the daemon, and the kubelet has the device plugin.
  bool AwaitOwn() {
    return cluster_.server().Await(
               [&] {
                 const std::string last = Format("{}/{}", DraCluster::kSlices, last_);
                 if (cluster_.server().Call("GET", last).status != 404) return false;
                 const auto slices =
                     cluster_.server().Call("GET", Format("{}?limit=2", DraCluster::kSlices));
                 const auto items = api_sim::Json::parse(slices.body)["items"];
                 return items.size() == 1 &&
                        items[0]["spec"]["pool"]["name"] == "node-1/example.com/serial" &&
                        items[0]["spec"]["devices"].size() == 1;
               },
               kFlood) &&
           AwaitPlugin();
  }

  const unsigned count_ = FromEnvironment("PATCHBAY_FOREIGN_SLICES", 64);
  std::string last_ = "none";  ///< the slice that was written last
  DraCluster cluster_{daemon_.kubelet_root()};
};

TEST_F(ForeignSlices, LargeOnesAreRemoved) {
  WriteLarge();
  StartDaemon();
  EXPECT_TRUE(AwaitOwn()) << daemon_.LogTail();
  EXPECT_LT(daemon_.PeakKib(), kPodKib);
}

TEST_F(ForeignSlices, MoreThanAreReadAreRemoved) {
  if (count_ < 700) GTEST_SKIP() << "set PATCHBAY_FOREIGN_SLICES to 700";
  for (int i = 0; i < 10'001; ++i) Write(Format("slice-{:05}", i), Format("pool-{}", i), 1, 0);
  StartDaemon();
  EXPECT_TRUE(AwaitOwn()) << daemon_.LogTail();
  EXPECT_LT(daemon_.PeakKib(), kPodKib);
}

TEST_F(ForeignSlices, EventsAreNotHeldWhileAWriteIsPending) {
  StartDaemon();
  ASSERT_TRUE(AwaitOwn()) << daemon_.LogTail();
  const long alone = daemon_.PeakKib();
  // The daemon deletes the first one; the response arrives byte by byte while events come.
  cluster_.server().SetFaults(
      {{.type = FaultType::kSlowBody, .times = 0, .verb = api_sim::Verb::kDelete}});
  WriteLarge();
  cluster_.server().SetFaults({});
  EXPECT_TRUE(AwaitOwn()) << daemon_.LogTail();
  // An event has 90 KB of text and takes 2 MB when it is read. The daemon may list the slices again
  // meanwhile, 25 in a page, so it may have 60 MB, but not as much as all events.
  ASSERT_GE(count_, 64u);
  EXPECT_LT(daemon_.PeakKib(), std::min(kPodKib, alone + 90L * 1024));
}

TEST_F(Memory, ScansOfEverythingEndWhereTheirMemoryDoes) {
  const std::string long_name(200, 'x');
  for (int i = 0; i < 10'000; ++i) daemon_.host().Dir(Format("dev/{}/{}-{}", i % 10, i, long_name));
  daemon_.host().CharDevice("dev/ttyACM0");
  std::string resources =
      "[[resource]]\nname = \"example.com/plugin\"\n"
      "[[resource.match]]\npath = \"/dev/ttyACM*\"\n";
  for (int i = 0; i < 20; ++i) {
    resources += Format(
        "[[resource]]\nname = \"example.com/all-{}\"\n[[resource.match]]\ntype = \"any\"\n{}\n", i,
        i % 2 == 0 ? "path = \"/dev/**\"" : "regex = \"/dev/.*\"");
  }
  daemon_.Start(resources);
  EXPECT_TRUE(AwaitPlugin()) << daemon_.LogTail();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(AwaitPlugin(Format("example.com/all-{}", i)));
  EXPECT_THAT(daemon_.Log(), testing::HasSubstr("this and all that follows is not searched"));
  EXPECT_LT(daemon_.PeakKib(), kPodKib);
}

}  // namespace
}  // namespace patchbay::test
