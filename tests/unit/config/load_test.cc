#include "config/load.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "config_support.h"
#include "support/temp_tree.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

using test::Findings;
using test::LoadGood;
using test::LoadText;
using test::Resource;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string SmallFile(std::string_view name, std::string_view more = "") {
  return Format("[[resource]]\nname = '{0}'\n{1}[[resource.match]]\npath = '/dev/{0}'\n", name,
                more);
}

std::vector<std::string> Names(const Loaded& loaded) {
  std::vector<std::string> names;
  if (!loaded.model) return {loaded.diagnostics.RenderText()};
  for (const ResourceSpec& r : loaded.model->resources) names.push_back(r.name);
  return names;
}

/// A configuration that uses most keys.
constexpr std::string_view kCards = R"(
[daemon]                        # all optional; command-line flags win
listen         = "127.0.0.1:9478"
kubelet_dir    = "/var/lib/kubelet/device-plugins/"
host_root      = "/host"
cdi_dir        = "/etc/cdi/"
rescan         = "5m"
device_metrics = false
suggest_page   = true
log_level = "debug"

[[resource]]
name         = "fpga.example.com/u250"
description  = "Alveo U250 cards"
replicas     = 2
max_per_container = 4
forget_after = "1h"
env_separator = ";"
on_nodes     = ["rack-*"]
grant_group  = true
cdi_devices  = ["example.com/u250={card}"]

  [[resource.match]]
  regex    = '/dev/xfpga/(?P<kind>user|mgmt)\.m(?P<card>\d+)'
  exclude  = ["/dev/xfpga/user.m9*"]
  id       = "{card}"
  type     = "any"

  [[resource.device_node]]
  container_path = "/dev/xfpga/{kind}{slot}"
  permissions    = "mr"
  [[resource.device_node]]
  host_path      = "/dev/fpga/node{card}"
  container_path = "/dev/fpga/node{slot:03}"
  optional       = true

  [[resource.mount]]
  host_path      = "/opt/xilinx"
  read_only      = false
  optional       = true
  [[resource.mount]]
  host_path      = "{path}.conf"
  container_path = "/etc/{name}.conf"

  [resource.env]
  FPGA_CARDS      = "{card}"
  "FPGA_{slot}"   = "{path}"
  A               = "first by its name, last in the file"

  [resource.annotations]
  "example.com/card" = "{card}"

[[resource]]
name = "fpga.example.com/other"

  [[resource.match]]
  path = ["/dev/a*", "/dev/b*"]
)";

TEST(Load, CompilesEveryKey) {
  const Model model = LoadGood(kCards);
  EXPECT_EQ(model.daemon.listen, "127.0.0.1:9478");
  EXPECT_EQ(model.daemon.kubelet_dir, "/var/lib/kubelet/device-plugins");
  EXPECT_EQ(model.daemon.cdi_dir, "/etc/cdi");
  EXPECT_EQ(model.daemon.host_root, "/host");
  EXPECT_EQ(model.daemon.rescan, std::chrono::minutes(5));
  EXPECT_FALSE(model.daemon.device_metrics);
  EXPECT_TRUE(model.daemon.suggest_page);
  EXPECT_EQ(model.daemon.log_level, LogLevel::kDebug);

  ASSERT_THAT(model.resources, SizeIs(2));
  const ResourceSpec& r = model.resources.front();
  EXPECT_EQ(r.name, "fpga.example.com/u250");
  EXPECT_EQ(r.description, "Alveo U250 cards");
  EXPECT_EQ(r.replicas, 2);
  EXPECT_EQ(r.max_per_container, 4);
  EXPECT_EQ(r.forget_after, std::chrono::hours(1));
  EXPECT_EQ(r.env_separator, ";");
  EXPECT_TRUE(r.on_nodes.Matches("rack-7"));
  EXPECT_FALSE(r.on_nodes.Matches("desk"));
  ASSERT_THAT(r.cdi_devices, SizeIs(1));
  EXPECT_EQ(r.cdi_devices[0].text(), "example.com/u250={card}");

  ASSERT_THAT(r.matches, SizeIs(1));
  EXPECT_THAT(std::get<RegexSource>(r.matches[0].source).regex.capture_names(),
              ElementsAre("kind", "card"));
  EXPECT_THAT(r.matches[0].exclude, SizeIs(1));
  EXPECT_EQ(r.matches[0].id->text(), "{card}");
  EXPECT_EQ(r.matches[0].type, NodeType::kAny);
  ASSERT_THAT(model.resources[1].matches, SizeIs(1));
  const MatchSpec& other = model.resources[1].matches[0];
  EXPECT_THAT(std::get<PathSource>(other.source).globs, SizeIs(2));
  EXPECT_EQ(other.type, NodeType::kDevice);

  ASSERT_THAT(r.device_nodes, SizeIs(2));
  EXPECT_FALSE(r.device_nodes[0].host_path);
  EXPECT_EQ(r.device_nodes[0].container_path->text(), "/dev/xfpga/{kind}{slot}");
  EXPECT_EQ(r.device_nodes[0].permissions, "rm");
  EXPECT_FALSE(r.device_nodes[0].optional);
  EXPECT_EQ(r.device_nodes[1].host_path->text(), "/dev/fpga/node{card}");
  EXPECT_EQ(r.device_nodes[1].permissions, "rw");
  EXPECT_TRUE(r.device_nodes[1].optional);

  ASSERT_THAT(r.mounts, SizeIs(2));
  EXPECT_EQ(r.mounts[0].container_path.text(), "/opt/xilinx");
  EXPECT_FALSE(r.mounts[0].read_only);
  EXPECT_TRUE(r.mounts[0].optional);
  EXPECT_FALSE(r.mounts[1].optional);
  EXPECT_TRUE(r.mounts[1].read_only);

  ASSERT_THAT(r.env, SizeIs(3));
  EXPECT_EQ(r.env[1].first.text(), "FPGA_{slot}");
  EXPECT_EQ(r.env[1].second.text(), "{path}");
  EXPECT_EQ(r.env[2].first.text(), "A");
  ASSERT_THAT(r.annotations, SizeIs(1));
}

