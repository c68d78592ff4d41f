#pragma once

#include <chrono>
#include <string_view>

namespace patchbay {

/// Writes `text` to a file descriptor, and waits at most `longest` until it accepts all of it.
/// Returns whether everything was written. For the thread of the log, and for the last message of a
/// process, which must not hang. It can still block if another writer fills the same pipe at the
/// same moment.
bool WriteWithin(int fd, std::string_view text, std::chrono::milliseconds longest);

}  // namespace patchbay
