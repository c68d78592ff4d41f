// Both directions validate with CheckCdiSpec, so that a damaged or foreign file is never believed
// to be ours. The rules for names and paths are those of model/validators.h.

#include "cdi/cdi_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "cdi/cdi_reader.h"
#include "model/validators.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxClass = 63;

Failure NotValid(std::string_view what, std::string_view value, std::string_view why) {
  return Fail(ErrorKind::kInvalid,
              Format("{} \"{}\" of a CDI file {}", what, Printable(Truncate(value, 100)), why));
}

Status CheckText(std::string_view what, std::string_view text) {
  if (IsUtf8(text) && text.find('\0') == std::string_view::npos) return {};
  return NotValid(what, text, "is not text");
}

Status CheckPath(std::string_view what, const std::string& path) {
  if (IsShortestPath(path) && IsUtf8(path)) return {};
  return NotValid(what, path, "is not an absolute path without \".\" and \"..\"");
}

Status CheckPermissions(std::string_view permissions) {
  for (const std::string_view valid : {"r", "w", "m", "rw", "rm", "wm", "rwm"}) {
    if (permissions == valid) return {};
  }
  return NotValid("the permissions", permissions, "are not a combination of r, w and m");
}

Status CheckEdits(const CdiEdits& edits) {
  for (const auto& [name, value] : edits.env) {
    if (const auto problem = ProblemWithEnvName(LiteralShape(name))) {
      return NotValid("the environment variable", name, "is not valid: " + problem->message);
    }
    TRY(CheckText("the environment variable", value));
  }
  for (const CdiDeviceNode& node : edits.device_nodes) {
    TRY(CheckPath("the path", node.path));
    if (!node.host_path.empty()) TRY(CheckPath("the host path", node.host_path));
    TRY(CheckPermissions(node.permissions));
    if (node.type != 0 && node.type != 'c' && node.type != 'b') {
      return NotValid("the type", std::string(1, node.type), "is not c or b");
    }
    if (node.mode > 0777) {
      return NotValid("the file mode", std::to_string(node.mode), "has more than permissions");
    }
  }
  for (const CdiMount& mount : edits.mounts) {
    TRY(CheckPath("the host path", mount.host_path));
    TRY(CheckPath("the path", mount.container_path));
    for (const std::string& option : mount.options) TRY(CheckText("the mount option", option));
  }
  if (std::ranges::count(edits.additional_gids, 0U) > 0) {
    return Fail(ErrorKind::kInvalid, "a CDI file cannot grant group 0");
  }
  return {};
}

Json EditsToJson(const CdiEdits& edits) {
  Json json = Json::object();
  for (const auto& [name, value] : edits.env) {
    json["env"].push_back(name + "=" + value);  // NOLINT(performance-inefficient-*)
  }
  for (const CdiDeviceNode& node : edits.device_nodes) {
    Json out = {{"path", node.path}};
    if (!node.host_path.empty()) out["hostPath"] = node.host_path;
    if (node.type != 0) {
      out["type"] = std::string(1, node.type);
      out["major"] = node.major;
      out["minor"] = node.minor;
      out["fileMode"] = node.mode;
      out["uid"] = node.uid;
      out["gid"] = node.gid;
    }
    out["permissions"] = node.permissions;
    json["deviceNodes"].push_back(std::move(out));
  }
  for (const CdiMount& mount : edits.mounts) {
    Json out = {{"hostPath", mount.host_path}, {"containerPath", mount.container_path}};
    if (!mount.options.empty()) out["options"] = mount.options;
    json["mounts"].push_back(std::move(out));
  }
  if (!edits.additional_gids.empty()) json["additionalGids"] = edits.additional_gids;
  return json;
}

}  // namespace

std::string QualifiedCdiName(std::string_view kind, std::string_view device) {
  return Format("{}={}", kind, device);
}

/// The table of SPEC.md. Fields that Patchbay does not use are left out.
std::string_view CdiVersionOf(const CdiSpec& spec) {
  std::string_view version = "0.3.0";
  // Versions of one digit for each part compare as text.
  const auto needs = [&](std::string_view least) { version = std::max(version, least); };
  const auto slash = spec.kind.find('/');
  if (slash != std::string::npos && spec.kind.find('.', slash) != std::string::npos) {
    needs("0.6.0");
  }
  for (const CdiDevice& device : spec.devices) {
    if (!device.name.empty() && IsDigit(device.name.front())) needs("0.5.0");
    if (!device.annotations.empty()) needs("0.6.0");
    if (!device.edits.additional_gids.empty()) needs("0.7.0");
    for (const CdiDeviceNode& node : device.edits.device_nodes) {
      if (!node.host_path.empty()) needs("0.5.0");
    }
  }
  return version;
}

Status CheckCdiSpec(const CdiSpec& spec) {
  if (spec.devices.empty()) return Fail(ErrorKind::kInvalid, "a CDI file needs a device");
  std::set<std::string_view> names;
  for (const CdiDevice& device : spec.devices) {
    const std::string name = QualifiedCdiName(spec.kind, device.name);
    if (const auto problem = ProblemWithCdiName(LiteralShape(name))) {
      return NotValid("the name", name, "is not valid: " + problem->message);
    }
    if (!names.insert(device.name).second) return NotValid("the name", name, "occurs twice");
    for (const auto& [key, value] : device.annotations) {
      if (const auto problem = ProblemWithAnnotationKey(LiteralShape(key))) {
        return NotValid("the annotation", key, "is not valid: " + problem->message);
      }
      TRY(CheckText("the annotation", value));
    }
    TRY(CheckEdits(device.edits));
  }
  if (spec.kind.size() - spec.kind.find('/') - 1 > kMaxClass) {
    return NotValid("the kind", spec.kind, "has a class of more than 63 bytes");
  }
  return {};
}

Result<std::string> CdiToJson(const CdiSpec& spec) {
  TRY(CheckCdiSpec(spec));
  Json json = {{"cdiVersion", CdiVersionOf(spec)}, {"kind", spec.kind}};
  for (const CdiDevice& device : spec.devices) {
    Json out = {{"name", device.name}};
    if (!device.annotations.empty()) out["annotations"] = device.annotations;
    out["containerEdits"] = EditsToJson(device.edits);
    json["devices"].push_back(std::move(out));
  }
  std::string text = json.dump(2) + "\n";
  if (text.size() <= kMaxCdiBytes) return text;
  return Fail(ErrorKind::kInvalid,
              Format("a CDI file of {} bytes exceeds the limit of {}", text.size(), kMaxCdiBytes));
}

Result<CdiSpec> CdiFromJson(std::string_view json) {
  if (json.size() > kMaxCdiBytes) {
    return Fail(ErrorKind::kInvalid, "the CDI file exceeds the size limit");
  }
  std::string version;
  CdiSpec spec = TRY(ReadCdiSpec(json, version));
  TRY(CheckCdiSpec(spec));
  if (version == CdiVersionOf(spec)) return spec;
  return NotValid("the version", version, "is not the one of its fields");
}

}  // namespace patchbay