TEST(Load, CompilesTheKeysOfDynamicResourceAllocation) {
  const Model model = LoadGood(R"(
[daemon]
api = "dra"
pod_resources = ""
[daemon.dra]
driver = "devices.example.com"
[daemon.kubernetes]
server = "https://[fd00::1]:6443"
ca = "/etc/ca.crt"
client_certificate = "/etc/client.crt"
client_key = "/etc/client.key"

[[resource]]
name = "example.com/serial"
replicas = 4
on_unhealthy = "evict"
claim_env = ["BAUD_", "MODE"]
[[resource.match]]
path = "/dev/ttyUSB*"
[resource.attributes]
model = "{name}"
"example.com/node" = {int = "{numa_node}"}
fast = {bool = "true"}
firmware = {version = "1.2.3"}
plain = {string = "x"}
[resource.capacity]
memory = "{name}Gi"
"example.com/lanes" = {value = "8", default = "2", max = "4", step = "1"}
[resource.hooks.release]
command = ["/bin/reset"]

[[resource]]
name = "example.com/null"
api = "device-plugin"
match = [{path = "/dev/null"}]
)");
  EXPECT_EQ(model.daemon.dra_driver, "devices.example.com");
  EXPECT_EQ(model.daemon.kubernetes->server, "https://[fd00::1]:6443");
  EXPECT_EQ(model.daemon.kubernetes->ca, "/etc/ca.crt");
  EXPECT_EQ(model.daemon.kubernetes->token_file, "");
  EXPECT_EQ(model.daemon.kubernetes->client_certificate, "/etc/client.crt");
  EXPECT_EQ(model.daemon.kubernetes->client_key, "/etc/client.key");
  const ResourceSpec& serial = model.resources.at(0);
  EXPECT_EQ(serial.api, Api::kDra);
  EXPECT_EQ(serial.on_unhealthy, OnUnhealthy::kEvict);
  EXPECT_THAT(serial.claim_env, ElementsAre("BAUD_", "MODE"));
  std::vector<std::string> attributes;
  for (const AttributeSpec& a : serial.attributes) {
    attributes.push_back(Format(
        "{} {} {}", a.name, kAttributeTypeNames[static_cast<std::size_t>(a.type)], a.value.text()));
  }
  EXPECT_THAT(attributes, testing::UnorderedElementsAre(
                              "model string {name}", "example.com/node int {numa_node}",
                              "fast bool true", "firmware version 1.2.3", "plain string x"));
  ASSERT_EQ(serial.capacity.size(), 2U);
  const auto* memory = std::ranges::find(serial.capacity, "memory", &CapacitySpec::name).base();
  EXPECT_EQ(memory->value.text(), "{name}Gi");
  EXPECT_EQ(memory->step, std::nullopt);
  const auto* lanes =
      std::ranges::find(serial.capacity, "example.com/lanes", &CapacitySpec::name).base();
  EXPECT_EQ(lanes->value.text(), "8");
  EXPECT_EQ(lanes->by_default, 2 * kUnit);
  EXPECT_EQ(lanes->max, 4 * kUnit);
  EXPECT_EQ(lanes->step, kUnit);
  EXPECT_EQ(model.resources.at(1).api, Api::kDevicePlugin);
}

TEST(Load, ReportsAllErrorsOfTheApiServer) {
  const std::string section = "[daemon.kubernetes]\n";
  const auto found = [&](const std::string& keys) {
    return Findings(LoadText(section + keys + Resource("")));
  };
  EXPECT_THAT(
      found("server = '10.0.0.1'\nca = 'ca'\ntoken_file = 't'\nclient_key = '/k'\n"),
      ElementsAre("2:10 bad-value", "3:6 bad-value", "4:14 bad-value", "5:14 wrong-combination"));
  EXPECT_THAT(found("token_file = 't'\n"),
              ElementsAre("1:1 missing-key", "1:1 missing-key", "2:14 bad-value"));
  EXPECT_THAT(found("server = 'https://a'\nca = 'ca'\ntoken-file = '/t'\n"),
              ElementsAre("3:6 bad-value", "4:1 unknown-key"));
  const Loaded path = LoadText("[daemon]\ncdi_dir = '{path}/cdi'\n" + Resource(""));
  EXPECT_THAT(path.diagnostics.RenderText(), Not(HasSubstr("real_path")));
}

TEST(Load, KeepsTheDefaultsOfTheModel) {
  const Model model = LoadGood(Resource(""));
  const ResourceSpec& r = model.resources.front();
  const ResourceSpec defaults;
  EXPECT_EQ(model.daemon.listen, DaemonSpec().listen);
  EXPECT_EQ(r.replicas, defaults.replicas);
  EXPECT_EQ(r.forget_after, defaults.forget_after);
  ASSERT_THAT(r.device_nodes, SizeIs(1));
  EXPECT_FALSE(r.device_nodes[0].container_path);
  EXPECT_EQ(r.device_nodes[0].permissions, "rw");
}

TEST(Load, CompilesConditionsAndTheirNegation) {
  const MatchSpec match =
      LoadGood(Resource("",
                        "path = '/dev/x*'\nusb = ['0403:6001', '*:7523']\nserial = ['A*', 'B']\n"
                        "usb_port = '1-2'\npci_address = ['0000:3b:*']\n"
                        "not = { usb_port = '1-3', udev = { driver = 'x' } }"))
          .resources[0]
          .matches[0];
  const auto texts = [](const std::vector<NamePattern>& patterns) {
    std::vector<std::string> found;
    for (const NamePattern& pattern : patterns) found.push_back(pattern.text());
    return found;
  };
  ASSERT_TRUE(match.conditions.usb && match.conditions.pci && match.negated.usb);
  EXPECT_EQ(match.conditions.usb->ids,
            (std::vector<HardwareId>{{0x0403, 0x6001}, {std::nullopt, 0x7523}}));
  EXPECT_THAT(texts(match.conditions.usb->serials), ElementsAre("A*", "B"));
  EXPECT_THAT(texts(match.conditions.usb->ports), ElementsAre("1-2"));
  EXPECT_THAT(texts(match.conditions.pci->addresses), ElementsAre("0000:3b:*"));
  EXPECT_THAT(match.conditions.pci->ids, IsEmpty());
  EXPECT_THAT(texts(match.negated.usb->ports), ElementsAre("1-3"));
  EXPECT_TRUE(match.negated.udev);
  EXPECT_FALSE(match.negated.pci);
}

