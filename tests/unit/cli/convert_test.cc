#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "cli_support.h"
#include "config/load.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;
using test::Ran;
using test::RunCli;
using test::ScopedEnv;
using testing::HasSubstr;

std::string ForeignFile(const std::string& name) {
  return std::string(PATCHBAY_SOURCE_DIR) + "/tests/unit/convert/files/" + name;
}

/// Converts a file of another plugin and compares the Allocate responses on a host with those of
/// the other plugin, which were derived by hand from its documentation and source code.
class ConvertTest : public testing::Test {
 protected:
  void Nodes(const std::vector<std::string>& paths) {
    unsigned minor = 1;
    for (const std::string& path : paths) host_.CharDevice(path, 240, minor++);
  }

  /// Runs `convert` and writes its output to the file that the other commands load.
  Ran Converted(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "convert");
    Ran ran = RunCli(arguments);
    tree_.File("patchbay.toml", ran.out);
    return ran;
  }

  Ran OnHost(std::vector<std::string> arguments) {
    for (const std::string& more :
         {std::string("--config"), tree_.path("patchbay.toml"), std::string("--host-root"),
          host_.path(), std::string("-o"), std::string("json")}) {
      arguments.push_back(more);
    }
    return RunCli(arguments);
  }

  /// Maps the response for a container that requests one unit to the number of units with this
  /// response.
  using Answers = std::map<std::string, int>;
  std::map<std::string, Answers> AllAnswers() {
    std::map<std::string, Answers> answers;
    std::map<std::string, int> replicas;
    const Loaded loaded = LoadPaths({tree_.path("patchbay.toml")});
    for (const auto& spec : loaded.model.value().resources) {
      replicas[spec.name] = spec.replicas;
    }
    const Json listed = Json::parse(OnHost({"devices"}).out);
    for (const Json& resource : listed["resources"]) {
      const std::string name = resource["name"];
      Answers& of_resource = answers[name];
      EXPECT_EQ(resource["rejected"], Json::array()) << name;
      for (const Json& device : resource["devices"]) {
        const std::string id = device["id"];
        const int units = replicas[name];
        of_resource[Answer(name, units == 1 ? id : id + "::" + std::to_string(units - 1))] += units;
      }
    }
    return answers;
  }

  /// Returns "host > container permissions" for each node and mount of the response.
  std::string Answer(const std::string& resource, const std::string& id) {
    const Ran ran = OnHost({"allocate", resource, id});
    EXPECT_EQ(ran.code, kOk) << ran.err;
    if (ran.code != kOk) return ran.err;
    const Json json = Json::parse(ran.out);
    std::set<std::string> parts;
    const auto add = [&](const Json& from, const std::string& how) {
      parts.insert(from["host_path"].get<std::string>() + " > " +
                   from["container_path"].get<std::string>() + " " + how);
    };
    for (const Json& device : json["devices"]) add(device, device["permissions"]);
    for (const Json& mount : json["mounts"]) add(mount, mount["read_only"] ? "ro" : "rw");
    for (const auto& [key, value] : json["envs"].items()) {
      parts.insert(key + "=" + value.get<std::string>());
    }
    std::string answer;
    for (const std::string& part : parts) answer += (answer.empty() ? "" : ", ") + part;
    return answer;
  }

  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_name_{"NODE_NAME", "rack-1"};
  test::TempTree tree_;
  test::TempTree host_;
  test::FakeSysfs sysfs_{host_};
};

const std::string kGeneric = "generic-device-plugin";
const std::string kSmarter = "smarter-device-manager";

