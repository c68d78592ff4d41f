#include "health/probe_factory.h"

namespace patchbay {

ProbeOutcome Probe(const OpenProbe&, const ProbeRun& run) {
  for (const DeviceNode& node : run.device.nodes) {
    const Status opened = run.context.host.TryOpen(node.real_path);
    if (opened) continue;
    if (opened.error().kind == ErrorKind::kPrecondition) {
      return {ProbeResult::kError,
              opened.error().message +
                  "; in a container allow patchbay to open devices (privileged: true); outside of "
                  "a container, run it as root, or use another probe"};
    }
    return {ProbeResult::kFailure, opened.error().message};
  }
  return {ProbeResult::kSuccess};
}

}  // namespace patchbay
