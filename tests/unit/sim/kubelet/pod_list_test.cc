#include "sim/kubelet/pod_list.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using google::protobuf::util::MessageDifferencer;

v1::ListPodResourcesResponse Parse(const std::string& text) {
  v1::ListPodResourcesResponse message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

TEST(PodList, IsEmptyWithoutPods) {
  const Registry registry(KubeletProfile::kSync, false, std::chrono::minutes(5));
  EXPECT_EQ(PodList({}, registry, {}, {}).pod_resources_size(), 0);
}

TEST(PodList, GroupsDevicesByPodAndContainer) {
  Registry registry(KubeletProfile::kSync, false, std::chrono::minutes(5));
  registry.Listed("r", {{"1", "Healthy", {0, 1}}, {"2", "Unhealthy", {}}});
  const PodDevices pods = {
      {{"a/p", "c", "r"}, {{"1", "2"}, {}}}, {{"a/p", "c", "s"}, {{"1"}, {}}},
      {{"a/p", "d", "r"}, {{"gone"}, {}}},   {{"b/p", "d", "r"}, {{"1"}, {}}},
      {{"q", "d", "r"}, {{}, {}}},
  };
  const auto expected = Parse(R"(
    pod_resources {
      name: "p" namespace: "a"
      containers {
        name: "c"
        devices { resource_name: "r" device_ids: "1" topology { nodes { id: 0 } } }
        devices { resource_name: "r" device_ids: "1" topology { nodes { id: 1 } } }
        devices { resource_name: "r" device_ids: "2" }
        devices { resource_name: "s" device_ids: "1" }
      }
      containers { name: "d" devices { resource_name: "r" device_ids: "gone" } }
    }
    pod_resources {
      name: "p" namespace: "b"
      containers {
        name: "d"
        devices { resource_name: "r" device_ids: "1" topology { nodes { id: 0 } } }
        devices { resource_name: "r" device_ids: "1" topology { nodes { id: 1 } } }
      }
    }
    pod_resources { name: "q" namespace: "default" containers { name: "d" } }
  )");
  const auto list = PodList(pods, registry, {}, {});
  EXPECT_TRUE(MessageDifferencer::Equals(list, expected)) << list.DebugString();
}

TEST(PodList, ReportsPreparedClaimsOfContainers) {
  Registry registry(KubeletProfile::kSync, false, std::chrono::minutes(5));
  registry.Listed("r", {{"1", "Healthy", {}}});
  const PodDevices pods = {{{"a/p", "both", "r"}, {{"1"}, {}}}};
  const ContainerClaims claims = {{{"a/p", "both"}, {"cards", "unknown"}},
                                  {{"a/p", "claims"}, {"cards", "waiting"}},
                                  {{"q", "c"}, {"cards"}}};
  const std::vector<DraClaims::Entry> prepared = {
      {.claim = {"a", "cards", "uid-1", "gpu.example.com"},
       .pods = {},
       .devices = {{.requests = {"r"},
                    .pool = "node",
                    .device = "gpu-0",
                    .cdi_devices = {"example.com/gpu=0", "example.com/gpu=all"},
                    .share_id = "s"},
                   {.requests = {"r"}, .pool = "node", .device = "gpu-1", .cdi_devices = {}}}},
      {.claim = {"a", "waiting", "uid-2", "gpu.example.com"}, .pods = {}, .devices = {}},
      {.claim = {"b", "cards", "uid-3", "gpu.example.com"},
       .pods = {},
       .devices = {{.requests = {}, .pool = "node", .device = "gpu-2", .cdi_devices = {}}}}};
  const std::string cards = R"(
    dynamic_resources {
      claim_name: "cards" claim_namespace: "a"
      claim_resources {
        cdi_devices { name: "example.com/gpu=0" } cdi_devices { name: "example.com/gpu=all" }
        driver_name: "gpu.example.com" pool_name: "node" device_name: "gpu-0" share_id: "s"
      }
      claim_resources {
        driver_name: "gpu.example.com" pool_name: "node" device_name: "gpu-1"
      }
    })";
  const auto expected = Parse(R"(
    pod_resources {
      name: "p" namespace: "a"
      containers { name: "both" devices { resource_name: "r" device_ids: "1" } )" +
                              cards + R"( }
      containers { name: "claims" )" +
                              cards + R"(
        dynamic_resources { claim_name: "waiting" claim_namespace: "a" }
      }
    }
    pod_resources { name: "q" namespace: "default" containers { name: "c" } }
  )");
  const auto list = PodList(pods, registry, claims, prepared);
  EXPECT_TRUE(MessageDifferencer::Equals(list, expected)) << list.DebugString();
}

}  // namespace
}  // namespace patchbay
