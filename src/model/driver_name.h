#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// The maximum length of the name of a driver in bytes. The API allows 63; the rest is for what is
/// added in the names of sockets, taints and slices.
inline constexpr std::size_t kMaxDriverName = 47;

/// The maximum length of a driver's name and the directory that has kubelet_dir in it, together, in
/// bytes. The rest of the path of a socket has up to 30 in a pod, see dra/driver_sockets.h.
inline constexpr std::size_t kMaxDriverAndRoot = 77;

/// Fails with kInvalid if `name` cannot be the name of a driver: a DNS subdomain in lower case of
/// at most kMaxDriverName bytes that begins with a letter. It is also the vendor of CDI kinds,
/// which begins with a letter (SPEC.md of CDI).
Status CheckDriverName(std::string_view name);

}  // namespace patchbay
