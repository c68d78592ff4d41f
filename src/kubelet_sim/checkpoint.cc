#include "kubelet_sim/checkpoint.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/format.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using google::protobuf::Value;
using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageToJsonString;

/// Devices without a NUMA node are under this key in the kubelet's file; here all are.
constexpr char kNoNode[] = "-1";

void SetIds(const std::vector<std::string>& ids, Value& value) {
  ListValue& list = *value.mutable_list_value();
  for (const std::string& id : ids) list.add_values()->set_string_value(id);
}

std::vector<std::string> GetIds(const Value& value) {
  std::vector<std::string> ids;
  for (const Value& id : value.list_value().values()) ids.push_back(id.string_value());
  return ids;
}

// The JSON of BytesValue is a quoted base64, the form in which Go writes bytes.
std::string ToBase64(const std::string& bytes) {
  google::protobuf::BytesValue value;
  value.set_value(bytes);
  std::string json;
  (void)MessageToJsonString(value, &json);
  return json.size() < 2 ? "" : json.substr(1, json.size() - 2);
}

std::string FromBase64(const std::string& text) {
  google::protobuf::BytesValue value;
  (void)JsonStringToMessage(format("\"{}\"", text), &value);
  return value.value();
}

const Value& Field(const Struct& object, const std::string& name) {
  const auto field = object.fields().find(name);
  return field == object.fields().end() ? Value::default_instance() : field->second;
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
  Struct root;
  Struct& data = *(*root.mutable_fields())["Data"].mutable_struct_value();
  Struct& registered = *(*data.mutable_fields())["RegisteredDevices"].mutable_struct_value();
  for (const auto& [resource, ids] : checkpoint.registered) {
    SetIds(ids, (*registered.mutable_fields())[resource]);
  }
  ListValue& pods = *(*data.mutable_fields())["PodDeviceEntries"].mutable_list_value();
  for (const auto& [key, devices] : checkpoint.pods) {
    auto& entry = *pods.add_values()->mutable_struct_value()->mutable_fields();
    entry["PodUID"].set_string_value(key.pod);
    entry["ContainerName"].set_string_value(key.container);
    entry["ResourceName"].set_string_value(key.resource);
    SetIds(devices.ids, (*entry["DeviceIDs"].mutable_struct_value()->mutable_fields())[kNoNode]);
    entry["AllocResp"].set_string_value(ToBase64(devices.response.SerializeAsString()));
  }
  std::string text;
  (void)MessageToJsonString(root, &text);
  return text;
}

Result<Checkpoint> DecodeCheckpoint(const std::string& text) {
  Struct root;
  if (!JsonStringToMessage(text, &root).ok() || !Field(root, "Data").has_struct_value()) {
    return Fail(ErrorKind::kInvalid, "the checkpoint is corrupt");
  }
  const Struct& data = Field(root, "Data").struct_value();
  Checkpoint checkpoint;
  for (const auto& [resource, ids] : Field(data, "RegisteredDevices").struct_value().fields()) {
    checkpoint.registered[resource] = GetIds(ids);
  }
  for (const Value& value : Field(data, "PodDeviceEntries").list_value().values()) {
    const Struct& entry = value.struct_value();
    ContainerDevices& devices = checkpoint.pods[{
        .pod = Field(entry, "PodUID").string_value(),
        .container = Field(entry, "ContainerName").string_value(),
        .resource = Field(entry, "ResourceName").string_value(),
    }];
    devices.ids = GetIds(Field(Field(entry, "DeviceIDs").struct_value(), kNoNode));
    if (!devices.response.ParseFromString(FromBase64(Field(entry, "AllocResp").string_value()))) {
      return Fail(ErrorKind::kInvalid, "the checkpoint is corrupt");
    }
  }
  return checkpoint;
}

Status WriteCheckpoint(const std::string& directory, const Checkpoint& checkpoint) {
  std::string temporary = directory + "/.XXXXXX";
  const UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return FailErrno(format("cannot make a file in {}", directory), errno);
  Status written = WriteAll(fd.get(), EncodeCheckpoint(checkpoint));
  if (written && fsync(fd.get()) != 0) written = FailErrno("cannot sync the checkpoint", errno);
  const std::string path = format("{}/{}", directory, kCheckpointName);
  if (written && rename(temporary.c_str(), path.c_str()) != 0) {
    written = FailErrno(format("cannot rename to {}", path), errno);
  }
  if (!written) unlink(temporary.c_str());
  return written;
}

Checkpoint ReadCheckpoint(const std::string& directory) {
  std::ifstream file(format("{}/{}", directory, kCheckpointName), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return DecodeCheckpoint(text.str()).value_or(Checkpoint());
}

}  // namespace patchbay
