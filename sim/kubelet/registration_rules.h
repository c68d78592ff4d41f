#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// Returns whether the kubelet accepts the name of an extended resource (IsExtendedResourceName of
/// kubelets 1.26 to 1.36): "domain/name", without "kubernetes.io/", which is still a qualified name
/// after "requests." is prepended. Independent of the rules of the daemon, so that tests can
/// compare the two.
bool IsExtendedResourceName(std::string_view name);

/// Performs the checks of Register in the order of the kubelet: the version, then the name. Does
/// not check the endpoint and the options. Fails with the error message of the kubelet; the gRPC
/// status is UNKNOWN.
Status CheckRegister(std::string_view version, std::string_view resource);

/// Returns the path that the kubelet dials: directory and endpoint, joined and cleaned by text like
/// filepath.Join of Go. ".." can leave the directory, a leading slash cannot, and "" is the
/// directory.
std::string JoinEndpoint(const std::string& directory, const std::string& endpoint);

}  // namespace patchbay
