#include "kubelet/list_bytes.h"

#include "kubelet/proto_convert.h"

namespace patchbay {
namespace {

/// Appends the tag and the length of a field with the number 1 whose value has `size` bytes, see
/// https://protobuf.dev/programming-guides/encoding.
void AppendFieldOne(std::size_t size, std::string& bytes) {
  constexpr char kTag = 1 << 3 | 2;
  bytes.push_back(kTag);
  for (; size >= 0x80; size >>= 7) bytes.push_back(static_cast<char>(size | 0x80));
  bytes.push_back(static_cast<char>(size));
}

/// Returns the fields after the ID, which most devices have in common.
std::string FieldsAfterId(Health health, std::optional<int> numa_node) {
  v1beta1::Device device;
  device.set_health(std::string(Name(health)));
  if (numa_node) device.mutable_topology()->add_nodes()->set_id(*numa_node);
  return device.SerializeAsString();
}

}  // namespace

/// Writes the fields of the list itself: with messages, each unit would cost ten times as much.
std::string ListBytes(const Snapshot& snapshot) {
  std::string bytes, rest, id_field;
  const ListedDevice* same_rest = nullptr;  // a device whose fields after the ID are `rest`
  const auto numa_node = [&](const ListedDevice& listed) {
    return snapshot.topology ? listed.device->numa_node : std::nullopt;
  };
  const std::vector<int> fitting = FittingUnits(snapshot);
  for (std::size_t place = 0; place < fitting.size(); ++place) {
    const ListedDevice& listed = snapshot.devices[place];
    if (same_rest == nullptr || same_rest->health != listed.health ||
        numa_node(*same_rest) != numa_node(listed)) {
      rest = FieldsAfterId(listed.health, numa_node(listed));
    }
    same_rest = &listed;
    for (int replica = 0; replica < fitting[place]; ++replica) {
      const std::string id = AdvertisedId(*snapshot.spec, listed.device->id, replica);
      id_field.clear();
      if (!id.empty()) AppendFieldOne(id.size(), id_field);
      AppendFieldOne(id_field.size() + id.size() + rest.size(), bytes);
      bytes.append(id_field).append(id).append(rest);
    }
  }
  return bytes;
}

}  // namespace patchbay
