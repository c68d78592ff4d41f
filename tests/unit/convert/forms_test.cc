// The formats of plugin configurations, one file in files/ for each.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/format.h"
#include "config/toml_writer.h"
#include "convert_support.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Content(const std::string& name) {
  std::ifstream file(std::string(PATCHBAY_SOURCE_DIR) + "/tests/unit/convert/files/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

test::Outcome ConvertedFile(const std::string& name, const ConvertHints& hints = {}) {
  const auto from = name.starts_with("smarter") ? ForeignProgram::kSmarterDeviceManager
                                                : ForeignProgram::kGenericDevicePlugin;
  return test::Converted(from, Content(name), hints);
}

/// Returns the names of the resources and, if above 1, their replicas: "a.com/x*10 a.com/y".
std::string Resources(const std::string& toml) {
  const Loaded loaded = LoadTexts({{"patchbay.toml", toml}});
  std::string names;
  if (!loaded.model) return "not valid";
  for (const auto& spec : loaded.model->resources) {
    names += (names.empty() ? "" : " ") + spec.name;
    if (spec.replicas != 1) names += "*" + std::to_string(spec.replicas);
  }
  return names;
}

const std::string kSeparateUsb =
    " warning if several such devices are plugged in, generic-device-plugin combines them into one "
    "device; in Patchbay, each is a separate device\n";

struct Form {
  const char* file;
  const char* resources;
  std::string findings = "";
};

TEST(FormsTest, ConvertsEveryForm) {
  const Form forms[] = {
      {"helmrelease-config-maps.yaml", "kernel.org/tun*1000 kernel.org/zigbee"},
      {"helmrelease-anchors.yaml", "devic.es/tun*10 devic.es/fuse"},
      {"values-text.yaml", "devic.es/dri*4"},
      {"values-list.yaml", "example.com/kvm*100"},
      {"microshift-config.yaml", "device.example.com/serial device.example.com/converter",
       "13:11" + kSeparateUsb},
      {"smarter-values.yaml",
       "smarter-devices/snd*20 smarter-devices/ttyUSB0 smarter-devices/ttyUSB1"},
      {"smarter-helmrelease.yaml", "smarter-devices/dri_renderD128*10"},
      {"coral.yaml", "coral.ai/usb*4", "5:9" + kSeparateUsb},
      {"rockchip.yaml", "rockchip.example.com/npu*10"},
      {"mount-paths.yaml", "example.com/radio"},
      {"tty-console.yaml", "example.com/console",
       "7:19 warning the limit of 9 is not enforced; every device includes /dev/tty0\n"},
      // The annotation with the last applied configuration has another count.
      {"applied.yaml", "example.com/fuse*20"}};
  for (const Form& form : forms) {
    const auto outcome = ConvertedFile(form.file);
    EXPECT_EQ(outcome.findings, form.findings) << form.file;
    EXPECT_EQ(Resources(outcome.toml), form.resources) << form.file;
    EXPECT_THAT(outcome.toml, Not(HasSubstr("NOT CONVERTED"))) << form.file;
  }
}

TEST(FormsTest, UsbProductsOfAGroupAreOneMatchWithTheIdOfThePort) {
  EXPECT_THAT(
      ConvertedFile("coral.yaml").toml,
      HasSubstr("  # The IDs of a group are usually those of one device before and after its "
                "firmware is loaded. It\n"
                "  # stays the same device, because its ID is the port.\n"
                "  [[resource.match]]\n"
                "  usb = [\"1a6e:089a\", \"18d1:9302\"]\n"
                "  udev = { subsystem = \"usb\" }\n"
                "  id = \"{usb_port}\"\n"));
  EXPECT_THAT(ConvertedFile("microshift-config.yaml").toml, HasSubstr("usb = \"1a86:7523\""));
}

TEST(FormsTest, MicroShiftHasADomainAndAStatus) {
  const auto outcome = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "genericDevicePlugin:\n  devices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n");
  EXPECT_EQ(outcome.findings,
            "2:3 warning the plugin is not enabled in MicroShift; it is converted\n");
  EXPECT_EQ(Resources(outcome.toml), "device.microshift.io/x1");
}

TEST(FormsTest, MicroShiftOutputEndsWithTheStatusToSet) {
  EXPECT_THAT(ConvertedFile("microshift-config.yaml").toml,
              testing::EndsWith("\n\n# When you deploy this file, disable the plugin of MicroShift "
                                "in its config.yaml:\n# genericDevicePlugin, status: Disabled.\n"));
  EXPECT_THAT(ConvertedFile("coral.yaml").toml, Not(HasSubstr("MicroShift")));
}

TEST(FormsTest, ExplainsTheExpressionForTheNodesOfADirectory) {
  EXPECT_THAT(
      ConvertedFile("rockchip.yaml").toml,
      HasSubstr("  # (?:[^b]|b[^y]|by[^-]).* matches all nodes in the directory without the "
                "directories by-id,\n  # by-path and the like.\n"));
  EXPECT_THAT(ConvertedFile("smarter-values.yaml").toml,
              HasSubstr("without the directories by-id"));
}

TEST(FormsTest, ConvertsTheDirectoriesOfRockchipBoards) {
  EXPECT_THAT(ConvertedFile("rockchip.yaml").toml,
              HasSubstr("require = [\"/dev/dri/**\", \"/dev/dma_heap/**\", \"/dev/mali0\", "
                        "\"/dev/mpp_service\", \"/dev/rga\"]"));
}

TEST(FormsTest, GroupsKeepTheirContainerPathsAndPermissions) {
  const std::string toml = ConvertedFile("mount-paths.yaml").toml;
  EXPECT_THAT(toml, HasSubstr("    [[resource.match.device_node]]\n"
                              "    container_path = \"/dev/zigbee\"\n"
                              "    permissions = \"rwm\"\n"));
  EXPECT_THAT(toml, HasSubstr("    container_path = \"/dev/zwave\"\n"
                              "    permissions = \"rw\"\n"));
  EXPECT_THAT(toml, Not(HasSubstr("[[resource.device_node]]")));
}

TEST(FormsTest, ReplacesPathsInTheContainerAndWarnsOfPathsOutsideDev) {
  const auto outcome = ConvertedFile("host-dev.yaml");
  EXPECT_EQ(outcome.findings,
            "16:29 warning /host/dev/apex_0 is /dev/apex_0 on the host\n"
            "22:29 warning /run/udev/data is not below /dev, so it probably matches nothing\n");
  EXPECT_THAT(outcome.toml, HasSubstr("path = \"/dev/apex_0\"\n"));
  // The chart app-template; a longer mount wins.
  const auto chart = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "persistence:\n"
      "  dev: {type: hostPath, hostPath: /dev/, globalMounts: [{path: /host/dev/}]}\n"
      "  none: {type: hostPath, hostPath: /no, globalMounts: [{path: ''}]}\n"
      "  host: {type: hostPath, hostPath: /, advancedMounts: {main: {main: [{path: /host}]}}}\n"
      "controllers: {main: {containers: {main: {image: {repository: generic-device-plugin, tag: "
      "0.2.0}}}}}\n"
      "config: |\n"
      "  devices:\n"
      "  - name: x1\n"
      "    groups: [{paths: [{path: /host/dev/apex_0}, {path: /host/dev/apex_1}]}]\n"
      "  - name: x2\n"
      "    groups: [{paths: [{path: /host/opt/x, type: Mount}]}]\n");
  EXPECT_THAT(chart.toml,
              AllOf(HasSubstr("path = [\"/dev/apex_0\", \"/dev/apex_1\"]\n  together = true\n"),
                    HasSubstr("path = \"/opt/x\"")));
  // A file alone does not contain the mounts.
  EXPECT_EQ(test::Converted(ForeignProgram::kGenericDevicePlugin,
                            "domain: a.com\ndevices: [{name: x1, groups: [{paths: [{path: "
                            "/host/dev/apex_0}]}]}]\n")
                .findings,
            "2:47 warning /host/dev/apex_0 is not below /dev, so it probably matches nothing\n");
}

TEST(FormsTest, WarnsOfPathsThatMayBeDirectories) {
  const auto findings = [](const std::string& path) {
    return test::Converted(
               ForeignProgram::kGenericDevicePlugin,
               "domain: a.com\ndevices:\n- name: x1\n  groups: [{paths: [{path: " + path + "}]}]\n")
        .findings;
  };
  EXPECT_EQ(findings("/dev/mapper"),
            "4:28 warning /dev/mapper is converted as a device; it may be a directory\n");
  for (const char* path : {"/dev/dma_heap", "/dev/rga", "/dev/zfs", "/dev/video0", "/dev/a.b",
                           "/dev/serial/by-id/usb-zigbee", "'/dev/tty*'", "/dev/bus/usb/001/002",
                           "/dev/cpu/0/msr", "/dev/vfio/12", "/dev/pts/0", "/dev/md/0"}) {
    EXPECT_EQ(findings(path), "") << path;
  }
  for (const char* path : {"/dev/bus/usb/001", "/dev/cpu/0", "/dev/vg0"}) {
    EXPECT_THAT(findings(path), HasSubstr("it may be a directory")) << path;
  }
}

