#pragma once

namespace patchbay {

/// Limits malloc to one arena for all threads, which saves megabytes in a daemon that allocates
/// little. Call it before threads are started.
void LimitMallocArenas();

/// Returns free memory to the system. Call it after a job that used much memory. Other threads
/// cannot allocate while it runs, so do not call it on the loop or often.
void TrimHeap();

}  // namespace patchbay
