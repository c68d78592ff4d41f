// The maps of the plugin's configuration are read top down: device, group, then path or USB ID. A
// value that is invalid is reported and replaced by its default, so that one run reports all
// errors; a group or device with errors is not converted, so the defaults have no effect.
//
// Notes on numbers are collected in the reader and moved to the device when it is complete.

#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "config/normalize.h"
#include "convert/fields.h"
#include "convert/generic_device_plugin.h"
#include "convert/patterns.h"
#include "convert/yaml_json.h"

namespace patchbay {
namespace {

constexpr std::string_view kOwner = "generic-device-plugin";
constexpr std::string_view kDeviceKeys[] = {"name", "groups"};
constexpr std::string_view kGroupKeys[] = {"paths", "usb", "usbs", "count"};
constexpr std::string_view kPathKeys[] = {"path", "mountPath", "permissions", "readOnly",
                                          "type", "limit",     "optional"};
constexpr std::string_view kUsbKeys[] = {"vendor", "product", "serial"};
constexpr std::string_view kDevicesOnly[] = {"devices"};
constexpr std::string_view kGroupsOnly[] = {"groups"};
constexpr int kMaxReplicas = 10'000;
constexpr int kMaxLimit = 1'000'000'000;

/// Returns the key of a device that is probably meant to be `groups`; false if there is none.
YamlValue MisspelledGroups(const YamlValue& device) {
  for (const YamlEntry& entry : device.entries()) {
    const bool is_meant = entry.value.IsList() && IsMisspelled(entry.key, kGroupsOnly);
    if (is_meant && device.Find("name")) return entry.key;
  }
  return {};
}

/// Returns whether the value of a key is not a list, which has already been reported.
bool IsOther(const Fields& fields, std::string_view key) {
  const YamlValue value = fields.Find(key);
  return value && !value.IsList();
}

/// Reads one device.
class DeviceReader {
 public:
  DeviceReader(bool is_file, Findings& findings) : is_file_(is_file), findings_(findings) {}

  GenericDevice Device(const YamlValue& value);

 private:
  GenericGroup Group(const YamlValue& value);
  GenericPath Path(const YamlValue& value);
  GenericUsb Usb(const YamlValue& value, bool has_prefix);
  std::string Numbers(const Fields& fields, std::string_view key, bool has_prefix);