TEST(Load, PortsAndAddressesNarrowTheSource) {
  const auto source = [](std::string_view lines) {
    return LoadGood(Resource("", lines)).resources[0].matches[0].source;
  };
  EXPECT_EQ(std::get<UsbPattern>(source("usb = '*:*'\nusb_port = '1-2'")).ports.size(), 1u);
  EXPECT_EQ(std::get<PciPattern>(source("pci = '*:*'\npci_address = '*'")).addresses.size(), 1u);
  LoadGood(Resource("", "usb = '*:*'\nusb_port = '1-2'\nid = 'only'"));
  LoadGood(Resource("", "pci = '*:*'\npci_address = '0000:3b:00.0'\nid = 'only'"));
  LoadGood(Resource("", "path = ['/dev/kvm', '/dev/net/tun']\ntogether = true\nid = 'only'"));
}

TEST(Load, NodesOfAMatchAreCheckedAgainstThatMatch) {
  const auto two = [](std::string_view before, std::string_view a, std::string_view b) {
    return Format(
        "[[resource]]\nname = 'a.com/x'\n{}\n[[resource.match]]\nregex = '/dev/a(?P<n>.)'\n"
        "[[resource.match.device_node]]\n{}\n[[resource.match]]\npath = '/dev/b'\n"
        "[[resource.match.device_node]]\n{}\n[[resource.device_node]]\n"
        "container_path = '/dev/{{name}}'\n",
        before, a, b);
  };
  const Model model = LoadGood(
      two("", "container_path = '/dev/a{n}'\npermissions = 'r'", "container_path = '/dev/fixed'"));
  const ResourceSpec& spec = model.resources[0];
  ASSERT_EQ(spec.matches[0].device_nodes.size(), 1u);
  EXPECT_EQ(spec.matches[0].device_nodes[0].permissions, "r");
  EXPECT_EQ(DeviceNodesOf(spec, 1)[0].container_path->text(), "/dev/fixed");
  EXPECT_EQ(DeviceNodesOf(spec, 2)[0].container_path->text(), "/dev/{name}");
  // The variable of the other match, several devices at one path, and one path for both matches.
  EXPECT_THAT(Findings(LoadText(two("", "permissions = 'r'", "container_path = '/dev/{n}'"))),
              ElementsAre("11:25 unknown-variable"));
  EXPECT_THAT(Findings(LoadText(two("", "container_path = '/dev/a'", "permissions = 'r'"))),
              ElementsAre("7:18 container-path-clash"));
  const std::string same = "container_path = '/dev/same'";
  EXPECT_THAT(Findings(LoadText(two("", same, same))),
              ElementsAre("7:18 container-path-clash", "11:18 container-path-clash"));
  LoadGood(two("max_per_container = 1", same, same));
}

TEST(Load, ComparesNodesWithMountsAndAncestors) {
  const auto found = [](std::string_view match, std::string_view parts) {
    return Findings(LoadText(
        Format("[[resource]]\nname = 'a.com/x'\nmax_per_container = 1\n[[resource.match]]\n{}\n{}",
               match, parts)));
  };
  const auto mount = [](std::string_view host, std::string_view container) {
    return Format("[[resource.mount]]\nhost_path = '{}'\ncontainer_path = '{}'\n", host, container);
  };
  const auto node = [](std::string_view container) {
    return Format("[[resource.device_node]]\ncontainer_path = '{}'\n", container);
  };
  struct Case {
    std::string_view match;
    std::string parts;
    bool clash;
  };
  const std::string group = "regex = '/dev/x/(?P<n>.*)'";
  const Case cases[] = {
      {"path = '/dev/foo0'", mount("/opt/file", "/dev/foo0"), true},
      {"path = '/dev/foo*'", mount("/opt/file", "/dev/foo0"), false},
      {"path = '/dev/foo0'", mount("/dev/foo0", "/dev/foo0"), false},
      {"path = '/dev/foo0'", mount("/dev", "/dev/"), false},
      {"path = '/dev/x/foo*'", mount("/opt", "/dev//x"), true},
      {"path = '/dev/x/foo*'", mount("/dev/x", "/dev/x"), false},
      {"path = '/dev/x/foo*'", mount("/dev/{id}", "/dev/x"), false},
      {"path = '/dev/x/foo*'", mount("/opt", "/dev/x/a"), false},
      {"path = ['/dev/x/a', '/dev/x/b*']", mount("/opt", "/dev/x"), true},
      {"path = ['/dev/a', '/dev/b']", node("/x/{name}") + mount("/opt", "/x"), true},
      {group, mount("/opt", "/dev/x"), true},
      {group, node("/dev/y{n}") + mount("/opt", "/dev/y{n}/z"), true},
      {group, node("/dev/y{n}") + mount("/opt", "/dev/y{name}/z"), false},
      {group, node("/dev/y{n}") + mount("/opt", "/dev/y{n}-z"), false},
      {"path = '/dev/foo*'", mount("/opt", "{path}/x"), true},
      {"path = '/dev/foo*'", mount("{path}", "{path}"), false},
      {"path = '/dev/foo*'", node("{real_path}") + mount("/opt", "{real_path}"), true},
      {"path = '/opt/foo*'\ntype = 'file'", mount("/srv", "/opt"), false},
      {"path = '/dev/foo*'\ntype = 'any'", mount("{path}", "{path}"), false},
      {"pci = '1234:*'", mount("/opt", "/dev"), true},
      {"pci = '1234:*'", node("/dev/y/{name}") + mount("/opt", "/dev/y"), true},
      {"count = 3", mount("/opt", "/dev/x"), false},
      {"path = '/dev/foo0'",
       "[[resource.device_node]]\nhost_path = '/dev/all'\n" + node("/dev/all/{name}"), true},
      {"path = '/dev/foo0'",
       "[[resource.device_node]]\n[[resource.device_node]]\nhost_path = '/dev/all'\n"
       "container_path = '/dev/foo0'\n",
       true},
  };
  for (const Case& c : cases) {
    const auto findings = found(c.match, c.parts);
    EXPECT_EQ(findings.size(), c.clash ? 1u : 0u) << c.match << "\n" << c.parts;
    for (const std::string& finding : findings)
      EXPECT_THAT(finding, HasSubstr("container-path-clash"));
  }
  // Each match has its own nodes.
  const std::string two = Format(
      "[[resource]]\nname = 'a.com/x'\nmax_per_container = 1\n[[resource.match]]\npath = '/dev/a'\n"
      "{}[[resource.match]]\npath = '/dev/b'\n{}",
      "[[resource.match.device_node]]\ncontainer_path = '/dev/x'\n",
      "[[resource.match.device_node]]\ncontainer_path = '/dev/x/y'\n");
  EXPECT_THAT(Findings(LoadText(two)), IsEmpty());
  EXPECT_THAT(Findings(LoadText(two + mount("/opt", "/dev/x/z"))),
              ElementsAre("14:18 container-path-clash"));
}

