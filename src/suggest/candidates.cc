// A match compares what stays: the serial number, the port with its controller, the PCI address,
// properties of udev, or the place in sysfs. Serial numbers that several USB devices have, or that
// were never set, are left out, and so are the numbers of USB buses.

#include "suggest/candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "discovery/device_place.h"
#include "model/glob.h"

namespace patchbay {
namespace {

constexpr std::string_view kAnyId = "*:*";

/// Returns whether many devices have the serial number, because it was never set.
bool IsPlaceholder(std::string_view serial) {
  constexpr std::string_view kKnown[] = {"0001",       "00000001",         "0123456789",
                                         "123456",     "12345678",         "123456789",
                                         "1234567890", "0123456789abcdef", "default string"};
  return serial.size() < 3 || std::ranges::count(kKnown, ToLower(serial)) > 0 ||
         serial.find_first_not_of(serial.front()) == std::string_view::npos;
}

class CandidateMaker {
 public:
  CandidateMaker(bool is_shortest, DeviceAncestries& ancestries, const Sysfs& sysfs)
      : is_shortest_(is_shortest), ancestries_(ancestries), sysfs_(sysfs) {
    CountSerials();
  }

  /// Returns what all candidates of a device compare.
  static NewMatch BaseOf(const HostDevice& device) {
    const KindTraits& traits = device.kind->traits;
    NewMatch base;
    base.udev.driver = traits.driver;
    if (device.kind->subsystem != "pci" || traits.is_generic) {
      base.udev.driver = "";
      base.udev.subsystem = device.kind->subsystem;
    }
    if (traits.is_attribute_compared) {
      base.udev.attributes.emplace_back(traits.attribute, traits.value);
    }
    if (!device.console.empty()) {
      base.udev.properties.emplace_back("DEVNAME", "/dev/dri/renderD*");
    }
    if (!IsBlock(device)) return base;
    const std::string type = PropertyOf(device, "DEVTYPE");
    if (!type.empty()) base.udev.properties.emplace_back("DEVTYPE", type);
    // The boot areas of an eMMC have the serial number of its disk, and a name that stays.
    const std::string& name = device.parts.front().self().name;
    const auto end = std::min(name.find_first_not_of("0123456789", 6), name.size());
    if (name.starts_with("mmcblk")) {
      base.udev.properties.emplace_back(
          "DEVNAME", "/dev/mmcblk{[0-9],[0-9][0-9]}" + EscapedForGlob(name.substr(end)));
    }
    return base;
  }

  std::vector<MatchCandidate> CandidatesOf(const HostDevice& device, const NewMatch& base) {
    const KindTraits& traits = device.kind->traits;
    const DeviceAncestry& part = device.parts.front();
    std::vector<MatchCandidate> found;
    const bool is_block = IsBlock(device);
    const SysfsDevice* usb = is_block ? nullptr : part.UsbDevice();
    if (is_block) {
      // Not by USB port or PCI address: other drives can be below them.
      for (const char* id : {"ID_PART_ENTRY_UUID", "DM_UUID", "MD_UUID"}) {
        AddProperty(device, base, id, "by its UUID", found);
      }
      AddProperty(device, base, "ID_SERIAL", "by its serial number", found);
    } else if (usb != nullptr) {
      if (IdOf(*usb) != kAnyId) AddUsb(device, base, *usb, found);
    } else if (const SysfsDevice* pci = part.PciDevice()) {
      NewMatch match = base;
      if (IdOf(*pci) != kAnyId) match.pci = IdOf(*pci);
      // The functions of an IOMMU group have one node.
      if (!match.pci.empty() && (traits.is_whole || device.parts.size() == 1)) {
        AddType(match, match.pci, found);
      }
      match.pci_address = EscapedForGlob(pci->name);
      found.push_back(
          {std::move(match), "pci " + pci->name, "by its PCI address", "{pci_address}"});
    }
    if (usb == nullptr) AddProperty(device, base, "ID_PATH", "by its place in the machine", found);
    const SysfsPlace place = PlaceOf(part, traits.is_whole);
    // As a property, the place would be left out if it has other characters.
    const bool has_place = usb == nullptr || found.empty() || traits.is_generic;
    const bool is_virtual = part.self().path.starts_with("/sys/devices/virtual/");
    if (has_place && !is_virtual && IsPrintable(place.pattern)) {
      NewMatch match = base;
      match.udev.properties.emplace_back("DEVPATH", WithDigits(place.pattern));
      match.group_by = GroupOf(device);
      match.id = EscapedForTemplate(place.name);
      match.max_devices = 1;  // the ID is that of one device
      const std::string id = match.id;
      found.push_back(
          {std::move(match), place.pattern, "by its place in the machine", id, By::kPlace});
    }
    if (is_shortest_ || (is_virtual && found.empty())) AddName(device, base, found);
    return found;
  }

