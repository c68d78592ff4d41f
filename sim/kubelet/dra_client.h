#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/dra_claims.h"
#include "sim/kubelet/dra_health.h"
#include "sim/kubelet/dra_rules.h"
#include "sim/kubelet/plugin_channel.h"

namespace patchbay {

/// The calls of the kubelet to plugins that it finds in its plugin registry. All block. They fail
/// with kUnavailable and an error in the format of Go.

/// Calls GetInfo on a registration socket.
Result<SimPluginInfo> GetPluginInfo(PluginChannel& channel, std::chrono::milliseconds timeout);
/// Calls NotifyRegistrationStatus. The plugin is registered if `error` is empty.
Status NotifyRegistration(PluginChannel& channel, const std::string& error,
                          std::chrono::milliseconds timeout);

/// Call NodePrepareResources and NodeUnprepareResources for the claims, on the socket of a driver.
Result<SimClaimAnswers> PrepareOnDriver(PluginChannel& channel, DraApi api,
                                        const std::vector<SimClaim>& claims,
                                        std::chrono::milliseconds timeout);
Result<SimClaimAnswers> UnprepareOnDriver(PluginChannel& channel, DraApi api,
                                          const std::vector<SimClaim>& claims,
                                          std::chrono::milliseconds timeout);

/// Opens NodeWatchResources and reads it to its end, and calls `on_list` on this thread for each
/// message. `call` is of the driver's channel and is used only here.
void WatchHealth(PluginChannel& channel, DraHealthApi api, PluginChannel::Call& call,
                 const std::function<void(const std::vector<SimDeviceHealth>&)>& on_list);

}  // namespace patchbay
