#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "convert_support.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

test::Outcome Generic(const std::string& text, const ConvertHints& hints = {}) {
  return test::Converted(ForeignProgram::kGenericDevicePlugin, text, hints);
}

/// Like Generic, for a node on which the short names in this file are devices, not directories.
test::Outcome OnNode(const std::string& text) {
  ConvertHints hints;
  hints.dev.emplace();
  for (const char* name : {"a", "b", "c", "d", "e", "a/x", "b/x"}) hints.dev->push_back({name});
  return test::Converted(ForeignProgram::kGenericDevicePlugin, text, hints);
}

/// Returns a configuration file with one device. Its groups start at line 5, one for each line.
std::string WithGroups(const std::string& groups) {
  return "domain: a.com\ndevices:\n- name: x1\n  groups:\n" + groups;
}

test::Outcome Groups(const std::string& groups) { return OnNode(WithGroups(groups)); }

TEST(GenericDevicePluginTest, ConvertsAPathToAMatch) {
  const auto outcome = Groups("  - paths: [{path: '/dev/tty*'}]\n");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(
      outcome.toml,
      "# Converted from generic-device-plugin: in.yaml. Comments mark differences in meaning.\n"
      "\n"
      "[[resource]]\n"
      "name = \"a.com/x1\"\n"
      "\n"
      "  [[resource.match]]\n"
      "  path = \"/dev/tty*\"\n"
      "\n"
      "  [[resource.device_node]]\n"
      "  permissions = \"rwm\"\n");
}

struct GroupCase {
  const char* groups;
  std::vector<std::string> toml;  ///< substrings of the output
  std::string findings = "";
};

const std::string kPairs =
    " warning generic-device-plugin pairs the matches of these patterns by sort order; Patchbay "
    "groups the nodes for which the * matches the same ";
const std::string kSeparate =
    "5:5 warning if several such devices are plugged in, generic-device-plugin combines them into "
    "one device; in Patchbay, each is a separate device\n";
const std::string kMissingMount =
    " warning if the path is missing, generic-device-plugin advertises no devices; in Patchbay, "
    "the "
    "container does not start\n";