 private:
  using TextPair = std::pair<std::string, std::string>;

  /// Returns the ID as a pattern, and the serial number as it is compared: without spaces at its
  /// end.
  TextPair IdAndSerial(const SysfsDevice& usb) {
    std::string serial = sysfs_.Attribute(usb.path, "serial").value_or("");
    serial.resize(serial.find_last_not_of(' ') + 1);
    return {IdOf(usb), serial};
  }

  std::string IdOf(const SysfsDevice& usb_or_pci) {
    std::string id = ancestries_.NumbersOf(usb_or_pci);
    return id.size() == std::string_view("0403:6001").size() ? id : std::string(kAnyId);
  }

  void CountSerials() {
    const SysfsPaths usb = sysfs_.Devices([](std::string_view name) { return name == "usb"; });
    for (const std::string& path : usb.paths) {
      const auto device = ancestries_.Of(path);
      if (!device || !IsUsbDevice(device->self())) continue;
      const auto [id, serial] = IdAndSerial(device->self());
      if (++serials_[{id, serial}] > 1 && !serial.empty()) ambiguous_.insert(id);
      const std::string place = PlaceOf(*device, false).pattern;
      ++at_port_[{place, id}];
      ++at_port_[{place, ""}];
    }
  }

  void AddType(const NewMatch& match, const std::string& type,
               std::vector<MatchCandidate>& found) const {
    const std::string_view bus = match.usb.empty() ? "PCI" : "USB";
    if (!is_shortest_) return;
    found.push_back({match, "type " + type,
                     Format("by its {} ID, which no other device here has", bus), "", By::kType});
  }

  /// Adds a candidate that compares the name: by itself if the kernel does not count such devices,
  /// or an administrator chooses the number, as of an interface or a loop device.
  static void AddName(const HostDevice& device, NewMatch match,
                      std::vector<MatchCandidate>& found) {
    std::vector<std::string> paths;
    for (const DeviceAncestry& part : device.parts) {
      if (!part.self().node.empty()) paths.push_back(EscapedForGlob(part.self().node));
    }
    const SysfsDevice& self = device.parts.front().self();
    const bool is_named = self.subsystem == "net" || (self.subsystem == "block" && found.empty()) ||
                          NameWithoutNumbers(self.node) == EscapedForGlob(self.node);
    const bool is_fixed =
        self.path.starts_with("/sys/devices/virtual/") && is_named && paths.size() <= 1;
    if (!paths.empty()) {
      match = {.paths = paths, .together = paths.size() > 1};
      if (match.together) match.id = device.kind->resource;
    } else {
      match.udev.properties.emplace_back("DEVPATH",
                                         EscapedForGlob(DevpathOf(device.parts.front())));
    }
    if (is_fixed) {
      found = {{std::move(match), "name " + self.name, "by its name, which stays", ""}};
    } else {
      found.push_back({std::move(match), "name",
                       "by its name, because nothing that stays after a restart distinguishes it "
                       "from others: check the name after each restart",
                       "", By::kName});
    }
  }

  /// Returns the variable that the parts of a device have in common, and no other device.
  static std::string GroupOf(const HostDevice& device) {
    const bool has_parent = device.parts.front().devices.size() > 1;
    return device.kind->traits.is_whole && has_parent ? "parent" : "";
  }

  static void AddProperty(const HostDevice& device, NewMatch match, std::string_view name,
                          std::string why, std::vector<MatchCandidate>& found) {
    const std::string value = PropertyOf(device, name);
    if (value.empty()) return;
    match.udev.properties.emplace_back(name, EscapedForGlob(value));
    match.group_by = GroupOf(device);
    match.id = Format("{{{}}}", name);
    const std::string id = match.id;
    found.push_back({std::move(match), Format("{} {}", name, value), std::move(why), id});
  }

