// A value that is invalid is reported and replaced by its default, so that one run reports all
// errors; a group with errors is not converted, so the defaults have no effect.

#include "convert/generic_group.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "config/normalize.h"
#include "convert/fields.h"
#include "convert/patterns.h"
#include "model/text_pattern.h"

namespace patchbay {
namespace {

constexpr std::string_view kOwner = "generic-device-plugin";
constexpr std::string_view kGroupKeys[] = {"paths", "usb", "usbs", "count"};
constexpr std::string_view kPathKeys[] = {"path", "mountPath", "permissions", "readOnly",
                                          "type", "limit",     "optional"};
constexpr std::string_view kUsbKeys[] = {"vendor", "product", "serial"};
constexpr int kMaxReplicas = 10'000;
constexpr int kMaxLimit = 1'000'000'000;

/// Returns a key of a map that is not one of `keys`; false if there is none.
YamlValue OtherKey(const YamlValue& map, std::span<const std::string_view> keys) {
  for (const YamlEntry& entry : map.entries()) {
    if (!IsAmong(ToLower(entry.key.text()), keys)) return entry.key;
  }
  return {};
}

/// Reads one group.
class GroupReader {
 public:
  GroupReader(bool is_file, Notes& notes, Findings& findings)
      : is_file_(is_file), notes_(notes), findings_(findings) {}

  GenericGroup Group(const YamlValue& value);

 private:
  GenericPath Path(const YamlValue& value);
  GenericUsb Usb(const YamlValue& value, bool has_prefix);
  std::string Numbers(const Fields& fields, std::string_view key, bool has_prefix);
  void CheckQuotes(std::string_view key, const YamlValue& value, bool is_decimal);

  bool is_file_;
  Notes& notes_;
  Findings& findings_;
};

GenericGroup GroupReader::Group(const YamlValue& value) {
  GenericGroup group{.place = value.place()};
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
  } else if (group.paths.empty() && group.usb.empty() && !findings_.HasNewErrors()) {
    findings_.CannotConvert(group.place, "the group has neither `paths` nor `usb`",
                            "remove the group, or add `paths` or `usb`");
  }
  return group;
}

GenericPath GroupReader::Path(const YamlValue& value) {
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

/// Reports a text that is a number without quotes, and that the plugin therefore reads in another
/// way: if `is_decimal`, any number, and otherwise one that Go does not write as it is in the file.
void GroupReader::CheckQuotes(std::string_view key, const YamlValue& value, bool is_decimal) {
  static const auto kOther = TextPattern::Compile(
      "[-+]?(?:0x[0-9a-f]+|0b[01]+|0o?[0-7]+|0[0-9]+|[0-9]{19,}|[0-9]+_[0-9_]*|"
      "(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)e[-+]?[0-9]+|[0-9]*\\.[0-9]+|[0-9]+\\.)");
  if (value.is_quoted() || !(is_decimal || kOther->Matches(ToLower(value.text())))) return;
  const std::string difference =
      Format("{} {} has no quotes, so generic-device-plugin reads a different number", key,
             Truncate(value.text(), 60));
  notes_.push_back(difference + "; Patchbay uses the digits as they are.");
  findings_.Assumed(value.place(), difference,
                    "Patchbay uses the digits as they are; compare them with `lsusb`");
}

/// Returns a USB ID with four lower-case digits, as in sysfs. In MicroShift, it has the prefix 0x.
std::string GroupReader::Numbers(const Fields& fields, std::string_view key, bool has_prefix) {
  const YamlValue value = fields.Find(key);
  const auto given = fields.Text(key);
  if (!given) return "0000";  // reported by Text
  std::string text = *given;
  if (has_prefix && (text.starts_with("0x") || text.starts_with("0X"))) text.erase(0, 2);
  const bool is_hex = !text.empty() && text.size() <= 4 &&
                      std::ranges::all_of(text, [](char c) { return IsLowerHex(ToLower(c)); });
  if (!is_hex) {
    findings_.Malformed(fields.PlaceOfKey(key),
                        Format("`{}` must be one to four hexadecimal digits", key),
                        "use the digits that `lsusb` prints, in quotes");
    return "0000";
  }
  // The file has decimal numbers where a flag has texts of digits.
  CheckQuotes(key, value, is_file_ && std::ranges::all_of(text, IsDigit));
  text = ToLower(text);
  return std::string(4 - text.size(), '0') + text;
}

GenericUsb GroupReader::Usb(const YamlValue& value, bool has_prefix) {
  GenericUsb usb;
  if (!ExpectMap(value, "an entry of `usb`", findings_)) return usb;
  const Fields fields(value, kOwner, kUsbKeys, findings_);
  for (const std::string_view key : {"vendor", "product"}) {
    if (fields.Find(key)) continue;
    const YamlValue other = OtherKey(value, kUsbKeys);
    findings_.Malformed(
        value.place(), Format("the entry has no `{}`", key),
        other ? Format("did you mean `{}` instead of `{}`?", key, Truncate(other.text(), 60))
              : Format("add the `{}` that `lsusb` prints, in quotes", key));
    return usb;
  }
  usb.vendor = Numbers(fields, "vendor", has_prefix);
  usb.product = Numbers(fields, "product", has_prefix);
  usb.serial = fields.Text("serial").value_or("");
  CheckQuotes("serial", fields.Find("serial"), false);
  return usb;
}

}  // namespace

GenericGroup ReadGenericGroup(const YamlValue& value, bool is_file, Notes& notes,
                              Findings& findings) {
  return GroupReader(is_file, notes, findings).Group(value);
}

bool AreGenericGroups(const YamlValue& value) {
  return std::ranges::any_of(value.items(), [](const YamlValue& group) {
    return group.Find("paths").IsList() || group.Find("usb").IsList();
  });
}

}  // namespace patchbay