  bool is_file_;
  Findings& findings_;
  Notes notes_;
};

GenericDevice DeviceReader::Device(const YamlValue& value) {
  GenericDevice device{.place = value.place(), .source = ToJson(value, kMaxRefusedText)};
  if (!ExpectMap(value, "a device", findings_)) {
    device.errors = findings_.TakeErrors();
    return device;
  }
  const Fields fields(value, kOwner, kDeviceKeys, findings_);
  const auto name = fields.Text("name");
  device.name = std::string(Trimmed(name.value_or("")));
  device.place = fields.PlaceOfKey("name");
  const bool is_reported = !name && fields.Find("name");
  if (device.name.empty() && !is_reported)
    findings_.Malformed(device.place, "the device has no `name`");
  const auto groups = fields.List("groups");
  device.errors = findings_.TakeErrors();
  for (const YamlValue& group : groups) {
    device.groups.push_back(Group(group));
    device.groups.back().errors = findings_.TakeErrors();
  }
  if (device.groups.empty() && !IsOther(fields, "groups")) {
    findings_.CannotConvert(
        device.place,
        Format("\"{}\" has no groups, so it has no devices", Truncate(device.name, 60)),
        "remove it, or add `groups`");
    device.errors = findings_.TakeErrors();
  }
  device.notes = std::move(notes_);
  return device;
}

GenericGroup DeviceReader::Group(const YamlValue& value) {
  GenericGroup group{.place = value.place(), .source = ToJson(value, kMaxRefusedText)};
  if (!ExpectMap(value, "a group", findings_)) return group;
  const Fields fields(value, kOwner, kGroupKeys, findings_);
  group.count =
      static_cast<int>(std::max<std::int64_t>(fields.Number("count", kMaxReplicas, 1), 1));
  for (const YamlValue& path : fields.List("paths")) group.paths.push_back(Path(path));
  for (const YamlValue& usb : fields.List("usb")) group.usb.push_back(Usb(usb, false));
  for (const YamlValue& usb : fields.List("usbs")) group.usb.push_back(Usb(usb, true));
  if (!group.paths.empty() && !group.usb.empty()) {
    findings_.CannotConvert(group.place, "a group cannot have both `paths` and `usb`",
                            "generic-device-plugin does not start with both; create two groups");
  } else if (group.paths.empty() && group.usb.empty() && !IsOther(fields, "paths") &&
             !IsOther(fields, "usb") && !IsOther(fields, "usbs")) {
    findings_.CannotConvert(group.place, "the group has neither `paths` nor `usb`",
                            "remove the group, or add `paths` or `usb`");
  }
  return group;
}

GenericPath DeviceReader::Path(const YamlValue& value) {
  GenericPath path;
  path.place = value.place();
  if (!ExpectMap(value, "a path", findings_)) return path;
  const Fields fields(value, kOwner, kPathKeys, findings_);
  path.place = fields.PlaceOfKey("path");
  const auto text = fields.Text("path");
  path.path = std::string(Trimmed(text.value_or("")));
  const bool is_reported = !text && fields.Find("path");
  if (!path.path.starts_with('/') && !is_reported) {
    findings_.Malformed(path.place, "`path` must be an absolute path", "start it with a slash");
  }
  path.mount_path = std::string(Trimmed(fields.Text("mountPath").value_or("")));
  if (!path.mount_path.empty() && !path.mount_path.starts_with('/')) {
    findings_.Malformed(fields.PlaceOfKey("mountPath"), "`mountPath` must be an absolute path");
  }
  const std::string type = fields.Text("type").value_or("Device");
  path.is_mount = type == "Mount";
  if (!type.empty() && type != "Device" && type != "Mount") {
    findings_.Malformed(fields.PlaceOfKey("type"), "`type` must be Device or Mount");
  }
  const std::string permissions = fields.Text("permissions").value_or("");
  if (auto ours = NormalizedPermissions(permissions)) {
    path.permissions = std::move(*ours);
  } else if (!permissions.empty()) {
    findings_.Malformed(fields.PlaceOfKey("permissions"),
                        "`permissions` must be a combination of r, w and m, each at most once");
  }
  path.read_only = fields.Flag("readOnly");
  path.optional = fields.Flag("optional");
  path.limit = static_cast<int>(std::max<std::int64_t>(fields.Number("limit", kMaxLimit, 1), 1));
  return path;
}

/// Returns a USB ID with four lower-case digits, as in sysfs. In MicroShift, it has the prefix 0x.
std::string DeviceReader::Numbers(const Fields& fields, std::string_view key, bool has_prefix) {
  const YamlValue value = fields.Find(key);
  const auto given = fields.Text(key);
  if (value && !given) return "0000";  // reported by Text
  std::string text = given.value_or("");
  if (has_prefix && (text.starts_with("0x") || text.starts_with("0X"))) text.erase(0, 2);
  const bool is_hex =
      !text.empty() && text.size() <= 4 &&
      std::all_of(text.begin(), text.end(), [](char c) { return IsLowerHex(ToLower(c)); });
  if (!is_hex) {
    findings_.Malformed(fields.PlaceOfKey(key),
                        Format("`{}` must be one to four hexadecimal digits", key),
                        "use the digits that `lsusb` prints, in quotes");
    return "0000";
  }
  // Without quotes, generic-device-plugin reads a YAML number: decimal in the file, and octal with
  // a leading zero in a flag.
  const bool is_number = !value.is_quoted() && std::all_of(text.begin(), text.end(), IsDigit);
  if (is_number && (is_file_ || (text.size() > 1 && text.front() == '0'))) {
    notes_.push_back(Format(
        "{} {} has no quotes, so generic-device-plugin reads a different number; Patchbay uses "
        "the digits as they are.",
        key, text));
  }
  text = ToLower(text);
  return std::string(4 - text.size(), '0') + text;
}

GenericUsb DeviceReader::Usb(const YamlValue& value, bool has_prefix) {
  GenericUsb usb;
  usb.place = value.place();
  if (!ExpectMap(value, "an entry of `usb`", findings_)) return usb;
  const Fields fields(value, kOwner, kUsbKeys, findings_);
  usb.vendor = Numbers(fields, "vendor", has_prefix);
  usb.product = Numbers(fields, "product", has_prefix);
  usb.serial = fields.Text("serial").value_or("");
  return usb;
}

}  // namespace

std::optional<Misspelled> FindMisspelledGeneric(const YamlValue& value) {
  const YamlValue devices = value.Find(kDevicesOnly[0]);
  for (const YamlEntry& entry : value.entries()) {
    const bool is_misspelled = IsMisspelled(entry.key, kDevicesOnly);
    if (!is_misspelled && !devices.IsSameAs(entry.value)) continue;
    for (const YamlValue& device : entry.value.items()) {
      const YamlValue groups = MisspelledGroups(device);
      if (is_misspelled && (groups || device.Find("groups"))) {
        return Misspelled{entry.key.place(), entry.key.text(), kDevicesOnly[0]};
      }
      if (!is_misspelled && groups) {
        return Misspelled{groups.place(), groups.text(), kGroupsOnly[0]};
      }
    }
  }
  return std::nullopt;
}

GenericDevice ReadGenericDevice(const YamlValue& value, bool is_file, Findings& findings) {
  return DeviceReader(is_file, findings).Device(value);
}

GenericDevice ReadGenericList(std::string_view text, const SourceLocation& place) {
  GenericDevice device{.place = place, .source = QuoteJson(text)};
  const auto take = [&] {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view part = Trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    return std::string(part);
  };
  device.name = take();
  while (!text.empty()) {
    const std::string path = take();
    device.groups.push_back(
        {.paths = {{.path = path, .place = place}}, .place = place, .source = device.source});
  }
  return device;
}

}  // namespace patchbay
