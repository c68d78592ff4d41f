#include "sim/kubelet/dra_rules.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

/// A service that the kubelet supports. The newest ones are first.
template <class Api>
struct KnownService {
  const char* name;
  Api api;
  DraProfile since;
};

constexpr KnownService<DraApi> kPluginServices[] = {
    {"v1.DRAPlugin", DraApi::kV1, DraProfile::kStable},
    {"v1beta1.DRAPlugin", DraApi::kV1beta1, DraProfile::kBeta},
};
constexpr KnownService<DraHealthApi> kHealthServices[] = {
    {"v1.DRAResourceHealth", DraHealthApi::kV1, DraProfile::kStableHealthV1},
    {"v1alpha1.DRAResourceHealth", DraHealthApi::kV1alpha1, DraProfile::kStable},
};

/// Formats a list like %q of Go.
std::string GoList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    if (!list.empty()) list += ' ';
    list += Format("\"{}\"", name);
  }
  return Format("[{}]", list);
}

Result<DraApi> ChoosePluginService(DraProfile profile, const std::vector<std::string>& supported) {
  if (supported.empty()) {
    return Fail(ErrorKind::kInvalid,
                "empty list of supported gRPC services (aka supported versions)");
  }
  std::vector<std::string> known;
  for (const auto& service : kPluginServices) {
    if (service.since <= profile) known.emplace_back(service.name);
  }
  for (const std::string& name : supported) {
    for (const auto& service : kPluginServices) {
      if (service.since <= profile && service.name == name) return service.api;
    }
  }
  return Fail(
      ErrorKind::kInvalid,
      Format("none of services supported by the plugin ({}) are supported by the kubelet ({})",
             GoList(supported), GoList(known)));
}

std::optional<DraHealthApi> ChooseHealthService(DraProfile profile,
                                                const std::vector<std::string>& supported) {
  for (const auto& service : kHealthServices) {
    if (service.since <= profile &&
        std::find(supported.begin(), supported.end(), service.name) != supported.end()) {
      return service.api;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<DraServices> CheckPluginInfo(DraProfile profile, const std::string& socket,
                                    const SimPluginInfo& info) {
  if (info.type != "DRAPlugin") {
    return Fail(
        ErrorKind::kInvalid,
        Format("RegisterPlugin error -- no handler registered for plugin type: {} at socket {}",
               info.type, socket));
  }
  const auto plugin = ChoosePluginService(profile, info.supported_versions);
  if (!plugin) {
    return Fail(
        ErrorKind::kInvalid,
        Format("RegisterPlugin error -- plugin validation failed with err: invalid supported "
               "gRPC versions of DRA driver plugin {} at endpoint {}: {}",
               info.name, info.endpoint, plugin.error().message));
  }
  return DraServices{*plugin, ChooseHealthService(profile, info.supported_versions)};
}

}  // namespace patchbay
