#pragma once

#include <string>

#include "base/result.h"
#include "sim/kubelet/options.h"

namespace patchbay {

/// Creates the device plugin directory if it is absent, and removes what a kubelet removes at start
/// (cleanupPluginDirectory). Ignores subdirectories. Fails with kUnavailable.
Status PreparePluginDirectory(const std::string& directory, KubeletCleanup cleanup);

}  // namespace patchbay