TEST_F(ConvertTest, GenericDaemonSetKeepsItsAllocations) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Nodes({"/dev/ttyUSB0", "/dev/ttyUSB1", "/dev/ttyACM0", "/dev/video0", "/dev/video1", "/dev/fuse",
         "/dev/kvm", "/dev/snd/controlC0", "/dev/snd/pcmC0D0c", "/dev/snd/controlC1",
         "/dev/snd/pcmC1D0c", "/dev/snd/timer"});
  const Ran ran = Converted({"--from", kGeneric, ForeignFile("generic-daemonset.yaml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  const std::string snd =
      "/dev/snd/controlC0 > /dev/snd/controlC0 rwm, /dev/snd/controlC1 > /dev/snd/controlC1 rwm, "
      "/dev/snd/pcmC0D0c > /dev/snd/pcmC0D0c rwm, /dev/snd/pcmC1D0c > /dev/snd/pcmC1D0c rwm, "
      "/dev/snd/timer > /dev/snd/timer rwm";
  const std::map<std::string, Answers> expected = {
      {"squat.ai/serial",
       {{"/dev/ttyUSB0 > /dev/ttyUSB0 rwm", 1},
        {"/dev/ttyUSB1 > /dev/ttyUSB1 rwm", 1},
        {"/dev/ttyACM0 > /dev/ttyACM0 rwm", 1}}},
      {"squat.ai/video", {{"/dev/video0 > /dev/video0 rwm", 1}}},
      {"squat.ai/fuse", {{"/dev/fuse > /dev/fuse rwm", 10}}},
      {"squat.ai/audio", {{snd, 10}}},
      {"squat.ai/capture",
       {{"/dev/snd/controlC0 > /dev/snd/controlC0 rwm, /dev/snd/pcmC0D0c > /dev/snd/pcmC0D0c rwm",
         1},
        {"/dev/snd/controlC1 > /dev/snd/controlC0 rwm, /dev/snd/pcmC1D0c > /dev/snd/pcmC0D0c rwm",
         1}}},
      {"squat.ai/kvm", {{"/dev/kvm > /dev/kvm rw", 100}}}};
  EXPECT_EQ(AllAnswers(), expected);
}

TEST_F(ConvertTest, GenericFileKeepsItsAllocations) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Nodes({"/dev/ttyS0", "/dev/ttyUSB1", "/dev/video0", "/dev/video1", "/dev/video2", "/dev/fuse",
         "/dev/snd/controlC0", "/dev/snd/pcmC0D0p", "/dev/snd/pcmC0D0c", "/dev/snd/hwC0D0",
         "/dev/snd/controlC1", "/dev/snd/pcmC1D0p"});
  host_.File("/etc/camera.conf");
  host_.File("/opt/model/weights");
  const Ran ran = Converted({"--from", kGeneric, ForeignFile("generic-config.yaml")});
  EXPECT_EQ(ran.code, kOk);
  // Every difference of meaning in the comments is a warning.
  const std::string file = ForeignFile("generic-config.yaml");
  for (const char* warning :
       {":11:9: warning[assumed]: if several such devices are plugged in",
        ":13:9: warning[assumed]: if several such devices are plugged in",
        ":23:9: warning[assumed]: if a container requests several devices",
        ":26:19: warning[assumed]: the limit of 10 is not enforced",
        ":29:19: warning[assumed]: if the path is missing",
        ":36:19: warning[assumed]: generic-device-plugin pairs the matches"}) {
    EXPECT_THAT(ran.err, HasSubstr(file + warning));
  }
  const std::string camera =
      "/dev/fuse > /dev/fuse rw, /dev/video{} > /dev/video0 rwm, "
      "/etc/camera.conf > /etc/camera.conf ro";
  const auto with = [](std::string text, const std::string& number) {
    return text.replace(text.find("{}"), 2, number);
  };
  const std::map<std::string, Answers> expected = {
      {"devices.example.com/modem", {}},
      {"devices.example.com/bench", {}},
      {"devices.example.com/usb-serial", {{"/dev/ttyUSB1 > /dev/serial/ttyUSB1 rw", 1}}},
      {"devices.example.com/camera", {{with(camera, "0"), 1}, {with(camera, "2"), 1}}},
      {"devices.example.com/sound",
       {{"/dev/snd/controlC0 > /dev/snd/controlC0 rwm, /dev/snd/hwC0D0 > /dev/snd/hwC0D0 rwm, "
         "/dev/snd/pcmC0D0p > /dev/snd/playback rwm",
         1},
        {"/dev/snd/controlC1 > /dev/snd/controlC1 rwm, /dev/snd/pcmC1D0p > /dev/snd/playback rwm",
         1}}},
      {"devices.example.com/probes",
       {{"/dev/ttyS0 > /dev/ttyS0 rwm, /dev/ttyUSB1 > /dev/ttyUSB1 rwm", 1}}},
      {"devices.example.com/model", {{"/opt/model > /model rw", 3}}}};
  EXPECT_EQ(AllAnswers(), expected);
}

TEST_F(ConvertTest, FindsThePluginAmongOtherObjects) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Nodes({"/dev/fuse", "/dev/ttyUSB0"});
  const Ran ran = Converted({"--from", kGeneric, ForeignFile("kube-system.yaml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.err, testing::StartsWith(ForeignFile("kube-system.yaml") +
                                           ":122:48: warning[assumed]: invalid YAML"));
  const std::map<std::string, Answers> expected = {
      {"acme.io/fuse", {{"/dev/fuse > /dev/fuse rwm", 10}}},
      {"acme.io/serial", {{"/dev/ttyUSB0 > /dev/ttyUSB0 rwm", 1}}}};
  EXPECT_EQ(AllAnswers(), expected);
}

TEST_F(ConvertTest, ConvertsAnExistingDirectoryToOneDevice) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Nodes({"/dev/mapper/control", "/dev/mapper/data"});
  tree_.File("flags.yaml", "args: [--device, 'disks,/dev/mapper']\n");
  const std::vector<std::string> arguments = {"--from", kGeneric, "--domain", "acme.org",
                                              tree_.path("flags.yaml")};
  EXPECT_THAT(Converted(arguments).out, HasSubstr("# Assumed to be devices: /dev/mapper. If"));
  EXPECT_EQ(AllAnswers(), (std::map<std::string, Answers>{{"acme.org/disks", {}}}));
  auto on_the_node = arguments;
  on_the_node.insert(on_the_node.end(), {"--host-root", host_.path()});
  EXPECT_EQ(Converted(on_the_node).err, "");
  EXPECT_EQ(AllAnswers(),
            (std::map<std::string, Answers>{{"acme.org/disks",
                                             {{"/dev/mapper/control > /dev/mapper/control rwm, "
                                               "/dev/mapper/data > /dev/mapper/data rwm",
                                               1}}}}));
}