TEST(FormsTest, WarnsOnlyOfUnusualPathsThatMayBeDirectories) {
  EXPECT_EQ(ConvertedFile("common-nodes.yaml").findings, "");
  const auto unusual = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "domain: a.com\ndevices:\n- {name: x1, groups: [{paths: [{path: /dev/dri/by-path}]}]}\n"
      "- {name: x2, groups: [{paths: [{path: /dev/dvb/adapter0}]}]}\n");
  EXPECT_EQ(unusual.findings,
            "3:39 warning /dev/dri/by-path is converted as a device; it may be a directory\n"
            "4:39 warning /dev/dvb/adapter0 is converted as a device; it may be a directory\n");
}

TEST(FormsTest, UsesTheDomainOfTheFileThatTheContainerReads) {
  const auto outcome = ConvertedFile("domain-in-config-map.yaml");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(Resources(outcome.toml), "media.example.com/tun*10");
  // In the values of a chart, the file is next to the container.
  const auto chart = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "image: generic-device-plugin\nargs: [--device, '{name: x1, groups: [{paths: [{path: "
      "/dev/x0}]}]}']\nconfig:\n  domain: b.com\n  devices: [{name: x2, groups: [{paths: [{path: "
      "/dev/x0}]}]}]\n");
  EXPECT_EQ(Resources(chart.toml), "b.com/x1");
}

TEST(FormsTest, UsesTheDomainOfAFileInTheValuesWithoutDevices) {
  const auto outcome = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "controllers: {main: {type: daemonset, containers: {main: {image: 'generic-device-plugin:"
      "latest', args: [--device, 'x1,/dev/x0']}}}}\n"
      "configMaps: {c: {data: {config.yaml: 'domain: file.com'}}}\n"
      "persistence: {c: {type: configMap, identifier: c, globalMounts: [{path: "
      "/etc/generic-device-plugin}]}}\n");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(Resources(outcome.toml), "file.com/x1");
}

TEST(FormsTest, TheVariableDomainReplacesTheDomainOfTheFile) {
  const auto outcome = ConvertedFile("domain-in-variable.yaml");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(Resources(outcome.toml), "media.example.com/tun*10");
  const auto both = [](const std::string& value, const std::string& args) {
    return Resources(
        test::Converted(ForeignProgram::kGenericDevicePlugin,
                        "image: generic-device-plugin\nenv: {DOMAIN: '" + value + "'}\nargs: [" +
                            args +
                            "]\nconfig:\n  domain: file.com\n  devices: [{name: x1, groups: "
                            "[{paths: [{path: /dev/x0}]}]}]\n")
            .toml);
  };
  EXPECT_EQ(both("variable.com", ""), "variable.com/x1");
  EXPECT_EQ(both("variable.com", "--domain=flag.com"), "flag.com/x1");
  EXPECT_EQ(both("", ""), "file.com/x1");
}

TEST(FormsTest, TheVariableDomainCanComeFromAConfigMapOfTheInput) {
  const auto file = ConvertedFile("domain-in-environment.yaml");
  EXPECT_EQ(file.findings, "");
  EXPECT_EQ(Resources(file.toml), "media.example.com/tun*10");
}

/// Converts a container with the given environment, from line 7. The input has three ConfigMaps.
Conversion WithEnvironment(const std::string& environment, const std::string& arguments = "",
                           const ConvertHints& hints = {}) {
  const std::string text =
      "kind: DaemonSet\nmetadata: {namespace: here}\nspec:\n  containers:\n"
      "  - image: generic-device-plugin:0.2.0\n    args: [" +
      arguments + "--device, '{name: x1, groups: [{paths: [{path: /dev/x0}]}]}']\n" + environment +
      "\n---\nkind: ConfigMap\nmetadata: {name: one}\n"
      "data: {DOMAIN: one.com, AIN: prefix.com, EMPTY: null}\n"
      "---\nkind: ConfigMap\nmetadata: {name: two, namespace: here}\n"
      "data: {DOMAIN: two.com}\nbinaryData: {BINARY: dHdvLmNvbQ==}\n"
      "---\nkind: ConfigMap\nmetadata: {name: two, namespace: elsewhere}\n"
      "data: {DOMAIN: elsewhere.com}\n"
      "---\nkind: ConfigMap\nmetadata: {name: three, namespace: elsewhere}\n"
      "data: {DOMAIN: elsewhere.com}\n";
  return Convert(ForeignProgram::kGenericDevicePlugin, {"in.yaml", text}, hints);
}

TEST(FormsTest, TheVariableDomainHasTheSourceThatWinsInKubernetes) {
  struct Environment {
    const char* text;
    const char* resource;
  };
  const Environment environments[] = {
      {"    envFrom: [{configMapRef: {name: one}}]", "one.com/x1"},
      {"    envFrom: [{configMapRef: {name: two}}]", "two.com/x1"},
      {"    envFrom: [{configMapRef: {name: two}}, {configMapRef: {name: one}}]", "one.com/x1"},
      {"    envFrom: [{configMapRef: {name: one}, prefix: DOM}]", "prefix.com/x1"},
      {"    envFrom: [{configMapRef: {name: one}}, {configMapRef: {name: two}, prefix: X_}]",
       "one.com/x1"},
      {"    envFrom: [{configMapRef: {name: one}}, {secretRef: {name: a}, prefix: X_}]",
       "one.com/x1"},
      {"    envFrom: [{secretRef: {name: a}}, {configMapRef: {name: one}}]", "one.com/x1"},
      {"    env: [{name: DOMAIN, value: env.com}]\n    envFrom: [{configMapRef: {name: one}}]",
       "env.com/x1"},
      {"    env: [{name: DOMAIN, value: env.com}]\n    envFrom: [{secretRef: {name: a}}]",
       "env.com/x1"},
      {"    env: [{name: DOMAIN}]\n    envFrom: [{configMapRef: {name: one}}]", "devic.es/x1"},
      {"    env:\n    - {name: DOMAIN, value: env.com}\n"
       "    - {name: DOMAIN, valueFrom: {configMapKeyRef: {name: one, key: AIN}}}",
       "prefix.com/x1"},
      {"    env:\n    - {name: DOMAIN, valueFrom: {secretKeyRef: {name: a, key: b}}}\n"
       "    - {name: DOMAIN, value: env.com}",
       "env.com/x1"},
      {"    env: [{name: DOMAIN, valueFrom: {configMapKeyRef: {name: one, key: EMPTY}}}]",
       "devic.es/x1"},
      {"    env: [{name: DOMAIN, valueFrom: {configMapKeyRef: {name: one, key: domain, optional: "
       "true}}}]\n    envFrom: [{configMapRef: {name: two}}]",
       "two.com/x1"},
      {"    env: [{name: domain, valueFrom: {configMapKeyRef: {name: one, key: AIN}}}]",
       "devic.es/x1"},
      // In the values of charts.
      {"    env: {DOMAIN: {valueFrom: {configMapKeyRef: {name: one, key: AIN}}}}", "prefix.com/x1"},
      {"    env: {DOMAIN: {configMapKeyRef: {name: one, key: AIN}}}", "prefix.com/x1"}};
  for (const auto& [text, resource] : environments) {
    const Conversion conversion = WithEnvironment(text);
    EXPECT_EQ(conversion.diagnostics.RenderText(), "") << text;
    EXPECT_EQ(Resources(conversion.text.value_or("")), resource) << text;
  }
}