TEST(Load, AddsDefaultDeviceNodeOnlyForMatchesWithNodes) {
  EXPECT_THAT(LoadGood(Resource("", "count = 3")).resources[0].device_nodes, IsEmpty());
  EXPECT_THAT(LoadGood(Resource("", "udev = { subsystem = 'net' }")).resources[0].device_nodes,
              IsEmpty());
  EXPECT_THAT(LoadGood(Resource("[[resource.match]]\npath = '/dev/x'", "count = 3"))
                  .resources[0]
                  .device_nodes,
              SizeIs(1));
  EXPECT_THAT(LoadGood(Resource("[[resource.device_node]]\nhost_path = '/dev/ctl'", "count = 3"))
                  .resources[0]
                  .device_nodes,
              SizeIs(1));
}

TEST(Load, AcceptsUnusualButValidInput) {
  const std::string_view texts[] = {
      "[[resource.device_node]]\nhost_path = '{real_path}'",
      "[[resource.device_node]]\ncontainer_path = '{path}'",
      "[[resource.device_node]]\nhost_path = '/dev/ctl'\ncontainer_path = '/dev/c'",
      "[[resource.mount]]\nhost_path = '/sys/class/..x/{name}'",
      "[resource.env]\n_A1 = '{{{slot:02}}}'\n'I_{id}' = ''\n'X_{name}' = \"\"\"a\nb\"\"\"",
      "[resource.annotations]\n'{id}' = 'x'\n'a.b-c/X.y_z' = 'x'\n'{resource}' = ''",
      "[resource.annotations]\n'cdi.k8s.io/x_{name}' = 'v.com/c={name}'",
  };
  for (const std::string_view text : texts) LoadGood(Resource(text));
  LoadGood(Resource("", "path = '/dev/x'\nid = 'only'"));
  LoadGood(Resource("[[resource.match]]\ncount = 2\nid = 'b-{index}'", "count = 2"));
  LoadGood(Resource("[resource.env]\nA = '{INTERFACE} {numa_node} {id}'",
                    "udev = { subsystem = 'net' }"));
  for (const std::string_view subsystem : {"['net', 'tty']", "'n?t'", "'tty'"}) {
    LoadGood(
        Resource("[resource.env]\nA = '{name}'", Format("udev = {{ subsystem = {} }}", subsystem)));
  }
  LoadGood(Resource("[[resource.device_node]]\ncontainer_path = '/dev/c{slot}'",
                    "usb = '*:*'\nudev = { subsystem = 'usb' }"));
  LoadGood(Resource("[resource.env]\nA = '{n}'\n[[resource.match]]\nregex = '/dev/y(?P<n>.)'",
                    "command = ['x']"));
  LoadGood(Resource("", "regex = '/dev/x'\nid = '{major}-{minor:03x}'"));
  LoadGood(Resource("[resource.env]\nA = '{usb_bus:0>3}:{usb_device:0>3}'", "usb = '*:*'"));
  LoadGood("\xEF\xBB\xBF[daemon]\r\nlisten = ':0'\r\n" + Resource(""));
}

TEST(Load, AcceptsAttributesWithTheNameOfAKey) {
  LoadGood(Resource("",
                    "udev = { subsystem = 'tty', attributes = { name = 'x', path = '*', type = "
                    "'1', serial = 'A', id = '3', timeout = '9' } }"));
  LoadGood("[daemon]\napi = 'dra'\n" +
           Resource("[resource.attributes]\npath = '{path}'\nserial = 'A'\ndriver = 'x'"));
}

