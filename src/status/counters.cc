#include "status/counters.h"

#include <algorithm>

namespace patchbay {

std::string_view Name(Rpc rpc) {
  switch (rpc) {
    case Rpc::kGetDevicePluginOptions: return "GetDevicePluginOptions";
    case Rpc::kListAndWatch: return "ListAndWatch";
    case Rpc::kGetPreferredAllocation: return "GetPreferredAllocation";
    case Rpc::kAllocate: return "Allocate";
    case Rpc::kPreStartContainer: return "PreStartContainer";
  }
  return "";
}

std::string_view Name(DriverRpc rpc) {
  switch (rpc) {
    case DriverRpc::kGetInfo: return "GetInfo";
    case DriverRpc::kNotifyRegistrationStatus: return "NotifyRegistrationStatus";
    case DriverRpc::kNodePrepareResources: return "NodePrepareResources";
    case DriverRpc::kNodeUnprepareResources: return "NodeUnprepareResources";
    case DriverRpc::kNodeWatchResources: return "NodeWatchResources";
  }
  return "";
}

void CallCounters::Count(std::string_view code) {
  auto known = std::ranges::find(kStatusCodes, code);
  if (known == std::end(kStatusCodes)) known = std::ranges::find(kStatusCodes, "UNKNOWN");
  by_code_.at(static_cast<std::size_t>(known - std::begin(kStatusCodes))).Increment();
}

Durations::Durations(std::chrono::seconds longest)
    : histogram_({0.0005, 0.002, 0.01, 0.05, 0.2, 1,
                  longest > std::chrono::seconds(10) ? 10.0 : 5.0,
                  static_cast<double>(longest.count())}) {}

}  // namespace patchbay