  void AddUsb(const HostDevice& device, NewMatch match, const SysfsDevice& usb,
              std::vector<MatchCandidate>& found) {
    const KindTraits& traits = device.kind->traits;
    const auto [usb_id, serial] = IdAndSerial(usb);
    match.usb = {traits.changes_id ? std::string(traits.ids) : usb_id};
    // Devices with equal serial numbers would have the same ID.
    if (ambiguous_.contains(usb_id)) match.id = "{usb_port}";
    AddType(match, match.usb.front(), found);
    match.id = "";
    std::string_view why_not;
    if (serial.empty()) {
      why_not = "it has no serial number";
    } else if (!IsComparable(serial) || IsPlaceholder(serial)) {
      why_not = "its serial number is a placeholder";
    } else if (serials_[{usb_id, serial}] > 1) {
      why_not = "another device has its serial number";
    } else {
      NewMatch by_serial = match;
      by_serial.serial = EscapedForGlob(serial);
      found.push_back({std::move(by_serial), Format("serial {} {}", usb_id, serial),
                       "by its serial number", "{usb_vendor}:{usb_product}-{usb_serial}",
                       By::kProperty, true});
      why_not = "its serial number is not enough";
    }
    const std::string because = is_shortest_ ? "" : Format(", because {}", why_not);
    AddUsbPort(device.parts.front(), std::move(match), usb, because, found);
  }

  /// Adds a candidate that compares the port without the number of its bus, and the controller.
  void AddUsbPort(const DeviceAncestry& part, NewMatch match, const SysfsDevice& usb,
                  std::string_view because, std::vector<MatchCandidate>& found) {
    const auto ancestry = ancestries_.Of(usb.path);
    if (!ancestry) return;
    const SysfsPlace place = PlaceOf(*ancestry, false);
    const auto& above = ancestry->devices;
    const auto bus = std::ranges::find_if(above.rbegin(), above.rend(), IsUsbDevice);
    if (bus == above.rbegin() || !bus->get().name.starts_with("usb")) {
      match.usb_port = EscapedForGlob(usb.name);
      match.id = "{usb_port}";
      found.push_back({std::move(match), "port " + usb.name,
                       Format("by its USB port and the number of its bus, whose controller is not "
                              "known{}: keep it plugged in there",
                              because),
                       "{usb_port}"});
      return;
    }
    const std::string port = usb.name.substr(std::min(usb.name.find('-'), usb.name.size()));
    match.usb_port = (port.empty() ? "usb*" : "*") + EscapedForGlob(port);
    std::string id = EscapedForTemplate(place.name);
    if (const SysfsDevice* pci = part.PciDevice()) {
      match.pci_address = EscapedForGlob(pci->name);
      id = "{pci_address}-usb" + port;
    } else {
      const std::string pattern = place.pattern.substr(0, place.pattern.rfind("/usb"));
      match.udev.properties.emplace_back("DEVPATH", WithDigits(pattern + "/usb*"));
      match.max_devices = 1;  // the ID is that of one device
    }
    std::string key = Format("port {} {}", place.pattern, match.usb.front());
    // A controller can have devices at equal ports of its USB 2 bus and its USB 3 bus.
    const bool is_shared = at_port_[{place.pattern, ""}] > 1;
    for (const std::string_view name : {"idVendor", "idProduct"}) {
      const std::string value = sysfs_.Attribute(bus->get().path, name).value_or("");
      if (is_shared && name == "idProduct") id += "-" + EscapedForTemplate(value);
      if (at_port_[{place.pattern, IdOf(usb)}] < 2) continue;
      match.udev.attributes.emplace_back(name, EscapedForGlob(value));
      key += " " + value;
    }
    match.id = id;
    found.push_back({std::move(match), std::move(key),
                     Format("by its USB port{}: keep it plugged in there", because), id,
                     By::kProperty, is_shared});
  }

  const bool is_shortest_;
  DeviceAncestries& ancestries_;
  const Sysfs& sysfs_;
  std::map<TextPair, int> serials_;  ///< how many USB devices have an ID and serial number
  std::set<std::string> ambiguous_;  ///< IDs of devices with equal serial numbers
  std::map<TextPair, int> at_port_;  ///< how many USB devices have a place and ID, or "": any ID
};

}  // namespace

std::vector<DeviceCandidates> CandidatesOf(const std::vector<HostDevice>& devices, bool is_shortest,
                                           DeviceAncestries& ancestries, const Sysfs& sysfs) {
  CandidateMaker maker(is_shortest, ancestries, sysfs);
  std::vector<DeviceCandidates> made;
  made.reserve(devices.size());
  for (const HostDevice& device : devices) {
    const NewMatch base = CandidateMaker::BaseOf(device);
    DeviceCandidates& candidates = made.emplace_back();
    for (const auto& [name, value] : base.udev.properties) candidates.group += " " + value;
    candidates.list = maker.CandidatesOf(device, base);
  }
  return made;
}

}  // namespace patchbay