TEST(Load, AcceptsTextThatOnlyResemblesAForeignNotation) {
  for (const std::string_view command :
       {R"(["sh", "-c", "awk '{{print $1}}' \"$1\"", "sh", "{path}"])",
        R"(["sh", "-c", "f() {{name}}"])", R"(["/usr/bin/env", "jq", "{{path}}", "/x"])",
        R"(["docker", "ps", "--format={{.Names}}"])",
        R"(["docker", "ps", "--format={{{{.Name}}}}"])"}) {
    LoadGood(Resource(Format("[resource.health]\ncommand = {}", command)));
  }
  LoadGood(Resource("[resource.env]\nA = '{{{path}}} {{}} {{path: 1}} {{\"a\": [{{1}}]}}'"));
  LoadGood(Resource("[resource.env]\nA = '{{print $1}} $HOME'", "command = ['x']"));
  LoadGood(Resource("[resource.env]\nA = '$(date) $x $PWD $$path'"));
  for (const std::string_view path :
       {"/dev/snd/by-path/pci-0000:00:1f.3", "/sys/bus/pci/devices/0000:3b:00.0/{pci_address:>8}",
        "/dev/disk/by-path/pci-{pci_address}:{slot:02}", "/sys/class/leds/a::b/c", "/opt/a,b [c-d]",
        "{path}"}) {
    LoadGood(Resource(Format("[[resource.mount]]\nhost_path = '{}'", path), "pci = '*:*'"));
  }
  for (const std::string_view match :
       {"regex = '/dev/ttyUSB[0-9]+'", "regex = '/dev/(a|b)*x'", "regex = '/dev/x.*'",
        "regex = '/dev/x\\.*'", "path = ['/dev/dfl-fme.*', '/dev/a(b)*', '/dev/x+', '/dev/sd[.*]']",
        "path = ['/dev/serial/by-path/pci-0000:00:14.*', '/dev/[]+]', '/dev/[!]+]', '/dev/[^]+]']",
        "path = ['/dev/spidev0.*', '/dev/spidev[0-9].*', '/dev/dsa/wq*.*', "
        "'/dev/disk/by-id/usb-V1.*'"
        ", '/dev/disk/by-id/nvme-eui.*', '/opt/x/config.*', '/dev/shm/a.*', '/dev/*.*']\n"
        "exclude = ['/dev/spidev0.*', '/dev/disk/by-path/*-usb-0:1.*', '/dev/dax0.*']\ntype = "
        "'any'",
        "path = ['/dev/x\\\\x20', '/dev/x\\xg0', '/dev/{a-b,c}', '/dev/x[0-9-+]', '/dev/y:ab']",
        "regex = '/dev/x\\\\x20[0-9]'", "usb = '*:*'\nserial = ['A!', '[!a]*', '\\{a\\}']",
        "path = ['/dev{/x,/y}', '/dev/x[10-]', '/dev/x[0-9a]', '/dev/x\\$']", "regex = '/dev/x0*'",
        "regex = '/dev/x{2,3}\\p{L}[{,}]'", "path = '/dev/dri'\ntype = 'any'",
        "usb = '*:*'\nusb_port = ['1-2.*', '1-[0-9]', '1*', '1-?.1', 'usb*', '*.4']",
        "pci = '*:*'\npci_address = ['0000:3b:0a.*', '0000:*', '10000:e1:*', '*:00.0', "
        "'000?:3b:*']",
        "usb = '*:*'\nserial = ['A+B', 'A4.*', 'A-B.*', 'A:/B', 'A\\|B', '[|]', 'A\\\\d', '(A)', "
        "'A, /B', 'A^B', 'A$B']"}) {
    LoadGood(Resource("", match));
  }
}

TEST(Load, WarnsOfSharedPathsOnlyIfBothCanMatch) {
  const auto two = [](std::string_view a, std::string_view b) {
    return Format("[[resource]]\nname = 'a.com/a'\n{}\n[[resource]]\nname = 'a.com/b'\n{}", a, b);
  };
  const std::string_view x = "[[resource.match]]\npath = '/dev/x1'";
  const std::string_view quiet[][2] = {
      {x, "[[resource.match]]\npath = '/dev/x*'\nexclude = '/dev/x1'"},
      {x, "[[resource.match]]\npath = '/dev/x1'\ntype = 'file'"},
      {x, "[[resource.match]]\npath = '/dev/y*'"},
      {"on_nodes = ['a*']\nmatch = [{path = '/dev/x1'}]",
       "on_nodes = ['b*']\nmatch = [{path = '/dev/x1'}]"},
  };
  for (const auto& [a, b] : quiet) LoadGood(two(a, b));
  const std::string_view loud[] = {
      "[[resource.match]]\npath = '/dev/x1'",
      "[[resource.match]]\npath = '/dev/?1'\ntype = 'any'",
      "[[resource.match]]\nregex = '/dev/x\\d'",
  };
  for (const std::string_view b : loud) {
    EXPECT_THAT(Findings(LoadText(two(x, b))), ElementsAre(testing::EndsWith("shared-node"))) << b;
  }
}

TEST(Load, AcceptsSeveralEntriesWithOneNameForDifferentNodes) {
  std::string text;
  for (const char* nodes : {"'rack-*'", "'desk', 'bench'", "'n[1-3]'", "'n[4-6]'"}) {
    text += Format(
        "[[resource]]\nname = 'a.com/x'\non_nodes = [{}]\nmatch = [{{path = '/dev/x'}}]\n", nodes);
  }
  LoadGood(text);
}

TEST(Load, AcceptsSeveralEntriesWithOneNameIfOneExcludesTheNodesOfTheOther) {
  const auto two = [](std::string_view a, std::string_view b) {
    std::string text;
    for (const std::string_view nodes : {a, b}) {
      text += Format("[[resource]]\nname = 'a.com/x'\non_nodes = [{}]\nmatch = [{{path = '/x'}}]\n",
                     nodes);
    }
    return text;
  };
  LoadGood(two("'edge-*'", "'!edge-*'"));
  LoadGood(two("'rack-*', '!rack-1'", "'rack-1'"));
  LoadGood(two("'!rack-1'", "'rack-1', '!desk'"));
  LoadGood(two("'{a,b}-1'", "'c-1'"));
  for (const auto& [a, b] : std::initializer_list<std::pair<const char*, const char*>>{
           {"'rack-*', '!rack-1'", "'rack-2'"},
           {"'!rack-1'", "'!rack-2'"},
           {"'{a,b}-1'", "'b-1'"}}) {
    EXPECT_THAT(Findings(LoadText(two(a, b))), ElementsAre(testing::EndsWith("duplicate"))) << a;
  }
}

TEST(Load, ReadsWhichNodesServeAResource) {
  const auto filter = [](std::string_view list) {
    return LoadGood(Format("[[resource]]\nname = 'a.com/x'\non_nodes = [{}]\n"
                           "match = [{{path = '/dev/x'}}]\n",
                           list))
        .resources.at(0)
        .on_nodes;
  };
  const auto serves = [&](std::string_view list, const std::string& node) {
    return filter(list).Matches(node);
  };
  EXPECT_TRUE(serves("'!big-1'", "big-2"));
  EXPECT_FALSE(serves("'!big-1'", "big-1"));
  EXPECT_TRUE(serves("'{big,small}-*', '!*-9', '!*-8'", "small-1"));
  EXPECT_FALSE(serves("'{big,small}-*', '!*-9', '!*-8'", "small-9"));
  EXPECT_FALSE(serves("'{big,small}-*', '!*-9', '!*-8'", "huge-1"));
  EXPECT_THAT(filter("'!x', 'a*'").Texts(), ElementsAre("a*", "!x"));
}