TEST(FormsTest, WarnsThatTheVariableDomainIsNotInTheInput) {
  const auto secret = ConvertedFile("domain-in-secret.yaml");
  EXPECT_EQ(secret.findings,
            "13:17 warning the variable DOMAIN can come from {\"secretKeyRef\": {\"name\": "
            "\"plugin\", \"key\": \"domain\"}}, which is not in the input; assuming devic.es\n");
  EXPECT_EQ(Resources(secret.toml), "devic.es/tun*10");
  EXPECT_THAT(secret.toml, HasSubstr("\n# A domain is assumed, because its source"));

  const std::string use =
      "use --domain with the domain of the resources that `kubectl describe node` shows";
  const auto pass = [](const std::string& name) {
    return Format("pass the ConfigMap {0} too (`kubectl get configmap {0} -n here -o yaml`), or ",
                  name);
  };
  const std::pair<std::string, std::string> environments[] = {
      {"    envFrom: [{secretRef: {name: a}}]", use},
      {"    envFrom: [{configMapRef: {name: one}}, {configMap: one}]", use},
      {"    envFrom: [{configMapRef: {name: one}}, {configMapRef: {name: a, optional: true}}]",
       pass("a") + use},
      {"    envFrom: [{configMapRef: {name: three}}]", pass("three") + use},
      {"    env: [{name: DOMAIN, valueFrom: {configMapKeyRef: {name: a, key: b}}}]",
       pass("a") + use},
      {"    env: [{name: DOMAIN, valueFrom: {configMapKeyRef: {name: two, key: BINARY}}}]", use},
      {"    env: [{name: DOMAIN, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]", use},
      {"    env: {DOMAIN: {secretKeyRef: {name: a, key: b}}}", use}};
  for (const auto& [text, hint] : environments) {
    const Conversion conversion = WithEnvironment(text);
    const auto findings = conversion.diagnostics.Sorted();
    ASSERT_EQ(findings.size(), 1u) << text << "\n" << conversion.diagnostics.RenderText();
    EXPECT_EQ(findings[0].code, "assumed") << text;
    EXPECT_EQ(findings[0].place.line, 7) << text;
    EXPECT_THAT(findings[0].message, testing::StartsWith("the variable DOMAIN can come from {\""));
    EXPECT_EQ(findings[0].hint, hint) << text;
    EXPECT_EQ(Resources(conversion.text.value_or("")), "devic.es/x1") << text;
    // The flag wins, and the domain of the caller.
    EXPECT_EQ(WithEnvironment(text, "--domain, flag.com, ").diagnostics.RenderText(), "") << text;
    EXPECT_EQ(WithEnvironment(text, "", {.domain = "a.com"}).diagnostics.RenderText(), "") << text;
  }
}

TEST(FormsTest, NotesThatTheOtherPluginIsADeployment) {
  const auto outcome = ConvertedFile("deployment.yaml");
  const std::string difference =
      "the plugin is a Deployment, which runs on some nodes; Patchbay is a DaemonSet, which runs "
      "on all nodes";
  EXPECT_EQ(outcome.findings, "2:7 warning " + difference + "\n");
  EXPECT_THAT(outcome.toml, HasSubstr("# Difference: the plugin is a Deployment, which runs on"));
  const auto chart =
      test::Converted(ForeignProgram::kGenericDevicePlugin,
                      "controllers:\n  main:\n    type: deployment\n    containers: {main: {image: "
                      "'generic-device-plugin:0.2.0', args: [--device, 'x1,/dev/x0']}}\n");
  EXPECT_EQ(chart.findings, "3:11 warning " + difference + "\n");
}

TEST(FormsTest, NotesEveryWorkloadThatIsNotADaemonSet) {
  const auto findings = [](const std::string& object) {
    return test::Converted(ForeignProgram::kGenericDevicePlugin,
                           object +
                               "spec: {containers: [{image: 'generic-device-plugin:0.2.0', "
                               "args: [--device, 'x1,/dev/x0']}]}\n")
        .findings;
  };
  for (const char* kind :
       {"StatefulSet", "ReplicaSet", "ReplicationController", "Pod", "Job", "CronJob"}) {
    EXPECT_EQ(findings(Format("kind: {}\n", kind)),
              Format("1:7 warning the plugin is a {}, which runs on some nodes; Patchbay is a "
                     "DaemonSet, which runs on all nodes\n",
                     kind));
  }
  EXPECT_EQ(findings("kind: Pod\nmetadata: {ownerReferences: [{kind: DaemonSet}]}\n"), "");
  EXPECT_THAT(findings("kind: Deployment\nmetadata: {ownerReferences: [{kind: DaemonSet}]}\n"),
              HasSubstr("the plugin is a Deployment"));
  EXPECT_THAT(test::Converted(ForeignProgram::kGenericDevicePlugin,
                              "controllers: {main: {type: statefulset, containers: {main: {image: "
                              "'generic-device-plugin:0.2.0', args: [--device, 'x1,/dev/x0']}}}}\n")
                  .findings,
              HasSubstr("the plugin is a StatefulSet, which"));
  // All workloads of the input count.
  EXPECT_EQ(findings("kind: DaemonSet\nspec: {containers: [{image: 'generic-device-plugin:0.2.0', "
                     "args: [--device, 'x2,/dev/x0']}]}\n---\nkind: Job\n"),
            "4:7 warning the plugin is a Job, which runs on some nodes; Patchbay is a DaemonSet, "
            "which runs on all nodes\n");
}

TEST(FormsTest, NotesThatAppTemplateMakesADeploymentWithoutAType) {
  const std::string difference =
      "without a `type`, app-template makes the plugin a Deployment, which runs on some nodes; "
      "Patchbay is a DaemonSet, which runs on all nodes";
  const auto outcome = ConvertedFile("app-template-without-type.yaml");
  EXPECT_EQ(outcome.findings, "9:9 warning " + difference + "\n");
  EXPECT_THAT(outcome.toml, HasSubstr("# Difference: without a `type`, app-template makes the"));
  // Up to version 1, `controller` has the type.
  EXPECT_EQ(ConvertedFile("app-template-old.yaml").findings, "7:5 warning " + difference + "\n");
  const auto old = [](const std::string& controller) {
    return test::Converted(ForeignProgram::kGenericDevicePlugin,
                           "image: generic-device-plugin:0.2.0\nargs: [--device, 'x1,/dev/x0']\n" +
                               controller + "persistence: {dev: {type: hostPath}}\n")
        .findings;
  };
  EXPECT_EQ(old("controller: {replicas: 1}\n"), "3:13 warning " + difference + "\n");
  EXPECT_EQ(old("controller: {type: daemonset}\n"), "");
  EXPECT_THAT(old("controller: {type: deployment}\n"),
              testing::StartsWith("3:20 warning the plugin is a Deployment, which"));
  // Another chart has its own default.
  std::string other = Content("app-template-old.yaml");
  other.replace(other.find("app-template"), 12, "generic-device-plugin");
  EXPECT_EQ(test::Converted(ForeignProgram::kGenericDevicePlugin, other).findings, "");
}

TEST(FormsTest, RejectsAKeyThatIsNotIndented) {
  const auto outcome = ConvertedFile("smarter-unindented.yaml");
  EXPECT_EQ(outcome.findings,
            "2:1 error invalid YAML: this does not belong to the list or map before it\n");
  EXPECT_EQ(outcome.toml, "");
}

TEST(FormsTest, WarnsOfUsbNumbersWithoutQuotesAndMissingOnes) {
  const auto outcome = ConvertedFile("usb-numbers.yaml");
  EXPECT_EQ(
      outcome.findings,
      "5:9" + kSeparateUsb +
          "6:21 warning vendor 1050 has no quotes, so generic-device-plugin reads a different "
          "number\n"
          "11:13 error the entry has no `product`\n"
          "11:30 warning unknown key `productID`; generic-device-plugin ignores it\n"
          "13:13 error the entry has no `product`\n");
  EXPECT_THAT(outcome.toml, AllOf(HasSubstr("usb = \"1050:0407\""),
                                  HasSubstr("Hint: did you mean `product` instead of `productID`?"),
                                  HasSubstr("Hint: add the `product` that `lsusb` prints")));
}

TEST(FormsTest, WarnsThatNamesAreNotComplete) {
  const auto outcome = ConvertedFile("smarter-wildcards.yaml");
  EXPECT_EQ(outcome.findings,
            "1:16 warning names with the same beginning become the devices of one resource\n"
            "3:16 warning of the numbers in these names, only 0 to 9 are listed\n");
  EXPECT_THAT(outcome.toml,
              AllOf(HasSubstr("path = \"/dev/ttyUSB*\"\n"), HasSubstr("path = \"/dev/video9\"\n")));
}

TEST(FormsTest, PlainPathsOfAGroupAreAList) {
  const auto outcome = ConvertedFile("plain-group.yaml");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_THAT(outcome.toml, HasSubstr("  [[resource.match]]\n"
                                      "  path = [\"/dev/kvm\", \"/dev/net/tun\", "
                                      "\"/dev/vhost-net\"]\n"
                                      "  together = true\n"));
  // Groups with the same names need different IDs.
  const auto twice =
      test::Converted(ForeignProgram::kGenericDevicePlugin,
                      "domain: a.com\ndevices:\n- name: x1\n  groups:\n"
                      "  - paths: [{path: /dev/a/x0}, {path: /dev/a/y0}]\n"
                      "  - paths: [{path: /dev/b/x0}, {path: /dev/b/y0}, {path: /dev/b/y0}]\n");
  EXPECT_THAT(twice.toml, HasSubstr("  path = [\"/dev/b/x0\", \"/dev/b/y0\"]\n"
                                    "  together = true\n"
                                    "  id = \"x0+y0-2\"\n"));
}

