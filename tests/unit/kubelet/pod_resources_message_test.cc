#include "kubelet/pod_resources_message.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

v1::ListPodResourcesResponse Parse(const std::string& text) {
  v1::ListPodResourcesResponse message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

/// One device of a container.
v1::ListPodResourcesResponse Held(const std::string& pod_namespace, const std::string& pod,
                                  const std::string& container, const std::string& resource,
                                  const std::string& id) {
  v1::ListPodResourcesResponse message;
  v1::PodResources& p = *message.add_pod_resources();
  p.set_namespace_(pod_namespace);
  p.set_name(pod);
  v1::ContainerResources& c = *p.add_containers();
  c.set_name(container);
  v1::ContainerDevices& devices = *c.add_devices();
  devices.set_resource_name(resource);
  devices.add_device_ids(id);
  return message;
}

TEST(ReadHolders, IsEmptyWithoutDevices) {
  EXPECT_EQ(ReadHolders({}), ReportedHolders());
  EXPECT_EQ(ReadHolders(Parse(R"(pod_resources { name: "p" containers { name: "c" } })")),
            ReportedHolders());
}

/// One device of a claim of a container.
v1::ListPodResourcesResponse HeldByClaim(const std::string& claim, const std::string& driver,
                                         const std::string& pool, const std::string& device) {
  v1::ListPodResourcesResponse message;
  v1::PodResources& p = *message.add_pod_resources();
  p.set_namespace_("ns");
  p.set_name("p");
  v1::ContainerResources& c = *p.add_containers();
  c.set_name("c");
  v1::DynamicResource& dynamic = *c.add_dynamic_resources();
  dynamic.set_claim_name(claim);
  v1::ClaimResource& resource = *dynamic.add_claim_resources();
  resource.set_driver_name(driver);
  resource.set_pool_name(pool);
  resource.set_device_name(device);
  return message;
}

std::optional<ReportedHolders> ReadBytes(const std::string& bytes, int piece = -1) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()),
                                                piece);
  return ReadHolders(stream);
}

TEST(ReadHolders, ParsesBytesLikeTheMessage) {
  v1::ListPodResourcesResponse message = Held("ns", "p", "c", "a.b/x", "1");
  message.MergeFrom(Held("ns", "q", "c", "a.b/x", "2"));
  message.MergeFrom(Held("other", "p", "d", "a.b/y", "1"));
  message.MergeFrom(HeldByClaim("claim", "gpu.example.com", "node-1", "gpu-0"));
  // A field of later kubelets.
  const std::string bytes = message.SerializeAsString() + std::string("\x12\x03new\x18\x07", 7);
  for (const int piece : {-1, 1, 5}) EXPECT_EQ(ReadBytes(bytes, piece), ReadHolders(message));
  EXPECT_EQ(ReadBytes(""), ReportedHolders());
}

TEST(ReadHolders, RejectsInvalidBytes) {
  const std::string bytes = Held("ns", "p", "c", "a.b/x", "1").SerializeAsString();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadBytes(bytes.substr(0, size))) << size;
    EXPECT_FALSE(ReadBytes(bytes.substr(0, size), 1)) << size;
  }
  EXPECT_FALSE(ReadBytes(Held("\xff", "p", "c", "a.b/x", "1").SerializeAsString()));
  EXPECT_FALSE(ReadBytes("\x0a\xff\xff\xff\xff\x0f"));  // exceeds the input
  EXPECT_FALSE(ReadBytes("\x0f"));                      // not a field type
}

