#include "cdi/cdi_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/json.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

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
  for (const CdiHook& hook : edits.hooks) {
    json["hooks"].push_back({{"hookName", "createRuntime"},
                             {"path", hook.path},
                             {"args", hook.args},
                             {"timeout", hook.timeout_s}});
  }
  if (!edits.additional_gids.empty()) json["additionalGids"] = edits.additional_gids;
  return json;
}

/// The functions that read throw an exception of nlohmann for any other JSON.
CdiDeviceNode NodeFrom(const nlohmann::json& json) {
  CdiDeviceNode node{.path = json.at("path"),
                     .host_path = json.value("hostPath", ""),
                     .permissions = json.at("permissions")};
  if (!json.contains("type")) return node;
  node.type = json.at("type").get_ref<const std::string&>().c_str()[0];
  node.major = json.at("major");
  node.minor = json.at("minor");
  node.mode = json.at("fileMode");
  node.uid = json.at("uid");
  node.gid = json.at("gid");
  return node;
}

CdiEdits EditsFrom(const nlohmann::json& json) {
  const auto list = [&](const char* key) { return json.value(key, nlohmann::json::array()); };
  CdiEdits edits{.additional_gids = list("additionalGids")};
  for (const std::string text : list("env")) {
    const auto equals = text.find('=');
    edits.env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& node : list("deviceNodes")) edits.device_nodes.push_back(NodeFrom(node));
  for (const auto& mount : list("mounts")) {
    edits.mounts.push_back({mount.at("hostPath"), mount.at("containerPath"),
                            mount.value("options", std::vector<std::string>())});
  }
  for (const auto& hook : list("hooks")) {
    edits.hooks.push_back({hook.at("path"), hook.at("args"), hook.at("timeout")});
  }
  return edits;
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
    if (!device.edits.additional_gids.empty()) needs("0.7.0");
    for (const CdiDeviceNode& node : device.edits.device_nodes) {
      if (!node.host_path.empty()) needs("0.5.0");
    }
  }
  return version;
}

Result<std::string> CdiToJson(const CdiSpec& spec) {
  Json json = {{"cdiVersion", CdiVersionOf(spec)}, {"kind", spec.kind}};
  for (const CdiDevice& device : spec.devices) {
    Json out = {{"name", device.name}};
    out["containerEdits"] = EditsToJson(device.edits);
    json["devices"].push_back(std::move(out));
  }
  // All of it is UTF-8; replacing is better than an exception if it ever is not.
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (text.size() <= kMaxCdiBytes) return text;
  return Fail(ErrorKind::kInvalid,
              Format("a CDI file of {} bytes exceeds the limit of {}", text.size(), kMaxCdiBytes));
}

Result<CdiSpec> CdiFromJson(std::string_view json) {
  const auto file = TRY(ParseJson(json, {.bytes = kMaxCdiBytes}));
  try {
    CdiSpec spec{.kind = file.at("kind"), .devices = {}};
    for (const auto& device : file.at("devices")) {
      spec.devices.push_back({device.at("name"), EditsFrom(device.at("containerEdits"))});
    }
    return spec;
  } catch (const nlohmann::json::exception& problem) {
    return Fail(ErrorKind::kInvalid, Printable(problem.what()));
  }
}

}  // namespace patchbay
