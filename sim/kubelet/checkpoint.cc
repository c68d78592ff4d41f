#include "sim/kubelet/checkpoint.h"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/format.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

/// The key for devices without a NUMA node in the file of the kubelet; used for all devices here.
constexpr char kNoNode[] = "-1";

Json Field(const Json& object, const char* name) {
  return object.is_object() ? object.value(name, Json()) : Json();
}

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::vector<std::string> Ids(const Json& list) {
  std::vector<std::string> ids;
  if (!list.is_array()) return ids;
  for (const Json& id : list) ids.push_back(Text(id));
  return ids;
}

Status WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FailErrno("cannot write the checkpoint", errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

std::string EncodeCheckpoint(const Checkpoint& checkpoint) {
  Json pods = Json::array();
  for (const auto& [key, devices] : checkpoint.pods) {
    pods.push_back({
        {"PodUID", key.pod},
        {"ContainerName", key.container},
        {"ResourceName", key.resource},
        {"DeviceIDs", {{kNoNode, devices.ids}}},
        {"AllocResp", absl::Base64Escape(devices.response.SerializeAsString())},
    });
  }
  const Json root = {
      {"Data",
       {{"RegisteredDevices", checkpoint.registered}, {"PodDeviceEntries", std::move(pods)}}}};
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Checkpoint> DecodeCheckpoint(const std::string& text) {
  const Json data = Field(Json::parse(text, nullptr, false), "Data");
  if (!data.is_object()) return Fail(ErrorKind::kInvalid, "the checkpoint is corrupt");
  Checkpoint checkpoint;
  const Json registered = Field(data, "RegisteredDevices");
  for (const auto& [resource, ids] : registered.items()) {
    checkpoint.registered[resource] = Ids(ids);
  }
  for (const Json& entry : Field(data, "PodDeviceEntries")) {
    ContainerDevices& devices = checkpoint.pods[{
        .pod = Text(Field(entry, "PodUID")),
        .container = Text(Field(entry, "ContainerName")),
        .resource = Text(Field(entry, "ResourceName")),
    }];
    devices.ids = Ids(Field(Field(entry, "DeviceIDs"), kNoNode));
    std::string response;
    if (!absl::Base64Unescape(Text(Field(entry, "AllocResp")), &response) ||
        !devices.response.ParseFromString(response)) {
      return Fail(ErrorKind::kInvalid, "the checkpoint is corrupt");
    }
  }
  return checkpoint;
}

Status WriteStateFile(const std::string& directory, const std::string& name,
                      const std::string& text) {
  std::string temporary = directory + "/.XXXXXX";
  const UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return FailErrno(Format("cannot create a file in {}", directory), errno);
  Status written = WriteAll(fd.get(), text);
  if (written && fsync(fd.get()) != 0) written = FailErrno("cannot sync the checkpoint", errno);
  const std::string path = Format("{}/{}", directory, name);
  if (written && rename(temporary.c_str(), path.c_str()) != 0) {
    written = FailErrno(Format("cannot rename to {}", path), errno);
  }
  if (!written) unlink(temporary.c_str());
  return written;
}

std::string ReadStateFile(const std::string& directory, const std::string& name) {
  std::ifstream file(Format("{}/{}", directory, name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Status WriteCheckpoint(const std::string& directory, const Checkpoint& checkpoint) {
  return WriteStateFile(directory, kCheckpointName, EncodeCheckpoint(checkpoint));
}

Checkpoint ReadCheckpoint(const std::string& directory) {
  return DecodeCheckpoint(ReadStateFile(directory, kCheckpointName)).value_or(Checkpoint());
}

}  // namespace patchbay
