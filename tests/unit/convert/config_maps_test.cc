// Files and variables that a container takes from ConfigMaps, or from elsewhere.

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "base/format.h"
#include "convert_support.h"

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPassX =
    "pass the ConfigMap x too (`kubectl get configmap x -n here -o yaml`)";
constexpr const char* kTun = "{name: tun, groups: [{paths: [{path: /dev/net/tun}]}]}";

test::Outcome Manifests(const std::string& text, const ConvertHints& hints = {}) {
  return test::Converted(ForeignProgram::kGenericDevicePlugin, text, hints);
}

test::Outcome ManifestFile(const std::string& name, const ConvertHints& hints = {}) {
  std::ifstream file(std::string(PATCHBAY_SOURCE_DIR) + "/tests/unit/convert/files/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return Manifests(text.str(), hints);
}

/// Returns "name: message; hint" of each finding.
std::string HintsOf(const std::string& text) {
  std::string hints;
  const auto conversion = Convert(ForeignProgram::kGenericDevicePlugin, {"in.yaml", text}, {});
  for (const Diagnostic& d : conversion.diagnostics.Sorted()) {
    hints += Format("{}: {}; {}\n", Name(d.severity), d.message, d.hint);
  }
  return hints;
}

/// Returns a DaemonSet whose container, and the volume v that it mounts, have the given keys.
std::string DaemonSet(const std::string& args, const std::string& mount,
                      const std::string& volume) {
  return Format(
      "kind: DaemonSet\nmetadata: {{name: plugin, namespace: here}}\nspec:\n  containers:\n  - "
      "image: generic-device-plugin:0.2.0\n    args: [{}]\n    volumeMounts: [{{name: v, {}}}]\n  "
      "volumes: [{{name: v, {}}}]\n---\n",
      args, mount, volume);
}

/// Returns a ConfigMap with the files a.yaml, b.yaml and config.yaml, which have different domains.
std::string Files(const std::string& name, const std::string& space = "here") {
  std::string text =
      Format("kind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata:\n", name, space);
  for (const char* file : {"a", "b", "config"}) {
    text += Format("  {0}.yaml: 'domain: {0}.{1}.{2}'\n", file, name, space);
  }
  return text + "---\n";
}

TEST(ConfigMapsTest, NamesAVariableInTheFileThatIsNotInTheInput) {
  for (const char* flag : {"--config", "--config-file"}) {
    const std::string text = DaemonSet(Format("'{}=/etc/plugin/$(FILE)'", flag),
                                       "mountPath: /etc/plugin", "configMap: {name: files}") +
                             Files("files");
    EXPECT_THAT(HintsOf(text),
                HasSubstr(Format("error: {} contains the variable FILE, whose value", flag)));
  }
}

TEST(ConfigMapsTest, ConvertsOnlyTheFileThatConfigNames) {
  const auto outcome = ManifestFile("two-files.yaml");
  EXPECT_EQ(
      outcome.findings,
      "6:5 warning the plugin does not read `a-test.yaml` in the ConfigMap plugin-files; it is "
      "not converted\n");
  EXPECT_THAT(outcome.toml, HasSubstr("name = \"production.example.com/tun\"\nreplicas = 10\n"));
  EXPECT_THAT(outcome.toml, Not(HasSubstr("test.example.com")));
}

TEST(ConfigMapsTest, TheDomainIsThatOfTheFileThatConfigNames) {
  struct Case {
    const char *path, *mount, *volume, *domain;
  };
  const Case cases[] = {
      {"/c/b.yaml", "mountPath: /c", "configMap: {name: m}", "b.m.here"},
      {"/c/b.yaml", "mountPath: /c/", "configMap: {name: m}", "b.m.here"},
      {"/c/x.yaml", "mountPath: /c/x.yaml, subPath: b.yaml", "configMap: {name: m}", "b.m.here"},
      {"/c/x", "mountPath: /c", "configMap: {name: m, items: [{key: b.yaml, path: x}]}",
       "b.m.here"},
      {"/c/d/x", "mountPath: /c/d", "configMap: {name: m, items: [{key: b.yaml, path: x}]}",
       "b.m.here"},
      {"/c/x", "mountPath: /c, subPath: d",
       "configMap: {name: m, items: [{key: a.yaml, path: x}, {key: b.yaml, path: d/x}]}",
       "b.m.here"},
      {"/c/b.yaml", "mountPath: /c",
       "projected: {sources: [{secret: {name: s}}, {configMap: {name: m, items: [{key: a.yaml, "
       "path: a.yaml}]}}, {configMap: {name: n}}]}",
       "b.n.here"},
      {"/c/x", "mountPath: /c",
       "projected: {sources: [{configMap: {name: missing, items: [{key: k, path: y}]}}, "
       "{configMap: {name: m, items: [{key: b.yaml, path: x}]}}]}",
       "b.m.here"}};
  for (const Case& test_case : cases) {
    for (const char* flag : {"--config={}", "--config, {}", "-config-file={}"}) {
      const std::string args =
          Format("--device, '{}', {}", kTun, Format(fmt::runtime(flag), test_case.path));
      const auto outcome = Manifests(Files("m", "elsewhere") + Files("m") + Files("n") +
                                     DaemonSet(args, test_case.mount, test_case.volume));
      EXPECT_EQ(outcome.findings, "") << test_case.volume;
      EXPECT_THAT(outcome.toml, HasSubstr(Format("name = \"{}/tun\"", test_case.domain)))
          << test_case.volume;
    }
  }
  const auto chart = Manifests(
      Files("m") + Format("metadata: {{namespace: here}}\nargs: [--config, /c/x, --device, '{}']\n"
                          "image: generic-device-plugin\npersistence: {{c: {{type: configMap, "
                          "name: m, globalMounts: "
                          "[{{path: /c/x, subPath: b.yaml}}]}}}}\n",
                          kTun));
  EXPECT_THAT(chart.toml, HasSubstr("name = \"b.m.here/tun\""));
  EXPECT_THAT(ManifestFile("projected.yaml").toml, HasSubstr("name = \"media.example.com/tun\""));
  EXPECT_EQ(ManifestFile("projected.yaml").findings, "");
}

TEST(ConfigMapsTest, FilesWithDifferentDomainsAreAWarningIfConfigNamesNone) {
  const auto text = [](const std::string& config) {
    return Files("m") + DaemonSet(Format("{}--device, '{}'", config, kTun), "mountPath: /c",
                                  "configMap: {name: m}");
  };
  for (const char* config : {"", "--config=/elsewhere/x.yaml, ", "--config=b, "}) {
    EXPECT_THAT(
        Manifests(text(config)).findings,
        testing::MatchesRegex("13:[0-9]+ warning the files that the container can read have "
                              "different domains; assuming config.m.here\n"))
        << config;
    EXPECT_EQ(Manifests(text(config), {.domain = "a.com"}).findings, "");
  }
  // The file has the name of a key.
  const auto by_name = Manifests(text("--config=b.yaml, "));
  EXPECT_EQ(by_name.findings, "");
  EXPECT_THAT(by_name.toml, HasSubstr("name = \"b.m.here/tun\""));
  // The plugin has a default.
  const auto by_default = Manifests(Files("m") + DaemonSet(Format("--device, '{}'", kTun),
                                                           "mountPath: /etc/generic-device-plugin",
                                                           "configMap: {name: m}"));
  EXPECT_EQ(by_default.findings, "");
  EXPECT_THAT(by_default.toml, HasSubstr("name = \"config.m.here/tun\""));
}

TEST(ConfigMapsTest, SeveralFilesOfAChartAreAWarningIfConfigNamesNone) {
  const auto convert = [](const std::string& path) {
    return Manifests(Format(
        "args: [--config, {}]\nimage: generic-device-plugin\nconfigMaps: {{c: {{data: {{a.yaml: "
        "'{{domain: a.com, devices: [{}]}}', b.yaml: '{{domain: b.com, devices: [{}]}}'}}}}}}\n",
        path, kTun, kTun));
  };
  EXPECT_THAT(convert("/c/b.yaml").findings,
              HasSubstr("warning the plugin does not read `a.yaml`; it is not converted\n"));
  EXPECT_THAT(convert("/c/b.yaml").toml, Not(HasSubstr("a.com/tun")));
  // With devices in the arguments, only the domain matters.
  const auto findings = convert("/c/x, --device, '" + std::string(kTun) + "'").findings;
  EXPECT_THAT(findings, HasSubstr("have different domains; assuming b.com"));
  EXPECT_THAT(findings, Not(HasSubstr("all are converted")));
  EXPECT_THAT(convert("/c/x").findings,
              testing::StartsWith("1:1 warning the plugin can read a.yaml, b.yaml; all are"));
}

TEST(ConfigMapsTest, AFileThatIsNotInTheInputIsAWarning) {
  const std::string use =
      "use --domain with the domain of the resources that `kubectl describe node` shows\n";
  struct Case {
    const char *mount, *volume, *file;
    std::string hint;
  };
  const Case cases[] = {
      {"mountPath: /c", "configMap: {name: x}", "`f` in the ConfigMap x",
       kPassX + std::string(", or ")},
      {"mountPath: /c", "configMap: {name: m}", "`f` in the ConfigMap m",
       "add the key `f` to the ConfigMap m, or "},
      {"mountPath: /c", "projected: {sources: [{configMap: {name: m}}, {configMap: {name: x}}]}",
       "`f` in the ConfigMap x", kPassX + std::string(", or ")},
      {"mountPath: /c", "projected: {sources: [{configMap: {name: x}}, {configMap: {name: m}}]}",
       "`f` in the ConfigMap x", kPassX + std::string(", or ")},
      {"mountPath: /c, subPath: d", "hostPath: {path: /etc}", "the file /etc/d/f of the host",
       "pass the file /etc/d/f of the host too, behind a line `---`, or "},
      {"mountPath: /c/f", "hostPath: {path: /h}", "the file /h of the host",
       "pass the file /h of the host too, behind a line `---`, or "},
      {"mountPath: /c", "secret: {secretName: s}", "the file /c/f",
       "pass the file /c/f too, behind a line `---`, or "},
      {"mountPath: /d", "emptyDir: {}", "the file /c/f",
       "pass the file /c/f too, behind a line `---`, or "}};
  for (const Case& test_case : cases) {
    const auto text = [&](const std::string& more) {
      return Files("m") + DaemonSet(Format("--config=/c/f, {}--device, '{}'", more, kTun),
                                    test_case.mount, test_case.volume);
    };
    EXPECT_EQ(HintsOf(text("")),
              Format("warning: the domain can come from {}, which is not in the input; assuming "
                     "devic.es; {}{}",
                     test_case.file, test_case.hint, use))
        << test_case.volume;
    EXPECT_EQ(HintsOf(text("--domain=a.com, ")), "") << test_case.volume;
    EXPECT_THAT(Manifests(text("")).toml, HasSubstr("# A domain is assumed, because its source"));
  }
  const auto host = ManifestFile("host-config.yaml");
  EXPECT_EQ(host.findings,
            "11:15 warning the domain can come from the file /etc/device-plugin/plugin.yaml of the "
            "host, which is not in the input; assuming devic.es\n");
  EXPECT_EQ(ManifestFile("host-config.yaml", {.domain = "a.com"}).findings, "");
  // The file behind the manifest.
  const auto both = Manifests(DaemonSet(Format("--config=/c/f, --device, '{}'", kTun),
                                        "mountPath: /c", "hostPath: {path: /h}") +
                              "domain: media.com\nlisten: ':80'\n");
  EXPECT_EQ(both.findings, "");
  EXPECT_THAT(both.toml, HasSubstr("name = \"media.com/tun\""));
}

TEST(ConfigMapsTest, NamesTheFileOfAPluginWithoutDevices) {
  const std::string mount = "mountPath: /c";
  const auto hints = [&](const std::string& volume) {
    return HintsOf(DaemonSet("--config=/c/f", mount, volume));
  };
  const std::string message =
      ", which the plugin reads, is not in the input; its devices are not converted; ";
  const std::string in_x = "error: `f` in the ConfigMap x" + message + kPassX + "\n";
  // A DaemonSet of the same name is not the ConfigMap.
  EXPECT_EQ(hints("configMap: {name: plugin}"),
            "error: `f` in the ConfigMap plugin" + message +
                "pass the ConfigMap plugin too (`kubectl get configmap plugin -n here -o yaml`)\n");
  EXPECT_EQ(hints("projected: {sources: [{configMap: {name: x}}]}"), in_x);
  EXPECT_EQ(hints("hostPath: {path: /etc}"),
            "error: the file /etc/f of the host" + message +
                "pass the file /etc/f of the host too, behind a line `---`\n");
  EXPECT_EQ(hints("configMap: {name: '${NAME}'}"), "error: `f` in the ConfigMap ${NAME}" + message +
                                                       "replace the substitution with its value\n");
  EXPECT_THAT(hints("configMap: {name: '; reboot'}"),
              HasSubstr("(`kubectl get configmap '; reboot' -n here -o yaml`)"));
  // Another plugin in the input has its devices.
  const std::string text =
      DaemonSet("--config=/c/f", mount, "configMap: {name: x}") +
      Format("kind: DaemonSet\nimage: generic-device-plugin:0.2.0\nargs: [--device, '{}']\n", kTun);
  EXPECT_EQ(HintsOf(text), in_x);
  EXPECT_THAT(
      Manifests(text).toml,
      testing::AllOf(HasSubstr("\nname = \"devic.es/tun\"\n"),
                     HasSubstr("\n# NOT CONVERTED: a file\n# Reason (line 6): `f` in the")));
}

/// The cluster does not serve the devices in a ConfigMap that the plugin does not mount.
TEST(ConfigMapsTest, ConvertsNoConfigMapThatThePluginDoesNotMount) {
  const auto config_map = [](const std::string& metadata) {
    return Format("kind: ConfigMap\nmetadata: {}\ndata: {{f: 'devices: [{}]'}}\n---\n", metadata,
                  kTun);
  };
  const std::string other = config_map("{name: other}");
  const std::string mounts_x = DaemonSet("--config=/c/f", "mountPath: /c", "configMap: {name: x}");
  const auto unread = [](const std::string& name, const std::string& reads) {
    return Format(
        "warning: the plugin does not read `f` in the ConfigMap {}; it is not converted; "
        "it reads {}; pass only this file to convert it anyway\n",
        name, reads);
  };
  const std::string missing_x = Format(
      "error: `f` in the ConfigMap x, which the plugin reads, is not in the input; its devices are "
      "not converted; {}\n",
      kPassX);
  EXPECT_EQ(HintsOf(mounts_x + other), missing_x + unread("other", "`f` in the ConfigMap x"));
  EXPECT_EQ(Manifests(mounts_x + other).toml, "");
  EXPECT_EQ(HintsOf(mounts_x + config_map("{name: x, namespace: elsewhere}")),
            missing_x + unread("x", "`f` in the ConfigMap x"));
  EXPECT_EQ(HintsOf(DaemonSet("", "mountPath: /d", "configMap: {name: x}") + other),
            Format("error: the ConfigMap x, which the plugin mounts, is not in the input; its "
                   "devices are not converted; {}\n",
                   kPassX) +
                unread("other", "the ConfigMap x"));
  EXPECT_EQ(
      Manifests(DaemonSet("--config=/c/f", "mountPath: /c", "hostPath: {path: /h}") + other).toml,
      "");

  // A volume of a chart can be anywhere.
  const std::string chart =
      "image: generic-device-plugin:0.2.0\nargs: [--config=/c/f]\nvolumeMounts: [{name: v, "
      "mountPath: /c}]\nextraVolumes: [{name: v, configMap: {name: other}}]\n---\n";
  EXPECT_EQ(HintsOf(chart + other), "");
  EXPECT_THAT(Manifests(chart + other).toml, HasSubstr("\"devic.es/tun\""));
  // Another plugin, whose file is not known, can read it.
  const auto both =
      Manifests(mounts_x + "image: generic-device-plugin\nargs: [--domain=b.com]\n---\n" + other);
  EXPECT_THAT(both.findings, testing::StartsWith("6:12 error `f` in the ConfigMap x"));
  EXPECT_THAT(both.toml, testing::AllOf(HasSubstr("\"b.com/tun\""), Not(HasSubstr("devic.es/"))));
  // A program that is not recognizably the plugin.
  const auto alone = Manifests(
      "kind: Pod\nimage: proxy\nargs: [--config=/c/f]\nvolumeMounts: [{name: v, mountPath: "
      "/c}]\nvolumes: [{name: v, configMap: {name: proxy}}]\n---\n" +
      other);
  EXPECT_THAT(alone.toml, HasSubstr("\"squat.ai/tun\""));
  EXPECT_THAT(
      alone.findings,
      HasSubstr("9:12 warning the container in the input does not read `f` in the ConfigMap "
                "other; it is converted\n"));
}

TEST(ConfigMapsTest, AFileIsConvertedForTheDomainOfEachReader) {
  std::string text =
      Format("kind: ConfigMap\nmetadata: {{name: m}}\ndata: {{f: 'devices: [{}]'}}\n---\n", kTun);
  for (const char* domain : {"a.com", "b.com", "a.com"}) {
    text += DaemonSet(Format("--config=/c/f, --domain={}", domain), "mountPath: /c",
                      "configMap: {name: m}");
  }
  const auto outcome = Manifests(text);
  EXPECT_EQ(outcome.findings, "");
  EXPECT_THAT(outcome.toml, testing::AllOf(HasSubstr("\"a.com/tun\""), HasSubstr("\"b.com/tun\"")));
}

TEST(ConfigMapsTest, ArgumentsHaveTheVariablesOfConfigMaps) {
  const auto outcome = ManifestFile("variables.yaml");
  EXPECT_EQ(outcome.findings, "");
  EXPECT_THAT(outcome.toml, HasSubstr("name = \"rack.media.example.com/serial\""));
  EXPECT_THAT(outcome.toml, HasSubstr("path = \"/dev/ttyUSB0\""));
}

TEST(ConfigMapsTest, NamesAVariableThatIsNotInTheInput) {
  const auto hints = [](const std::string& env, const std::string& args) {
    return HintsOf(Format("image: generic-device-plugin:0.2.0\n{}\nargs: [{}, --device, '{}']\n",
                          env, args, kTun));
  };
  const std::string map = "env: [{name: X, valueFrom: {configMapKeyRef: {name: m, key: k}}}]";
  const std::string message = " contains the variable X, whose value is not in the input: ";
  const std::string pass =
      "; pass the ConfigMap m too (`kubectl get configmap m -o yaml`), or write its value\n";
  EXPECT_EQ(hints(map, "--device, '$(X),/dev/a0'"),
            "error: --device" + message + "$(X),/dev/a0" + pass);
  EXPECT_EQ(hints(map, "$(X)"), "error: an argument" + message + "$(X)" + pass);
  EXPECT_THAT(hints(map, "--config=/c/$(X)"),
              HasSubstr("warning: the domain can come from the file /c/$(X), which is not in the"));
  // Two dollar signs are one, and no variable.
  EXPECT_EQ(hints(map, "--log-level=$$(X)"), "");
}

TEST(ConfigMapsTest, ConvertsNoDeviceWhoseDomainIsNotInTheInput) {
  const std::string map = "env: [{name: X, valueFrom: {configMapKeyRef: {name: m, key: k}}}]";
  const std::string pass = "pass the ConfigMap m too (`kubectl get configmap m -o yaml`), or ";
  struct Case {
    std::string env, domain, hint;
  };
  const Case cases[] = {
      {map, "$(X)", pass},
      {"envFrom: [{configMapRef: {name: m}}]", "a.$(X)", pass},
      {"env: [{name: X, value: $(Y)}, {name: Y, valueFrom: {secretKeyRef: {}}}]", "$(X)", ""},
      // A variable that refers to itself, and one that nothing sets.
      {"env: [{name: X, value: $(X)}]", "$(X)", ""},
      {"env: []", "$(X)", ""}};
  for (const Case& test_case : cases) {
    const std::string text =
        Format("image: generic-device-plugin:0.2.0\n{}\nargs: [--domain={}, --device, '{}']\n",
               test_case.env, test_case.domain, kTun);
    EXPECT_EQ(HintsOf(text),
              Format("error: the domain is not known: {}; {}write its value, or use --domain\n",
                     test_case.domain, test_case.hint));
    EXPECT_THAT(Manifests(text).toml,
                testing::AllOf(HasSubstr("\n# NOT CONVERTED: " + test_case.domain + "/tun\n"),
                               Not(HasSubstr("devic.es"))));
    const std::string shell = Format(
        "image: generic-device-plugin:0.2.0\n{}\ncommand: [sh, -c, 'exec /plugin --domain={} "
        "--device=tun,/dev/net/tun']\n",
        test_case.env, test_case.domain);
    EXPECT_EQ(HintsOf(shell), HintsOf(text));
    const auto given = Manifests(text, {.domain = "a.com"});
    EXPECT_EQ(given.findings, "") << test_case.env;
    EXPECT_THAT(given.toml, HasSubstr("name = \"a.com/tun\""));
  }
}

/// The time must not grow with the product of variables and references.
TEST(ConfigMapsTest, ReadsManyVariables) {
  std::string env, args;
  for (int i = 0; i < 10'000; ++i) {
    env += Format("- {{name: V{}, value: x}}\n", i);
    args += Format("- $(V{})\n", i);
  }
  EXPECT_THAT(HintsOf("image: generic-device-plugin\nenv:\n" + env + "args:\n" + args),
              HasSubstr("more than 200 findings"));
}

}  // namespace
}  // namespace patchbay
