#pragma once

#include <cstddef>

namespace patchbay {

/// An endpoint's socket is `patchbay-<16 hex>-<up to 10 digits>-<up to 6 digits>.sock` in the
/// device-plugin directory: a hash of the resource, the process, the number of the registration.
/// No name is longer than this, in bytes; a few are kept in reserve.
inline constexpr std::size_t kLongestSocketName = 56;

/// The longest path a unix socket can have, in bytes (sun_path without its terminator). The kubelet
/// fails to dial a longer one.
inline constexpr std::size_t kLongestSocketPath = 107;

}  // namespace patchbay
