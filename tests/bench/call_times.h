#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay::bench {

/// Times in ms of the calls to one server in one round. An empty call is GetDevicePluginOptions.
struct CallTimes {
  std::vector<double> empty, allocate;
  std::vector<double> first;  ///< of each first Allocate after calls to other servers
};

/// One round of calls, by server.
using CallRound = std::vector<CallTimes>;

/// Calls device plugins in turn, so that other load on the machine affects all of them. The client
/// is a process of its own: in this one, threads of the built-in kubelet poll for gRPC as well, and
/// each call would wait for them. The client runs on the CPU of PinToOneCpu. Exits if a call fails,
/// or if the responses are not all equal.
std::vector<CallRound> MeasureCalls(const std::vector<std::string>& sockets,
                                    const std::string& device);

/// The first argument of the process that calls.
constexpr std::string_view kCallArgument = "--call-plugins";
/// The main function of that process. `arguments` are the device and the sockets. It prints all
/// times.
int CallPlugins(const std::vector<std::string>& arguments);

}  // namespace patchbay::bench
