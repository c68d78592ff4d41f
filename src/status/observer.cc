#include "status/observer.h"

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

}  // namespace patchbay