TEST(GenericDevicePluginTest, ConvertsEverySupportedFeature) {
  const GroupCase cases[] = {
      {"  - {count: 10, paths: [{path: /dev/fuse, permissions: wr}]}\n",
       {"replicas = 10\n", "path = \"/dev/fuse\"\n"}},
      // In Go patterns, braces are literal, ^ negates a class, and ** matches one level.
      {"  - paths: [{path: '/dev/[^a-c]{x}/**/?'}]\n", {R"(path = '/dev/[!a-c]\{x\}/*/?')"}},
      {"  - paths: [{path: ' /dev/a ', mountPath: /dev/b/}]\n",
       {"path = \"/dev/a\"", "container_path = \"/dev/b/{name}\""}},
      {"  - paths: [{path: /dev/a, mountPath: '/dev/{b}'}]\n", {"container_path = \"/dev/{{b}}\""}},
      {"  - paths: [{path: /dev/dri, mountPath: /gpu}]\n",
       {"regex = \"/dev/(?P<group>dri)/(?P<below>(?:[^b]|b[^y]|by[^-]).*)\"",
        "container_path = \"/gpu/{below}\""}},
      // The group is the whole path, so that directories with the same name are separate devices.
      {"  - paths: [{path: /dev/bus/usb}]\n  - paths: [{path: /dev/usb}]\n",
       {"regex = \"/dev/(?P<group>bus/usb)/(?:[^b]|b[^y]|by[^-]).*\"",
        "regex = \"/dev/(?P<group>usb)/(?:[^b]|b[^y]|by[^-]).*\""}},
      {"  - paths: [{path: /dev/a.b}, {path: /dev/c, optional: true}]\n",
       {R"(regex = '/(?P<group>dev)/(?:a\.b|c)')", "id = \"{group}:a.b+c\"",
        "require = \"/dev/a.b\""}},
      {"  - paths: [{path: /dev/a, permissions: r}, {path: /dev/b, mountPath: /dev/c}]\n",
       {"host_path = \"/dev/a\"\n  permissions = \"r\"",
        "host_path = \"/dev/b\"\n  container_path = \"/dev/c\"\n  permissions = \"rwm\""}},
      // Two numbered sets with the same container paths.
      {"  - paths: [{path: /dev/a0}, {path: /dev/b0x}]\n"
       "  - paths: [{path: /dev/a1, mountPath: /dev/a0}, {path: /dev/b1x, mountPath: /dev/b0x}]\n",
       {"path = [\"/dev/a0\", \"/dev/b0x\"]\n  together = true\n",
        "path = [\"/dev/a1\", \"/dev/b1x\"]\n  together = true\n",
        "[[resource.match.device_node]]\n    host_path = \"/dev/b1x\"\n"
        "    container_path = \"/dev/b0x\""}},
      {"  - paths: [{path: /dev/v0}]\n  - paths: [{path: /dev/v1, mountPath: /dev/v0}]\n",
       {"path = \"/dev/v0\"", "path = \"/dev/v1\"", "container_path = \"/dev/v0\""}},
      {"  - paths: [{path: '/dev/v*'}, {path: '/dev/m*', mountPath: /dev/m/}]\n",
       {"regex = \"/dev/(?:v|m)(?P<pair>[^/]*?)(?:|)\"", "container_path = \"/dev/m/m{pair}\"",
        "the * matches the same text"},
       "5:20" + kPairs + "text\n"},
      {"  - paths: [{path: '/dev/v*'}, {path: '/dev/vm*', optional: true}]\n",
       {"regex = \"/dev/v(?:|m)(?P<pair>[^/]*?)(?:|)\"", "require = \"/dev/v*\""},
       "5:20" + kPairs + "text\n"},
      {"  - paths: [{path: '/dev/v*'}, {path: /dev/fuse, limit: 9, optional: true}]\n",
       {"host_path = \"/dev/fuse\"", "optional = true", "the limit of 9 is not enforced"},
       "5:39 warning the limit of 9 is not enforced; every device includes /dev/fuse\n"},
      {"  - {count: 3, paths: [{path: /dev/fuse, limit: 9}]}\n",
       {"replicas = 3\n",
        "  # The limit of 9 of /dev/fuse is not converted: it has no effect, because no other path "
        "of the\n  # group finds more nodes.\n  [[resource.match]]"}},
      {"  - paths: [{path: '/dev/tty*', limit: 2}]\n", {"# The limit of 2 of /dev/tty* is not"}},
      {"  - paths: [{path: '/run/a/*.sock', type: Mount, mountPath: /run/}]\n",
       {"type = \"any\"", "host_path = \"{path}\"\n  container_path = \"/run/{name}\"",
        "read_only = false"}},
      {"  - paths: [{path: /opt/a, type: Mount, readOnly: true}, {path: /opt/b, type: Mount}]\n",
       {"path = \"/opt/a\"", "host_path = \"/opt/a\"\n  read_only = true",
        "host_path = \"/opt/b\"\n  read_only = false"},
       "5:65" + kMissingMount},
      {"  - paths: [{path: /dev/shm, type: Mount}]\n",
       {"# Difference: if this is a device, the container is also allowed to open it"},
       "5:20 warning if this is a device, the container is also allowed to open it\n"},
      {"  - paths: [{path: /dev/a}, {path: /opt/b, type: Mount, optional: true}]\n",
       {"host_path = \"/opt/b\"\n  read_only = false\n  optional = true\n"}},
      {"  - usb: [{vendor: '1A86', product: '7523', serial: 'A*'}]\n",
       {"usb = \"1a86:7523\"", R"(serial = 'A\*')", "udev = { subsystem = \"usb\" }"}},
      {"  - usb: [{vendor: '403', product: '0001'}]\n  - paths: [{path: /dev/a}]\n",
       {"usb = \"0403:0001\"", "[[resource.match.device_node]]\n    permissions = \"rwm\""},
       kSeparate},
      // One device that has another ID after its firmware is loaded.
      {"  - {usb: [{vendor: '1', product: '2'}, {vendor: '1', product: '2'}, {vendor: '3', "
       "product: '4'}]}\n",
       {"usb = [\"0001:0002\", \"0003:0004\"]", "id = \"{usb_port}\""},
       kSeparate},
      {"  - usb: [{vendor: '1', product: '2'}, {vendor: '3', product: '4', serial: x}]\n",
       {"usb = \"0001:0002\"", "usb = \"0003:0004\"\n  serial = \"x\""},
       kSeparate},
      // Groups with different container paths or permissions.
      {"  - paths: [{path: /dev/a}]\n  - paths: [{path: /dev/b, mountPath: /dev/c}]\n"
       "  - paths: [{path: /dev/d, mountPath: /dev/c, permissions: r}]\n",
       {"    [[resource.match.device_node]]\n    container_path = \"/dev/c\"\n"
        "    permissions = \"rwm\"",
        "    [[resource.match.device_node]]\n    container_path = \"/dev/c\"\n"
        "    permissions = \"r\"",
        "# Difference: if a container requests several devices, they would have the same path"},
       "5:5 warning if a container requests several devices, they would have the same path in it; "
       "Patchbay rejects the request\n"},
      {"  - paths: [{path: /dev/a}, {path: /dev/b}]\n"
       "  - paths: [{path: /dev/c, mountPath: /dev/a}, {path: /dev/d, mountPath: /dev/b}]\n",
       {"host_path = \"/dev/d\"\n    container_path = \"/dev/b\""}},
      // Nodes with the same name in two directories.
      {"  - paths: [{path: /dev/a/x}]\n  - paths: [{path: /dev/b/x}]\n", {"id = \"{path}\""}},
      // Go ignores the case of keys.
      {"  - Paths: [{PATH: /dev/a, mountpath: /dev/b}]\n    COUNT: 2\n",
       {"replicas = 2", "container_path = \"/dev/b\""}}};
  for (const GroupCase& test_case : cases) {
    const auto outcome = Groups(test_case.groups);
    EXPECT_EQ(outcome.findings, test_case.findings) << test_case.groups;
    for (const std::string& toml : test_case.toml) {
      EXPECT_THAT(outcome.toml, HasSubstr(toml)) << test_case.groups;
    }
  }
}

