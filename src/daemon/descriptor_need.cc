#include "daemon/descriptor_need.h"

#include "base/format.h"

namespace patchbay {

std::size_t DescriptorsNeeded(std::size_t resources, const DaemonSpec& daemon) {
  return kBaseDescriptors + kDescriptorsPerResource * resources +
         kDescriptorsPerProbe * static_cast<std::size_t>(daemon.max_probes);
}

Status CheckDescriptors(std::size_t resources, const DaemonSpec& daemon, std::size_t limit) {
  const std::size_t needed = DescriptorsNeeded(resources, daemon);
  if (needed <= limit) return {};
  return Fail(
      ErrorKind::kInvalid,
      Format("too few file descriptors: {}{} probes at once need {}, and the limit of this process "
             "is {}; raise it (LimitNOFILE= of the systemd unit, the nofile limit of the container "
             "runtime){}",
             resources > 0 ? Format("{} resources and ", resources) : "", daemon.max_probes, needed,
             limit, resources > 1 ? ", or merge resources" : ", or lower max_probes"));
}

}  // namespace patchbay
