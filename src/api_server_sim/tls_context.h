#pragma once

#include "api_server_sim/api_server_sim.h"
#include "api_server_sim/stream.h"
#include "base/result.h"

namespace patchbay::api_sim {

/// Returns a context for TLS 1.2 and later with this certificate. Fails with kInvalid if it or its
/// key cannot be used.
Result<TlsContext> MakeServerContext(const TlsIdentity& identity);

}  // namespace patchbay::api_sim
