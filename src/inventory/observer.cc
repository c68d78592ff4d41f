#include "inventory/observer.h"

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

std::string_view Name(Hook hook) {
  switch (hook) {
    case Hook::kPreStart: return "pre_start";
    case Hook::kAllocate: return "allocate";
    case Hook::kRelease: return "release";
  }
  return "";
}

}  // namespace patchbay
