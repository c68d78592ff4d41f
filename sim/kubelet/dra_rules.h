#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/dra_options.h"

namespace patchbay {

enum class DraApi { kV1, kV1beta1 };
enum class DraHealthApi { kV1, kV1alpha1 };

/// The services that the kubelet uses of one instance of a driver.
struct DraServices {
  DraApi plugin = DraApi::kV1;
  std::optional<DraHealthApi> health;  ///< nothing: the kubelet does not watch its health

  bool operator==(const DraServices&) const = default;
};

/// The response of a plugin to GetInfo.
struct SimPluginInfo {
  std::string type;
  std::string name;
  std::string endpoint;  ///< the socket of its service
  std::vector<std::string> supported_versions;
};

/// Performs the checks of the kubelet's plugin manager and DRA manager on a plugin that was found
/// at `socket` (operation_generator.go, dra_plugin_manager.go), and chooses the services: for
/// claims the first one in the list of the plugin that the kubelet supports, for health the newest
/// one. Like the kubelet, does not check the name of the driver. Fails with kInvalid and the text
/// that the plugin receives.
Result<DraServices> CheckPluginInfo(DraProfile profile, const std::string& socket,
                                    const SimPluginInfo& info);

}  // namespace patchbay
