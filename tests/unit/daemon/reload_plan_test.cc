#include "daemon/reload_plan.h"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <iterator>

namespace patchbay {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

Template Text(std::string_view text) { return Template::Compile(text).value(); }

ResourceSpec Named(const std::string& name) {
  ResourceSpec spec;
  spec.name = name;
  spec.matches.push_back({PathSource{{Glob::Compile("/dev/ttyUSB*").value()}}, {}, {}});
  return spec;
}

ResourceSpecs Specs(std::vector<ResourceSpec> specs) { return ResourcesFor({{}, specs}, "node"); }

/// Returns the changed resources as "a/b impact key key".
std::vector<std::string> Steps(const std::vector<ResourceSpec>& from,
                               const std::vector<ResourceSpec>& to) {
  std::vector<std::string> texts;
  for (const ResourceStep& step : PlanReload({}, Specs(from), {}, Specs(to)).resources) {
    if (step.impact == ChangeImpact::kNothing) continue;
    std::string text = step.resource + " " + std::string(Name(step.impact));
    for (const std::string& key : step.keys) text += " " + key;
    texts.push_back(text);
  }
  return texts;
}

std::string StepOf(const std::function<void(ResourceSpec&)>& change) {
  ResourceSpec to = Named("a/b");
  change(to);
  const auto steps = Steps({Named("a/b")}, {to});
  return steps.size() == 1 ? steps[0].substr(4) : "";
}

TEST(PlanReload, IsEmptyWithoutChanges) {
  EXPECT_THAT(Steps({}, {}), IsEmpty());
  EXPECT_THAT(Steps({Named("a/b"), Named("a/c")}, {Named("a/b"), Named("a/c")}), IsEmpty());
  EXPECT_THAT(Steps({Named("a/b"), Named("a/c")}, {Named("a/c"), Named("a/b")}), IsEmpty());
}

TEST(PlanReload, ClassifiesTheImpactOfEachKey) {
  using S = ResourceSpec;
  struct Case {
    std::string expected;
    std::function<void(S&)> change;
  };
  const Case cases[] = {
      {"internal description", [](S& s) { s.description = "x"; }},
      {"api api", [](S& s) { s.api = Api::kDra; }},
      {"list replicas", [](S& s) { s.replicas = 2; }},
      {"response max_per_container", [](S& s) { s.max_per_container = 1; }},
      {"registration preferred_allocation",
       [](S& s) { s.preferred_allocation = Preference::kPacked; }},
      {"list topology", [](S& s) { s.topology = false; }},
      {"list exclusive", [](S& s) { s.exclusive = true; }},
      {"response grant_group", [](S& s) { s.grant_group = true; }},
      {"response claim_env", [](S& s) { s.claim_env = {"BAUD_"}; }},
      {"list on_unhealthy", [](S& s) { s.on_unhealthy = OnUnhealthy::kEvict; }},
      {"list forget_after", [](S& s) { s.forget_after = seconds(1); }},
      {"response env_separator", [](S& s) { s.env_separator = ";"; }},
      {"internal on_nodes",
       [](S& s) { s.on_nodes.only.push_back(NamePattern::Compile("*").value()); }},
      {"list match", [](S& s) { s.matches[0].id = Text("{name}"); }},
      {"list match",
       [](S& s) {
         s.matches.push_back({CountSource{1}, {}, {}});
       }},
      {"response match.device_node", [](S& s) { s.matches[0].device_nodes.push_back({}); }},
      {"list match",
       [](S& s) {
         s.matches.push_back({CountSource{1}, {}, {}});
         s.matches[0].device_nodes.push_back({});
       }},
      {"response device_node", [](S& s) { s.device_nodes.push_back({}); }},
      {"response mount",
       [](S& s) {
         s.mounts.push_back({Text("/a"), Text("/b")});
       }},
      {"list net_device", [](S& s) { s.net_device.emplace(); }},
      {"response env", [](S& s) { s.env.emplace_back(Text("A"), Text("{id}")); }},
      {"response annotations", [](S& s) { s.annotations.emplace_back(Text("a"), Text("b")); }},
      {"list attributes",
       [](S& s) {
         s.attributes.push_back({"a", AttributeType::kString, Text("b")});
       }},
      {"list capacity", [](S& s) { s.capacity.push_back({.name = "a", .value = Text("1")}); }},
      {"response cdi_devices", [](S& s) { s.cdi_devices.push_back(Text("a/b=c")); }},
      {"list health", [](S& s) { s.health = ProbeSpec{OpenProbe{}}; }},
      {"registration hooks.pre_start", [](S& s) { s.pre_start = HookSpec{}; }},
      {"response hooks.allocate", [](S& s) { s.allocate = HookSpec{}; }},
      {"registration hooks.release", [](S& s) { s.release = HookSpec{}; }},
      {"api api hooks.pre_start",
       [](S& s) {
         s.api = Api::kDra;
         s.pre_start = HookSpec{};
       }},
      {"list replicas env",
       [](S& s) {
         s.env.emplace_back(Text("A"), Text("{id}"));
         s.replicas = 3;
       }},
  };
  std::ifstream file(PATCHBAY_SOURCE_DIR "/docs/reload.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const Case& c : cases) {
    EXPECT_EQ(StepOf(c.change), c.expected);
    const std::string key = c.expected.substr(c.expected.rfind(' ') + 1);
    EXPECT_NE(page.find("`" + key + "`"), std::string::npos) << key << " is not in docs/reload.md";
  }

  // Fails to compile if a key is added to ResourceSpec: add it to the plan, to the cases above, and
  // here.
  const auto& [name, description, api, on_unhealthy, claim_env, replicas, max, preferred, topology,
               exclusive, grants, forget, separator, nodes, matches, device_nodes, mounts,
               net_device, env, annotations, cdi, attributes, capacity, health, pre_start, allocate,
               release] = Named("a/b");
  (void)name, (void)description, (void)api, (void)on_unhealthy, (void)claim_env, (void)attributes,
      (void)replicas, (void)max, (void)preferred, (void)topology, (void)exclusive, (void)grants,
      (void)forget, (void)separator, (void)nodes, (void)matches, (void)device_nodes, (void)mounts,
      (void)net_device, (void)env, (void)annotations, (void)cdi, (void)capacity, (void)health,
      (void)pre_start, (void)allocate, (void)release;
}

TEST(PlanReload, UnchangedOptionsNeedNoRegistration) {
  ResourceSpec packed = Named("a/b"), spread = packed;
  packed.preferred_allocation = Preference::kPacked;
  spread.preferred_allocation = Preference::kSpread;
  EXPECT_THAT(Steps({packed}, {spread}), ElementsAre("a/b response preferred_allocation"));

  ResourceSpec starts = Named("a/b"), releases = starts;
  starts.pre_start = HookSpec{{Text("/bin/a")}};
  releases.release = HookSpec{{Text("/bin/a")}};
  EXPECT_THAT(Steps({starts}, {releases}),
              ElementsAre("a/b response hooks.pre_start hooks.release"));
  ResourceSpec other = releases;
  other.release->argv = {Text("/bin/b")};
  EXPECT_THAT(Steps({releases}, {other}), ElementsAre("a/b internal hooks.release"));
}

TEST(PlanReload, RenameRemovesAndAddsAResource) {
  EXPECT_THAT(Steps({Named("a/b"), Named("a/c")}, {Named("a/d"), Named("a/c")}),
              ElementsAre("a/b removed", "a/d new"));
}

TEST(PlanReload, ExclusiveResourceAffectsOthers) {
  ResourceSpec owner = Named("a/owner"), exclusive = owner;
  exclusive.exclusive = true;
  EXPECT_THAT(Steps({owner, Named("a/b")}, {exclusive, Named("a/b")}),
              ElementsAre("a/owner list exclusive", "a/b list exclusive of others"));
  EXPECT_THAT(Steps({exclusive, Named("a/b")}, {Named("a/b")}),
              ElementsAre("a/owner removed", "a/b list exclusive of others"));
  ResourceSpec elsewhere = exclusive;
  elsewhere.matches[0].type = NodeType::kFile;
  EXPECT_THAT(Steps({exclusive, Named("a/b")}, {elsewhere, Named("a/b")}),
              ElementsAre("a/owner list match", "a/b list exclusive of others"));
  ResourceSpec described = exclusive;
  described.description = "x";
  EXPECT_THAT(Steps({exclusive, Named("a/b")}, {described, Named("a/b")}),
              ElementsAre("a/owner internal description"));
}

TEST(PlanReload, ReportsDaemonKeysThatNeedARestart) {
  DaemonSpec to;
  to.listen = "[::]:1";
  to.kubelet_dir = "/a";
  to.host_root = "/b";
  to.cdi_dir = "/c";
  to.pod_resources = "";
  to.rescan = seconds(1);
  to.max_probes = 1;
  to.device_metrics = false;
  to.suggest_page = true;
  to.log_level = LogLevel::kDebug;
  to.api = Api::kDra;
  to.dra_driver = "example.com";
  to.device_metadata = false;
  to.kubernetes.emplace();
  EXPECT_THAT(
      PlanReload({}, {}, to, {}).daemon,
      ElementsAre(DaemonStep{"listen", false}, DaemonStep{"kubelet_dir", false},
                  DaemonStep{"host_root", false}, DaemonStep{"cdi_dir", false},
                  DaemonStep{"pod_resources", false}, DaemonStep{"rescan", true},
                  DaemonStep{"max_probes", true}, DaemonStep{"device_metrics", true},
                  DaemonStep{"suggest_page", true}, DaemonStep{"log_level", true},
                  DaemonStep{"api", true}, DaemonStep{"dra.driver", false},
                  DaemonStep{"dra.device_metadata", false}, DaemonStep{"kubernetes", false}));
  const auto& [listen, hosts, kubelet_dir, host_root, cdi_dir, pod_resources, rescan, max_probes,
               device_metrics, suggest_page, log_level, api, dra_driver, device_metadata,
               kubernetes] = to;  // each has a case above
  (void)listen, (void)hosts, (void)kubelet_dir, (void)host_root, (void)cdi_dir, (void)pod_resources,
      (void)rescan, (void)max_probes, (void)device_metrics, (void)suggest_page, (void)log_level,
      (void)api, (void)dra_driver, (void)device_metadata, (void)kubernetes;
}

}  // namespace
}  // namespace patchbay
