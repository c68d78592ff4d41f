#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace patchbay::test {

/// The number of connections to sockets below `directory` whose client this process has open. The
/// server cannot be blamed for those: gRPC 1.51 loses a connection for good when its channel is
/// given up in the moment in which it connects. Nothing where the kernel has no sock_diag.
std::optional<std::size_t> OpenConnections(const std::string& directory);

}  // namespace patchbay::test
