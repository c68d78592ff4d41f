// Input: a serialized RegisterRequest for the built-in kubelet. The rules of the configuration must
// reject every resource name that a kubelet rejects.

#include <filesystem>

#include "deviceplugin.pb.h"
#include "fuzz.h"
#include "model/resource_name.h"
#include "quiet_protobuf.h"
#include "sim/kubelet/registration_rules.h"

using namespace patchbay;

namespace {

/// Returns whether a DNS label is longer than 63 bytes, which the kubelet does not check.
bool HasLongLabel(std::string_view name) {
  std::size_t label = 0;
  for (const char c : name.substr(0, name.find('/'))) {
    label = c == '.' ? 0 : label + 1;
    if (label > 63) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  v1beta1::RegisterRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  const std::string& name = request.resource_name();
  const auto problem = ProblemWithResourceName(name);
  fuzz::Require(!problem || !problem->empty());
  const bool taken = IsExtendedResourceName(name);
  if (taken == problem.has_value()) fuzz::Require(taken && HasLongLabel(name));
  const Status status = CheckRegister(request.version(), name);
  fuzz::Require(status.has_value() == (taken && request.version() == "v1beta1"));
  const std::string path = JoinEndpoint("/kubelet", request.endpoint());
  fuzz::Require(path.starts_with('/') && path.find("/../") == std::string::npos);
  return 0;
}
