#include "sim/try/try_config.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "cli/load.h"
#include "model/spec.h"

namespace patchbay {
namespace {

/// The configuration of a demonstration.
constexpr std::string_view kDemonstration = R"([[resource]]
name = "patchbay.dev/null"
description = "a demonstration: the null device, which every host has"
replicas = 3

  [[resource.match]]
  path = "/dev/null"

  [[resource.device_node]]
  container_path = "/dev/demonstration"

  [resource.env]
  DEMONSTRATION = "/dev/demonstration"
)";

Loaded LoadOrDemonstrate(const Arguments& arguments) {
  if (!IsDemonstration(arguments)) return LoadConfig(arguments);
  return WithFlags(LoadTexts({{"demonstration", std::string(kDemonstration)}}), arguments);
}

}  // namespace

bool IsDemonstration(const Arguments& arguments) {
  std::error_code none;
  return !arguments.is_config_given && std::filesystem::status(arguments.config, none).type() ==
                                           std::filesystem::file_type::not_found;
}

Loaded LoadForTry(const Arguments& arguments, const KubeletPaths& paths) {
  Loaded loaded = LoadOrDemonstrate(arguments);
  if (!loaded.model) return loaded;
  DaemonSpec& daemon = loaded.model->daemon;
  daemon.kubelet_dir = paths.kubelet_dir;
  daemon.pod_resources = paths.pod_resources;
  daemon.cdi_dir = paths.cdi_dir;
  daemon.kubernetes.reset();
  daemon.suggest_page = true;
  daemon.log_level = arguments.log_level.value_or(kLevelOfTry);
  if (!arguments.listen) daemon.listen = "127.0.0.1:0";
  if (!arguments.once) return loaded;
  // With --once, ReportProbes runs each probe exactly once; the daemon must not run them too.
  for (ResourceSpec& resource : loaded.model->resources) {
    if (!resource.health) continue;
    resource.health->initial_delay = std::chrono::hours(24);
    resource.health->before_first = Health::kHealthy;
  }
  return loaded;
}

}  // namespace patchbay
