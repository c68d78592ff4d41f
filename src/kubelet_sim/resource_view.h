#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace patchbay {

/// A device as a list told it.
struct SimDevice {
  std::string id;
  std::string health;  ///< verbatim; only "Healthy" counts as healthy
  std::vector<std::int64_t> numa_nodes;

  bool operator==(const SimDevice&) const = default;
};

/// Options of a plugin as the kubelet has them in effect.
struct SimPluginOptions {
  bool pre_start_required = false;
  bool get_preferred_allocation_available = false;

  bool operator==(const SimPluginOptions&) const = default;
};

/// One of the streams opened by KubeletSim::OpenExtraStreams, in the order of opening.
struct ExtraStreamView {
  bool open = false;
  std::size_t lists = 0;           ///< messages received on it
  std::vector<SimDevice> devices;  ///< of its last message, in the order of the message
};

/// What the kubelet and the node know of one resource at a moment. Counts are since the last Start.
struct ResourceView {
  /// The tables of the resource exist: a list arrived, a plugin went, or a checkpoint named it.
  /// Before that the node does not show the resource at all.
  bool known = false;
  std::vector<SimDevice> devices;  ///< of the last list, by ID; of equal IDs the last one
  std::size_t capacity = 0;
  std::size_t allocatable = 0;
  bool connected = false;  ///< an endpoint that the kubelet does not consider stopped
  std::string endpoint;    ///< full path of the socket used for Allocate; may be a stopped one
  SimPluginOptions options;
  std::size_t streams = 0;  ///< open ListAndWatch streams, forgotten ("zombie") ones included
  std::size_t silent_streams = 0;                   ///< those of them on which no list has come yet
  std::size_t connections = 0;                      ///< successful dials
  std::size_t registrations = 0;                    ///< Register calls answered OK
  std::size_t lists = 0;                            ///< lists taken into the tables
  std::chrono::steady_clock::time_point last_list;  ///< meaningless while lists == 0
  std::string stream_error;  ///< how the last ended stream ended: "CODE: text"; "" if none did
  std::vector<ExtraStreamView> extra_streams;
};

/// A Register call as it came in. Kept over restarts.
struct RegisterCall {
  std::string version;
  std::string endpoint;  ///< as sent
  std::string resource;
  SimPluginOptions options;
  bool answered = false;
  int code = 0;         ///< gRPC status code of the answer, as a number; 0 is OK
  std::string message;  ///< of the answer
  std::chrono::steady_clock::time_point received;
  std::chrono::steady_clock::time_point finished;  ///< meaningless until answered
};

}  // namespace patchbay
