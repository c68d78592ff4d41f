#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "os/unique_fd.h"

namespace patchbay::bench {

/// A device plugin that does nothing but what every plugin must: it registers the resource
/// bench.dev/r0, inspects each node of a directory once, and sends the list of them. It runs in a
/// process of its own, like the daemon, so its times are what gRPC, the kernel and the built-in
/// kubelet take.
class BarePlugin {
 public:
  /// Starts it for a directory of device nodes. Exits if the process cannot be created.
  BarePlugin(const std::string& kubelet_dir, const std::string& nodes);
  ~BarePlugin();
  BarePlugin(const BarePlugin&) = delete;
  BarePlugin& operator=(const BarePlugin&) = delete;

  /// The time before the process was created.
  Clock::time_point start() const { return start_; }
  /// Lets it send the list again, with one more device.
  void AddDevice();

 private:
  Clock::time_point start_;
  UniqueFd stdin_;  ///< the process ends when this end is closed
  pid_t pid_ = -1;
};

/// The first argument of a process that is a bare plugin.
constexpr std::string_view kPluginArgument = "--bare-plugin";
/// The main function of such a process. `arguments` are the directories of the kubelet and of the
/// nodes.
int RunBarePlugin(const std::vector<std::string>& arguments);

}  // namespace patchbay::bench
