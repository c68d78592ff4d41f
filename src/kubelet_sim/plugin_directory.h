#pragma once

#include <string>

#include "base/result.h"
#include "kubelet_sim/options.h"

namespace patchbay {

/// Makes the directory of the device plugins if it is absent and removes from it what a starting
/// kubelet removes (contract 4.1, 4.2). Never descends. Fails with kUnavailable.
Status PreparePluginDirectory(const std::string& directory, KubeletCleanup cleanup);

}  // namespace patchbay