TEST(GenericDevicePluginTest, TheLastGroupWithAPathApplies) {
  const auto same = Groups(
      "  - paths: [{path: /dev/a}]\n  - paths: [{path: /dev/b}]\n"
      "  - paths: [{path: /dev/a, mountPath: /dev/c, permissions: r}]\n");
  EXPECT_EQ(
      same.findings,
      "5:5 warning the plugin uses the group at in.yaml:7 instead, which has the same paths\n");
  EXPECT_EQ(same.toml.find("\"/dev/a\""), same.toml.rfind("\"/dev/a\""));
  EXPECT_THAT(same.toml, HasSubstr("path = \"/dev/a\"\n\n    [[resource.match.device_node]]\n"
                                   "    container_path = \"/dev/c\"\n    permissions = \"r\"\n"));
  const auto together = Groups(
      "  - paths: [{path: /dev/a}, {path: /dev/b}]\n  - paths: [{path: /dev/a}, {path: /dev/b}]\n");
  EXPECT_THAT(together.toml, Not(HasSubstr("a+b-2")));
  const auto position = [](const std::string& first, const std::string& second) {
    const auto toml = Groups("  - paths: [{path: '" + first + "'}]\n  - paths: [{path: '" + second +
                             "', permissions: r}]\n")
                          .toml;
    return toml.find("permissions = \"r\"\n") < toml.find("permissions = \"rwm\"\n");
  };
  EXPECT_TRUE(position("/dev/ttyUSB*", "/dev/ttyUSB0"));
  EXPECT_TRUE(position("/dev/ttyUSB0", "/dev/tty*"));
  EXPECT_FALSE(position("/dev/tty0", "/dev/tty00"));
}

TEST(GenericDevicePluginTest, WarnsThatAnOptionalPathIsRequired) {
  const auto finding = [](const std::string& place, const std::string& path) {
    return place + " warning if " + path +
           " is missing, generic-device-plugin advertises the other "
           "paths of the group; Patchbay advertises no device\n";
  };
  EXPECT_THAT(
      Groups("  - paths: [{path: '/dev/v*', optional: true}, {path: /dev/a, limit: 9}]\n").findings,
      StartsWith(finding("5:20", "/dev/v*")));
  EXPECT_THAT(
      Groups("  - paths: [{path: /dev/a, optional: true}, {path: /opt/b, type: Mount}]\n").findings,
      StartsWith(finding("5:20", "/dev/a")));
  EXPECT_THAT(Groups("  - paths: [{path: /opt/a, optional: true, type: Mount}, {path: /opt/b, "
                     "type: Mount}]\n")
                  .findings,
              HasSubstr(finding("5:20", "/opt/a")));
  EXPECT_EQ(Groups("  - paths: [{path: '/dev/v*', optional: true}]\n").findings, "");
}

struct Wrong {
  const char* groups;
  const char* finding;  ///< the beginning of the first finding
};

TEST(GenericDevicePluginTest, ReportsUnsupportedInputWithItsLocation) {
  const Wrong cases[] = {
      {"  - {count: 2, paths: [{path: /dev/a}]}\n  - paths: [{path: /dev/b}]\n",
       "6:5 error the count of this group, 1, differs from that of the first one, 2;"},
      {"  - {count: 10001, paths: [{path: /dev/a}]}\n", "5:13 error `count` must be at most 10000"},
      {"  - {count: '2', paths: [{path: /dev/a}]}\n", "5:13 error `count` must be a whole number"},
      {"  - {count: 010, paths: [{path: /dev/a}]}\n", "5:13 error `count` must be a whole number"},
      {"  - {count: 99999999999999999999, paths: [{path: /dev/a}]}\n",
       "5:13 error `count` must be at m"},
      {"  - paths: [{path: dev/a}]\n", "5:20 error `path` must be an absolute path"},
      {"  - paths: [{path: '/dev/[a'}]\n", "5:20 error \"[\" is not closed"},
      {"  - paths: [{path: /dev/../a}]\n", "5:20 error a path cannot contain \"..\""},
      {"  - paths: [{path: [a]}]\n", "5:20 error `path` must be a string"},
      {"  - paths: {path: /dev/a}\n", "5:12 error `paths` must be a list"},
      {"  - paths: [{path: /dev/a, type: Socket}]\n", "5:34 error `type` must be Device or Mount"},
      {"  - paths: [{path: /dev/a, permissions: rwx}]\n", "5:41 error `permissions` must be"},
      {"  - paths: [{path: /dev/a, optional: maybe}]\n", "5:38 error `optional` must be true or"},
      {"  - paths: [{path: /dev/a, mountPath: b}]\n", "5:39 error `mountPath` must be an absolute"},
      {"  - paths: [{path: '/dev/v*'}, {path: /dev/fuse}]\n",
       "5:39 error /dev/fuse has no `limit`"},
      {"  - paths: [{path: '/dev/v[0-3]'}, {path: '/dev/m*'}]\n",
       "5:20 error generic-device-plugin pairs the matches of several globs"},
      {"  - paths: [{path: /dev/a}, {path: /opt/b}]\n",
       "5:20 error all paths of a device with several paths"},
      {"  - paths: [{path: /dev/a}, {path: '/opt/*', type: Mount}]\n",
       "5:36 error a glob with `type: Mount` in a group with other paths"},
      {"  - paths: [{path: /dev/a}]\n  - paths: [{path: /dev/b}, {path: /opt/b, type: Mount}]\n",
       "6:5 error this group has different mounts"},
      {"  - {usb: [{vendor: '1', product: '2'}], paths: [{path: /dev/a}]}\n",
       "5:5 error a group cannot have both `paths` and `usb`"},
      {"  - usb: [{vendor: '0x1', product: '2'}]\n", "5:20 error `vendor` must be one to four hex"},
      {"  - usb: [{vendor: '1'}]\n", "5:11 error the entry has no `product`"},
      {"  - count: 1\n", "5:5 error the group has neither `paths` nor `usb`"},
      {"  - text\n", "5:5 error a group must be a map"},
      {"  []\n", "3:9 error \"x1\" has no groups"}};
  for (const Wrong& wrong : cases) {
    const auto outcome = Groups(wrong.groups);
    EXPECT_THAT(outcome.toml, HasSubstr("\n# NOT CONVERTED: ")) << wrong.groups;
    EXPECT_THAT(outcome.findings, StartsWith(wrong.finding)) << wrong.groups;
  }
}

