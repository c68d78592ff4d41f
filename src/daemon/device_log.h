#pragma once

#include "base/log.h"
#include "model/snapshot.h"

namespace patchbay {

/// Logs how the devices of a resource differ between two lists, one line each; a summary instead if
/// there are more than 20, and for the first list (`before` is null), where every device is new.
void LogDeviceChanges(Log& log, const Snapshot* before, const Snapshot& after);

}  // namespace patchbay