TEST(Load, OnePatternLanguageInAllConditions) {
  const Model model = LoadGood(Resource(
      "",
      "usb = '0403:{6001,6015}'\nserial = ['{A,B}[0-9]', 'C']\nudev = {driver = '{ftdi,cp210x}*', "
      "properties = {ID_MODEL = ['X', 'Y*']}, attributes = {type = '{1,4}'}}"));
  const HardwarePatterns& found = model.resources.at(0).matches.at(0).conditions;
  const UdevPattern& udev = found.udev.value();
  EXPECT_EQ(std::get<UsbPattern>(model.resources.at(0).matches.at(0).source).ids,
            (std::vector<HardwareId>{{0x0403, 0x6001}, {0x0403, 0x6015}}));
  EXPECT_TRUE(MatchesAny(udev.drivers, "cp210x"));
  EXPECT_FALSE(MatchesAny(udev.drivers, "cp210"));
  ASSERT_THAT(udev.properties, SizeIs(1));
  EXPECT_TRUE(MatchesAny(udev.properties[0].second, "X"));
  EXPECT_TRUE(MatchesAny(udev.properties[0].second, "Yz"));
  EXPECT_FALSE(MatchesAny(udev.properties[0].second, "Z"));
  EXPECT_TRUE(MatchesAny(udev.attributes.at(0).second, "4"));
  EXPECT_FALSE(MatchesAny(udev.attributes.at(0).second, "2"));
  const auto& usb = std::get<UsbPattern>(model.resources[0].matches[0].source);
  EXPECT_TRUE(MatchesAny(usb.serials, "B7"));
  EXPECT_FALSE(MatchesAny(usb.serials, "B"));
}

TEST(Load, ComparesEntriesWithOneNameOnTheNodeThatIsServed) {
  std::string text;
  for (const char* nodes : {"'rack-*'", "'*-1'", "'desk*'"}) {
    text += Format(
        "[[resource]]\nname = 'a.com/x'\non_nodes = [{}]\nmatch = [{{path = '/dev/x'}}]\n", nodes);
  }
  const auto on = [&](const std::string& node) { return LoadTexts({{"test.toml", text}}, node); };
  for (const char* node : {"", "rack-2", "bench-1", "desk"}) {
    EXPECT_TRUE(on(node).model) << node << ": " << on(node).diagnostics.RenderText();
  }
  for (const char* node : {"rack-1", "desk-1"}) {
    const Loaded loaded = on(node);
    EXPECT_FALSE(loaded.model) << node;
    EXPECT_THAT(Findings(loaded), ElementsAre(testing::EndsWith("duplicate")));
    EXPECT_THAT(loaded.diagnostics.Sorted().front().message,
                HasSubstr(Format("also for the node \"{}\"", node)));
  }
}

TEST(Load, AnUnknownNodeIsNotMatchedByAnyPattern) {
  // A file that is checked without a node: both patterns match the empty text.
  const std::string text =
      "[[resource]]\nname = 'a.com/x'\non_nodes = ['*']\nmatch = [{path = '/dev/x'}]\n"
      "[[resource]]\nname = 'a.com/x'\non_nodes = ['**']\nmatch = [{path = '/dev/x'}]\n";
  EXPECT_TRUE(LoadText(text).model) << LoadText(text).diagnostics.RenderText();
  EXPECT_FALSE(LoadTexts({{"test.toml", text}}, "node").model);
}

TEST(Load, ComparesManyEntriesWithOneNameInReasonableTime) {
  std::string text;
  for (int i = 0; i < 2; ++i) {
    text += Format("[[resource]]\nname = 'a.com/x'\nmatch = [{{path = '/dev/x'}}]\non_nodes = [");
    for (int n = 0; n < 2000; ++n) text += Format("'*{}{}*', ", i == 0 ? "a" : "b", n);
    text += "]\n";
  }
  EXPECT_TRUE(LoadText(text).model);
  EXPECT_FALSE(LoadTexts({{"test.toml", text}}, "a1999b1999").model);
}

TEST(Load, AcceptsAFixedIdIfMaxDevicesIsOne) {
  LoadGood(Resource("", "path = '/dev/x*'\nid = 'x'\nmax_devices = 1"));
  LoadGood(Resource("", "usb = '0403:6001'\nid = 'x'\nmax_devices = 1"));
}

TEST(Load, AcceptsExcludesThatMayNameALink) {
  for (const char* exclude :
       {"/dev/disk/by-id/nvme-SYSTEM", "/srv/links/x", "/run/udev/x", "/**/x"}) {
    LoadGood(Resource("", Format("path = '/dev/nvme*n1'\nexclude = '{}'", exclude)));
  }
  LoadGood(Resource("", "path = '/sys/x/*'\ntype = 'file'\nexclude = '/sys/x/y'"));
}

TEST(Load, AcceptsDrmNodesThatKeepTheirName) {
  const auto good = [](std::string_view match, std::string_view container) {
    LoadGood(Resource(Format("[[resource.device_node]]\ncontainer_path = '{}'", container), match));
  };
  const std::string_view path = "path = '/dev/dri/renderD*'";
  good(path, "/dev/dri/{name}");
  good(path, "{path}");
  good("path = '/dev/dri/renderD128'", "/dev/dri/renderD128");
  good(R"(regex = '/dev/dri/renderD(?P<n>\d+)')", "/dev/dri/renderD{n}");
  good("path = '/dev/fpga*'", "/dev/fpga{slot}");
  good("path = '/dev/dri/by-path/*'", "{real_path}");
}

TEST(Load, AcceptsHostNamesInAnyCase) {
  const Model model =
      LoadGood("[daemon]\nhosts = ['Patchbay.Example.com', '*.svc.corp', '{a,b}.example.com']\n" +
               Resource(""));
  ASSERT_EQ(model.daemon.hosts.size(), 4U);
  EXPECT_EQ(model.daemon.hosts[3].text(), "b.example.com");
  EXPECT_EQ(model.daemon.hosts[0].text(), "patchbay.example.com");
  EXPECT_TRUE(model.daemon.hosts[1].Matches("a.b.svc.corp"));
}