TEST(FormsTest, OnlyTheFirstDocumentOfATextIsAConfiguration) {
  const auto outcome =
      test::Converted(ForeignProgram::kGenericDevicePlugin,
                      "kind: ConfigMap\ndata:\n  config.yaml: |\n    domain: a.com\n"
                      "    devices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n    ---\n"
                      "    domain: b.com\n"
                      "    devices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n");
  EXPECT_EQ(Resources(outcome.toml), "a.com/x1");
  EXPECT_EQ(outcome.findings,
            "7:5 warning the plugin reads only the first YAML document of a text\n");
  const auto smarter = test::Converted(ForeignProgram::kSmarterDeviceManager,
                                       "kind: ConfigMap\ndata:\n  conf.yaml: |\n    a: b\n    ---\n"
                                       "    - {devicematch: ^kvm$, nummaxdevices: 1}\n");
  EXPECT_EQ(smarter.findings,
            "6:5 error the plugin reads only the first YAML document of a text\n");
}

TEST(FormsTest, PartsOfValuesThatAreNotEnabledAreNotConverted) {
  const auto controller = [](const std::string& name, const std::string& enabled) {
    return "  " + name + ": {enabled: " + enabled +
           ", type: daemonset, containers: {main: {image: "
           "'generic-device-plugin:0.2.0', args: [--device, '" +
           name + ",/dev/x0']}}}\n";
  };
  const auto outcome = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "enabled: false\ncontrollers:\n" + controller("x1", "false") + controller("x2", "true") +
          "persistence: {dev: {enabled: false, hostPath: /a, path: /dev}}\n");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(Resources(outcome.toml), "devic.es/x2");
  // The file of the plugin has no such key.
  EXPECT_EQ(
      Resources(test::Converted(ForeignProgram::kGenericDevicePlugin,
                                "kind: ConfigMap\ndata:\n  config.yaml: |\n    enabled: false\n"
                                "    domain: a.com\n    devices: [{name: x1, groups: [{paths: "
                                "[{path: /dev/x0}]}]}]\n")
                    .toml),
      "a.com/x1");
}

TEST(FormsTest, DataMustNotBeAList) {
  EXPECT_EQ(ConvertedFile("config-data-list.yaml").findings,
            "4:3 error `data` is a list; it must be a map, with this list as its `devices`\n");
  for (const char* item : {"domain: a.com", "config.yaml"}) {
    EXPECT_EQ(test::Converted(ForeignProgram::kGenericDevicePlugin,
                              Format("kind: ConfigMap\ndata:\n- {}\n", item))
                  .findings,
              "3:1 error `data` is a list; it must be a map of file names and texts\n");
  }
}

TEST(FormsTest, NamesTheConfigMapThatTheInputDoesNotContain) {
  const auto hint = [](const std::string& text) {
    return Convert(ForeignProgram::kGenericDevicePlugin, {"in.yaml", text}, {})
        .diagnostics.Sorted()
        .front()
        .hint;
  };
  const std::string text = Content("config-map-elsewhere.yaml");
  EXPECT_EQ(hint(text),
            "pass the ConfigMap plugin-config too (`kubectl get configmap plugin-config -o yaml`)");
  EXPECT_EQ(hint(text + "---\nkind: ConfigMap\nmetadata: {name: plugin-config}\n"),
            "add the key `config.yaml` to the ConfigMap plugin-config");
  EXPECT_EQ(hint("image: generic-device-plugin\npersistence: {c: {type: configMap, name: x}}\n"),
            "pass the ConfigMap x too (`kubectl get configmap x -o yaml`)");
}

TEST(FormsTest, APlaceholderBecomesANote) {
  for (const std::string& text : {Content("placeholder.yaml"), std::string("devices:\n"),
                                  std::string("domain: a.com\ndevices: []\n")}) {
    const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, text);
    EXPECT_THAT(outcome.findings,
                testing::MatchesRegex("1:1 warning the configuration has no devices\n"))
        << text;
    EXPECT_THAT(outcome.toml, testing::EndsWith("\n# The configuration has no devices.\n")) << text;
  }
}

TEST(FormsTest, DaemonSetsForLabelsOfNodesNeedPools) {
  const auto outcome = ConvertedFile("two-daemonsets.yaml");
  EXPECT_EQ(outcome.findings,
            "29:23 error duplicate device squat.ai/render, first defined at in.yaml:13\n"
            "31:23 warning squat.ai/fuse is the same as at in.yaml:15\n");
  EXPECT_EQ(Resources(outcome.toml), "squat.ai/render*8 squat.ai/fuse*10");
  EXPECT_THAT(outcome.toml, AllOf(HasSubstr("the nodes with {\"gpu\": \"amd\"}"),
                                  HasSubstr("--output helm"), HasSubstr("\n#   replicas = 2\n")));
}

TEST(FormsTest, DaemonSetsForNamedNodesHaveOnNodes) {
  const auto outcome = ConvertedFile("named-nodes.yaml");
  EXPECT_EQ(outcome.findings,
            "15:38 warning only some pods of the plugin have devic.es/fuse; the output has it for "
            "all nodes\n"
            "29:23 warning devic.es/render differs from the one at in.yaml:13; both are "
            "converted, with the names of their nodes in `on_nodes`\n"
            "31:23 warning devic.es/fuse is the same as at in.yaml:15\n"
            "50:23 warning devic.es/render is the same as at in.yaml:13\n");
  EXPECT_EQ(Resources(outcome.toml), "devic.es/render*8 devic.es/fuse*10 devic.es/render*2");
  EXPECT_THAT(outcome.toml, AllOf(HasSubstr("replicas = 8\non_nodes = [\"nuc-1\", \"nuc-3\"]\n"),
                                  HasSubstr("replicas = 2\non_nodes = [\"nuc-2\"]\n")));
  EXPECT_THAT(outcome.toml, HasSubstr("name = \"devic.es/fuse\"\nreplicas = 10\n\n"));
}

TEST(FormsTest, WarnsOfResourcesThatOnlySomeNodesHave) {
  const auto daemon_set = [](const std::string& nodes, const std::string& name) {
    return "kind: DaemonSet\nspec: {" + nodes +
           "containers: [{image: 'generic-device-plugin:0.2.0', "
           "args: [--device, '" +
           name + ",/dev/x0']}]}\n---\n";
  };
  const auto findings = [](const std::string& text) {
    return test::Converted(ForeignProgram::kGenericDevicePlugin, text).findings;
  };
  const std::string a = "nodeSelector: {kubernetes.io/hostname: a}, ";
  const std::string b = "nodeSelector: {rack: b}, ";
  EXPECT_THAT(findings(daemon_set(a, "x1") + daemon_set(b, "x2")),
              HasSubstr(" warning only some pods of the plugin have devic.es/x2; the"));
  EXPECT_THAT(findings(daemon_set(b, "x1") + daemon_set("", "x2")),
              HasSubstr(" warning only some pods of the plugin have devic.es/x1; the output"));
  EXPECT_EQ(findings(daemon_set(b, "x1") + daemon_set(b, "x2")), "");
  EXPECT_THAT(findings(daemon_set(a, "x1") + daemon_set(b, "x1")), Not(HasSubstr("only some")));
  std::string smarter;
  for (const std::string name : {"video0", "video1"}) {
    smarter += "kind: DaemonSet\nspec:\n  nodeSelector: {has: " + name +
               "}\n  containers: [{image: smarter-device-manager, volumeMounts: [{name: c}]}]\n"
               "  volumes: [{name: c, configMap: {name: " +
               name +
               "}}]\n---\nkind: ConfigMap\n"
               "metadata: {name: " +
               name + "}\ndata:\n  conf.yaml: |\n    - {devicematch: ^" + name +
               "$, nummaxdevices: " + name.back() +
               "}\n    - {devicematch: ^kvm$, "
               "nummaxdevices: 1" +
               name.back() + "}\n---\n";
  }
  smarter.replace(smarter.find("nummaxdevices: 0"), 16, "nummaxdevices: 2");
  const auto outcome = test::Converted(ForeignProgram::kSmarterDeviceManager, smarter);
  EXPECT_EQ(outcome.findings,
            "11:21 warning only some pods of the plugin have smarter-devices/video0; the output "
            "has it for all nodes\n"
            "24:21 warning only some pods of the plugin have smarter-devices/video1; the output "
            "has it for all nodes\n"
            "25:21 warning smarter-devices/kvm differs from the one at in.yaml:12, which is "
            "converted\n");
}

/// Returns the names of the pools in values, and the texts in front of and behind them.
std::string HelmOf(const std::string& text, const ForeignProgram from) {
  const Conversion conversion = Convert(from, {"in.yaml", text}, {.needs_helm = true});
  std::string helm;
  for (const Diagnostic& d : conversion.diagnostics.Sorted()) {
    helm += std::to_string(d.place.line) + " " + d.message + "\n";
  }
  return helm + conversion.text.value_or("");
}

