#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// Names of the Kubernetes API for devices, pools and device classes. They depend only on their
/// arguments, so they stay the same across restarts and releases. Rules: kubernetes/api
/// resource/v1/types.go. Pure.

/// Returns the name of a device in a slice: its ID as a DNS label. Upper case becomes lower case
/// and any other byte "-". If the result is not the ID, or the ID ends like that, "-" and 16
/// hexadecimal digits of its SHA-256 hash follow: an ID, which is bytes of a device, cannot be
/// chosen to have the name of another.
std::string SliceDeviceName(std::string_view device_id);

/// Returns the name of the pool of a resource on a Kubernetes node, "<node>/<resource>", made by
/// the same rules a pool name: subdomains joined by "/", at most kMaxSubdomain bytes.
std::string PoolName(std::string_view node_name, std::string_view resource);

/// Returns the name of the DeviceClass of a resource, a valid name of an extended resource:
/// "serial.example.com" for "example.com/serial". The part after the slash becomes a DNS label by
/// the rules of SliceDeviceName, so that resources that differ only in case, or in "_" and ".",
/// have different classes.
std::string DeviceClassName(std::string_view resource);

}  // namespace patchbay