TEST(Load, ReadsADirectoryAsOneDocument) {
  test::TempTree tree;
  tree.File("conf/20-b.toml", SmallFile("a.com/b"));
  tree.File("conf/10-a.toml", "[daemon]\nrescan = '2s'\n" + SmallFile("a.com/a"));
  tree.File("conf/.hidden.toml", "=");
  tree.File("conf/readme.md", "=");
  tree.Dir("conf/dir.toml");
  tree.File("conf/..2024/30-c.toml", SmallFile("a.com/c"));
  tree.Link("conf/..data", "..2024");
  tree.Link("conf/30-c.toml", "..data/30-c.toml");
  tree.File("single.toml", SmallFile("a.com/d"));
  const Loaded loaded = LoadPaths({tree.path("conf"), tree.path("single.toml")});
  EXPECT_THAT(Names(loaded), ElementsAre("a.com/a", "a.com/b", "a.com/c", "a.com/d"));
  EXPECT_TRUE(loaded.diagnostics.empty());
}

TEST(Load, ReportsUnreadableFiles) {
  test::TempTree tree;
  tree.Dir("empty");
  tree.Link("conf/a.toml", "nowhere");
  const auto findings = [&](std::string_view path) {
    return Findings(LoadPaths({tree.path(path)}));
  };
  EXPECT_THAT(findings("missing.toml"), ElementsAre("0:0 unreadable-file"));
  EXPECT_THAT(findings("conf"), ElementsAre("0:0 unreadable-file"));
  EXPECT_THAT(findings("empty"), ElementsAre("0:0 unreadable-file"));
  tree.Dir("odd");
  ASSERT_EQ(mkfifo(tree.path("odd/a.toml").c_str(), 0600), 0);
  test::BindSocket(tree.path("odd/b.toml"), false);
  tree.Link("odd/c.toml", "/dev/null");
  EXPECT_THAT(findings("odd"),
              ElementsAre("0:0 unreadable-file", "0:0 unreadable-file", "0:0 unreadable-file"));
  const std::string text = LoadPaths({tree.path("odd")}).diagnostics.RenderText();
  EXPECT_THAT(text, testing::HasSubstr("odd/a.toml: error[unreadable-file]: cannot be read: it "
                                       "is a FIFO, not a file\n"));
  EXPECT_THAT(text, testing::HasSubstr("it is a socket, not a file"));
  EXPECT_THAT(text, testing::HasSubstr("it is a device, not a file"));
  EXPECT_THAT(Findings(LoadPaths({"/dev/zero"})), ElementsAre("0:0 unreadable-file"));
  EXPECT_EQ(LoadPaths({tree.path("missing.toml")}).diagnostics.RenderText(),
            tree.path("missing.toml") +
                ": error[unreadable-file]: cannot be read: No such file or directory\n"
                "    hint: specify a file, or a directory with *.toml files\n");
}

TEST(Load, HintsAtTheConfigFlagIfTheDefaultIsMissing) {
  test::TempTree tree;
  if (std::filesystem::exists(kDefaultConfig)) GTEST_SKIP() << "there is one here";
  const auto findings = LoadPaths({std::string(kDefaultConfig)}).diagnostics.Sorted();
  EXPECT_THAT(findings.front().hint, HasSubstr("with --config or PATCHBAY_CONFIG"));
}

TEST(Load, ReportsAFileThatIsTooLarge) {
  test::TempTree tree;
  tree.File("large.toml", std::string(kLargestSource + 1, ' '));
  std::string largest = SmallFile("a.com/x");
  largest.resize(kLargestSource, ' ');
  tree.File("largest.toml", largest);
  EXPECT_THAT(Findings(LoadPaths({tree.path("large.toml")})), ElementsAre("0:0 unreadable-file"));
  EXPECT_THAT(Names(LoadPaths({tree.path("largest.toml")})), ElementsAre("a.com/x"));
}

TEST(Load, LimitsTheTotalSizeOfTheFiles) {
  static_assert(kLargestInput == 16 * kLargestSource);
  test::TempTree tree;
  for (int i = 10; i < 26; ++i) {
    std::string text = SmallFile(Format("a.com/r{}", i));
    text.resize(kLargestSource, ' ');
    tree.File(Format("{}.toml", i), text);
  }
  EXPECT_EQ(LoadPaths({tree.path()}).model.value_or(Model()).resources.size(), 16u);
  tree.File("90.toml", " ");
  tree.File("91.toml", "not read = = ");
  const Loaded loaded = LoadPaths({tree.path()});
  EXPECT_THAT(Findings(loaded), ElementsAre("0:0 unreadable-file"));
  EXPECT_EQ(loaded.diagnostics.Sorted()[0].place.file, tree.path("90.toml"));
  EXPECT_EQ(loaded.diagnostics.Sorted()[0].message,
            "with this file the input is larger than 16777216 bytes");
}

TEST(Load, ReportsASectionInTwoFiles) {
  const Loaded loaded = LoadTexts({{"a.toml", "[daemon]\nrescan = '2s'\n" + SmallFile("a.com/a")},
                                   {"b.toml", SmallFile("a.com/b") + "[daemon]\nrescan = 2\n"}});
  EXPECT_THAT(Findings(loaded), ElementsAre("5:1 duplicate", "6:10 wrong-type"));
  EXPECT_EQ(loaded.diagnostics.Sorted()[0].message, "[daemon] is already defined at a.toml:1");
  EXPECT_EQ(loaded.diagnostics.Sorted()[0].place.file, "b.toml");
}

TEST(Load, ReportsErrorsOfAllFilesInOrder) {
  const Loaded loaded =
      LoadTexts({{"b.toml", "x = 1"}, {"a.toml", "y = = 2"}, {"c.toml", "z = 1"}});
  std::vector<std::string> files;
  for (const Diagnostic& d : loaded.diagnostics.Sorted()) files.push_back(d.place.file);
  EXPECT_THAT(files, ElementsAre("b.toml", "a.toml", "c.toml"));
}