TEST(FormsTest, HelmHasAPoolForEachChoiceOfNodes) {
  const std::string helm =
      HelmOf(Content("two-daemonsets.yaml"), ForeignProgram::kGenericDevicePlugin);
  EXPECT_THAT(helm, testing::StartsWith("pools:\n"
                                        "  \"intel\":\n"
                                        "    nodeSelector: {\"gpu\": \"intel\"}\n"
                                        "    tolerations: []\n"
                                        "    config: |\n"
                                        "      # Converted from generic-device-plugin"));
  EXPECT_THAT(helm, AllOf(HasSubstr("      replicas = 8\n"),
                          HasSubstr("\n  \"amd\":\n    nodeSelector: {\"gpu\": \"amd\"}\n"),
                          HasSubstr("      replicas = 2\n"), Not(HasSubstr("NOT CONVERTED"))));
}

TEST(FormsTest, HelmReleasesForDifferentNodesBecomeOne) {
  const std::string helm =
      HelmOf(Content("two-helmreleases.yaml"), ForeignProgram::kGenericDevicePlugin);
  EXPECT_THAT(helm, testing::StartsWith("27 HelmRelease plugin-arm is not part of the output\n"
                                        "apiVersion: source"));
  EXPECT_THAT(helm,
              AllOf(HasSubstr("metadata: {\"name\": \"plugin-x86\", \"namespace\": \"devices\"}"),
                    HasSubstr("\n    pools:\n      \"amd64\":\n        nodeSelector: "
                              "{\"kubernetes.io/arch\": \"amd64\"}\n"),
                    HasSubstr("\n      \"arm64\":\n        nodeSelector: {\"kubernetes.io/arch\": "
                              "\"arm64\"}\n        tolerations: [{\"operator\": \"Exists\"}]\n"),
                    HasSubstr("          name = \"devic.es/render\"\n          replicas = 4\n"),
                    HasSubstr("          name = \"devic.es/render\"\n          replicas = 2\n")));
}

TEST(FormsTest, PoolsOfAListShareTheFileThatTheyRead) {
  std::string text;
  for (const std::string node : {"{rack: a}", "{rack: b}"}) {
    text += "kind: DaemonSet\nspec:\n  nodeSelector: " + node +
            "\n  containers: [{image: smarter-device-manager, volumeMounts: [{name: c}]}]\n"
            "  volumes: [{name: c, configMap: {name: smarter}}]\n---\n";
  }
  text +=
      "kind: ConfigMap\nmetadata: {name: smarter}\ndata:\n  conf.yaml: |\n"
      "    - {devicematch: ^kvm$, nummaxdevices: 2}\n    - {devicematch: .*, nummaxdevices: 1}\n";
  const std::string helm = HelmOf(text, ForeignProgram::kSmarterDeviceManager);
  EXPECT_THAT(helm, AllOf(HasSubstr("  \"a\":\n"), HasSubstr("  \"b\":\n")));
  const std::string name = "name = \"smarter-devices/kvm\"";
  EXPECT_NE(helm.find(name), helm.rfind(name));
  // The finding in the shared file is reported once, and is a comment in both configurations.
  std::size_t count = 0;
  const std::string finding = "does not show these";
  for (auto at = helm.find(finding); at != std::string::npos; ++count) {
    at = helm.find(finding, at + 1);
  }
  EXPECT_EQ(count, 3U);
}

TEST(FormsTest, PoolsHaveValidAndDistinctNames) {
  const auto pods = [](const std::vector<std::string>& nodes) {
    std::string text;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      text += "kind: DaemonSet\nspec:\n  " + nodes[i] +
              "\n  containers: [{image: 'generic-device-plugin:0.2.0', args: [--device, '{name: x" +
              std::to_string(i) + ", groups: [{paths: [{path: /dev/x0}]}]}']}]\n---\n";
    }
    return HelmOf(text, ForeignProgram::kGenericDevicePlugin);
  };
  const std::string helm =
      pods({"nodeSelector: {disk: ssd, z/gpu: 'true'}", "nodeSelector: {a: Intel_Arc-A770-16GB}",
            "nodeSelector: {b: Intel_Arc-A770-16GB}", "nodeSelector: {c: '__'}",
            "affinity: {nodeAffinity: {x: y}}", "restartPolicy: Always"});
  std::string names;
  std::istringstream lines(helm);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  \"")) names += line.substr(2) + " ";
  }
  EXPECT_EQ(names,
            "\"gpu\": \"intel-arc-a7\": \"intel-arc-2\": \"pool\": \"pool-2\": \"all-nodes\": ");
  EXPECT_THAT(helm, HasSubstr("some pods of the plugin run on all nodes, and others"));

  std::vector<std::string> many;
  for (int i = 0; i < 51; ++i) many.push_back("nodeSelector: {n: v" + std::to_string(i) + "}");
  EXPECT_EQ(pods(many).substr(0, 61),
            "254 the pods of the plugin have more than 50 choices of nodes");
  EXPECT_THAT(pods({"nodeSelector: {a: b}", "nodeSelector: {a: '{{ .Values.b }}'}"}),
              testing::StartsWith("8 the nodes of a pool are not known: {\"a\": "));
}

TEST(FormsTest, LocatesErrorsInTheTextsOfPools) {
  std::string text;
  for (const char* node : {"a", "b"}) {
    text += "kind: DaemonSet\nspec:\n  nodeSelector: {n: " + std::string(node) +
            "}\n  containers:\n  - image: generic-device-plugin:0.2.0\n    args:\n"
            "    - --device\n    - |\n      name: x\n"
            "      groups: [{paths: [{path: /dev/x0}]}]\n      color: red\n---\n";
  }
  EXPECT_THAT(HelmOf(text, ForeignProgram::kGenericDevicePlugin),
              testing::StartsWith("11 unknown key `color`; generic-device-plugin ignores it\n"
                                  "23 unknown key `color`; generic-device-plugin ignores it\n"));
}

TEST(FormsTest, CutsLongUnsupportedPartsOff) {
  std::string paths;
  for (int i = 100; i < 300; ++i) paths += "{path: /dev/x" + std::to_string(i) + "}, ";
  const auto outcome = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "domain: a.com\ndevices: [{name: x, groups: [{paths: [{path: /dev/x}]}]}, {name: 'a b', "
      "groups: [{paths: [" +
          paths + "]}]}]\n");
  EXPECT_EQ(Resources(outcome.toml), "a.com/x");
  const std::size_t begin = outcome.toml.find("{\"name\": \"a b\"");
  const std::size_t end = outcome.toml.find("…", begin);
  ASSERT_NE(end, std::string::npos) << outcome.toml;
  EXPECT_GE(end - begin, kMaxRefusedText);
  EXPECT_LT(end - begin, kMaxRefusedText + 100) << "comments begin with \"#   \"";
}

TEST(FormsTest, WritesUnsupportedPartsAsComments) {
  const auto outcome = ConvertedFile("partly.yaml");
  EXPECT_EQ(Resources(outcome.toml), "example.com/good example.com/also-good");
  EXPECT_THAT(outcome.toml,
              AllOf(HasSubstr("path = \"/dev/ttyUSB0\""), HasSubstr("path = \"/dev/ttyUSB4\"")));
  for (const char* comment :
       {"# NOT CONVERTED: a group of example.com/good\n"
        "# Reason (line 6): `path` must be an absolute path.\n"
        "# Hint: start it with a slash.\n"
        "#   {\"paths\": [{\"path\": \"ttyUSB1\"}]}\n",
        "# Reason (line 7): the count of this group, 2, differs",
        "# Reason (line 10): the entry has no `product`.",
        "# Reason (line 12): \"[\" is not closed.", "# NOT CONVERTED: example.com/a b\n",
        "# Reason (line 17): the device has no `name`."}) {
    EXPECT_THAT(outcome.toml, HasSubstr(comment));
  }
  const auto smarter = test::Converted(
      ForeignProgram::kSmarterDeviceManager,
      "- {devicematch: ^kvm$, nummaxdevices: 2}\n- {devicematch: .*, nummaxdevices: 1}\n"
      "- {devicematch: ^fuse$, nummaxdevices: many}\n");
  EXPECT_EQ(Resources(smarter.toml), "smarter-devices/kvm*2");
  EXPECT_THAT(smarter.toml, AllOf(HasSubstr("# NOT CONVERTED: an entry\n# Reason (line 2): "),
                                  HasSubstr("# Reason (line 3): `nummaxdevices` must be")));
}

