#pragma once

#include <cstddef>

namespace patchbay {

/// An endpoint's socket is `patchbay-<16 hex>-<8 hex>-<digits>.sock` in the device-plugin
/// directory: a hash of the resource, the run of the process, the number of the registration. With
/// twelve digits, which no process lives to see, a name has no more bytes than this.
inline constexpr std::size_t kMaxSocketName = 56;

/// The longest path a unix socket can have, in bytes (sun_path without its terminator). The kubelet
/// fails to dial a longer one.
inline constexpr std::size_t kMaxSocketPathLength = 107;

}  // namespace patchbay