TEST(Load, LimitsTheNumberOfResources) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += SmallFile(Format("a.com/r{}", i), "on_nodes = ['n*']\n");
  EXPECT_EQ(LoadGood(text).resources.size(), 1000u);
  const Loaded loaded = LoadText(text + SmallFile("a.com/last"));
  EXPECT_THAT(Findings(loaded), ElementsAre("5001:1 out-of-range"));
  EXPECT_FALSE(loaded.model);
}

TEST(Load, LimitsTheResourcesOfANode) {
  std::string text;
  for (int i = 0; i < 127; ++i) text += SmallFile(Format("a.com/r{}", i));
  const auto load = [&](std::string_view more, const std::string& node) {
    return LoadTexts({{"test.toml", text + std::string(more)}}, node);
  };
  const std::string one = SmallFile("a.com/one");
  const std::string of_n1 = SmallFile("a.com/two", "on_nodes = ['n1']\n");
  EXPECT_THAT(Findings(load(one + of_n1, "")), IsEmpty());
  EXPECT_THAT(Findings(load(one + of_n1, "n2")), IsEmpty());
  EXPECT_THAT(Findings(load(of_n1, "n1")), IsEmpty());
  const Loaded loaded = load(one + of_n1, "n1");
  EXPECT_THAT(Findings(loaded), ElementsAre("513:1 out-of-range"));
  EXPECT_THAT(loaded.diagnostics.RenderText(),
              HasSubstr("there are 129 resources for the node \"n1\", more than 128"));
  EXPECT_FALSE(loaded.model);
  EXPECT_THAT(load(one + SmallFile("a.com/two"), "").diagnostics.RenderText(),
              HasSubstr("there are 129 resources for every node, more than 128"));
}

TEST(Load, LimitsThePatternsOfTheWholeInput) {
  std::string text;
  for (int i = 0; i < 41; ++i) {
    text += Resource("", Format("path = '/dev/{}{{a,b}}{{a,b}}{{a,b}}{{a,b}}{{a,b}}{{a,b}}{{a,b}}"
                                "{{a,b}}{{a,b}}'",
                                i));
    const auto at = text.rfind("a.com/x");
    text.replace(at, 7, Format("a.com/x{}", i));
  }
  const auto findings = Findings(LoadText(text));
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(findings.front(), testing::EndsWith(":8 bad-pattern"));
}

TEST(Load, EverydayExampleHasNoFindings) {
  const Loaded loaded =
      LoadPaths({std::string(PATCHBAY_SOURCE_DIR) + "/examples/configs/everyday.toml"});
  EXPECT_TRUE(loaded.diagnostics.empty()) << loaded.diagnostics.RenderText();
  ASSERT_TRUE(loaded.model);
  EXPECT_EQ(loaded.model->resources.size(), 9u);
}

TEST(Load, CompilesHealthAndHooks) {
  const Model model = LoadGood(R"(
[daemon]
pod_resources = ""
max_probes = 3
[[resource]]
name = "a.com/x"
  [[resource.match]]
  path = "/dev/x*"
  [resource.health]
  command = ["/bin/ok", "{path}", "{id}"]
  period = "10s"
  timeout = "2s"
  initial_delay = "1s"
  failure_threshold = 5
  success_threshold = 2
  before_first = "unhealthy"
  [resource.hooks.pre_start]
  command = ["/bin/reset", "{slot}"]
  timeout = "7s"
[[resource]]
name = "a.com/y"
  [[resource.match]]
  path = "/dev/y*"
  [resource.health]
  file = "/sys/{name}/state"
  matches = "up|unknown"
[[resource]]
name = "a.com/z"
  [[resource.match]]
  path = "/dev/z*"
  [resource.health]
  open = true
)");
  EXPECT_EQ(model.daemon.pod_resources, "");
  EXPECT_EQ(model.daemon.max_probes, 3);
  ASSERT_THAT(model.resources, SizeIs(3));
  const ProbeSpec& probe = *model.resources[0].health;
  EXPECT_THAT(std::get<CommandProbe>(probe.kind).argv, SizeIs(3));
  EXPECT_EQ(probe.period, std::chrono::seconds(10));
  EXPECT_EQ(probe.timeout, std::chrono::seconds(2));
  EXPECT_EQ(probe.initial_delay, std::chrono::seconds(1));
  EXPECT_EQ(probe.failure_threshold, 5);
  EXPECT_EQ(probe.success_threshold, 2);
  EXPECT_EQ(probe.before_first, Health::kUnhealthy);
  EXPECT_EQ(model.resources[0].pre_start->timeout, std::chrono::seconds(7));
  EXPECT_FALSE(model.resources[0].allocate || model.resources[0].release);
  const auto& file = std::get<FileProbe>(model.resources[1].health->kind);
  EXPECT_EQ(file.path.text(), "/sys/{name}/state");
  EXPECT_TRUE(std::get<TextPattern>(file.wanted).Matches("up"));
  const ProbeSpec& open = *model.resources[2].health;
  EXPECT_TRUE(std::holds_alternative<OpenProbe>(open.kind));
  EXPECT_EQ(open.before_first, Health::kHealthy);
  EXPECT_EQ(open.failure_threshold, 3);
}

TEST(Load, EachHookHasItsOwnDefaultTimeout) {
  const Loaded loaded = LoadText(R"(
[[resource]]
name = "a.com/x"
  [[resource.match]]
  path = "/dev/x*"
  [resource.hooks]
  pre_start = { command = ["/bin/a"] }
  allocate = { command = ["/bin/b"] }
  release = { command = ["/bin/c"] }
)");
  ASSERT_TRUE(loaded.model) << loaded.diagnostics.RenderText();
  const ResourceSpec& spec = loaded.model->resources[0];
  EXPECT_EQ(spec.pre_start->timeout, std::chrono::seconds(20));
  EXPECT_EQ(spec.allocate->timeout, std::chrono::seconds(5));
  EXPECT_EQ(spec.release->timeout, std::chrono::seconds(60));
}

}  // namespace
}  // namespace patchbay