TEST(FormsTest, RejectsTemplatesAndSubstitutionsWithTheirLocation) {
  const auto outcome = ConvertedFile("substitutions.yaml");
  EXPECT_EQ(outcome.findings,
            "23:36 error `path` is not known: ${ZIGBEE_PATH}\n"
            "24:23 error `name` is not known: {{ .Values.name }}\n"
            "29:25 warning this text is not a configuration of the plugin\n");
  EXPECT_EQ(Resources(outcome.toml), "devic.es/tun");
  EXPECT_EQ(test::Converted(ForeignProgram::kGenericDevicePlugin,
                            "domain: a.com\nlog-level: ${X}\ndevices: [{name: x1, groups: [{paths: "
                            "[{path: /dev/x0}]}]}]\n")
                .findings,
            "");
  const std::string device =
      "args: ['--domain=${DOMAIN}', --device, '{name: x1, groups: [{paths: [{path: "
      "/dev/x0}]}]}']\n";
  EXPECT_THAT(test::Converted(ForeignProgram::kGenericDevicePlugin, device).findings,
              HasSubstr("error the domain is not known: ${DOMAIN}"));
  EXPECT_EQ(test::Converted(ForeignProgram::kGenericDevicePlugin, device, {"a.com", {}}).findings,
            "");
}

/// Returns message and hint of each finding.
std::vector<std::pair<std::string, std::string>> Hints(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> hints;
  const auto conversion = Convert(ForeignProgram::kGenericDevicePlugin, {"in.yaml", text}, {});
  for (const Diagnostic& d : conversion.diagnostics.Sorted()) {
    hints.emplace_back(d.message, d.hint);
  }
  return hints;
}

TEST(FormsTest, ReportsAnUnknownValueOnce) {
  using testing::ElementsAre;
  using testing::Pair;
  const std::string head = "domain: a.com\ndevices:\n- name: x1\n  groups:\n  - ";
  const std::string substitution = "replace the substitution with its value";
  const std::string template_hint = "replace the template with its value";
  EXPECT_THAT(Hints(head + "count: ${N:=1000}\n    paths: [{path: /dev/x0}]\n"),
              ElementsAre(Pair("`count` is not known: ${N:=1000}", substitution)));
  EXPECT_THAT(Hints(head + "paths: [{path: /dev/x0, optional: '{{ .x }}'}]\n"),
              ElementsAre(Pair("`optional` is not known: {{ .x }}", template_hint)));
  EXPECT_THAT(Hints(head + "usb: [{vendor: '${V}', product: '0407'}]\n"),
              ElementsAre(Pair("`vendor` is not known: ${V}", substitution)));
  EXPECT_THAT(Hints(head + "usb: [{vendor: [], product: '0407'}]\n"),
              ElementsAre(Pair("`vendor` must be a string", "")));
  for (const std::string key : {"mountPath", "type", "permissions"}) {
    EXPECT_THAT(Hints(head + "paths: [{path: /dev/x0, " + key + ": '${V}'}]\n"),
                ElementsAre(Pair("`" + key + "` is not known: ${V}", substitution)))
        << key;
  }
  EXPECT_THAT(Hints("domain: a.com\ndevices: [{name: '${V}', groups: [{paths: [{path: "
                    "/dev/x0}]}]}]\n"),
              ElementsAre(Pair("`name` is not known: ${V}", substitution)));
}

TEST(FormsTest, ReportsAnUnknownDomainOnce) {
  std::string text = "domain: ${D}\ndevices:\n";
  for (const std::string name : {"x1", "x2", "x3"}) {
    text += "- {name: " + name + ", groups: [{paths: [{path: /dev/x0}]}]}\n";
  }
  const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, text);
  EXPECT_EQ(outcome.findings, "1:9 error the domain is not known: ${D}\n");
  EXPECT_THAT(
      outcome.toml,
      AllOf(HasSubstr("# NOT CONVERTED: ${D}/x1\n"
                      "# Reason (line 1): the domain is not known: ${D}.\n"
                      "# Hint: replace the substitution with its value, or use --domain.\n"),
            HasSubstr("# NOT CONVERTED: ${D}/x3\n# Reason (line 1): ")));
  EXPECT_EQ(test::Converted(ForeignProgram::kGenericDevicePlugin, text, {"a.com", {}}).findings,
            "");
}

TEST(FormsTest, ReportsATemplateWithoutQuotes) {
  using testing::ElementsAre;
  using testing::Pair;
  const std::string hint = "replace the template with its value";
  EXPECT_THAT(
      Hints(Content("unquoted-template.yaml")),
      ElementsAre(Pair("a key must be a string", hint), Pair("a key must be a string", hint)));
  EXPECT_THAT(Hints("devices:\n- usb: [{vendor: ${V}, product: '1'}]\n"),
              ElementsAre(Pair("invalid YAML: end of map flow not found",
                               "replace the substitution with its value")));
  EXPECT_THAT(
      Hints("devices:\n- name: x\n{{- range .Values.x }}\n- name: y\n{{- end }}\n"),
      ElementsAre(Pair(HasSubstr("invalid YAML"), "render the chart first, with `helm template`")));
}

TEST(FormsTest, ReportsTheParseErrorThatExplainsAMissingConfiguration) {
  const std::string text = "kind: ConfigMap\ndata:\n  config.yaml: |\n    devices: [\n";
  EXPECT_THAT(test::Converted(ForeignProgram::kGenericDevicePlugin, text).findings,
              testing::MatchesRegex("3:[0-9]+ error invalid YAML: [^\n]*\n"));
  EXPECT_THAT(test::Converted(ForeignProgram::kSmarterDeviceManager,
                              "kind: ConfigMap\ndata:\n  conf.yaml: |\n    - devicematch: [\n")
                  .findings,
              testing::MatchesRegex("3:[0-9]+ error invalid YAML: [^\n]*\n"));
}

TEST(FormsTest, ReportsOnlyTheParseErrorIfTheFileOfTheContainerIsUnreadable) {
  const auto outcome = test::Converted(
      ForeignProgram::kGenericDevicePlugin,
      "image: generic-device-plugin\nargs: [--config=/c/config.yaml]\nconfigMaps:\n  c:\n    "
      "data:\n      config.yaml: |\n        devices: [\n");
  EXPECT_THAT(outcome.findings, testing::MatchesRegex("6:[0-9]+ error invalid YAML: [^\n]*\n"));
}

TEST(FormsTest, ReportsAMisspelledKeyOfAConfiguration) {
  EXPECT_EQ(ConvertedFile("misspelled.yaml").findings,
            "9:13 error this is not a configuration of the plugin, because it has the key "
            "`devcies`; did you mean `devices`?\n"
            "14:7 error this is not a configuration of the plugin, because it has the key "
            "`device`; did you mean `devices`?\n"
            "21:13 error this is not a configuration of the plugin, because it has the key "
            "`group`; did you mean `groups`?\n");
  const std::string wrong = "devcies: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n";
  EXPECT_THAT(test::Converted(ForeignProgram::kGenericDevicePlugin, wrong).findings,
              testing::StartsWith("1:1 error this is not a configuration"));
  EXPECT_THAT(test::Converted(ForeignProgram::kGenericDevicePlugin,
                              wrong + "---\ndomain: a.com\ndevices:" + wrong.substr(8))
                  .findings,
              testing::StartsWith("1:1 warning this is not a configuration"));
  EXPECT_THAT(test::Converted(ForeignProgram::kSmarterDeviceManager,
                              "x:\n- {device_match: ^kvm$, numdevices: 2}\n")
                  .findings,
              testing::StartsWith("2:4 error this is not a configuration of the plugin, because "
                                  "it has the key `device_match`; did you mean `devicematch`?"));
  EXPECT_THAT(test::Converted(ForeignProgram::kGenericDevicePlugin,
                              "devcies: [{name: x1, group: [{paths: [{path: /dev/x0}]}]}]\n")
                  .findings,
              HasSubstr("it has the key `devcies`"));
  // Other programs have such keys too.
  EXPECT_EQ(test::Converted(ForeignProgram::kSmarterDeviceManager,
                            "volumeDevices: [{name: x, devicePath: /dev/xvda}]\n---\n"
                            "- {devicematch: ^kvm$, nummaxdevices: 1}\n")
                .findings,
            "");
  EXPECT_EQ(test::Converted(ForeignProgram::kGenericDevicePlugin,
                            "kind: X\nservices: [{name: x, group: y}]\ndevice: {groups: [a]}\n---\n"
                            "domain: a.com\ndevices:" +
                                wrong.substr(8))
                .findings,
            "");
}

TEST(FormsTest, ExpandsVariablesOfTheContainer) {
  const auto convert = [](const std::string& env) {
    return test::Converted(ForeignProgram::kGenericDevicePlugin,
                           "image: generic-device-plugin\nenv: " + env +
                               "\nargs: ['--domain=$(A).com', '--device=$(D),/dev/$(N)0']\n");
  };
  EXPECT_EQ(
      Resources(convert("[{name: A, value: b}, {name: D, value: x1}, {name: N, value: v}]").toml),
      "b.com/x1");
  EXPECT_EQ(Resources(convert("{A: b, D: {value: x1}, N: v}").toml), "b.com/x1");
  EXPECT_EQ(convert("{A: b, D: {valueFrom: {x: y}}, N: v}").findings,
            "3:29 error --device contains the variable D, whose value is not in the input: "
            "$(D),/dev/v0\n");
}

