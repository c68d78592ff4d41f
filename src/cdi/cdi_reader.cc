#include "cdi/cdi_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/format.h"
#include "base/json.h"

namespace patchbay {
namespace {

Failure Wrong(std::string_view what) {
  return Fail(ErrorKind::kInvalid, Format("a field of the CDI file is not valid: {}", what));
}

/// Fails if the value is not an object, or has a member that is not in `known`.
Status CheckObject(const nlohmann::json& value, std::string_view what,
                   std::span<const std::string_view> known) {
  if (!value.is_object()) return Wrong(what);
  for (const auto& [key, member] : value.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      return Fail(ErrorKind::kInvalid, Format("the CDI file has the unknown field \"{}\"",
                                              Printable(Truncate(key, 100))));
    }
  }
  return {};
}

/// Reads an element of a list.
Result<std::string> TextFrom(const nlohmann::json& value) {
  if (!value.is_string()) return Wrong("an element is not a text");
  return value.get<std::string>();
}

/// Reads an element of a list.
Result<std::uint32_t> NumberFrom(const nlohmann::json& value) {
  if (!value.is_number_unsigned()) return Wrong("a number");
  const auto number = value.get<std::uint64_t>();
  if (number > std::numeric_limits<std::uint32_t>::max()) return Wrong("a number");
  return static_cast<std::uint32_t>(number);
}

/// Reads a member that must exist.
template <class T>
Result<T> Read(const nlohmann::json& object, const char* key,
               Result<T> (*read)(const nlohmann::json& value)) {
  const auto member = object.find(key);
  if (member == object.end()) return Wrong(key);
  auto value = read(*member);
  if (!value) return Wrong(key);
  return value;
}

Result<std::string> ReadText(const nlohmann::json& object, const char* key) {
  return Read(object, key, &TextFrom);
}

/// Reads the elements of a list, which may be missing.
template <class T>
Result<std::vector<T>> ReadList(const nlohmann::json& object, const char* key,
                                Result<T> (*read)(const nlohmann::json& value)) {
  std::vector<T> list;
  const auto elements = object.find(key);
  if (elements == object.end()) return list;
  if (!elements->is_array()) return Wrong(key);
  list.reserve(elements->size());
  for (const nlohmann::json& element : *elements) list.push_back(TRY(read(element)));
  return list;
}

Result<std::map<std::string, std::string>> ReadEnv(const nlohmann::json& object) {
  std::map<std::string, std::string> env;
  for (const std::string& text : TRY(ReadList(object, "env", &TextFrom))) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) return Wrong("env");
    if (!env.emplace(text.substr(0, equals), text.substr(equals + 1)).second) return Wrong("env");
  }
  return env;
}

Result<CdiDeviceNode> ReadDeviceNode(const nlohmann::json& value) {
  static constexpr std::string_view kKeys[] = {
      "path", "hostPath", "type", "major", "minor", "fileMode", "uid", "gid", "permissions"};
  TRY(CheckObject(value, "deviceNodes", kKeys));
  CdiDeviceNode node;
  node.path = TRY(ReadText(value, "path"));
  if (value.contains("hostPath")) node.host_path = TRY(ReadText(value, "hostPath"));
  node.permissions = TRY(ReadText(value, "permissions"));
  if (!value.contains("type")) return node;
  const std::string type = TRY(ReadText(value, "type"));
  if (type.size() != 1) return Wrong("type");
  node.type = type.front();
  node.major = TRY(Read(value, "major", &NumberFrom));
  node.minor = TRY(Read(value, "minor", &NumberFrom));
  node.mode = TRY(Read(value, "fileMode", &NumberFrom));
  node.uid = TRY(Read(value, "uid", &NumberFrom));
  node.gid = TRY(Read(value, "gid", &NumberFrom));
  return node;
}

Result<CdiMount> ReadMount(const nlohmann::json& value) {
  static constexpr std::string_view kKeys[] = {"hostPath", "containerPath", "options"};
  TRY(CheckObject(value, "mounts", kKeys));
  CdiMount mount;
  mount.host_path = TRY(ReadText(value, "hostPath"));
  mount.container_path = TRY(ReadText(value, "containerPath"));
  mount.options = TRY(ReadList(value, "options", &TextFrom));
  return mount;
}

Result<CdiEdits> ReadEdits(const nlohmann::json& value) {
  static constexpr std::string_view kKeys[] = {"env", "deviceNodes", "mounts", "additionalGids"};
  TRY(CheckObject(value, "containerEdits", kKeys));
  CdiEdits edits;
  edits.env = TRY(ReadEnv(value));
  edits.device_nodes = TRY(ReadList(value, "deviceNodes", &ReadDeviceNode));
  edits.mounts = TRY(ReadList(value, "mounts", &ReadMount));
  edits.additional_gids = TRY(ReadList(value, "additionalGids", &NumberFrom));
  return edits;
}

Result<CdiDevice> ReadDevice(const nlohmann::json& value) {
  static constexpr std::string_view kKeys[] = {"name", "annotations", "containerEdits"};
  TRY(CheckObject(value, "devices", kKeys));
  CdiDevice device;
  device.name = TRY(ReadText(value, "name"));
  if (const nlohmann::json* const annotations = TRY(ObjectMember(value, "annotations"))) {
    for (const auto& [key, text] : annotations->items()) {
      device.annotations.emplace(key, TRY(TextFrom(text)));
    }
  }
  device.edits = TRY(Read(value, "containerEdits", &ReadEdits));
  return device;
}

}  // namespace

Result<CdiSpec> ReadCdiSpec(std::string_view json, std::string& version) {
  static constexpr std::string_view kKeys[] = {"cdiVersion", "kind", "devices"};
  const auto file = ParseJson(json, {.bytes = kMaxCdiBytes});
  if (!file) return Fail(ErrorKind::kInvalid, "the CDI file " + file.error().message);
  TRY(CheckObject(*file, "the whole file", kKeys));
  version = TRY(ReadText(*file, "cdiVersion"));
  CdiSpec spec;
  spec.kind = TRY(ReadText(*file, "kind"));
  spec.devices = TRY(ReadList(*file, "devices", &ReadDevice));
  return spec;
}

}  // namespace patchbay
