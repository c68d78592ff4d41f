#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "config/load.h"
#include "discovery/discover.h"
#include "health/probe.h"
#include "inventory/allocation_host.h"
#include "inventory/inventory.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// Makes choices and texts from the bytes of a fuzzer or a random generator. When the bytes are
/// used up, every choice is the first.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  std::size_t Below(std::size_t count) { return Byte() % count; }

  /// A text as an attacker would choose it: fragments of attacks, and random bytes.
  std::string Text() {
    static constexpr std::array<std::string_view, 47> kScraps = {
        "A9007YHT",
        "1",
        ".",
        "..",
        "/",
        "../",
        "/etc",
        "-rf",
        "=",
        ",",
        ":",
        "@",
        " ",
        "\\",
        "\n",
        "\r\n",
        "\t",
        "{path}",
        "{{",
        "$(id)",
        "`id`",
        "\"",
        "'",
        ";",
        "all",
        "null",
        "sda",
        "A B",
        "PATH",
        "LD_PRELOAD",
        "LD_",
        "1x",
        "_",
        "other/private",
        "../../etc/shadow",
        "\xe2\x80\x8f",
        "\xff",
        "ttyUSB0",
        "\nDEVNAME=sda",
        "\nMAJOR=8\nMINOR=0",
        "\nDEVNAME=ttyUSB0\nMAJOR=188\nMINOR=0",
        "\nSUBSYSTEM=block",
        "\nINTERFACE=eth0",
        "\nDEVTYPE=usb_device",
        "\nDRIVER=vfio-pci",
        "\nID_PATH=pci-0",
        "\nE:ID_SERIAL=GOOD"};
    std::string text;
    for (std::size_t parts = Below(6); parts > 0; --parts) {
      if (Below(4) == 0) {
        text.push_back(static_cast<char>(Byte()));
      } else {
        text += kScraps[Below(kScraps.size())];
      }
    }
    return text;
  }

 private:
  std::uint8_t Byte() {
    if (at_ == bytes_.size()) return 0;
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// A host with a disk, a good serial adapter, and one whose texts are all chosen by an attacker,
/// and resources whose templates use those texts wherever a configuration can. Check verifies what
/// must hold for any text. Needs root.
class HostileHost : InMemory {
 public:
  HostileHost() {
    fake_.Device("/sys/devices/virtual/block/sda", {.subsystem = "block", .number = "8:0"});
    Stick("1-1", "0403", 1);
    fake_.Device(Interface("1-1") + "/ttyUSB0/tty/ttyUSB0",
                 {.subsystem = "tty",
                  .number = "188:0",
                  .udev = {{"ID_SERIAL", "GOOD"}, {"ID_SERIAL_SHORT", "GOOD"}}});
    tree_.File(Usb("1-1") + "/serial", "GOOD\n");
    Stick("1-2", "dead", 2);
    fake_.Device(kHid, {.subsystem = "hid", .driver = "hid-generic"});
    fake_.Device(kHid + "/hidraw/hidraw0", {.subsystem = "hidraw", .number = "241:0"});
    fake_.Device(kInput, {.subsystem = "input"});
    fake_.Device(kInput + "/event7",
                 {.subsystem = "input", .number = "13:71", .node = "input/event7"});
    fake_.Device(kPort, {.subsystem = "tty", .number = "166:0"});
    tree_.File("/etc/shadow", kSecret);
    tree_.File("/srv/tenants/other/private", kSecret);
    for (const char* text : kSources) sources_.push_back(Load(text, ""));
    for (const Container& container : kContainers) {
      std::vector<std::optional<ResourceSpec>> of_source;
      for (const char* text : kSources) of_source.push_back(TryLoad(text, container.text));
      if (std::ranges::none_of(of_source, [](const auto& spec) { return spec.has_value(); })) {
        throw std::logic_error(Format("no resource can have {}", container.text));
      }
      containers_.push_back(std::move(of_source));
    }
  }

  /// The number of allocations in all checks.
  std::size_t allocations() const { return allocations_; }

  /// Chooses all texts, scans and allocates each device. Returns the violated property, or "".
  std::string Check(Choices choices) {
    Rewrite(choices);
    const std::size_t source = choices.Below(sources_.size());
    const Discovery found = Discover(sources_[source], host_, "node-1");
    for (const Device& device : found.devices) {
      if (auto wrong = WrongNode(device); !wrong.empty()) return wrong;
    }
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      if (!containers_[i][source]) continue;
      auto wrong = CheckContainer(*containers_[i][source], kContainers[i], found);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  struct Container {
    const char* text;
    std::string (*wrong)(const ContainerResponse& response);
  };

  static constexpr char kSecret[] = "root:SECRET:\n";
  static constexpr const char* kSources[] = {
      "usb = 'dead:*'",
      "usb = '*:*'",
      "udev = { subsystem = 'hid' }",
      "udev = { subsystem = ['input', 'hidraw'] }",
      "udev = { subsystem = 'net' }",
      "udev = { subsystem = 'tty', properties = { ID_SERIAL = '*' } }",
      "regex = '/dev/by-name/(?P<port>.*)'\nusb = '*:*'",
  };

  static bool IsComponent(std::string_view text) {
    return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos;
  }
  /// Returns true if `path` is exactly one non-empty component below `directory`.
  static bool IsIn(std::string_view directory, std::string_view path) {
    return path.starts_with(directory) && IsComponent(path.substr(directory.size()));
  }
  static bool IsName(std::string_view text, std::string_view more) {
    const auto fits = [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             more.find(c) != std::string_view::npos;
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), fits);
  }

  static std::string WrongMount(const ContainerResponse& response) {
    for (const auto& mount : response.mounts) {
      if (!IsIn("/srv/tenants/", mount.host_path)) return "mounts " + mount.host_path;
      if (!IsIn("/data/", mount.container_path)) return "mounts at " + mount.container_path;
    }
    return "";
  }
  static std::string WrongTarget(const ContainerResponse& response) {
    for (const auto& device : response.devices) {
      if (!IsIn("/dev/of/", device.container_path)) return "is at " + device.container_path;
    }
    return "";
  }
  static std::string WrongEnv(const ContainerResponse& response) {
    for (const auto& [name, value] : response.envs) {
      if (!IsName(name, "_") || (name[0] >= '0' && name[0] <= '9')) return "has the env " + name;
      const bool is_of_the_file = name.starts_with("DEV") || name.starts_with("LD");
      if (!is_of_the_file || name.starts_with("LD_")) return "has the env " + name;
      if (value.find('\0') != std::string::npos) return "has a NUL in env";
    }
    return "";
  }
  static std::string WrongAnnotation(const ContainerResponse& response) {
    for (const auto& [key, value] : response.annotations) {
      const std::string_view prefix = "example.com/";
      const std::string_view name = std::string_view(key).substr(prefix.size());
      if (!key.starts_with(prefix) || !IsName(name, "-_.") || name.size() > 63 ||
          !IsName(name.substr(0, 1), "") || !IsName(name.substr(name.size() - 1), "")) {
        return "has the annotation " + key;
      }
    }
    return "";
  }
  static std::string WrongCdi(const ContainerResponse& response) {
    for (const std::string& cdi : response.cdi_devices) {
      const std::string_view prefix = "vendor.com/card=";
      const std::string_view name = std::string_view(cdi).substr(prefix.size());
      if (!cdi.starts_with(prefix) || !IsName(name, "-_.:") || name == "all" ||
          !IsName(name.substr(0, 1), "") || !IsName(name.substr(name.size() - 1), "")) {
        return "has the CDI device " + cdi;
      }
    }
    return "";
  }
  static std::string Nothing(const ContainerResponse&) { return ""; }

  static constexpr Container kContainers[] = {
      {"[[resource.mount]]\nhost_path = '/srv/tenants/{usb_serial}'\n"
       "container_path = '/data/{usb_serial}'\n",
       WrongMount},
      {"[[resource.mount]]\nhost_path = '/srv/tenants/{ID_SERIAL}'\n"
       "container_path = '/data/{ID_SERIAL:.3}'\n",
       WrongMount},
      {"[[resource.mount]]\nhost_path = '/srv/tenants/.{usb_serial}{ID_SERIAL}'\n"
       "container_path = '/data/{HID_NAME}'\n",
       WrongMount},
      {"[[resource.mount]]\nhost_path = '/srv/tenants/{INTERFACE}'\n"
       "container_path = '/data/{INTERFACE}'\n",
       WrongMount},
      {"[[resource.mount]]\nhost_path = '/srv/tenants/{port}'\ncontainer_path = '/data/{port}'\n",
       WrongMount},
      {"[[resource.mount]]\nhost_path = '/srv/tenants/{id}'\ncontainer_path = '/data/{id}'\n",
       WrongMount},
      {"[[resource.device_node]]\ncontainer_path = '/dev/of/{usb_serial}{name}'\n", WrongTarget},
      {"[[resource.device_node]]\ncontainer_path = '/dev/of/{ID_SERIAL}'\n", WrongTarget},
      {"[resource.env]\n'DEV{usb_serial}' = '1'\n", WrongEnv},
      {"[resource.env]\n'DEV{ID_SERIAL}' = '{usb_serial}'\n", WrongEnv},
      {"[resource.env]\n'LD{HID_NAME}' = '{NAME}'\n", WrongEnv},
      {"[resource.annotations]\n'example.com/{usb_serial}' = '1'\n", WrongAnnotation},
      {"[resource.annotations]\n'example.com/{port}' = '{INTERFACE}'\n", WrongAnnotation},
      {"cdi_devices = ['vendor.com/card={usb_serial}']\n", WrongCdi},
      {"cdi_devices = ['vendor.com/card={ID_SERIAL}']\n", WrongCdi},
      {"[resource.health]\nfile = '/srv/tenants/{usb_serial}'\nequals = 'x'\n", Nothing},
      {"[resource.health]\nfile = '/srv/tenants/other/{port}/state'\nequals = 'x'\n", Nothing},
  };

  static std::string Usb(const std::string& port) {
    return "/sys/devices/pci0000:00/0000:00:14.0/usb1/" + port;
  }
  static std::string Interface(const std::string& port) { return Usb(port) + "/" + port + ":1.0"; }

  void Stick(const std::string& port, const std::string& vendor, int number) {
    fake_.Device(Usb(port), {.subsystem = "usb",
                             .driver = "usb",
                             .devtype = "usb_device",
                             .number = Format("189:{}", number),
                             .node = Format("bus/usb/001/00{}", number),
                             .attributes = {{"idVendor", vendor}, {"idProduct", "6001"}}});
    fake_.Device(Interface(port), {.subsystem = "usb", .devtype = "usb_interface"});
  }

  static std::optional<ResourceSpec> TryLoad(std::string_view source, std::string_view container) {
    const bool is_key = container.find('[') > container.find('=');
    auto loaded = LoadTexts(
        {{"hostile.toml", Format("[[resource]]\nname = 'a.com/x'\n{}[[resource.match]]\n{}\n{}",
                                 is_key ? container : "", source, is_key ? "" : container)}});
    if (!loaded.model) return std::nullopt;
    return std::move(loaded.model->resources.front());
  }
  static ResourceSpec Load(std::string_view source, std::string_view container) {
    auto spec = TryLoad(source, container);
    if (!spec) throw std::runtime_error("not a configuration: " + std::string(source));
    return std::move(*spec);
  }

  /// Gives the hostile device other texts, wherever a device or its owner chooses one.
  void Rewrite(Choices& choices) {
    for (const char* attribute : {"/serial", "/product", "/manufacturer"}) {
      tree_.File(Usb("1-2") + attribute, choices.Text() + "\n");
    }
    tree_.File(kHid + "/uevent",
               "DRIVER=hid-generic\nHID_ID=0003:0000DEAD:0000BEEF\nHID_NAME=" + choices.Text() +
                   "\nHID_PHYS=usb-1\nHID_UNIQ=" + choices.Text() + "\nMODALIAS=hid:b0003\n");
    tree_.File(kInput + "/uevent", "PRODUCT=3/dead/beef/111\nNAME=\"" + choices.Text() +
                                       "\"\nPHYS=\"usb-1\"\nUNIQ=\"" + choices.Text() +
                                       "\"\nPROP=0\nEV=3\n");
    tree_.File("/run/udev/data/c166:0",
               "I:1\nE:ID_SERIAL=" + choices.Text() + "\nE:ID_X=" + choices.Text() + "\nV:1\n");
    tree_.Remove("/dev/by-name");
    tree_.CharDevice("/dev/by-name/" + FileName(choices.Text()), 166, 0);
    if (!interface_.empty()) fake_.Remove(interface_);
    interface_ = Interface("1-2") + "/net/" + FileName(choices.Text());
    fake_.Device(interface_, {.subsystem = "net", .ifindex = "7"});
  }

  /// Returns `text` as a valid name in a directory.
  static std::string FileName(std::string text) {
    for (char& c : text) {
      if (c == '/' || c == '\0') c = '_';
    }
    if (text.size() > 200) text.resize(200);
    return text.empty() || text == "." || text == ".." ? "x" : text;
  }

  /// The device nodes that the kernel has for the two adapters, as "usb port type major:minor".
  static bool IsOf(std::string_view id_of_vendor, const HostNode& node) {
    using Number = std::pair<unsigned, unsigned>;
    static const std::set<Number> kGood = {{189, 1}, {188, 0}};
    static const std::set<Number> kBad = {{189, 2}, {13, 71}, {166, 0}, {241, 0}};
    const auto& numbers = id_of_vendor == "0403" ? kGood : kBad;
    return node.type == FileType::kCharacter && numbers.contains({node.major, node.minor});
  }

  std::string WrongNode(const Device& device) const {
    for (const DeviceNode& node : device.nodes) {
      std::string_view vendor = "dead";
      for (const NamedValues* values : {&device.values, &node.values}) {
        for (const auto& [name, value] : *values) {
          if (name == "usb_vendor") vendor = value;
        }
      }
      const auto there = host_.Resolve(node.path);
      if (!there || !IsOf(vendor, *there)) {
        return Format("{} of {} is {}", device.id, vendor, node.path);
      }
    }
    return "";
  }

  std::string CheckContainer(const ResourceSpec& resource, const Container& container,
                             const Discovery& found) {
    const auto spec = std::make_shared<const ResourceSpec>(resource);
    Inventory inventory(spec, "node-1");
    inventory.MergeScan(found, {});
    inventory.Publish();
    for (const ListedDevice& listed : inventory.snapshot()->devices) {
      const std::vector<std::string> ids = {listed.device->id};
      const auto response = Allocate(*inventory.snapshot(), ids, AllocationOn({host_, "node-1"}));
      if (!response) return "a listed device is refused: " + response.error().message;
      ++allocations_;
      for (const auto& device : response->devices) {
        const auto there = host_.Resolve(device.host_path);
        if (!there || (!IsOf("dead", *there) && !IsOf("0403", *there))) {
          return "gives " + device.host_path;
        }
      }
      if (auto wrong = container.wrong(*response); !wrong.empty()) {
        return Format("{} of {}", wrong, container.text);
      }
      if (!spec->health) continue;
      const ProbeOutcome outcome =
          RunProbe(*spec->health, *listed.device, {spec->name, "node-1", host_, nullptr});
      if (outcome.reason.find("SECRET") != std::string::npos) return "shows " + outcome.reason;
    }
    return "";
  }

  static inline const std::string kHid = Interface("1-2") + "/0003:DEAD:BEEF.0001";
  static inline const std::string kInput = kHid + "/input/input7";
  static inline const std::string kPort = Interface("1-2") + "/tty/ttyACM0";
  TempTree tree_;
  FakeSysfs fake_{tree_};
  const HostRoot host_{tree_.path()};
  std::string interface_;
  std::size_t allocations_ = 0;
  std::vector<ResourceSpec> sources_;
  std::vector<std::vector<std::optional<ResourceSpec>>> containers_;  ///< by container and source
};

}  // namespace patchbay::test
