#include "http/status_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/escape.h"
#include "status/status_store.h"

namespace patchbay {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

const WallTime kThen{milliseconds(1700000000250)};

class StatusJsonTest : public testing::Test {
 protected:
  static std::shared_ptr<const Snapshot> SnapshotWith(const std::vector<std::string>& ids,
                                                      std::vector<Rejection> rejected = {}) {
    auto spec = std::make_shared<ResourceSpec>();
    spec->name = "example.com/card";
    spec->description = "cards & <co>";
    spec->replicas = 2;
    spec->health.emplace();
    spec->matches.emplace_back().source = PathSource{};
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->spec = spec;
    snapshot->rejected = std::move(rejected);
    for (const std::string& id : ids) {
      auto device = std::make_shared<Device>();
      device->id = id;
      device->nodes.push_back({.path = "/dev/" + id, .real_path = "/dev/" + id});
      snapshot->devices.push_back({device, Health::kHealthy, ""});
    }
    return snapshot;
  }

  std::string Text() const { return StatusJson(status_->Read(), kThen); }
  json Status() const { return json::parse(Text()); }

  WallTime now_ = kThen;
  const std::shared_ptr<StatusStore> status_ =
      std::make_shared<StatusStore>(NodeStatus{.version = "1.2.3",
                                               .revision = "abc",
                                               .node_name = "rack-1",
                                               .config = {"/etc/patchbay"},
                                               .kubelet = {.socket = "/k/kubelet.sock"}},
                                    [this] { return now_; });
};

TEST_F(StatusJsonTest, ContainsTheProcess) {
  json status = Status();
  EXPECT_EQ(status["version"], "1.2.3");
  EXPECT_EQ(status["node"], "rack-1");
  EXPECT_EQ(status["generated_at"], "2023-11-14T22:13:20.250Z");
  EXPECT_EQ(status["config"]["path"], "/etc/patchbay");
  EXPECT_EQ(status["config"]["loaded_at"], nullptr);
  EXPECT_EQ(status["config"]["read_at"], nullptr);
  EXPECT_EQ(status["kubelet"], json({{"up", false},
                                     {"up_changed_at", "2023-11-14T22:13:20.250Z"},
                                     {"socket", "/k/kubelet.sock"},
                                     {"restarts", 0},
                                     {"pod_resources_up", nullptr}}));
  EXPECT_EQ(status["resources"], json::array());
  EXPECT_EQ(status["hidden_resources"], json::array());
  EXPECT_EQ(status["transitions"], json::array());
  status_->SetKubeletUp(true);
  status_->CountKubeletRestart();
  status_->SetPodResourcesUp(false);
  now_ = kThen + seconds(9);
  status_->SetKubeletUp(true);  // again: unchanged
  status = Status();
  EXPECT_EQ(status["kubelet"]["up"], true);
  EXPECT_EQ(status["kubelet"]["up_changed_at"], "2023-11-14T22:13:20.250Z");
  EXPECT_EQ(status["kubelet"]["restarts"], 1);
  EXPECT_EQ(status["kubelet"]["pod_resources_up"], false);
  status_->SetKubeletUp(false);
  EXPECT_EQ(Status()["kubelet"]["up_changed_at"], "2023-11-14T22:13:29.250Z");
}

TEST_F(StatusJsonTest, KeepsTheActiveConfigAfterAFailedReload) {
  status_->SetConfigReading({true, kThen, "", {}});
  status_->SetConfigReading(
      {false,
       kThen + seconds(1),
       "the configuration has errors",
       {{Severity::kError, "unknown-key", {"a.toml", 3, 7}, "what", "do this"}}});
  const json config = Status()["config"];
  EXPECT_EQ(config["successful"], false);
  EXPECT_EQ(config["reason"], "the configuration has errors");
  EXPECT_EQ(config["loaded_at"], "2023-11-14T22:13:20.250Z");
  EXPECT_EQ(config["read_at"], "2023-11-14T22:13:21.250Z");
  EXPECT_EQ(config["diagnostics"], json::array({{{"file", "a.toml"},
                                                 {"line", 3},
                                                 {"column", 7},
                                                 {"severity", "error"},
                                                 {"code", "unknown-key"},
                                                 {"message", "what"},
                                                 {"hint", "do this"}}}));
  EXPECT_EQ(config["diagnostics_left_out"], 0);
}

TEST_F(StatusJsonTest, CountsOmittedDiagnostics) {
  status_->SetConfigReading({false, kThen, "", std::vector<Diagnostic>(250)});
  const json config = Status()["config"];
  EXPECT_EQ(config["diagnostics"].size(), 100u);
  EXPECT_EQ(config["diagnostics_left_out"], 150);
}

TEST_F(StatusJsonTest, ContainsAResourceBeforeTheFirstScan) {
  const auto observer = status_->AddResource("example.com/card");
  const json resource = Status()["resources"][0];
  EXPECT_EQ(resource["state"], "waiting");
  EXPECT_EQ(resource["state_reason"], "the first scan of the host has not completed");
  EXPECT_EQ(resource["registered"], false);
  EXPECT_EQ(resource["in_use"], nullptr);
  EXPECT_EQ(resource["last_scan"], nullptr);
  EXPECT_EQ(resource["devices"], json::array());
}

TEST_F(StatusJsonTest, ContainsEveryFieldOfADevice) {
  const auto observer = status_->AddResource("example.com/card");
  observer->OnScan(milliseconds(2), true);
  observer->OnSnapshot(
      SnapshotWith({"c0", "c1"}, {{"/dev/c9", RejectReason::kDanglingLink, "it"}}));
  observer->OnRegistrationStatus({RegistrationState::kRegistered});
  observer->OnStreams(1);
  observer->OnUsage(std::make_shared<const PodUsage>(
      PodUsage{{{"c1", {{"ns", "pod", "main"}, {"ns", "other", "main"}}}}, 2}));
  observer->OnNextProbe("c1", seconds(2));
  observer->OnProbe(
      "c1",
      {.result = ProbeResult::kTimeout, .reason = "no answer in 5s", .took = milliseconds(1500)});
  const json resource = Status()["resources"][0];
  EXPECT_EQ(resource["name"], "example.com/card");
  EXPECT_EQ(resource["description"], "cards & <co>");
  EXPECT_EQ(resource["registered"], true);
  EXPECT_EQ(resource["state"], "registered");
  EXPECT_EQ(resource["streams"], 1);
  EXPECT_EQ(resource["replicas"], 2);
  EXPECT_EQ(resource["capacity"], 4);
  EXPECT_EQ(resource["allocatable"], 4);
  EXPECT_EQ(resource["in_use"], 2);
  EXPECT_EQ(resource["last_scan"]["complete"], true);
  EXPECT_EQ(resource["rejected"],
            json::array({{{"path", "/dev/c9"}, {"reason", "dangling_link: it"}}}));
  const json free = resource["devices"][0], held = resource["devices"][1];
  EXPECT_EQ(free["in_use_by"], json::array());
  EXPECT_EQ(free["last_probe"], nullptr);
  EXPECT_EQ(free["next_probe"], nullptr);
  EXPECT_EQ(held["next_probe"], "2023-11-14T22:13:22.250Z");
  EXPECT_EQ(held["id"], "c1");
  EXPECT_EQ(held["health"], "Healthy");
  EXPECT_EQ(held["paths"], json::array({"/dev/c1"}));
  EXPECT_EQ(held["numa_node"], nullptr);
  EXPECT_EQ(held["variables"]["name"], "c1");
  EXPECT_EQ(held["in_use_by"],
            json::array({{{"namespace", "ns"}, {"pod", "other"}, {"container", "main"}},
                         {{"namespace", "ns"}, {"pod", "pod"}, {"container", "main"}}}));
  EXPECT_EQ(held["last_probe"], json({{"at", "2023-11-14T22:13:20.250Z"},
                                      {"seconds", 1.5},
                                      {"result", "timeout"},
                                      {"message", "no answer in 5s"}}));
}

TEST_F(StatusJsonTest, ContainsWhenTheRegistrationChanged) {
  const auto observer = status_->AddResource("example.com/card");
  const auto changed = [&] { return Status()["resources"][0]["registered_changed_at"]; };
  EXPECT_EQ(changed(), "2023-11-14T22:13:20.250Z");
  now_ += seconds(1);
  observer->OnRegistrationStatus({RegistrationState::kRetrying, "refused"});
  EXPECT_EQ(changed(), "2023-11-14T22:13:20.250Z") << "it is not registered, as before";
  observer->OnRegistrationStatus({RegistrationState::kRegistered});
  EXPECT_EQ(changed(), "2023-11-14T22:13:21.250Z");
  now_ += seconds(1);
  observer->OnRegistrationStatus({RegistrationState::kRegistered});
  EXPECT_EQ(changed(), "2023-11-14T22:13:21.250Z");
  observer->OnRegistrationStatus({RegistrationState::kWaiting});
  EXPECT_EQ(changed(), "2023-11-14T22:13:22.250Z");
}

TEST_F(StatusJsonTest, ContainsTheSettingsOfAProbe) {
  const auto observer = status_->AddResource("example.com/card");
  const auto probe_of = [&](std::optional<ProbeSpec> probe) {
    auto snapshot = std::make_shared<Snapshot>(*SnapshotWith({"c0"}));
    auto spec = std::make_shared<ResourceSpec>(*snapshot->spec);
    spec->health = std::move(probe);
    snapshot->spec = spec;
    observer->OnSnapshot(snapshot);
    return Status()["resources"][0]["probe"];
  };
  EXPECT_EQ(probe_of(std::nullopt), nullptr);
  ProbeSpec probe{.kind = OpenProbe{},
                  .period = milliseconds(1500),
                  .timeout = seconds(4),
                  .initial_delay = seconds(60),
                  .failure_threshold = 2,
                  .success_threshold = 5,
                  .before_first = Health::kUnhealthy};
  EXPECT_EQ(probe_of(probe), json({{"kind", "open"},
                                   {"command", json::array()},
                                   {"file", ""},
                                   {"period_seconds", 1.5},
                                   {"timeout_seconds", 4.0},
                                   {"initial_delay_seconds", 60.0},
                                   {"failure_threshold", 2},
                                   {"success_threshold", 5},
                                   {"before_first", "Unhealthy"}}));
  probe.kind =
      CommandProbe{{Template::Compile("card-ok").value(), Template::Compile("{id}").value()}};
  json shown = probe_of(probe);
  EXPECT_EQ(shown["kind"], "command");
  EXPECT_EQ(shown["command"], json::array({"card-ok", "{id}"}));
  probe.kind = FileProbe{Template::Compile("/sys/{name}/up").value(), "1"};
  shown = probe_of(probe);
  EXPECT_EQ(shown["kind"], "file");
  EXPECT_EQ(shown["file"], "/sys/{name}/up");
}

TEST_F(StatusJsonTest, ExplainsAResourceOnlyWhileItHasNoDevices) {
  const auto observer = status_->AddResource("example.com/card");
  observer->OnSnapshot(SnapshotWith({}));
  observer->OnExplanation(std::make_shared<const MatchSummaries>(MatchSummaries{
      {R"(path = "/dev/c*")", {"scanned: /dev/: 3 names, none of them matches c*"}}}));
  EXPECT_EQ(Status()["resources"][0]["explanation"],
            json::array({{{"match", R"(path = "/dev/c*")"},
                          {"lines", {"scanned: /dev/: 3 names, none of them matches c*"}}}}));
  observer->OnSnapshot(SnapshotWith({"c0"}));
  EXPECT_EQ(Status()["resources"][0]["explanation"], json::array());
  observer->OnExplanation(nullptr);
  observer->OnSnapshot(SnapshotWith({}));
  EXPECT_EQ(Status()["resources"][0]["explanation"], json::array());
}

TEST_F(StatusJsonTest, ContainsHiddenResources) {
  status_->SetHiddenResources({{"example.com/lab", "of the lab", {"lab-*", "desk"}}});
  EXPECT_EQ(Status()["hidden_resources"], json::array({{{"name", "example.com/lab"},
                                                        {"description", "of the lab"},
                                                        {"on_nodes", {"lab-*", "desk"}}}}));
  status_->SetHiddenResources({});
  EXPECT_EQ(Status()["hidden_resources"], json::array());
}

TEST_F(StatusJsonTest, ContainsTransitionsNewestFirst) {
  const auto observer = status_->AddResource("example.com/card");
  observer->OnSnapshot(SnapshotWith({}));
  observer->OnSnapshot(SnapshotWith({"c0"}));
  now_ += seconds(1);
  auto sick = std::make_shared<Snapshot>(*SnapshotWith({"c0"}));
  sick->devices[0].health = Health::kUnhealthy;
  sick->devices[0].reason = "no link";
  observer->OnSnapshot(sick);
  EXPECT_EQ(Status()["transitions"], json::array({{{"at", "2023-11-14T22:13:21.250Z"},
                                                   {"resource", "example.com/card"},
                                                   {"device", "c0"},
                                                   {"from", "Healthy"},
                                                   {"to", "Unhealthy"},
                                                   {"reason", "no link"}},
                                                  {{"at", "2023-11-14T22:13:20.250Z"},
                                                   {"resource", "example.com/card"},
                                                   {"device", "c0"},
                                                   {"from", nullptr},
                                                   {"to", "Healthy"},
                                                   {"reason", ""}}}));
}

TEST_F(StatusJsonTest, HasNoDraWithoutResourcesOfIt) {
  const auto observer = status_->AddResource("example.com/card");
  const json status = Status();
  EXPECT_TRUE(status.contains("dra"));
  EXPECT_EQ(status["dra"], nullptr);
  EXPECT_EQ(status["resources"][0]["api"], "device-plugin");
  EXPECT_TRUE(status["resources"][0].contains("dra"));
  EXPECT_EQ(status["resources"][0]["dra"], nullptr);
}

TEST_F(StatusJsonTest, ContainsDraOfTheNodeAndItsResources) {
  const auto card = status_->AddResource("example.com/card");  // not scanned yet
  const auto plain = status_->AddResource("example.com/plain");
  DraStatus dra{.driver = "patchbay.dev",
                .registered = true,
                .registration_error = "no",
                .api_server = "https://10.0.0.1:443",
                .api_server_error = "cannot connect",
                .dropped_fields = {"taints"}};
  dra.resources["example.com/card"] = {.pool = "rack-1/card",
                                       .device_class = "card.example.com",
                                       .devices = 3,
                                       .slices = 2,
                                       .generation = 7,
                                       .is_current = true,
                                       .error = "conflict",
                                       .not_served = "two names",
                                       .taints = {{"c0", "patchbay.dev/gone:NoExecute"}},
                                       .problems = std::vector<std::string>(102, "c1: too long")};
  dra.claims.push_back({"u-1", "lab", "meter", {{"example.com/card", "c0", "port", true}}});
  status_->SetDra(std::make_shared<const DraStatus>(dra));
  const json status = Status();
  EXPECT_EQ(status["dra"], json::parse(R"({
    "driver": "patchbay.dev", "registered": true, "registration_error": "no",
    "api_server": {"url": "https://10.0.0.1:443", "up": false, "error": "cannot connect"},
    "dropped_fields": ["taints"],
    "claims": [{"uid": "u-1", "namespace": "lab", "name": "meter",
                "devices": [{"resource": "example.com/card", "device": "c0", "request": "port",
                             "admin_access": true}]}]})"));
  EXPECT_EQ(status["resources"][0]["api"], "dra");
  json pool = status["resources"][0]["dra"];
  EXPECT_EQ(pool["problems"].size(), 100u);
  pool.erase("problems");
  EXPECT_EQ(pool, json::parse(R"({
    "pool": "rack-1/card", "device_class": "card.example.com", "devices": 3, "slices": 2, "generation": 7, "current": true,
    "error": "conflict", "not_served": "two names",
    "taints": {"c0": "patchbay.dev/gone:NoExecute"}, "problems_left_out": 2})"));
  EXPECT_EQ(status["resources"][1]["api"], "device-plugin");
  EXPECT_EQ(status["resources"][1]["dra"], nullptr);
}

TEST_F(StatusJsonTest, IsValidForHostileBytes) {
  const std::string hostile = "\xff\xc3</script>\"\\\n\t\x01\u2028";
  const auto observer = status_->AddResource("example.com/card");
  observer->OnSnapshot(SnapshotWith({hostile}, {{hostile, RejectReason::kBadName, hostile}}));
  observer->OnRegistrationStatus({RegistrationState::kRetrying, hostile});
  observer->OnProbe(hostile, {.result = ProbeResult::kFailure, .reason = hostile});
  observer->OnUsage(
      std::make_shared<const PodUsage>(PodUsage{{{hostile, {{hostile, hostile, hostile}}}}, 1}));
  status_->SetConfigReading(
      {false, kThen, hostile, {{Severity::kError, "x", {hostile, 1, 1}, hostile, hostile}}});
  observer->OnSnapshot(SnapshotWith({}));  // a transition
  observer->OnExplanation(
      std::make_shared<const MatchSummaries>(MatchSummaries{{hostile, {hostile}}}));
  status_->SetHiddenResources({{hostile, hostile, {hostile}}});
  const std::string text = Text();
  EXPECT_EQ(json::parse(text)["transitions"].size(), 1u);
  EXPECT_TRUE(json::accept(text));
  EXPECT_TRUE(IsUtf8(text));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST_F(StatusJsonTest, ForgetsProbesOfUnlistedDevices) {
  const auto observer = status_->AddResource("example.com/card");
  observer->OnSnapshot(SnapshotWith({"c0", "c1"}));
  for (const char* id : {"c0", "c1"}) observer->OnProbe(id, {.result = ProbeResult::kSuccess});
  observer->OnSnapshot(SnapshotWith({"c0"}));
  const auto probes = status_->Read().resources.at("example.com/card").probes;
  EXPECT_TRUE(probes->Find("c0"));
  EXPECT_FALSE(probes->Find("c1"));
}

TEST_F(StatusJsonTest, ForgetsProbesOfReplacedDevices) {
  const auto observer = status_->AddResource("example.com/card");
  const auto before = SnapshotWith({"c0", "c1"});
  observer->OnSnapshot(before);
  for (const char* id : {"c0", "c1"}) observer->OnProbe(id, {.result = ProbeResult::kSuccess});
  auto after = std::make_shared<Snapshot>(*before);
  auto other = std::make_shared<Device>(*after->devices[1].device);
  other->nodes[0].real_path = "/dev/elsewhere";
  after->devices[1].device = other;
  observer->OnSnapshot(after);
  const auto probes = status_->Read().resources.at("example.com/card").probes;
  EXPECT_TRUE(probes->Find("c0"));
  EXPECT_FALSE(probes->Find("c1"));
}

TEST_F(StatusJsonTest, ForgetsProbesOfAResourceWithoutProbe) {
  const auto observer = status_->AddResource("example.com/card");
  const auto before = SnapshotWith({"c0"});
  observer->OnSnapshot(before);
  observer->OnProbe("c0", {.result = ProbeResult::kSuccess});
  auto after = std::make_shared<Snapshot>(*before);
  auto spec = std::make_shared<ResourceSpec>(*before->spec);
  spec->health.reset();
  after->spec = spec;
  observer->OnSnapshot(after);
  EXPECT_EQ(Status()["resources"][0]["devices"][0]["last_probe"], nullptr);
}

TEST_F(StatusJsonTest, IncrementsTheSerialWithEveryChange) {
  std::uint64_t last = status_->Read().serial;
  const auto expect_more = [&](const char* what) {
    const std::uint64_t now = status_->Read().serial;
    EXPECT_GT(now, last) << what;
    last = now;
  };
  const auto observer = status_->AddResource("example.com/card");
  expect_more("AddResource");
  observer->OnSnapshot(SnapshotWith({"c0"}));
  expect_more("OnSnapshot");
  observer->OnProbe("c0", {.result = ProbeResult::kSuccess});
  expect_more("OnProbe");
  observer->OnUsage(std::make_shared<const PodUsage>());
  expect_more("OnUsage");
  observer->OnRegistrationStatus({});
  expect_more("OnRegistrationStatus");
  status_->SetConfigReading({});
  expect_more("SetConfigReading");
  EXPECT_EQ(status_->Read().serial, last);
}

TEST_F(StatusJsonTest, CanBeRenderedDuringChanges) {
  const auto observer = status_->AddResource("example.com/card");
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) {
      observer->OnSnapshot(i % 2 == 0 ? SnapshotWith({"c0", "c1"}) : SnapshotWith({"c0"}));
      observer->OnProbe(i % 3 == 0 ? "c0" : "c1", {.result = ProbeResult::kSuccess});
      const auto other = status_->AddResource("example.com/other");
    }
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(json::accept(Text()));
  writer.join();
}

}  // namespace
}  // namespace patchbay
