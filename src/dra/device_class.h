#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace patchbay {

/// The DeviceClass of a resource, by which pods request its devices. It is an object of the cluster
/// that an administrator applies; the daemon never writes it. Fields: kubernetes/api
/// resource/v1/types.go. `resource` is a valid name of an extended resource, and `driver` of a
/// driver. Pure.

/// Returns the name of the class: "serial.example.com" for "example.com/serial". The part after the
/// slash becomes a DNS label by the rules of SliceDeviceName, so that resources that differ only in
/// case, or in "_" and ".", have different classes.
std::string DeviceClassName(std::string_view resource);

/// Returns the class as JSON, with its keys in the order of manifests. It selects the devices that
/// `driver` publishes with the attribute `resource`, and serves requests in `limits`.
nlohmann::ordered_json DeviceClassJson(std::string_view resource, std::string_view driver);

}  // namespace patchbay