TEST_F(ConvertTest, UsbDeviceKeepsItsBusNode) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  const auto plug = [&](const std::string& port, const std::string& vendor,
                        const std::string& product, const std::string& serial) {
    const std::string usb = "/sys/devices/usb1/1-" + port;
    sysfs_.Device(
        usb, {.subsystem = "usb",
              .devtype = "usb_device",
              .number = "189:" + port,
              .node = "bus/usb/001/00" + port,
              .attributes = {{"idVendor", vendor}, {"idProduct", product}, {"serial", serial}}});
    sysfs_.Device(usb + "/1-" + port + ":1.0", {.subsystem = "usb", .devtype = "usb_interface"});
    sysfs_.Device(usb + "/1-" + port + ":1.0/tty/ttyUSB" + port,
                  {.subsystem = "tty", .number = "188:" + port});
  };
  plug("1", "1a86", "7523", "A9007YHT");
  plug("2", "1a86", "7523", "another");
  plug("3", "0403", "6001", "B");
  plug("4", "10c4", "ea60", "C");
  EXPECT_EQ(Converted({"--from", kGeneric, ForeignFile("generic-config.yaml")}).code, kOk);
  EXPECT_EQ(Answer("devices.example.com/modem", "1a86:7523-A9007YHT"),
            "/dev/bus/usb/001/001 > /dev/bus/usb/001/001 rw");
  const auto answers = AllAnswers();
  EXPECT_EQ(answers.at("devices.example.com/modem").size(), 1U);
  EXPECT_EQ(answers.at("devices.example.com/bench"),
            (Answers{{"/dev/bus/usb/001/003 > /dev/bus/usb/001/003 rw", 1},
                     {"/dev/bus/usb/001/004 > /dev/bus/usb/001/004 rw", 1}}));
}