TEST(FormsTest, ReadsTheConfigurationOfEachReleaseWithItsOwnContainer) {
  std::string text;
  for (const std::string name : {"one", "two"}) {
    text +=
        "---\nkind: HelmRelease\nvalues:\n  image: {repository: generic-device-plugin}\n  args: "
        "[--domain, " +
        name +
        ".org]\n  config: |\n    devices: [{name: x1, groups: [{paths: "
        "[{path: /dev/x0}]}]}]\n";
  }
  const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, text);
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(Resources(outcome.toml), "one.org/x1 two.org/x1");
}

std::string Helm(const std::string& text) {
  return Convert(ForeignProgram::kGenericDevicePlugin, {"in.yaml", text}, {.needs_helm = true})
      .text.value_or("");
}

TEST(FormsTest, HelmValuesContainSupportedSettings) {
  const std::string config =
      "domain: a.com\nlog-level: \"${X}\\u2028\"\ndevices: [{name: x1, groups: [{paths: [{path: "
      "/dev/x0}]}]}]\n";
  EXPECT_THAT(Helm(config), testing::StartsWith("config: |\n  # Converted from "));
  const std::string pod =
      "spec:\n"
      "  nodeSelector: {a: 'true', b: c}\n"
      "  affinity: {}\n"
      "  priorityClassName: '{{ .Values.priority }}'\n"
      "  containers:\n"
      "  - image: generic-device-plugin\n"
      "    resources: {limits: {memory: 20Mi}}\n"
      "    volumeMounts: [{name: p, mountPath: /var/lib/kubelet/device-plugins}]\n"
      "  volumes: [{name: p, hostPath: {path: /opt/kubelet/device-plugins}}]\n---\n";
  EXPECT_THAT(Helm("kind: DaemonSet\n" + pod + config),
              testing::StartsWith(
                  "# Not carried over, because of its template: priorityClassName\n"
                  "nodeSelector: {\"a\": \"true\", \"b\": \"c\"}\n"
                  "tolerations: []\n"
                  "# Not carried over, because Patchbay needs another amount: limits {\"memory\": "
                  "\"20Mi\"}\n"
                  "kubelet: {\"devicePlugins\": \"/opt/kubelet/device-plugins\"}\n"
                  "config: |\n"));
  // The file of a configMapGenerator after the HelmRelease.
  const std::string release = Helm("kind: HelmRelease\napiVersion: v2\n" + pod + config);
  EXPECT_THAT(release, HasSubstr("---\napiVersion: \"v2\"\nkind: HelmRelease\nmetadata: {}\nspec:\n"
                                 "  interval: 1h\n"));
  // Flux would replace ${X}.
  EXPECT_THAT(release, HasSubstr("\n      # Not converted: log-level = $${X}\\xe2\\x80\\xa8."));
}

TEST(FormsTest, ATemplateThatHelmValuesDoNotContainIsAWarning) {
  const std::string text =
      "kind: DaemonSet\nspec:\n  nodeSelector: '{{ .x }}'\n  tolerations: [{key: '{{ .y }}'}]\n"
      "  priorityClassName: '{{ .z }}'\n  containers:\n  - image: generic-device-plugin:0.2.0\n    "
      "args: [--device, 'x1,/dev/x0']\n";
  const std::string message = " not carried over, because of its template: ";
  EXPECT_THAT(HelmOf(text, ForeignProgram::kGenericDevicePlugin),
              testing::StartsWith("3" + message + "nodeSelector\n4" + message + "tolerations\n5" +
                                  message + "priorityClassName\n"));
}

TEST(FormsTest, HelmValuesKeepTheSettingsOfValuesWithoutAnImage) {
  const std::string settings =
      "nodeSelector: {\"pool\": \"media\"}\n"
      "affinity: {\"nodeAffinity\": {}}\n"
      "tolerations: [{\"key\": \"media\", \"operator\": \"Exists\"}]\n"
      "resources: {\"requests\": {\"cpu\": \"5m\"}}\n"
      "config: |\n";
  const std::string values = Content("values-without-image.yaml");
  EXPECT_THAT(Helm(values), testing::StartsWith(settings));
  EXPECT_THAT(Helm("image: {repository: generic-device-plugin}\n" + values),
              testing::StartsWith(settings));
  std::string release = "kind: HelmRelease\nspec:\n  values:\n    ";
  for (const char c : values) release += c == '\n' ? std::string("\n    ") : std::string(1, c);
  EXPECT_THAT(Helm(release),
              AllOf(HasSubstr("kind: HelmRelease\n"),
                    HasSubstr("    nodeSelector: {\"pool\": \"media\"}\n"),
                    HasSubstr("    resources: {\"requests\": {\"cpu\": \"5m\"}}\n")));
}

TEST(FormsTest, HelmValuesKeepTheSettingsOfTheOnlyController) {
  const std::string controller =
      "    pod: {affinity: {nodeAffinity: {}}}\n"
      "    containers: {main: {resources: {requests: {cpu: 3m}}}}\n";
  const std::string config =
      "configMaps:\n  c:\n    data:\n      config.yaml: |\n        domain: a.com\n"
      "        devices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n"
      "defaultPodOptions: {nodeSelector: {a: b}}\n";
  EXPECT_THAT(
      HelmOf("controllers:\n  main:\n" + controller + config, ForeignProgram::kGenericDevicePlugin),
      testing::StartsWith("nodeSelector: {\"a\": \"b\"}\n"
                          "affinity: {\"nodeAffinity\": {}}\n"
                          "tolerations: []\n"
                          "resources: {\"requests\": {\"cpu\": \"3m\"}}\nconfig: |\n"));
  EXPECT_THAT(HelmOf("controllers:\n  main: {}\n  other:\n" + controller + config,
                     ForeignProgram::kGenericDevicePlugin),
              AllOf(testing::StartsWith("4 not carried over, because it may be of another"),
                    HasSubstr("\nnodeSelector: {\"a\": \"b\"}\nconfig: |\n")));
}

TEST(FormsTest, HelmValuesHaveNoSettingsOfOtherPods) {
  const std::string other =
      "frigate:\n  nodeSelector: {gpu: 'yes'}\n  tolerations: [{key: gpu, operator: Exists}]\n"
      "  priorityClassName: low\n  resources: {requests: {cpu: 5m}}\n";
  const std::string device = "[{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]";
  const std::string chart =
      HelmOf("generic-device-plugin:\n  config: {domain: a.com, devices: " + device + "}\n" + other,
             ForeignProgram::kGenericDevicePlugin);
  const std::string message = " not carried over, because it may be of another program: ";
  EXPECT_THAT(chart,
              testing::StartsWith("4" + message + "nodeSelector\n5" + message + "tolerations\n6" +
                                  message + "priorityClassName\nconfig: |\n"));
  // The pod of the plugin is known.
  std::string release =
      "kind: HelmRelease\nspec:\n  values:\n    controllers:\n      main:\n        type: "
      "daemonset\n"
      "        containers: {app: {image: 'generic-device-plugin:0.2.0', args: [--device, "
      "'x1,/dev/x0']}}\n      ";
  for (const char c : other) release += c == '\n' ? std::string("\n      ") : std::string(1, c);
  EXPECT_THAT(HelmOf(release, ForeignProgram::kGenericDevicePlugin),
              AllOf(testing::StartsWith("apiVersion: source"),
                    HasSubstr("\n  values:\n    tolerations: []\n    config: |\n")));
}

TEST(FormsTest, WarnsThatPodsOnTheSameNodesHaveDifferentSettings) {
  const auto daemon_set = [](const std::string& name, const std::string& settings) {
    return "kind: DaemonSet\nspec:\n  containers: [{image: 'generic-device-plugin:0.2.0', args: "
           "[--device, '" +
           name + ",/dev/" + name + "']}]\n" + settings + "---\n";
  };
  const auto helm = [](const std::string& text) {
    return HelmOf(text, ForeignProgram::kGenericDevicePlugin);
  };
  const std::string plain = daemon_set("x1", "");
  EXPECT_THAT(helm(plain + daemon_set("x2", "")), testing::StartsWith("tolerations: []\nconfig:"));
  const auto message = [](const std::string& key) {
    return "7 the pods of the plugin have different " + key +
           "; the output has those of in.yaml:3\n";
  };
  EXPECT_THAT(helm(plain + daemon_set("x2",
                                      "  tolerations: [{operator: Exists}]\n"
                                      "  priorityClassName: low\n"
                                      "  resources: {requests: {cpu: 5m}}\n")),
              testing::StartsWith(message("priorityClassName") + message("tolerations") +
                                  message("resources") + "tolerations: []\nconfig:"));
  // Pools have tolerations and resources of their own.
  EXPECT_THAT(helm(plain + daemon_set("x2", "  nodeSelector: {a: b}\n  tolerations: [{key: c}]\n")),
              Not(HasSubstr("different")));
}