TEST(ReadHolders, DeduplicatesDevicesReportedPerNumaNode) {
  const auto reported = ReadHolders(Parse(R"(
    pod_resources {
      name: "p" namespace: "ns"
      containers {
        name: "c"
        devices { resource_name: "a.b/x" device_ids: "1" topology { nodes { id: 0 } } }
        devices { resource_name: "a.b/x" device_ids: "1" topology { nodes { id: 1 } } }
        devices { resource_name: "a.b/x" device_ids: "2" device_ids: "2" }
        devices { resource_name: "a.b/y" device_ids: "1" }
      }
    })"));
  const Holder holder{"ns", "p", "c"};
  EXPECT_THAT(reported.holders,
              ElementsAre(Pair("a.b/x", ElementsAre(Pair("1", ElementsAre(holder)),
                                                    Pair("2", ElementsAre(holder)))),
                          Pair("a.b/y", ElementsAre(Pair("1", ElementsAre(holder))))));
  EXPECT_TRUE(reported.complete);
}

TEST(ReadHolders, KeepsSeveralHoldersOfADevice) {
  const auto reported = ReadHolders(Parse(R"(
    pod_resources {
      name: "p" namespace: "ns"
      containers { name: "init" devices { resource_name: "r" device_ids: "1" } }
      containers { name: "main" devices { resource_name: "r" device_ids: "1" } }
    }
    pod_resources {
      name: "q" namespace: "ns"
      containers { name: "main" devices { resource_name: "r" device_ids: "1" } }
    })"));
  EXPECT_THAT(
      reported.holders.at("r").at("1"),
      ElementsAre(Holder{"ns", "p", "init"}, Holder{"ns", "p", "main"}, Holder{"ns", "q", "main"}));
}

TEST(ReadHolders, OmitsInvalidIdsAndResources) {
  const std::string longest_id(253, 'i');
  const std::string longest_resource(317, 'r');
  EXPECT_THAT(ReadHolders(Held("ns", "p", "c", longest_resource, longest_id)).holders, SizeIs(1));
  EXPECT_THAT(ReadHolders(Held("ns", "p", "c", "r", "")).holders, IsEmpty());
  EXPECT_THAT(ReadHolders(Held("ns", "p", "c", "", "1")).holders, IsEmpty());
  EXPECT_THAT(ReadHolders(Held("ns", "p", "c", "r", longest_id + "i")).holders, IsEmpty());
  EXPECT_THAT(ReadHolders(Held("ns", "p", "c", longest_resource + "r", "1")).holders, IsEmpty());
}

TEST(ReadHolders, TruncatesLongNamesAtCharacterBoundaries) {
  const std::string umlauts = [] {
    std::string text = "x";
    for (int i = 0; i < 200; ++i) text += "ü";
    return text;
  }();
  const auto reported =
      ReadHolders(Held(std::string(64, 'n'), std::string(300, 'p'), umlauts, "r", "1"));
  const Holder holder = *reported.holders.at("r").at("1").begin();
  EXPECT_EQ(holder.pod_namespace, std::string(63, 'n'));
  EXPECT_EQ(holder.pod, std::string(253, 'p'));
  EXPECT_EQ(holder.container, umlauts.substr(0, 63));
  const auto even = ReadHolders(Held("", "", umlauts.substr(1), "r", "1"));
  const std::string cut = even.holders.at("r").at("1").begin()->container;
  EXPECT_EQ(cut, umlauts.substr(1, 62));
  EXPECT_TRUE(IsUtf8(cut));
}

TEST(ReadHolders, LimitsTheNumberOfDevices) {
  v1::ListPodResourcesResponse message = Held("ns", "p", "c", "r", "0");
  v1::ContainerDevices& devices =
      *message.mutable_pod_resources(0)->mutable_containers(0)->mutable_devices(0);
  for (std::size_t i = 1; i < kMaxHoldings; ++i) devices.add_device_ids(std::to_string(i));
  EXPECT_THAT(ReadHolders(message).holders.at("r"), SizeIs(kMaxHoldings));
  EXPECT_TRUE(ReadHolders(message).complete);
  devices.add_device_ids("one more");
  EXPECT_THAT(ReadHolders(message).holders.at("r"), SizeIs(kMaxHoldings));
  EXPECT_FALSE(ReadHolders(message).complete);
}

TEST(ReadHolders, LimitsTheNumberOfHoldersOfADevice) {
  v1::ListPodResourcesResponse message = Held("ns", "p", "c", "r", "0");
  v1::PodResources& pod = *message.mutable_pod_resources(0);
  for (std::size_t i = 0; i < kMaxHoldings; ++i) {
    v1::ContainerResources& added = *pod.add_containers();
    added = pod.containers(0);
    added.set_name(std::to_string(i));
  }
  const auto reported = ReadHolders(message);
  EXPECT_THAT(reported.holders.at("r").at("0"), SizeIs(kMaxHoldings));
  EXPECT_FALSE(reported.complete);
}

TEST(ReadHolders, ReportsTheHoldersOfClaimsByDriver) {
  const auto reported = ReadHolders(Parse(R"(
    pod_resources {
      name: "p" namespace: "ns"
      containers {
        name: "c"
        devices { resource_name: "a.b/x" device_ids: "1" }
        dynamic_resources {
          claim_name: "cards" claim_namespace: "ns"
          claim_resources {
            cdi_devices { name: "gpu.example.com/claim=1" }
            driver_name: "gpu.example.com" pool_name: "node-1" device_name: "gpu-0" share_id: "s"
          }
          claim_resources {
            driver_name: "gpu.example.com" pool_name: "node-1" device_name: "gpu-1"
          }
          claim_resources {
            driver_name: "nic.example.com" pool_name: "node-1" device_name: "gpu-0"
          }
        }
      }
      containers {
        name: "d"
        dynamic_resources {
          claim_name: "cards" claim_namespace: "ns"
          claim_resources {
            driver_name: "gpu.example.com" pool_name: "node-1" device_name: "gpu-0" share_id: "s"
          }
          claim_resources {
            driver_name: "gpu.example.com" pool_name: "node-1" device_name: "gpu-0" share_id: "t"
          }
        }
      }
    })"));
  const ClaimHolder c{{"ns", "p", "c"}, "cards"};
  const ClaimHolder d{{"ns", "p", "d"}, "cards"};
  EXPECT_THAT(reported.holders, ElementsAre(Pair("a.b/x", SizeIs(1))));
  EXPECT_THAT(reported.claim_holders,
              ElementsAre(Pair("gpu.example.com",
                               ElementsAre(Pair(PoolDevice{"node-1", "gpu-0"}, ElementsAre(c, d)),
                                           Pair(PoolDevice{"node-1", "gpu-1"}, ElementsAre(c)))),
                          Pair("nic.example.com",
                               ElementsAre(Pair(PoolDevice{"node-1", "gpu-0"}, ElementsAre(c))))));
  EXPECT_TRUE(reported.complete);
}

TEST(ReadHolders, OmitsInvalidDriversPoolsAndDevices) {
  const std::string driver(63, 'd');
  const std::string pool(253, 'p');
  const std::string device(63, 'n');
  EXPECT_THAT(ReadHolders(HeldByClaim("c", driver, pool, device)).claim_holders, SizeIs(1));
  for (const auto& message :
       {HeldByClaim("c", "", pool, device), HeldByClaim("c", driver, "", device),
        HeldByClaim("c", driver, pool, ""), HeldByClaim("c", driver + "d", pool, device),
        HeldByClaim("c", driver, pool + "p", device),
        HeldByClaim("c", driver, pool, device + "n")}) {
    EXPECT_EQ(ReadHolders(message), ReportedHolders()) << message.ShortDebugString();
  }
}

TEST(ReadHolders, TruncatesLongNamesOfClaims) {
  const auto reported = ReadHolders(HeldByClaim(std::string(254, 'c'), "driver", "pool", "device"));
  const ClaimHolder kept = *reported.claim_holders.at("driver").at({"pool", "device"}).begin();
  EXPECT_EQ(kept.claim, std::string(253, 'c'));
}

TEST(ReadHolders, LimitsTheHoldersOfDevicesAndClaimsTogether) {
  v1::ListPodResourcesResponse message = Held("ns", "p", "c", "r", "0");
  v1::ContainerResources& container = *message.mutable_pod_resources(0)->mutable_containers(0);
  v1::DynamicResource& claim = *container.add_dynamic_resources();
  for (std::size_t i = 0; i < kMaxHoldings - 1; ++i) {
    v1::ClaimResource& device = *claim.add_claim_resources();
    device.set_driver_name("driver");
    device.set_pool_name("pool");
    device.set_device_name(std::to_string(i));
  }
  EXPECT_THAT(ReadHolders(message).claim_holders.at("driver"), SizeIs(kMaxHoldings - 1));
  EXPECT_TRUE(ReadHolders(message).complete);
  v1::ClaimResource& more = *claim.add_claim_resources();
  more = claim.claim_resources(0);
  more.set_device_name("one-more");
  EXPECT_THAT(ReadHolders(message).claim_holders.at("driver"), SizeIs(kMaxHoldings - 1));
  EXPECT_FALSE(ReadHolders(message).complete);
}

TEST(ReadHolders, IgnoresUnknownFields) {
  std::string bytes = Held("ns", "p", "c", "r", "1").SerializeAsString();
  bytes += "\x9a\x06\x03xyz";  // field 99, three bytes
  v1::ListPodResourcesResponse message;
  ASSERT_TRUE(message.ParseFromString(bytes));
  EXPECT_THAT(ReadHolders(message).holders, SizeIs(1));
}

/// Text must be UTF-8, or the message does not parse.
TEST(ReadHolders, MessageWithInvalidUtf8DoesNotParse) {
  for (const int field : {0, 1, 2, 3, 4}) {
    const std::string bad = "\xff\xfe";
    const auto name = [&](int i) { return i == field ? bad : std::string("x"); };
    const std::string bytes = Held(name(0), name(1), name(2), name(3), name(4)).SerializeAsString();
    v1::ListPodResourcesResponse message;
    EXPECT_FALSE(message.ParseFromString(bytes)) << field;
  }
}

}  // namespace
}  // namespace patchbay
