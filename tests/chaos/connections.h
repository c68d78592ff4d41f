#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace patchbay::test {

/// Returns the number of connections to sockets below `directory` whose client end is open in this
/// process. They are not leaks of the server: a gRPC 1.51 client leaks the connection if its
/// channel is destroyed at the moment it connects. Returns nothing if the kernel has no sock_diag.
std::optional<std::size_t> OpenConnections(const std::string& directory);

}  // namespace patchbay::test
