#pragma once

namespace patchbay {

/// Initializes gRPC for the life of the process. Otherwise gRPC shuts down with the last server or
/// call and starts again with the next. Its shutdown occasionally waits ten seconds for a sleeping
/// thread of its own, and the next call waits as well.
void InitGrpc();

}  // namespace patchbay
