#include "cdi/cdi_reader.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/format.h"
#include "base/json_text.h"

namespace patchbay {
namespace {

using Members = std::vector<JsonMember>;

Failure Wrong(std::string_view what) {
  return Fail(ErrorKind::kInvalid, Format("a field of the CDI file is not valid: {}", what));
}

/// Returns the members of an object, all of which are in `known`.
Result<Members> ReadObject(std::string_view value, std::string_view what,
                           std::span<const std::string_view> known) {
  auto members = MembersOfJson(value);
  if (!members) return Wrong(what);
  for (const JsonMember& member : *members) {
    if (std::ranges::find(known, member.key) == known.end()) {
      return Fail(ErrorKind::kInvalid, Format("the CDI file has the unknown field \"{}\"",
                                              Printable(Truncate(member.key, 100))));
    }
  }
  return *std::move(members);
}

/// Reads a member that must exist.
Result<std::string> ReadText(const Members& members, std::string_view key) {
  auto text = TextOfJson(FindMember(members, key), kMaxCdiBytes);
  if (!text) return Wrong(key);
  return *std::move(text);
}

/// Reads an element of a list.
Result<std::string> TextFrom(std::string_view value) {
  auto text = TextOfJson(value, kMaxCdiBytes);
  if (!text) return Wrong("an element is not a text");
  return *std::move(text);
}

/// Reads the elements of a list, which may be missing.
template <class T>
Result<std::vector<T>> ReadList(const Members& members, std::string_view key,
                                Result<T> (*read)(std::string_view value)) {
  std::vector<T> list;
  const std::string_view value = FindMember(members, key);
  if (value.empty()) return list;
  const auto elements = ElementsOfJson(value);
  if (!elements) return Wrong(key);
  list.reserve(elements->size());
  for (const std::string_view element : *elements) list.push_back(TRY(read(element)));
  return list;
}

Result<std::map<std::string, std::string>> ReadEnv(const Members& members) {
  std::map<std::string, std::string> env;
  for (const std::string& text : TRY(ReadList(members, "env", &TextFrom))) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) return Wrong("env");
    if (!env.emplace(text.substr(0, equals), text.substr(equals + 1)).second) return Wrong("env");
  }
  return env;
}

/// Reads an element of a list.
Result<std::uint32_t> NumberFrom(std::string_view value) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return Wrong("a number");
  return number;
}

Result<std::uint32_t> ReadNumber(const Members& members, std::string_view key) {
  const auto number = NumberFrom(FindMember(members, key));
  if (!number) return Wrong(key);
  return *number;
}

Result<CdiDeviceNode> ReadDeviceNode(std::string_view value) {
  static constexpr std::string_view kKeys[] = {
      "path", "hostPath", "type", "major", "minor", "fileMode", "uid", "gid", "permissions"};
  const Members members = TRY(ReadObject(value, "deviceNodes", kKeys));
  CdiDeviceNode node;
  node.path = TRY(ReadText(members, "path"));
  if (!FindMember(members, "hostPath").empty()) node.host_path = TRY(ReadText(members, "hostPath"));
  node.permissions = TRY(ReadText(members, "permissions"));
  if (FindMember(members, "type").empty()) return node;
  const std::string type = TRY(ReadText(members, "type"));
  if (type.size() != 1) return Wrong("type");
  node.type = type.front();
  node.major = TRY(ReadNumber(members, "major"));
  node.minor = TRY(ReadNumber(members, "minor"));
  node.mode = TRY(ReadNumber(members, "fileMode"));
  node.uid = TRY(ReadNumber(members, "uid"));
  node.gid = TRY(ReadNumber(members, "gid"));
  return node;
}

Result<CdiMount> ReadMount(std::string_view value) {
  static constexpr std::string_view kKeys[] = {"hostPath", "containerPath", "options"};
  const Members members = TRY(ReadObject(value, "mounts", kKeys));
  CdiMount mount;
  mount.host_path = TRY(ReadText(members, "hostPath"));
  mount.container_path = TRY(ReadText(members, "containerPath"));
  mount.options = TRY(ReadList(members, "options", &TextFrom));
  return mount;
}

Result<CdiEdits> ReadEdits(std::string_view value) {
  static constexpr std::string_view kKeys[] = {"env", "deviceNodes", "mounts", "additionalGids"};
  const Members members = TRY(ReadObject(value, "containerEdits", kKeys));
  CdiEdits edits;
  edits.env = TRY(ReadEnv(members));
  edits.device_nodes = TRY(ReadList(members, "deviceNodes", &ReadDeviceNode));
  edits.mounts = TRY(ReadList(members, "mounts", &ReadMount));
  edits.additional_gids = TRY(ReadList(members, "additionalGids", &NumberFrom));
  return edits;
}

Status ReadAnnotations(std::string_view value, std::map<std::string, std::string>& annotations) {
  const auto members = MembersOfJson(value);
  if (!members) return Wrong("annotations");
  for (const JsonMember& member : *members) {
    // A key with escapes is not a valid key; CheckCdiSpec rejects it.
    annotations.emplace(member.key, TRY(ReadText(*members, member.key)));
  }
  return {};
}

Result<CdiDevice> ReadDevice(std::string_view value) {
  static constexpr std::string_view kKeys[] = {"name", "annotations", "containerEdits"};
  const Members members = TRY(ReadObject(value, "devices", kKeys));
  CdiDevice device;
  device.name = TRY(ReadText(members, "name"));
  if (const auto annotations = FindMember(members, "annotations"); !annotations.empty()) {
    TRY(ReadAnnotations(annotations, device.annotations));
  }
  device.edits = TRY(ReadEdits(FindMember(members, "containerEdits")));
  return device;
}

}  // namespace

Result<CdiSpec> ReadCdiSpec(std::string_view json, std::string& version) {
  static constexpr std::string_view kKeys[] = {"cdiVersion", "kind", "devices"};
  if (!IsJson(json)) return Fail(ErrorKind::kInvalid, "the CDI file is not valid JSON");
  const Members members = TRY(ReadObject(json, "the whole file", kKeys));
  version = TRY(ReadText(members, "cdiVersion"));
  CdiSpec spec;
  spec.kind = TRY(ReadText(members, "kind"));
  spec.devices = TRY(ReadList(members, "devices", &ReadDevice));
  return spec;
}

}  // namespace patchbay
