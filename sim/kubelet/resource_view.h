#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace patchbay {

/// A device in a list.
struct SimDevice {
  std::string id;
  std::string health;  ///< verbatim; only "Healthy" counts as healthy
  std::vector<std::int64_t> numa_nodes;

  bool operator==(const SimDevice&) const = default;
};

/// The options of a plugin that the kubelet uses.
struct SimPluginOptions {
  bool pre_start_required = false;
  bool get_preferred_allocation_available = false;

  bool operator==(const SimPluginOptions&) const = default;
};

/// One of the streams opened by KubeletSim::OpenExtraStreams, in the order of opening.
struct ExtraStreamView {
  bool open = false;
  std::size_t lists = 0;           ///< messages received on it
  std::vector<SimDevice> devices;  ///< of its last message, in that order
};

/// The state of one resource at a point in time. Counts are since the last Start.
struct ResourceView {
  /// True if the tables of the resource exist: a list was received, a plugin disconnected, or a
  /// checkpoint contains it. Before that, the node does not have the resource.
  bool known = false;
  std::vector<SimDevice> devices;  ///< of the last list, ordered by ID; the last one of equal IDs
  std::size_t capacity = 0;
  std::size_t allocatable = 0;
  bool connected = false;  ///< the endpoint is not stopped
  std::string endpoint;    ///< the path of the socket for Allocate, even if it is stopped
  SimPluginOptions options;
  std::size_t streams = 0;         ///< open ListAndWatch streams, including "zombie" streams
  std::size_t silent_streams = 0;  ///< open streams without a list yet
  std::size_t connections = 0;     ///< successful dials
  std::size_t registrations = 0;   ///< successful Register calls
  std::size_t lists = 0;           ///< lists that updated the tables
  std::chrono::steady_clock::time_point last_list;  ///< undefined while lists == 0
  std::string stream_error;  ///< the status of the last ended stream: "CODE: text"; "" if none
  std::vector<ExtraStreamView> extra_streams;
};

/// A received Register call. Kept across restarts.
struct RegisterCall {
  std::string version;
  std::string endpoint;  ///< as sent
  std::string resource;
  SimPluginOptions options;
  bool answered = false;
  int code = 0;         ///< the gRPC status code of the response; 0 is OK
  std::string message;  ///< of the response
  std::chrono::steady_clock::time_point received;
  std::chrono::steady_clock::time_point finished;  ///< undefined before the response
};

}  // namespace patchbay
