#include "daemon/progress.h"

#include "base/format.h"

namespace patchbay {

using std::chrono::duration_cast;
using std::chrono::seconds;

CheckResult CheckProgress(const Progress& progress, const ProgressLimits& limits,
                          Progress::Time now) {
  CheckResult result{true, ""};
  if (progress.server > limits.server) {
    result.ok = false;
    result.body += Format(
        "creating or removing the socket of a resource has taken {} s; the resource cannot be "
        "registered\n",
        duration_cast<seconds>(progress.server).count());
  }
  if (progress.directory > limits.directory) {
    result.ok = false;
    result.body += Format(
        "the kubelet's directory has not responded for {} s; no resource can be registered\n",
        duration_cast<seconds>(progress.directory).count());
  }
  if (progress.call && now - progress.call->first > limits.call) {
    result.ok = false;
    result.body +=
        Format("a kubelet call for {} has been pending for {} s\n", progress.call->second,
               duration_cast<seconds>(now - progress.call->first).count());
  }
  return result;
}

}  // namespace patchbay