TEST(GenericDevicePluginTest, WarnsOfIgnoredKeys) {
  const auto outcome = Groups("  - paths: [{path: /dev/a, mountPaht: /dev/b}]\n    color: red\n");
  EXPECT_EQ(outcome.findings,
            "5:28 warning unknown key `mountPaht`; generic-device-plugin ignores it\n"
            "6:5 warning unknown key `color`; generic-device-plugin ignores it\n");
  EXPECT_THAT(outcome.toml, HasSubstr("path = \"/dev/a\""));
}

/// The time must not grow with the product of unknown keys and all keys.
TEST(GenericDevicePluginTest, ReadsFilesWithManyUnknownKeys) {
  std::string text = "domain: a.com\ndevices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n";
  for (int i = 0; i < 20'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const auto outcome = Generic(text);
  EXPECT_THAT(outcome.findings, StartsWith("3:1 warning unknown key `k0`"));
  EXPECT_THAT(outcome.toml, HasSubstr("\"a.com/x1\""));
}

TEST(GenericDevicePluginTest, KeepsUnquotedNumbersVerbatim) {
  const auto in_file = Groups("  - usb: [{vendor: 1050, product: '0407'}]\n");
  EXPECT_THAT(in_file.toml,
              AllOf(HasSubstr("usb = \"1050:0407\""), HasSubstr("# vendor 1050 has no quotes")));
  const auto in_flag = Generic(
      "args: ['--domain=a.com', --device, \"{name: x1, groups: [{usb: [{vendor: 1050, product: "
      "0407}]}]}\"]\n");
  EXPECT_THAT(in_flag.toml, AllOf(HasSubstr("usb = \"1050:0407\""), Not(HasSubstr("# vendor")),
                                  HasSubstr("# product 0407 has no quotes")));
}

/// Go's YAML reads more forms of numbers than digits. 0bda, a vendor, is not one of them.
TEST(GenericDevicePluginTest, WarnsOfEveryNumberWithoutQuotes) {
  const std::string ending = " has no quotes, so generic-device-plugin reads a different number\n";
  for (const std::string product : {"1e10", "0e10", "1E1", "0b10", "0407"}) {
    const std::string usb = "usb: [{vendor: '1050', product: " + product + ", serial: x}]";
    const auto in_file = Groups("  - " + usb + "\n");
    EXPECT_EQ(in_file.findings, "5:37 warning product " + product + ending);
    EXPECT_THAT(in_file.toml, HasSubstr("# product " + product + " has no quotes"));
    const auto in_flag =
        Generic("args: ['--domain=a.com', --device, \"{name: x1, groups: [{" + usb + "}]}\"]\n");
    EXPECT_THAT(in_flag.findings, HasSubstr("warning product " + product + ending));
  }
  for (const char* serial : {"0123", "1e5", "12345678901234567890", "0x12", "1_0", "1.50"}) {
    EXPECT_EQ(
        Groups(Format("  - usb: [{{vendor: '1', product: '2', serial: {}}}]\n", serial)).findings,
        Format("5:47 warning serial {}{}", serial, ending));
  }
  for (const char* usb : {"vendor: 0bda, product: 8e1f, serial: 123",
                          "vendor: '1e10', product: '0',"
                          " serial: '0123'",
                          "vendor: e10, product: 1e, serial: 1e5x"}) {
    EXPECT_EQ(Groups(Format("  - usb: [{{{}}}]\n", usb)).findings, "") << usb;
  }
  EXPECT_THAT(
      Generic("genericDevicePlugin:\n  status: Enabled\n  devices: [{name: x1, groups: [{usbs: "
              "[{vendor: 0xab12, product: '0x1', serial: x}]}]}]\n")
          .findings,
      HasSubstr("warning vendor 0xab12" + ending));
}

TEST(GenericDevicePluginTest, LocatesErrorsInFlagsInTheManifest) {
  const std::string head =
      "apiVersion: apps/v1\n"
      "kind: DaemonSet\n"
      "spec:\n"
      "  containers:\n"
      "  - args:\n"
      "    - --domain\n"
      "    - a.com\n";
  EXPECT_EQ(Generic(head + "    - --device\n"
                           "    - |\n"
                           "      name: x1\n"
                           "      groups:\n"
                           "      - paths:\n"
                           "        - path: relative\n")
                .findings,
            "13:17 error `path` must be an absolute path\n");
  EXPECT_EQ(
      Generic(head + "    - \"--device={name: x1, groups: [{paths: [{path: rel}]}]}\"\n").findings,
      "8:53 error `path` must be an absolute path\n");
  EXPECT_EQ(Generic(head + "    - '--device={name: x1, groups: [{paths: [{path: }]}]}'\n").findings,
            "8:46 error `path` must be an absolute path\n");
  EXPECT_THAT(Generic(head + "    - --device\n    - |\n      a: [\n").findings,
              StartsWith("9:7 error invalid YAML"));
  EXPECT_EQ(Generic(head + "    - --device\n    - [a]\n").findings,
            "9:7 error --device must be followed by a string\n");
}

TEST(GenericDevicePluginTest, SearchesConfigMapsAndLists) {
  const std::string config_map =
      "kind: ConfigMap\n"
      "data:\n"
      "  other: 'a: ['\n"
      "  config.yaml: |\n"
      "    devices:\n"
      "    - name: x1\n"
      "      groups: [{paths: [{path: /dev/a0}]}]\n";
  const std::string daemon_set =
      "---\n"
      "kind: DaemonSet\n"
      "containers: [{image: 'ghcr.io/squat/generic-device-plugin:0.2.0', args: [--config, /c]}]\n";
  const auto outcome = Generic(config_map + daemon_set);
  EXPECT_EQ(outcome.findings, "");
  EXPECT_THAT(outcome.toml, HasSubstr("name = \"devic.es/x1\""));
  std::string indented = "kind: List\nitems:\n- ";
  for (const char c : config_map) indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
  EXPECT_THAT(Generic(indented).toml, HasSubstr("name = \"squat.ai/x1\""));
}

/// Manifests of a whole namespace, in which other programs also have flags and ConfigMaps.
std::string WithNeighbors(const std::string& container) {
  return "kind: List\n"
         "items:\n"
         "- kind: ConfigMap\n"
         "  metadata: {name: devices}\n"
         "  data:\n"
         "    config.yaml: 'devices: [{name: x1, groups: [{paths: [{path: /dev/a0}]}]}]'\n"
         "- kind: DaemonSet\n"
         "  spec:\n"
         "    containers: [" +
         container +
         "]\n"
         "    volumes: [{name: config, configMap: {name: devices}}]\n"
         "- kind: DaemonSet\n"
         "  spec:\n"
         "    containers:\n"
         "    - name: kube-proxy\n"
         "      image: 'registry.k8s.io/kube-proxy:v1.30.2'\n"
         "      command: [kube-proxy, --config=/var/lib/kube-proxy/config.conf, --domain=no.org]\n"
         "      volumeMounts: [{name: config}]\n"
         "    volumes: [{name: config, configMap: {name: kube-proxy}}]\n";
}

TEST(GenericDevicePluginTest, UsesTheContainerThatReadsTheFile) {
  const std::pair<const char*, const char*> cases[] = {
      {"{image: 'squat/generic-device-plugin:0.1.0', args: [--config, /c]}", "squat.ai"},
      {"{image: 'squat/generic-device-plugin:0.2.0', args: [--config-file, /c]}", "devic.es"},
      // The plugin reads its file from the default path.
      {"{image: 'squat/generic-device-plugin:0.2.0'}", "devic.es"},
      {"{image: 'squat/generic-device-plugin', args: [--domain, acme.io]}", "acme.io"},
      // The image in a mirror has a different name.
      {"{image: 'm/x:0.2.0', command: [/generic-device-plugin], args: [--config=/c]}", "devic.es"},
      {"{name: generic-device-plugin, image: 'mirror/x:0.1.0'}", "squat.ai"},
      {"{image: 'mirror/x:0.2.0', volumeMounts: [{name: config}]}", "devic.es"},
      {"{image: 'mirror/x', args: [--domain=acme.io], volumeMounts: [{name: config}]}", "acme.io"},
      // A sidecar that watches the ConfigMap mounts it too.
      {"{image: 'squat/generic-device-plugin:0.2.0', volumeMounts: [{name: config}]}, "
       "{image: 'reload:0.1.0', args: [--domain=no.org], volumeMounts: [{name: config}]}",
       "devic.es"}};
  for (const auto& [container, domain] : cases) {
    const auto outcome = Generic(WithNeighbors(container));
    EXPECT_EQ(outcome.findings, "") << container;
    EXPECT_THAT(outcome.toml, HasSubstr(std::string("\"") + domain + "/x1\"")) << container;
  }
}

TEST(GenericDevicePluginTest, AssignsEachPluginItsOwnFile) {
  std::string text;
  for (const std::string name : {"one", "two"}) {
    text += "---\nkind: ConfigMap\nmetadata: {name: " + name +
            "}\ndata:\n  config.yaml: '{devices: [" + "{name: " + name +
            ", groups: [{paths: [{path: /dev/a0}]}]}]}'\n---\n" +
            "containers: [{image: generic-device-plugin, args: [--domain=" + name +
            ".org], volumeMounts: [{name: v}]}]\n" +
            "volumes: [{name: v, configMap: {name: " + name + "}}]\n";
  }
  const auto outcome = Generic(text);
  EXPECT_EQ(outcome.findings, "");
  EXPECT_THAT(outcome.toml, AllOf(HasSubstr("\"one.org/one\""), HasSubstr("\"two.org/two\"")));
}

TEST(GenericDevicePluginTest, ReadsOnlyArgumentsOfThePlugin) {
  const std::string device = "'{name: x1, groups: [{paths: [{path: /dev/a0}]}]}'";
  const std::string other = "- containers: [{image: 'nvidia/x:1', args: [--device=all, --x]}]\n";
  const std::string args = ", args: [--domain=a.com, --device, " + device + "]";
  for (const std::string& container :
       {"image: 'squat/generic-device-plugin:0.2.0'" + args,
        "image: 'mirror/x', name: generic-device-plugin" + args,
        "image: 'mirror/x', command: [/tini, --, /bin/generic-device-plugin]" + args,
        "image: 'mirror/x', name: generic-device-plugin, command: [/tini, --, /plugin]" + args}) {
    const auto outcome = Generic(other + "- containers: [{" + container + "}]\n");
    EXPECT_EQ(outcome.findings, "") << container;
    EXPECT_THAT(outcome.toml, HasSubstr("\"a.com/x1\"")) << container;
  }
  // A container with a different name cannot be distinguished from the other containers.
  EXPECT_THAT(Generic(other + "- containers: [{image: 'mirror/x'" + args + "}]\n").findings,
              HasSubstr("1:54 error a device must be a map"));
}

TEST(GenericDevicePluginTest, ReadsTheFlagsInASimpleShellCommand) {
  const std::string flags = " --domain a.com -device=x1,/dev/a0";
  const std::string commands[] = {
      "command: [sh, -c, 'exec generic-device-plugin" + flags + "']",
      "command: [/tini, --, /bin/bash, -e, -xec, ' /bin/generic-device-plugin" + flags + " ']",
      "command: [sh, -c]\nargs:\n- |\n  exec generic-device-plugin \\\n   " + flags,
      "env: [{name: FLAGS, value: '" + flags +
          "'}]\ncommand: [sh, -c, 'exec generic-device-plugin "
          "$(FLAGS)']",
      "image: m/x\ncommand: [sh, -c, 'exec /plugin" + flags +
          " --config /etc/generic-device-plugin/config.yaml']"};
  for (const std::string& command : commands) {
    const auto outcome = Generic(command + "\n");
    EXPECT_EQ(outcome.findings, "") << command;
    EXPECT_THAT(outcome.toml, HasSubstr("name = \"a.com/x1\"")) << command;
  }
  EXPECT_EQ(Generic("command: [sh, -c, 'exec generic-device-plugin --device=x1,/dev/a0 --domian=a "
                    "b']\nimage: x:0.2.0\n")
                .findings,
            "1:19 warning unknown flag `--domian` for generic-device-plugin; it is ignored\n"
            "1:19 warning unexpected argument \"b\"; it is ignored\n");
}

TEST(GenericDevicePluginTest, NamesTheFlagsInAnyOtherShellCommand) {
  const std::string file =
      "config: {devices: [{name: x1, groups: [{paths: [{path: /dev/a0}]}]}]}\n";
  const auto in = [&](const std::string& script, const ConvertHints& hints = {}) {
    return Generic("image: x:0.2.0\ncommand: [sh, -c, \"" + script + "\"]\n" + file, hints);
  };
  const std::string cannot_read = "2:19 warning cannot read ";
  const auto sleeping = in("sleep 5; exec generic-device-plugin --config=/c/x");
  EXPECT_EQ(sleeping.findings,
            cannot_read +
                "--config in the shell command: sleep 5; exec generic-device-plugin "
                "--config=/c/x\n");
  EXPECT_THAT(sleeping.toml, HasSubstr("name = \"devic.es/x1\""));
  EXPECT_EQ(in("exec generic-device-plugin $FLAGS").findings,
            cannot_read + "the flags in the shell command: exec generic-device-plugin $FLAGS\n");
  const std::pair<std::string, std::string> scripts[] = {
      {"exec generic-device-plugin --domain=$D", "$D"},
      {"DOMAIN=a.com exec generic-device-plugin", "DOMAIN"},
      {"exec generic-device-plugin --domain=$(cat /d)", "$(cat"},
      {"exec generic-device-plugin --domain=$()", "$()"},
      {"if true; then exec generic-device-plugin --domain a.com; fi", "a.com;"}};
  for (const auto& [script, domain] : scripts) {
    const auto outcome = in(script);
    EXPECT_THAT(outcome.findings,
                AllOf(HasSubstr("2:19 error the domain is not known: " + domain + "\n"),
                      HasSubstr(cannot_read)))
        << script;
    EXPECT_THAT(outcome.toml, Not(HasSubstr("devic.es"))) << script;
    EXPECT_THAT(in(script, {.domain = "b.com"}).toml, HasSubstr("name = \"b.com/x1\"")) << script;
  }
  // The plugin ignores its file.
  const auto device = in("exec generic-device-plugin --device 'x2,/dev/b0'");
  EXPECT_EQ(device.findings,
            "2:19 error cannot read --device in the shell command: exec generic-device-plugin "
            "--device 'x2,/dev/b0'\n"
            "3:9 warning the devices in this configuration are not converted\n");
  EXPECT_THAT(device.toml, AllOf(HasSubstr("\n# NOT CONVERTED: arguments of a container\n"),
                                 Not(HasSubstr("x1"))));
}

TEST(GenericDevicePluginTest, WarnsOfUnknownFlags) {
  const auto with = [](const std::string& args) {
    return Generic("image: generic-device-plugin:0.1.0\nargs:\n" + args +
                   "- --device=x1,/dev/a0\n");
  };
  const std::pair<const char*, const char*> cases[] = {
      {"- --doman=foo.io\n",
       "3:3 warning unknown flag `--doman` for generic-device-plugin; it is ignored\n"},
      {"- --bogus\n- x\n", "3:3 warning unknown flag `--bogus` for"},
      {"- --bogus\n", "3:3 warning unknown flag `--bogus` for"},
      {"- -d\n- x1,/dev/a1\n", "3:3 warning unknown flag `-d` for"},
      {"- x2,/dev/a1\n", "3:3 warning unexpected argument \"x2,/dev/a1\"; it is ignored\n"}};
  for (const auto& [args, finding] : cases) {
    const auto outcome = with(args);
    EXPECT_THAT(outcome.findings, StartsWith(finding)) << args;
    EXPECT_EQ(std::count(outcome.findings.begin(), outcome.findings.end(), '\n'), 1) << args;
    EXPECT_THAT(outcome.toml, HasSubstr("\"squat.ai/x1\"")) << args;
  }
  const auto known = with(
      "- --config-file=/c\n- --domain=squat.ai\n- --version\n- --log-level\n- debug\n- -listen=:1\n"
      "- --plugin-directory\n- --device\n- --\n");
  EXPECT_EQ(known.findings,
            "8:3 warning not converted: --listen = :1\n"
            "10:3 warning not converted: --plugin-directory = --device\n");
  EXPECT_EQ(
      with("- --listen=:8080\n- --plugin-directory=/var/lib/kubelet/device-plugins/\n").findings,
      "");
  // Also without devices in the arguments.
  EXPECT_THAT(
      Generic("image: generic-device-plugin:0.1.0\nargs: ['--listen=:1']\nconfig: {devices: "
              "[{name: x1, groups: [{paths: [{path: /dev/a0}]}]}]}\n")
          .findings,
      HasSubstr("2:8 warning not converted: --listen = :1"));
  EXPECT_THAT(known.toml, AllOf(HasSubstr("--log-level = debug."), HasSubstr("--listen = :1."),
                                HasSubstr("--plugin-directory = --device.")));
}

TEST(GenericDevicePluginTest, RejectsFlagsWithoutValue) {
  const std::string head = "image: generic-device-plugin:0.1.0\nargs:\n";
  EXPECT_EQ(Generic(head + "- --device=x1,/dev/a0\n- --device\n").findings,
            "4:3 error --device has no value\n");
  EXPECT_EQ(Generic("args: [--device]\n").findings, "1:8 error --device has no value\n");
  EXPECT_EQ(Generic(head + "- --device=x1,/dev/a0\n- --domain\n").findings,
            "4:3 error --domain has no value\n");
  const Conversion slip = Convert(ForeignProgram::kGenericDevicePlugin,
                                  {"in.yaml", head + "- --devices\n- x1,/dev/a0\n"}, {});
  EXPECT_THAT(slip.diagnostics.RenderText(),
              AllOf(HasSubstr("unknown flag `--devices`"), HasSubstr("did you mean `--device`?"),
                    HasSubstr("no configuration of generic-device-plugin found")));
}

TEST(GenericDevicePluginTest, SkipsInvalidYamlIfOtherConfigExists) {
  const std::string readme =
      "kind: ConfigMap\ndata:\n  README: 'Edit this: file to choose a device: see docs'\n---\n";
  const auto outcome = Generic(readme + WithGroups("  - paths: [{path: /dev/a0}]\n"));
  EXPECT_THAT(outcome.findings, StartsWith("3:46 warning invalid YAML"));
  EXPECT_THAT(outcome.toml, HasSubstr("\"a.com/x1\""));
  const auto alone = Generic(readme);
  EXPECT_THAT(alone.findings, HasSubstr("3:46 error invalid YAML"));
  EXPECT_EQ(alone.toml, "");
}

TEST(GenericDevicePluginTest, TreatsOnlyKnownDirectoriesAsDirectories) {
  const std::string text = WithGroups(
      "  - paths: [{path: /dev/mapper}]\n  - paths: [{path: /dev/fuse}]\n"
      "  - paths: [{path: /dev/pcmC0D0c}]\n  - paths: [{path: /dev/bus/usb/001}]\n");
  const auto blind = Generic(text);
  EXPECT_THAT(blind.toml,
              AllOf(HasSubstr("# Assumed to be devices: /dev/bus/usb/001, /dev/mapper. If"),
                    HasSubstr("path = \"/dev/mapper\"")));
  ConvertHints hints;
  hints.dev = {{"bus/usb/001", true}, {"mapper", true}, {"snd", false}};
  const auto seen = test::Converted(ForeignProgram::kGenericDevicePlugin, text, hints);
  EXPECT_EQ(seen.findings, "");
  EXPECT_THAT(seen.toml,
              AllOf(HasSubstr("regex = \"/dev/(?P<group>mapper)/(?:[^b]|b[^y]|by[^-]).*\"\n"
                              "  allow_mounted = true\n"),
                    Not(HasSubstr("# Assumed"))));
}

TEST(GenericDevicePluginTest, DerivesTheDomainFromTheVersion) {
  const std::string flag =
      ", args: [--device, '{name: x1, groups: [{paths: [{path: /dev/a0}]}]}']}";
  const auto domain = [&](const std::string& image) { return Generic("{image: " + image + flag); };
  EXPECT_THAT(domain("'squat/x:0.1.0@sha256:1'").toml, HasSubstr("\"squat.ai/x1\""));
  EXPECT_EQ(domain("'squat/x:0.1.0'").findings, "");
  EXPECT_THAT(domain("'localhost:5000/x:v1.0'").toml, HasSubstr("\"devic.es/x1\""));
  const auto unknown = domain("'localhost:5000/x'");
  EXPECT_THAT(unknown.findings, HasSubstr("warning no domain specified; assuming squat.ai"));
  EXPECT_THAT(unknown.toml, HasSubstr("convert again with --domain devic.es"));
  const auto given = test::Converted(ForeignProgram::kGenericDevicePlugin, "{image: x" + flag,
                                     {"mine.com", std::nullopt});
  EXPECT_EQ(given.findings, "");
  EXPECT_THAT(given.toml, HasSubstr("\"mine.com/x1\""));
}

TEST(GenericDevicePluginTest, DoesNotConvertProgramSettings) {
  EXPECT_THAT(Generic("domain: a.com\nlisten: ':80'\n" +
                      WithGroups("  - paths: [{path: /dev/a}]\n").substr(14))
                  .toml,
              HasSubstr("# Not converted: listen = :80."));
}

TEST(GenericDevicePluginTest, RejectsDuplicateAndInvalidNames) {
  const std::string device = "- name: x1\n  groups: [{paths: [{path: /dev/a0}]}]\n";
  EXPECT_THAT(Generic("domain: a.com\ndevices:\n" + device + device).findings,
              StartsWith("5:9 warning a.com/x1 is the same as at in.yaml:3"));
  const auto twice = Generic("domain: a.com\ndevices:\n" + device +
                             "- name: x1\n  groups: [{paths: [{path: /dev/b0}]}]\n");
  EXPECT_THAT(twice.findings,
              StartsWith("5:9 error duplicate device a.com/x1, first defined at in.yaml:3"));
  EXPECT_THAT(twice.toml,
              AllOf(HasSubstr("path = \"/dev/a0\""), HasSubstr("\n#     path = \"/dev/b0\"\n")));
  EXPECT_THAT(Generic("domain: a_b\ndevices:\n" + device).findings,
              StartsWith("3:9 error invalid resource name a_b/x1: "));
}

TEST(GenericDevicePluginTest, RejectsInputWithoutConfiguration) {
  for (const std::string text :
       {"", "a: b\n", "- a\n", "kind: DaemonSet\nargs: [--foo]\n", "text"}) {
    const auto outcome = Generic(text);
    EXPECT_EQ(outcome.toml, "") << text;
    EXPECT_EQ(outcome.findings, "0:0 error no configuration of generic-device-plugin found\n")
        << text;
  }
}

TEST(GenericDevicePluginTest, EscapesForeignTextInCommentsAndStrings) {
  const auto outcome = Generic(
      "domain: a.com\nlog-level: \"x\\n[[resource]]\\nname = 1\"\ndevices:\n- name: x1\n  groups:\n"
      "  - paths: [{path: \"/dev/a0\\\"\\t\\\\\\u2028\"}]\n");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_THAT(outcome.toml, HasSubstr("log-level = x\\x0a[[resource]]"));
}

}  // namespace
}  // namespace patchbay