TEST_F(ConvertTest, SmarterConfigMapKeepsItsAllocations) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Nodes({"/dev/snd/controlC0", "/dev/snd/pcmC0D0p", "/dev/gpiomem", "/dev/video0", "/dev/video12",
         "/dev/i2c-1", "/dev/vcsm", "/dev/vcsm-cma", "/dev/net/tun", "/dev/null"});
  const std::map<std::string, Answers> expected = {
      {"smarter-devices/snd",
       {{"/dev/snd/controlC0 > /dev/snd/controlC0 rw, /dev/snd/pcmC0D0p > /dev/snd/pcmC0D0p rw",
         20}}},
      {"smarter-devices/gpiomem", {{"/dev/gpiomem > /dev/gpiomem rw", 40}}},
      {"smarter-devices/video0", {{"/dev/video0 > /dev/video0 rw", 20}}},
      {"smarter-devices/video12", {{"/dev/video12 > /dev/video12 rw", 20}}},
      {"smarter-devices/i2c-1", {{"/dev/i2c-1 > /dev/i2c-1 rw", 1}}},
      {"smarter-devices/vcsm", {{"/dev/vcsm > /dev/vcsm rw", 20}}},
      {"smarter-devices/vcsm-cma", {{"/dev/vcsm-cma > /dev/vcsm-cma rw", 20}}},
      {"smarter-devices/net_tun", {{"/dev/net/tun > /dev/net/tun rw", 5}}}};
  // On a node, the names are those that smarter-device-manager finds there.
  Ran ran = Converted(
      {"--from", kSmarter, "--host-root", host_.path(), ForeignFile("smarter-configmap.yaml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(AllAnswers(), expected);
  // Elsewhere, video12 cannot be derived from the expression, and the names that begin with vcsm
  // are one resource. Warnings report this.
  ran = Converted({"--from", kSmarter, ForeignFile("smarter-configmap.yaml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.err, HasSubstr(":11:24: warning[assumed]: of the numbers in these names, only"));
  EXPECT_THAT(ran.err, HasSubstr(":15:24: warning[assumed]: names with the same beginning"));
  auto foreseen = expected;
  foreseen.erase("smarter-devices/video12");
  foreseen["smarter-devices/vcsm"].merge(foreseen.extract("smarter-devices/vcsm-cma").mapped());
  auto answers = AllAnswers();
  std::erase_if(answers, [](const auto& answer) { return answer.second.empty(); });
  EXPECT_EQ(answers, foreseen);
}

TEST_F(ConvertTest, GroupsKeepTheirContainerPaths) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Nodes({"/dev/ttyUSB0", "/dev/ttyACM0", "/dev/ttyS0"});
  host_.Link("/dev/serial/by-id/usb-zigbee-0", "../../ttyUSB0");
  host_.Link("/dev/serial/by-id/usb-zwave-0", "../../ttyACM0");
  const Ran ran = Converted({"--from", kGeneric, ForeignFile("mount-paths.yaml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(AllAnswers(), (std::map<std::string, Answers>{{"example.com/radio",
                                                           {{"/dev/ttyUSB0 > /dev/zigbee rwm", 1},
                                                            {"/dev/ttyACM0 > /dev/zwave rw", 1},
                                                            {"/dev/ttyS0 > /dev/ttyS0 rwm", 1}}}}));
}

TEST_F(ConvertTest, DirectoriesOfARockchipBoardAreOneDevice) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Nodes({"/dev/dri/renderD128", "/dev/dma_heap/system", "/dev/mali0", "/dev/mpp_service",
         "/dev/rga"});
  EXPECT_EQ(Converted({"--from", kGeneric, ForeignFile("rockchip.yaml")}).err, "");
  EXPECT_EQ(AllAnswers(),
            (std::map<std::string, Answers>{
                {"rockchip.example.com/npu",
                 {{"/dev/dma_heap/system > /dev/dma_heap/system rwm, /dev/dri/renderD128 > "
                   "/dev/dri/renderD128 rwm, /dev/mali0 > /dev/mali0 rwm, /dev/mpp_service > "
                   "/dev/mpp_service rwm, /dev/rga > /dev/rga rwm",
                   10}}}}));
}

TEST_F(ConvertTest, CoralKeepsItsResourceWhenItsFirmwareIsLoaded) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  EXPECT_EQ(Converted({"--from", kGeneric, ForeignFile("coral.yaml")}).code, kOk);
  for (const auto& [port, vendor, product] :
       {std::tuple("1", "1a6e", "089a"), std::tuple("2", "18d1", "9302")}) {
    sysfs_.Device(std::string("/sys/devices/usb1/1-") + port,
                  {.subsystem = "usb",
                   .devtype = "usb_device",
                   .number = std::string("189:") + port,
                   .node = std::string("bus/usb/001/00") + port,
                   .attributes = {{"idVendor", vendor}, {"idProduct", product}}});
  }
  EXPECT_EQ(AllAnswers().at("coral.ai/usb"),
            (Answers{{"/dev/bus/usb/001/001 > /dev/bus/usb/001/001 rw", 4},
                     {"/dev/bus/usb/001/002 > /dev/bus/usb/001/002 rw", 4}}));
}

TEST_F(ConvertTest, CoralHasTheIdOfItsPort) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  EXPECT_EQ(Converted({"--from", kGeneric, ForeignFile("coral.yaml")}).code, kOk);
  sysfs_.Device("/sys/devices/usb1/1-2",
                {.subsystem = "usb",
                 .devtype = "usb_device",
                 .number = "189:1",
                 .node = "bus/usb/001/002",
                 .attributes = {{"idVendor", "1a6e"}, {"idProduct", "089a"}, {"serial", ""}}});
  const Json listed = Json::parse(OnHost({"devices"}).out);
  EXPECT_EQ(listed["resources"][0]["devices"][0]["id"], "1-2");
}