TEST(FormsTest, HelmValuesContainRequestsThatAreAMap) {
  const auto with_requests = [](const std::string& requests) {
    return Helm(
        "kind: DaemonSet\nspec:\n  containers:\n  - image: generic-device-plugin\n    resources: "
        "{requests: " +
        requests +
        "}\n---\ndomain: a.com\ndevices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n");
  };
  EXPECT_THAT(with_requests("{cpu: 5m}"),
              HasSubstr("resources: {\"requests\": {\"cpu\": \"5m\"}}\n"));
  // A request above the limit of the chart would be invalid.
  EXPECT_THAT(with_requests("{cpu: 5m, memory: 512Mi}"),
              HasSubstr("resources: {\"requests\": {\"cpu\": \"5m\"}}\n"
                        "# Not carried over, because Patchbay needs another amount: memory "
                        "\"512Mi\"\n"));
  EXPECT_THAT(with_requests("5m"), AllOf(HasSubstr("config: |\n"), Not(HasSubstr("requests"))));
}

TEST(FormsTest, HelmReleaseReportsWhatIsNotCarriedOver) {
  const Conversion conversion =
      Convert(ForeignProgram::kGenericDevicePlugin,
              {"in.yaml", Content("helmrelease-metrics.yaml")}, {.needs_helm = true});
  std::string findings;
  for (const Diagnostic& d : conversion.diagnostics.Sorted()) {
    findings += std::to_string(d.place.line) + " " + std::string(d.code) + " " + d.message + "; " +
                d.hint + "\n";
  }
  EXPECT_EQ(findings,
            "1 ignored ConfigMap plugin is not part of the output; its configuration is; remove it "
            "if nothing else uses it\n"
            "12 ignored ConfigMap dashboards is not part of the output; keep it\n"
            "20 ignored OCIRepository app-template is not part of the output; keep it\n"
            "27 ignored not carried over: valuesFrom; write the values that Patchbay needs in "
            "`values`\n"
            "31 ignored not carried over: service; Patchbay needs none\n"
            "32 ignored not carried over: serviceMonitor; set podMonitor.enabled: true\n");
  const std::string helm = conversion.text.value_or("");
  EXPECT_THAT(helm, HasSubstr("\nspec:\n  # Not carried over: valuesFrom; write the values that "
                              "Patchbay needs in `values`\n"));
  EXPECT_THAT(helm, HasSubstr("\n  values:\n"
                              "    # Not carried over: service; Patchbay needs none\n"
                              "    # Not carried over: serviceMonitor; set podMonitor.enabled: "
                              "true\n"));
  // Without a HelmRelease, the output does not replace the input.
  const Conversion values =
      Convert(ForeignProgram::kGenericDevicePlugin,
              {"in.yaml",
               "serviceMonitor: {a: b}\nimage: {repository: generic-device-plugin, tag: 0.2.0}\n"
               "config: {devices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]}\n---\n"
               "kind: Service\n"},
              {.needs_helm = true});
  EXPECT_EQ(values.diagnostics.WarningCount(), 1U);
  EXPECT_THAT(values.text.value_or(""),
              testing::StartsWith("# Not carried over: serviceMonitor; set podMonitor.enabled"));
}

TEST(FormsTest, AContainerOfAnyNameWithADeviceIsThePlugin) {
  std::string text;
  for (const std::string image :
       {"squat/generic-device-plugin:0.2.0", "registry.local/gdp:0.2.0"}) {
    text += "kind: DaemonSet\nspec: {containers: [{image: '" + image +
            "', args: [--device, '{name: x" + std::to_string(text.size()) +
            ", groups: [{paths: [{path: /dev/x0}]}]}']}]}\n---\n";
  }
  text +=
      "kind: DaemonSet\nspec: {containers: [{image: zigbee2mqtt, args: [--device, /dev/x0]}]}\n";
  const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, text);
  EXPECT_EQ(outcome.findings, "");
  EXPECT_THAT(Resources(outcome.toml), testing::MatchesRegex("devic.es/x0 devic.es/x[1-9][0-9]+"));
}

/// Arguments replace the file of their own container, not those of others.
TEST(FormsTest, ArgumentsReplaceOnlyTheFileOfTheirContainer) {
  const std::string arguments =
      "metadata: {name: a}\nspec: {containers: [{name: generic-device-plugin, image: "
      "squat/generic-device-plugin:0.2.0, args: [--domain, a.com, --device, '{name: tun, groups: "
      "[{paths: [{path: /dev/net/tun}]}]}']}]}\n---\n";
  const std::string config =
      "kind: ConfigMap\nmetadata: {name: gdp}\ndata:\n  config.yaml: |\n    domain: a.com\n"
      "    devices:\n    - name: kvm\n      groups: [{paths: [{path: /dev/kvm}]}]\n";
  const std::string with_file =
      "metadata: {name: b}\nspec: {containers: [{name: generic-device-plugin, image: "
      "squat/generic-device-plugin:0.2.0, args: [--config, /c/config.yaml], volumeMounts: [{name: "
      "c, "
      "mountPath: /c}]}], volumes: [{name: c, configMap: {name: gdp}}]}\n---\n";
  const auto both =
      test::Converted(ForeignProgram::kGenericDevicePlugin, arguments + with_file + config);
  EXPECT_EQ(Resources(both.toml), "a.com/tun a.com/kvm");
  EXPECT_EQ(both.findings, "");

  const auto replaced = test::Converted(ForeignProgram::kGenericDevicePlugin, arguments + config);
  EXPECT_EQ(Resources(replaced.toml), "a.com/tun");
  EXPECT_THAT(replaced.findings,
              HasSubstr("warning the devices in this configuration are not converted"));
}

TEST(FormsTest, HelmValuesHaveNoInvisibleCharacters) {
  const std::string helm = Helm(
      "domain: a.com\ndevices: [{name: x1, groups: [{paths: [{path: \"/dev/x0\\u2028\"}]}]}]\n");
  EXPECT_THAT(helm, testing::StartsWith("config: |\n  # Converted"));
  EXPECT_THAT(helm, HasSubstr("path = \"/dev/x0\\u2028\""));
}

TEST(FormsTest, ManyContainersHaveTheLongPathsOfTheirPod) {
  const std::string path(4000, 'x');
  std::string text = "kind: HelmRelease\nspec:\n  values:\n    persistence:\n";
  for (int i = 0; i < 30; ++i) {
    const std::string name = "v" + std::to_string(i);
    text += "      " + name + ": {hostPath: /" + path + ", path: /" + name + path + "}\n";
  }
  text += "    generic-device-plugin:\n      image: generic-device-plugin\n      args: ['";
  text += "--device', '{name: x1, groups: [{paths: [{path: /v1" + path + "/x0}]}]}']\n";
  for (int i = 0; i < 100; ++i) text += "    c" + std::to_string(i) + ": {image: b}\n";
  const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, text);
  EXPECT_EQ(Resources(outcome.toml), "squat.ai/x1");
  EXPECT_THAT(outcome.toml, HasSubstr("path = \"/" + path + "/x0\"\n"));
}

/// The time must not grow with the product of containers and volumes.
TEST(FormsTest, ReadsManyContainersWithManyVolumes) {
  std::string text = "persistence:\n";
  for (int i = 0; i < 10'000; ++i) {
    text += "  v" + std::to_string(i) + ": {hostPath: /a, path: /b}\n";
  }
  text += "volumes:\n";
  for (int i = 0; i < 10'000; ++i) text += "- {name: v" + std::to_string(i) + "}\n";
  text += "containers:\n- {image: generic-device-plugin, args: [--device, 'x1,/dev/x0']}\n";
  for (int i = 0; i < 10'000; ++i) text += "- {image: a, volumeMounts: [{name: v}]}\n";
  EXPECT_EQ(Resources(test::Converted(ForeignProgram::kGenericDevicePlugin, text).toml),
            "squat.ai/x1");
}

/// Nested texts, and many texts with aliases, must not multiply.
TEST(FormsTest, LimitsNestedTexts) {
  std::string bomb = "{device: &a0 [x, x, x, x, x, x, x, x, x, x]";
  for (int i = 1; i < 5; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    bomb += ", k" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
    for (int n = 1; n < 10; ++n) bomb += ", " + alias;
    bomb += "]";
  }
  std::string text =
      "domain: a.com\ndevices: [{name: x1, groups: [{paths: [{path: /dev/x0}]}]}]\n---\n";
  for (int i = 0; i < 100; ++i) text += "k" + std::to_string(i) + ": '" + bomb + "}'\n";
  const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, text);
  EXPECT_EQ(Resources(outcome.toml), "a.com/x1");
  EXPECT_THAT(outcome.findings, HasSubstr("too many values, or too much text"));
}

}  // namespace
}  // namespace patchbay
