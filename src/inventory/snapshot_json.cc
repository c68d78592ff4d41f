#include "inventory/snapshot_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "base/format.h"
#include "model/variables.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// Variables of the container and of the node, not of the device.
constexpr std::string_view kOfOthers[] = {"slot", "replica", "node_name"};

}  // namespace

SnapshotJson::SnapshotJson(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (const MatchSpec& match : snapshot.spec->matches) {
    for (const Variable& variable : SuppliedBy(match)) {
      const bool is_known =
          std::count(variables_.begin(), variables_.end(), variable.name) > 0 ||
          std::count(std::begin(kOfOthers), std::end(kOfOthers), variable.name) > 0;
      if (!is_known) variables_.push_back(variable.name);
    }
  }
}

Json SnapshotJson::Device(std::size_t index) const {
  const ListedDevice& listed = snapshot_.devices[index];
  const patchbay::Device& device = *listed.device;
  Json paths = Json::array();
  for (const DeviceNode& node : device.nodes) paths.push_back(node.path);
  Variables of_device = VariablesOf(device);
  of_device.resource = snapshot_.spec->name;
  of_device.id = device.id;
  of_device.index = static_cast<std::int64_t>(index);
  Json variables = Json::object();
  for (const std::string& name : variables_) {
    const auto value = of_device.Find(name);
    if (value) std::visit([&](const auto& v) { variables[name] = v; }, *value);
  }
  Json json = {{"id", device.id},
               {"health", Name(listed.health)},
               {"reason", listed.reason},
               {"paths", std::move(paths)},
               {"numa_node", device.numa_node ? Json(*device.numa_node) : Json()},
               {"variables", std::move(variables)}};
  if (device.interface) json["in_pod"] = IsAway(device);
  return json;
}

Json SnapshotJson::Rejected() const {
  Json rejected = Json::array();
  for (const Rejection& rejection : snapshot_.rejected) {
    rejected.push_back({{"path", Printable(rejection.path)},
                        {"reason", Format("{}: {}", Name(rejection.reason), rejection.detail)}});
  }
  return rejected;
}

Json SnapshotJson::MissingMounts() const {
  Json missing = Json::array();
  for (const MissingMount& mount : snapshot_.missing_mounts) {
    missing.push_back({{"path", Printable(mount.path)}, {"reason", Printable(mount.detail)}});
  }
  return missing;
}

Json SnapshotJson::UnusedExcludes() const {
  Json unused = Json::array();
  for (const UnusedExclude& exclude : snapshot_.unused_excludes) {
    unused.push_back({{"path", exclude.what}, {"reason", exclude.reason()}});
  }
  return unused;
}

Json SnapshotJson::Notes() const {
  Json notes = Json::array();
  for (const DeviceNote& note : snapshot_.notes) {
    notes.push_back({{"device", Printable(note.device)}, {"reason", Printable(note.text)}});
  }
  return notes;
}

Json DiagnosticJson(const Diagnostic& diagnostic) {
  return {{"file", diagnostic.place.file},
          {"line", diagnostic.place.line},
          {"column", diagnostic.place.column},
          {"severity", Name(diagnostic.severity)},
          {"code", diagnostic.code},
          {"message", diagnostic.message},
          {"hint", diagnostic.hint}};
}

std::string JsonText(const Json& json, int indent) {
  return EscapeJsonDocument(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace patchbay
