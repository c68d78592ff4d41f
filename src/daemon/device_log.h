#pragma once

#include "base/log.h"
#include "model/snapshot.h"

namespace patchbay {

/// Logs how the devices of a resource differ between two lists, one line each, or a summary if
/// there are more than 20 changes. For the first list (`before` is null), where every device is
/// new, logs the summary, and a line for each problem if there are at most 20.
void LogDeviceChanges(Log& log, const Snapshot* before, const Snapshot& after);

}  // namespace patchbay
