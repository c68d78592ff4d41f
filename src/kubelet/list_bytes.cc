#include "kubelet/list_bytes.h"

#include "kubelet/proto_convert.h"

namespace patchbay {

/// Concatenated messages are the message with all their devices, so that a message with one device
/// is enough: https://protobuf.dev/programming-guides/encoding/#last-one-wins
std::string ListBytes(const Snapshot& snapshot) {
  std::string bytes;
  v1beta1::ListAndWatchResponse message;
  v1beta1::Device& unit = *message.add_devices();
  v1beta1::NUMANode* const numa_node =
      snapshot.topology ? unit.mutable_topology()->add_nodes() : nullptr;
  const std::vector<int> fitting = FittingUnits(snapshot);
  for (std::size_t place = 0; place < fitting.size(); ++place) {
    const ListedDevice& listed = snapshot.devices[place];
    const std::string_view health = Name(listed.health);
    unit.set_health(health.data(), health.size());
    if (numa_node != nullptr) numa_node->set_id(*listed.device->numa_node);
    for (int replica = 0; replica < fitting[place]; ++replica) {
      unit.set_id(AdvertisedId(*snapshot.spec, listed.device->id, replica));
      message.AppendToString(&bytes);
    }
  }
  return bytes;
}

}  // namespace patchbay
