#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// Whether the kubelet takes a name as an extended resource: "domain/name", without
/// "kubernetes.io/" anywhere, which with "requests." before it is still a qualified name (contract
/// 1.3; kubelet 1.26-1.36). Written apart from the daemon's own rules, to hold them to account.
bool IsExtendedResourceName(std::string_view name);

/// The checks of Register, in the kubelet's order: the version, then the name (contract 1.2). The
/// endpoint and the options are not looked at. Fails with the kubelet's text; on the wire the
/// status is UNKNOWN.
Status CheckRegister(std::string_view version, std::string_view resource);

/// The path the kubelet dials: directory and endpoint joined and cleaned without a look at the file
/// system, so that ".." leads out, a leading slash does not, and "" is the directory
/// (contract 1.4).
std::string JoinEndpoint(const std::string& directory, const std::string& endpoint);

}  // namespace patchbay
