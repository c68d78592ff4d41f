#include "metrics/metrics_text.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "support/temp_tree.h"
#include "unit/metrics/samples.h"

namespace patchbay {
namespace {

using test::Golden;
using test::MakeStatus;
using test::MetricFamilies;
using test::Samples;
using test::TextOf;

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

ListedDevice Listed(const std::string& id, Health health = Health::kHealthy,
                    const std::string& path = "") {
  auto device = std::make_shared<Device>();
  device->id = id;
  if (!path.empty()) device->nodes.push_back({.path = path, .real_path = path});
  return {.device = device, .health = health, .reason = ""};
}

std::shared_ptr<const Snapshot> SnapshotOf(std::vector<ListedDevice> devices, int replicas = 1,
                                           std::vector<Rejection> rejected = {}) {
  auto spec = std::make_shared<ResourceSpec>();
  spec->name = "a/b";
  spec->replicas = replicas;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->spec = spec;
  snapshot->devices = std::move(devices);
  snapshot->rejected = std::move(rejected);
  return snapshot;
}

TEST(Metrics, HasTheFamiliesOfTheGoldenFile) {
  const auto status = MakeStatus();
  EXPECT_EQ(MetricFamilies(status), Golden({"process"}));
  auto observer = status->AddResource("a/b");
  EXPECT_EQ(MetricFamilies(status), Golden({"process", "resource"}));
  observer->OnSnapshot(SnapshotOf({Listed("x")}));
  EXPECT_EQ(MetricFamilies(status), Golden({"process", "resource", "device"}));
  observer.reset();
  EXPECT_EQ(MetricFamilies(status), Golden({"process"}));
}

TEST(Metrics, AddsHolderFamiliesOnceHoldersAreKnown) {
  const auto status = MakeStatus();
  const auto observer = status->AddResource("a/b");
  status->EnablePodResources();
  EXPECT_EQ(Samples(status).at("patchbay_pod_resources_up"), "0");
  EXPECT_EQ(status->Read().kubelet.pod_resources_up, std::nullopt);
  status->SetPodResourcesUp(true);
  EXPECT_EQ(Samples(status).at("patchbay_pod_resources_up"), "1");
  observer->OnUsage(std::make_shared<const PodUsage>(PodUsage{{{"x", {{"ns", "p", "c"}}}}, 1}));
  EXPECT_EQ(MetricFamilies(status), Golden({"process", "resource", "holders"}));
}

TEST(Metrics, StartsAtZero) {
  const auto status = MakeStatus();
  EXPECT_EQ(Samples(status).at("patchbay_build_info{revision=\"abc\",version=\"1.2.3\"}"), "1");
  const auto observer = status->AddResource("a/b");
  std::map<std::string, std::string> zero;
  for (const auto& [name, value] : Samples(status)) {
    if (name.find("resource=\"a/b\"") == std::string::npos) continue;
    EXPECT_EQ(value, "0") << name;
    if (name.find("_bucket") == std::string::npos) zero.emplace(name, value);
  }
  const auto count = [&](std::string_view prefix) {
    return std::count_if(zero.begin(), zero.end(),
                         [&](const auto& sample) { return sample.first.starts_with(prefix); });
  };
  EXPECT_EQ(count("patchbay_rpcs_total{code=\"OK\""), 5);
  EXPECT_EQ(count("patchbay_rpcs_total{code=\"CANCELLED\",method=\"ListAndWatch\""), 1);
  EXPECT_EQ(count("patchbay_rpcs_total"), 6);
  EXPECT_EQ(count("patchbay_rejected_devices"), static_cast<long>(std::size(kAllRejectReasons)));
  EXPECT_EQ(count("patchbay_units{"), 2);
  EXPECT_EQ(count("patchbay_device_health_transitions_total{"), 2);
  EXPECT_EQ(count("patchbay_allocations_total{"), 2);
  EXPECT_EQ(count("patchbay_registrations_total{"), 2);
  EXPECT_EQ(count("patchbay_rpc_duration_seconds_count"), 1);
  EXPECT_EQ(count("patchbay_probes_total{"), 0);
  EXPECT_EQ(count("patchbay_hooks_total{"), 0);
}

TEST(Metrics, IdleResourceHasAtMostSixtySeries) {
  const auto status = MakeStatus();
  const std::size_t without = Samples(status).size();
  const auto observer = status->AddResource("a/b");
  observer->OnSnapshot(SnapshotOf({}));
  // The calls of a kubelet that registers the resource.
  observer->OnRpc(Rpc::kGetDevicePluginOptions, "OK", milliseconds(1));
  observer->OnRpc(Rpc::kListAndWatch, "CANCELLED", seconds(1));
  EXPECT_LE(Samples(status).size() - without, 60U);
}

TEST(Metrics, HasProbeAndHookSeriesOnlyIfConfigured) {
  const auto status = MakeStatus();
  const auto observer = status->AddResource("a/b");
  auto snapshot = std::make_shared<Snapshot>();
  auto spec = std::make_shared<ResourceSpec>();
  spec->name = "a/b";
  snapshot->spec = spec;
  observer->OnSnapshot(snapshot);
  EXPECT_EQ(TextOf(status).find("patchbay_probe"), std::string::npos);
  EXPECT_EQ(TextOf(status).find("patchbay_hook"), std::string::npos);
  spec = std::make_shared<ResourceSpec>(*spec);
  spec->health.emplace();
  spec->release.emplace();
  auto next = std::make_shared<Snapshot>();
  next->spec = spec;
  observer->OnSnapshot(next);
  const auto samples = Samples(status);
  for (const char* result : {"success", "failure", "timeout", "error"}) {
    const std::string name = "patchbay_probes_total{resource=\"a/b\",result=\"";
    EXPECT_EQ(samples.count(name + result + "\"}"), 1U) << result;
  }
  EXPECT_EQ(samples.count("patchbay_probe_duration_seconds_count{resource=\"a/b\"}"), 1U);
  for (const char* result : {"success", "failure"}) {
    const std::string labels =
        std::string("{hook=\"release\",resource=\"a/b\",result=\"") + result + "\"}";
    EXPECT_EQ(samples.count("patchbay_hooks_total" + labels), 1U) << labels;
    EXPECT_EQ(samples.count("patchbay_hook_duration_seconds_count" + labels), 1U) << labels;
  }
  EXPECT_EQ(TextOf(status).find("hook=\"pre_start\""), std::string::npos);
}

TEST(Metrics, CountsEveryReportedEvent) {
  const auto status = MakeStatus();
  const auto observer = status->AddResource("a/b");
  observer->OnRegistration(true);
  observer->OnRegistration(false);
  observer->OnRegistration(false);
  observer->OnRegistrationStatus({RegistrationState::kRegistered});
  observer->OnStreams(2);
  observer->OnListSent();
  observer->OnAllocation(true, 3);
  observer->OnAllocation(false, 7);
  observer->OnRpc(Rpc::kAllocate, "OK", milliseconds(2));
  observer->OnRpc(Rpc::kAllocate, "NOT_FOUND", milliseconds(20));
  observer->OnRpc(Rpc::kAllocate, "NOT_FOUND", milliseconds(20));
  observer->OnRpc(Rpc::kAllocate, "a code\n", milliseconds(20));
  observer->OnProbe("x", {.result = ProbeResult::kSuccess, .took = milliseconds(3)});
  observer->OnProbe("x", {.result = ProbeResult::kTimeout, .took = seconds(5)});
  observer->OnProbe("x", {.result = ProbeResult::kTimeout, .took = seconds(5)});
  observer->OnHook(Hook::kPreStart, true, milliseconds(3));
  observer->OnHook(Hook::kRelease, false, seconds(3));
  observer->OnScan(milliseconds(20), false);
  auto samples = Samples(status);
  EXPECT_EQ(samples["patchbay_discovery_last_success_timestamp_seconds{resource=\"a/b\"}"], "0");
  observer->OnScan(seconds(20), true);
  samples = Samples(status);
  const std::map<std::string, std::string> expected = {
      {"patchbay_registrations_total{resource=\"a/b\",result=\"success\"}", "1"},
      {"patchbay_registrations_total{resource=\"a/b\",result=\"failure\"}", "2"},
      {"patchbay_resource_registered{resource=\"a/b\"}", "1"},
      {"patchbay_list_watch_streams{resource=\"a/b\"}", "2"},
      {"patchbay_list_watch_updates_total{resource=\"a/b\"}", "1"},
      {"patchbay_allocations_total{resource=\"a/b\",result=\"success\"}", "1"},
      {"patchbay_allocations_total{resource=\"a/b\",result=\"failure\"}", "1"},
      {"patchbay_allocated_units_total{resource=\"a/b\"}", "3"},
      {"patchbay_rpcs_total{code=\"OK\",method=\"Allocate\",resource=\"a/b\"}", "1"},
      {"patchbay_rpcs_total{code=\"NOT_FOUND\",method=\"Allocate\",resource=\"a/b\"}", "2"},
      {"patchbay_rpcs_total{code=\"UNKNOWN\",method=\"Allocate\",resource=\"a/b\"}", "1"},
      {"patchbay_rpc_duration_seconds_count{method=\"Allocate\",resource=\"a/b\"}", "4"},
      {"patchbay_rpc_duration_seconds_bucket{method=\"Allocate\",resource=\"a/b\",le=\"0.01\"}",
       "1"},
      {"patchbay_probes_total{resource=\"a/b\",result=\"success\"}", "1"},
      {"patchbay_probes_total{resource=\"a/b\",result=\"timeout\"}", "2"},
      {"patchbay_probes_total{resource=\"a/b\",result=\"error\"}", "0"},
      {"patchbay_probe_duration_seconds_count{resource=\"a/b\"}", "3"},
      {"patchbay_hooks_total{hook=\"pre_start\",resource=\"a/b\",result=\"success\"}", "1"},
      {"patchbay_hooks_total{hook=\"release\",resource=\"a/b\",result=\"failure\"}", "1"},
      {"patchbay_hook_duration_seconds_count{hook=\"pre_start\",resource=\"a/"
       "b\",result=\"success\"}",
       "1"},
      {"patchbay_discovery_scans_total{resource=\"a/b\"}", "2"},
      {"patchbay_discovery_duration_seconds_count{resource=\"a/b\"}", "2"},
      {"patchbay_discovery_duration_seconds_bucket{resource=\"a/b\",le=\"10\"}", "1"},
      {"patchbay_discovery_last_success_timestamp_seconds{resource=\"a/b\"}", "1700000000"},
  };
  for (const auto& [name, value] : expected) EXPECT_EQ(samples[name], value) << name;
}

TEST(Metrics, ReportsConfigAndKubeletState) {
  const auto status = MakeStatus();
  status->SetConfigReading({true, system_clock::time_point(seconds(1600000000))});
  status->SetConfigReading({false, system_clock::time_point(seconds(1600000001))});
  status->SetKubeletUp(true);
  status->CountKubeletRestart();
  auto samples = Samples(status);
  EXPECT_EQ(samples["patchbay_config_last_reload_successful"], "0");
  EXPECT_EQ(samples["patchbay_config_last_reload_success_timestamp_seconds"], "1600000000");
  EXPECT_EQ(samples["patchbay_config_reloads_total{result=\"success\"}"], "1");
  EXPECT_EQ(samples["patchbay_config_reloads_total{result=\"failure\"}"], "1");
  EXPECT_EQ(samples["patchbay_kubelet_up"], "1");
  EXPECT_EQ(samples["patchbay_kubelet_restarts_total"], "1");
  status->SetConfigReading({true, system_clock::time_point(seconds(1600000002))});
  EXPECT_EQ(Samples(status)["patchbay_config_last_reload_successful"], "1");
}

TEST(Metrics, CountsUnitsAndReportsEachDeviceOnce) {
  const auto status = MakeStatus();
  const auto observer = status->AddResource("a/b");
  observer->OnSnapshot(SnapshotOf(
      {Listed("x", Health::kHealthy, "/dev/x"), Listed("y"), Listed("z", Health::kUnhealthy)}, 4,
      {{"/dev/p", RejectReason::kLimit, ""}, {"/dev/q", RejectReason::kLimit, ""}}));
  auto samples = Samples(status);
  EXPECT_EQ(samples["patchbay_units{health=\"healthy\",resource=\"a/b\"}"], "8");
  EXPECT_EQ(samples["patchbay_units{health=\"unhealthy\",resource=\"a/b\"}"], "4");
  EXPECT_EQ(samples["patchbay_rejected_devices{reason=\"limit\",resource=\"a/b\"}"], "2");
  EXPECT_EQ(samples["patchbay_rejected_devices{reason=\"bad_name\",resource=\"a/b\"}"], "0");
  EXPECT_EQ(samples["patchbay_device_info{device=\"x\",numa_node=\"\",path=\"/dev/x\","
                    "resource=\"a/b\"}"],
            "1");
  EXPECT_EQ(samples.count("patchbay_device_info{device=\"y\",numa_node=\"\",path=\"\","
                          "resource=\"a/b\"}"),
            1u);
  EXPECT_EQ(samples["patchbay_device_healthy{device=\"x\",resource=\"a/b\"}"], "1");
  EXPECT_EQ(samples["patchbay_device_healthy{device=\"z\",resource=\"a/b\"}"], "0");
}

TEST(Metrics, ReportsHoldersOfEachDevice) {
  const auto status = MakeStatus();
  EXPECT_EQ(Samples(status).count("patchbay_pod_resources_up"), 0u);
  status->SetPodResourcesUp(true);
  EXPECT_EQ(Samples(status)["patchbay_pod_resources_up"], "1");
  status->SetPodResourcesUp(false);
  EXPECT_EQ(Samples(status)["patchbay_pod_resources_up"], "0");

  const auto observer = status->AddResource("a/b");
  EXPECT_EQ(Samples(status)["patchbay_units_in_use{resource=\"a/b\"}"], "0");
  observer->OnUsage(std::make_shared<const PodUsage>(
      PodUsage{{{"x", {{"ns", "p1", "c"}, {"ns", "p2", "c"}}}, {"y", {{"ns", "p\"1", "c"}}}}, 4}));
  auto samples = Samples(status);
  EXPECT_EQ(samples["patchbay_units_in_use{resource=\"a/b\"}"], "4");
  const std::string held = "patchbay_device_in_use{container=\"c\",device=\"";
  for (const char* holder : {"x\",namespace=\"ns\",pod=\"p1", "x\",namespace=\"ns\",pod=\"p2",
                             "y\",namespace=\"ns\",pod=\"p\\\"1"}) {
    EXPECT_EQ(samples[held + holder + "\",resource=\"a/b\"}"], "1") << holder;
  }
  status->SetShown(false, false);
  EXPECT_EQ(TextOf(status).find("patchbay_device_in_use{"), std::string::npos);
  status->SetShown(true, false);
  observer->OnUsage(std::make_shared<const PodUsage>());
  EXPECT_EQ(TextOf(status).find("patchbay_device_in_use{"), std::string::npos);
}

TEST(Metrics, CountsTransitionsBetweenSnapshots) {
  const auto status = MakeStatus();
  const auto observer = status->AddResource("a/b");
  constexpr Health kGood = Health::kHealthy, kBad = Health::kUnhealthy;
  const auto expect = [&](const char* to_healthy, const char* to_unhealthy) {
    auto samples = Samples(status);
    const std::string name = "patchbay_device_health_transitions_total{resource=\"a/b\",to=";
    EXPECT_EQ(samples[name + "\"healthy\"}"], to_healthy);
    EXPECT_EQ(samples[name + "\"unhealthy\"}"], to_unhealthy);
  };
  observer->OnSnapshot(
      SnapshotOf({Listed("tty2", kBad), Listed("tty9", kGood), Listed("tty10", kGood)}));
  expect("0", "0");
  observer->OnSnapshot(
      SnapshotOf({Listed("tty2", kGood), Listed("tty9", kBad), Listed("tty10", kBad)}));
  expect("1", "2");
  // Added and removed devices are not transitions.
  observer->OnSnapshot(SnapshotOf({Listed("tty1", kBad), Listed("tty10", kGood)}));
  expect("2", "2");
  observer->OnSnapshot(SnapshotOf({}));
  observer->OnSnapshot(SnapshotOf({Listed("tty10", kBad)}));
  expect("2", "2");
}

TEST(Metrics, OmitsDeviceSeriesIfDisabled) {
  const auto status = MakeStatus(/*device_metrics=*/false);
  const auto observer = status->AddResource("a/b");
  observer->OnSnapshot(SnapshotOf({Listed("x")}));
  EXPECT_EQ(MetricFamilies(status), Golden({"process", "resource"}));
  status->SetShown(true, false);
  EXPECT_TRUE(MetricFamilies(status).count("patchbay_device_healthy gauge device resource"));
}

TEST(Metrics, RemovesOnlyTheSeriesOfTheResource) {
  const auto status = MakeStatus();
  auto gone = status->AddResource("a/gone");
  const auto kept = status->AddResource("a/kept");
  gone->OnRpc(Rpc::kListAndWatch, "CANCELLED", seconds(1));
  gone->OnSnapshot(SnapshotOf({Listed("x")}));
  gone.reset();
  const std::string text = TextOf(status);
  EXPECT_EQ(text.find("a/gone"), std::string::npos);
  EXPECT_NE(text.find("a/kept"), std::string::npos);
  EXPECT_NE(status->AddResource("a/gone"), nullptr);
}

TEST(Metrics, KeepsCountersWhenAResourceIsReplaced) {
  const auto status = MakeStatus();
  auto before = status->AddResource("a/b");
  before->OnListSent();
  auto after = status->AddResource("a/b");
  before.reset();
  after->OnListSent();
  EXPECT_EQ(Samples(status)["patchbay_list_watch_updates_total{resource=\"a/b\"}"], "2");
  after.reset();
  const auto again = status->AddResource("a/b");
  EXPECT_EQ(Samples(status)["patchbay_list_watch_updates_total{resource=\"a/b\"}"], "0");
}

// A failure is a use after free, which AddressSanitizer reports.
TEST(Metrics, ObserverMayOutliveIt) {
  auto status = MakeStatus();
  const auto observer = status->AddResource("a/b");
  status.reset();
  observer->OnListSent();
  observer->OnSnapshot(SnapshotOf({Listed("x")}));
}

TEST(Metrics, EscapesHostileLabels) {
  const auto status = MakeStatus();
  const auto observer = status->AddResource("a/b");
  observer->OnSnapshot(SnapshotOf({Listed("1", Health::kHealthy, "/dev/a\"b\\c\nd"),
                                   Listed("2", Health::kHealthy, "/dev/\xff\n\xc3\xa4"),
                                   Listed("3", Health::kHealthy, "/dev/\xc3\xa4")}));
  const std::string text = TextOf(status);
  EXPECT_NE(text.find("path=\"/dev/a\\\"b\\\\c\\nd\""), std::string::npos);
  EXPECT_NE(text.find("path=\"/dev/\\\\xff\\\\x0a\xc3\xa4\""), std::string::npos);
  EXPECT_NE(text.find("path=\"/dev/\xc3\xa4\""), std::string::npos);
}

TEST(Metrics, SortsSeriesByLabels) {
  const auto status = MakeStatus();
  const auto b = status->AddResource("a/b"), a = status->AddResource("a/a");
  const std::string all = TextOf(status);
  EXPECT_LT(all.find("patchbay_resource_registered{resource=\"a/a\"}"),
            all.find("patchbay_resource_registered{resource=\"a/b\"}"));
}

TEST(Metrics, PassesPromtool) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool";
  const auto status = MakeStatus();
  status->SetConfigReading({true, system_clock::now()});
  const auto observer = status->AddResource("a/b"), other = status->AddResource("a/c");
  observer->OnSnapshot(SnapshotOf({Listed("1", Health::kHealthy, "/dev/a\"b\\c\nd\xff"),
                                   Listed("2", Health::kUnhealthy, "/dev/x")}));
  observer->OnRpc(Rpc::kAllocate, "NOT_FOUND", milliseconds(3));
  observer->OnScan(milliseconds(3), true);
  test::TempTree tree;
  tree.File("metrics", TextOf(status));
  const std::string command =
      "promtool check metrics <" + tree.path("metrics") + " >" + tree.path("out") + " 2>&1";
  const int ended = std::system(command.c_str());
  std::ifstream out(tree.path("out"));
  const std::string said{std::istreambuf_iterator<char>(out), {}};
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
  EXPECT_EQ(said, "");
}

TEST(Metrics, IsThreadSafe) {
  const auto status = MakeStatus();
  const auto shared = status->AddResource("a/b");
  const auto snapshot = SnapshotOf({Listed("x")}), other = SnapshotOf({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        shared->OnRpc(Rpc::kAllocate, i % 2 == 0 ? "OK" : "INTERNAL", milliseconds(1));
        shared->OnSnapshot(i % 2 == 0 ? snapshot : other);
        if (i % 20 == t) TextOf(status);
        status->AddResource("a/c")->OnListSent();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto samples = Samples(status);
  EXPECT_EQ(samples["patchbay_rpcs_total{code=\"OK\",method=\"Allocate\",resource=\"a/b\"}"],
            "400");
  EXPECT_EQ(samples["patchbay_rpcs_total{code=\"INTERNAL\",method=\"Allocate\",resource=\"a/b\"}"],
            "400");
  EXPECT_EQ(TextOf(status).find("a/c"), std::string::npos);
}

}  // namespace
}  // namespace patchbay
