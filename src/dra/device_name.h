#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// Names of the Kubernetes API for devices and pools. They depend only on their arguments, so they
/// stay the same across restarts and releases. Rules: kubernetes/api resource/v1/types.go. Pure.

/// Returns whether `text` is a pool name: subdomains joined by "/", at most kMaxSubdomain bytes.
bool IsPoolName(std::string_view text);

/// Returns the name of a device in a slice: its ID as a DNS label. Upper case becomes lower case
/// and any other byte "-". If the result is not the ID, or the ID ends like that, "-" and 16
/// hexadecimal digits of its SHA-256 hash follow: an ID, which is bytes of a device, cannot be
/// chosen to have the name of another.
std::string SliceDeviceName(std::string_view device_id);

/// Returns the name of the pool of a resource on a Kubernetes node, "<node>/<resource>", made a
/// pool name by the same rules.
std::string PoolName(std::string_view node_name, std::string_view resource);

}  // namespace patchbay