TEST_F(ConvertTest, WritesPartialResultAndFails) {
  const Ran ran = Converted({"--from", kGeneric, ForeignFile("partly.yaml")});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("partly.yaml:6:24: error[foreign-syntax]: `path` must be"));
  EXPECT_THAT(ran.out, HasSubstr("\n# NOT CONVERTED: a group of example.com/good\n"));
  const Loaded loaded = LoadPaths({tree_.path("patchbay.toml")});
  ASSERT_TRUE(loaded.model.has_value()) << loaded.diagnostics.RenderText();
  EXPECT_EQ(loaded.model->resources.size(), 2U);
}

TEST_F(ConvertTest, WritesNothingIfThereIsNoConfiguration) {
  tree_.File("other.yaml", "kind: Service\n");
  const Ran ran = RunCli({"convert", "--from", kGeneric, tree_.path("other.yaml")});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("no configuration of generic-device-plugin found"));
}

TEST_F(ConvertTest, WritesValuesForTheChart) {
  const Ran ran =
      RunCli({"convert", "--from", kSmarter, "-o", "helm", ForeignFile("smarter-values.yaml")});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.out, testing::StartsWith("tolerations: [{\"operator\": \"Exists\"}]\n"
                                           "config: |\n  # Converted from smarter-device-manager"));
  EXPECT_THAT(ran.out, HasSubstr("\n  [[resource]]\n  name = \"smarter-devices/snd\"\n"));
  EXPECT_EQ(RunCli({"convert", "--from", kSmarter, "-o", "json", "x"}).code, kUsage);
}

TEST_F(ConvertTest, LocatesErrorsInTheFile) {
  tree_.File("bad.yaml", "devices:\n- name: x\n  groups:\n  - paths: [{path: relative}]\n");
  const Ran ran =
      RunCli({"convert", "--from", kGeneric, "--domain", "a.com", tree_.path("bad.yaml")});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err, tree_.path("bad.yaml") +
                         ":4:20: error[foreign-syntax]: `path` must be an absolute path\n"
                         "      - paths: [{path: relative}]\n"
                         "                       ^\n"
                         "    hint: start it with a slash\n");
}

TEST_F(ConvertTest, ReportsUnreadableFiles) {
  const Ran ran = RunCli({"convert", "--from", kGeneric, tree_.path("none.yaml")});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("none.yaml: cannot be read: No such file or directory"));
  EXPECT_THAT(RunCli({"convert", "--from", kSmarter, "--host-root", tree_.path(),
                      ForeignFile("smarter-configmap.yaml")})
                  .err,
              HasSubstr("--host-root " + tree_.path() + ": cannot access /dev"));
}

TEST_F(ConvertTest, RejectsInvalidDomains) {
  for (const std::string domain : {"Bad domain", "a.org/b", "", "kubernetes.io"}) {
    const Ran ran = RunCli(
        {"convert", "--from", kGeneric, "--domain", domain, ForeignFile("generic-config.yaml")});
    EXPECT_EQ(ran.code, kUsage) << domain;
    EXPECT_EQ(ran.out, "") << domain;
    EXPECT_THAT(ran.err, testing::StartsWith("--domain: invalid resource name " + domain))
        << ran.err;
  }
}

TEST_F(ConvertTest, RequiresAProgramAndAFile) {
  EXPECT_EQ(RunCli({"convert", ForeignFile("generic-config.yaml")}).code, kUsage);
  EXPECT_EQ(RunCli({"convert", "--from", kGeneric}).code, kUsage);
  const Ran ran = RunCli({"convert", "--from", "akri", "x"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("generic-device-plugin"));
}

}  // namespace
}  // namespace patchbay
